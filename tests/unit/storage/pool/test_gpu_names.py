"""Which resource names are GPUs, which are offered, and which class one stands for (domain 5.4)."""

from dataclasses import replace

import pytest
from fakes.worlds import a_class, a_kubevirt

from storage.model.objects import KubeVirt, PCIRow
from storage.model.snapshot import Policy
from storage.pool.gpu_names import class_of, governing, gpu_names, offered

POLICY = Policy(
    gpu_resource_names=frozenset({"nvidia.com/gpu"}),
    not_gpu_resource_names=frozenset({"nvidia.com/NVSWITCH"}),
)

# As samples 20: two GPUs, an NVSwitch, a NIC and a mediated device.
TABLE = KubeVirt(
    namespace="cozy-kubevirt",
    name="kubevirt",
    created="2026-01-01T00:00:00Z",
    pci=(
        PCIRow(vendor_selector="10DE:26B9", resource_name="nvidia.com/L40S"),
        PCIRow(vendor_selector="10de:2335", resource_name="nvidia.com/H200"),
        PCIRow(vendor_selector="1002:7408", resource_name="amd.com/MI210"),
        PCIRow(vendor_selector="10DE:22A3", resource_name="nvidia.com/NVSWITCH"),
        PCIRow(vendor_selector="15B3:101E", resource_name="mellanox.com/VF"),
        PCIRow(vendor_selector="10DE", resource_name="nvidia.com/malformed"),
        PCIRow(vendor_selector="10DE:26B9:1", resource_name="nvidia.com/malformed"),
    ),
    mediated=("nvidia.com/A40-24Q",),
)


def test_gpu_names_are_a_union_of_sources() -> None:
    """S27, S28: classes, the hoster's list, mediated devices, and PCI rows of a GPU's vendor."""
    assert gpu_names([a_class("l40s", "example.com/any")], TABLE, POLICY) == {
        "example.com/any",
        "nvidia.com/gpu",
        "nvidia.com/A40-24Q",
        "nvidia.com/L40S",
        "nvidia.com/H200",
        "amd.com/MI210",
    }


def test_the_hosters_list_alone_makes_a_pod_only_resource_a_gpu() -> None:
    """S16, S43: without the list it is none."""
    assert "nvidia.com/gpu" not in gpu_names([], TABLE, Policy())
    assert "nvidia.com/NVSWITCH" in gpu_names([], TABLE, Policy())


def test_a_classs_resource_is_a_gpu_whatever_is_excluded() -> None:
    """Domain 5.4: gpu.notGpuResourceNames never takes out a class's."""
    names = gpu_names([a_class("switch", "nvidia.com/NVSWITCH")], TABLE, POLICY)
    assert "nvidia.com/NVSWITCH" in names


def test_exclusions_win_over_the_list_and_the_table() -> None:
    """Domain 5.4: subtracted from everything but classes."""
    excluded = Policy(
        gpu_resource_names=frozenset({"a.com/x"}),
        not_gpu_resource_names=frozenset({"a.com/x", "nvidia.com/A40-24Q"}),
    )
    assert not {"a.com/x", "nvidia.com/A40-24Q"} & gpu_names([], TABLE, excluded)


def test_without_a_kubevirt_object_the_other_sources_stand() -> None:
    """KV-02: none at all is no error."""
    assert gpu_names([a_class("l40s", "a.com/x")], None, POLICY) == {"a.com/x", "nvidia.com/gpu"}


def test_every_wellformed_row_is_offered_gpu_or_not() -> None:
    """KV-02: mediated names are matched like PCI ones; malformed rows add nothing."""
    assert offered(TABLE) == {
        "nvidia.com/L40S",
        "nvidia.com/H200",
        "amd.com/MI210",
        "nvidia.com/NVSWITCH",
        "mellanox.com/VF",
        "nvidia.com/A40-24Q",
    }


@pytest.mark.parametrize("kubevirt", [None, replace(TABLE, pci=(), mediated=())])
def test_no_object_and_no_table_offer_nothing(kubevirt: KubeVirt | None) -> None:
    """Domain 5.3, step 5: an absent table is no permission."""
    assert offered(kubevirt) == frozenset()


def test_the_oldest_kubevirt_object_counts_then_the_first_by_name() -> None:
    """Design 2: two of them give one answer on every replica."""
    young = a_kubevirt("a.com/x")
    old = replace(young, name="zz", created="2025-12-31T23:59:59Z")
    twin = replace(old, name="yy")
    neighbour = replace(twin, namespace="aa")
    assert governing([young, old]) is old
    assert governing([old, young, twin]) is twin
    assert governing([twin, neighbour]) is neighbour
    assert governing([]) is None


def test_a_resource_stands_for_a_class_if_it_is_exactly_one() -> None:
    """Domain 5.4, class of R."""
    one, two = a_class("one", "a.com/x"), a_class("two", "a.com/y")
    assert class_of("a.com/x", [one, two]) is one
    assert class_of("a.com/z", [one, two]) is None
    assert class_of("a.com/x", [one, a_class("three", "a.com/x")]) is None
