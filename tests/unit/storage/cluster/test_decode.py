"""Nodes, KubeVirt and Secrets as they are decoded, and junk in any kind."""

from typing import Any

import pytest
from fakes.objects import (
    CREATED,
    a_class,
    a_kubevirt,
    a_node,
    a_pod,
    a_quota,
    a_release,
    a_secret,
    a_tenant,
    a_vmi,
    in_json,
)
from hypothesis import given
from hypothesis import strategies as st

from storage.cluster.decode import decode
from storage.cluster.decoded import Ref
from storage.cluster.kinds import Kind, group_of, kind_named
from storage.model.objects import VMI, KubeVirt, Node, PCIRow, Pod, Taint


def node_of(value: dict[str, Any]) -> Node:
    """Return what a node decodes to."""
    decoded = decode(Kind.NODE, in_json(value))
    assert isinstance(decoded.value, Node), decoded.problem
    return decoded.value


def test_a_node_is_what_the_figure_needs_of_it() -> None:
    """Labels, conditions, taints and devices; GC-01: allocatable, never capacity."""
    value = a_node(
        spec={"taints": [{"key": "a", "value": "b", "effect": "NoSchedule"}]},
        status={"capacity": {"x.com/gpu": "99"}},
    )
    assert node_of(value) == Node(
        name="zq-node",
        ready=True,
        kubevirt_schedulable=True,
        taints=(Taint(key="a", value="b", effect="NoSchedule"),),
        allocatable=(("x.com/gpu", 8),),
    )


@pytest.mark.parametrize(
    ("changes", "field", "expected"),
    [
        ({"spec": {"unschedulable": True}}, "unschedulable", True),
        ({"metadata": {"deletionTimestamp": CREATED}}, "deleting", True),
        ({"status": {"conditions": [{"type": "Ready", "status": "False"}]}}, "ready", False),
        ({"status": {"conditions": [{"type": "Ready", "status": "Unknown"}]}}, "ready", False),
        ({"status": {"conditions": [{"type": "DiskPressure", "status": "True"}]}}, "ready", False),
        ({"status": {"conditions": None}}, "ready", False),
        (
            {"metadata": {"labels": {"kubevirt.io/schedulable": "false"}}},
            "kubevirt_schedulable",
            False,
        ),
        ({"metadata": {"labels": None}}, "kubevirt_schedulable", False),
        ({"status": None}, "allocatable", ()),
    ],
)
def test_what_keeps_a_node_from_counting_is_read(
    changes: dict[str, Any], field: str, expected: object
) -> None:
    """E29, GC-03: Ready Unknown is not ready, and so on."""
    assert getattr(node_of(a_node(**changes)), field) == expected


def test_an_odd_quantity_on_a_node_is_nothing_and_counted() -> None:
    """E28: the node stays, with 0 of that device."""
    decoded = decode(Kind.NODE, in_json(a_node(status={"allocatable": {"x.com/gpu": "x"}})))
    assert isinstance(decoded.value, Node)
    assert decoded.value.allocatable == (("x.com/gpu", 0),)
    assert decoded.problem == "status.allocatable has a value that is no quantity"


@pytest.mark.parametrize(
    "changes",
    [
        {"spec": {"taints": [{"key": "a"}]}},
        {"spec": {"unschedulable": "no"}},
        {"status": {"conditions": 5}},
        {"metadata": {"labels": {"kubevirt.io/schedulable": True}}},
    ],
)
def test_a_node_without_its_shape_is_left_out(changes: dict[str, Any]) -> None:
    """Its devices count for nobody, and its name is nowhere."""
    decoded = decode(Kind.NODE, in_json(a_node(**changes)))
    assert decoded.value is None
    assert decoded.problem
    assert "zq-" not in decoded.problem


def kubevirt_of(table: object) -> tuple[KubeVirt, str]:
    """Return what a KubeVirt object with this table decodes to, and the problem."""
    decoded = decode(Kind.KUBEVIRT, in_json(a_kubevirt(table)))
    assert isinstance(decoded.value, KubeVirt)
    return decoded.value, decoded.problem


PCI = {"pciVendorSelector": "10DE:26B9", "resourceName": "x.com/gpu"}
MEDIATED = {"mdevNameSelector": "A40-24Q", "resourceName": "x.com/vgpu"}


@pytest.mark.parametrize(
    ("table", "pci", "mediated", "problem"),
    [
        (None, 0, 0, False),
        ({}, 0, 0, False),
        ({"pciHostDevices": None, "mediatedDevices": None}, 0, 0, False),
        ({"pciHostDevices": [PCI]}, 1, 0, False),
        ({"mediatedDevices": [MEDIATED]}, 0, 1, False),
        ({"usb": [{"resourceName": "x.com/stick", "selectors": []}]}, 0, 0, False),
        ({"pciHostDevices": [PCI, {"resourceName": "x.com/gpu"}, 5]}, 1, 0, True),
        ({"mediatedDevices": [MEDIATED, {}, None]}, 0, 1, True),
        ({"pciHostDevices": "x", "mediatedDevices": [MEDIATED]}, 0, 0, True),
        ("x", 0, 0, True),
    ],
)
def test_a_kubevirt_object_is_its_rows(
    table: object, pci: int, mediated: int, problem: bool
) -> None:
    """KV-02: no table, only mediated devices, only USB, broken rows: no crash, the rest counts."""
    value, found = kubevirt_of(table)
    assert value.pci == (PCIRow(vendor_selector="10DE:26B9", resource_name="x.com/gpu"),) * pci
    assert value.mediated == ("x.com/vgpu",) * mediated
    assert bool(found) is problem
    assert (value.namespace, value.name, value.created) == ("kubevirt", "kubevirt", CREATED)


def test_a_secret_is_its_place_alone() -> None:
    """Its content is not even looked at: it may have any shape."""
    decoded = decode(Kind.SECRET, in_json(a_secret("tenant-a", "gpu-license")))
    assert decoded.value == decoded.ref == Ref("tenant-a", "gpu-license")
    assert decode(Kind.SECRET, b"{}").problem


def test_a_cluster_scoped_object_is_placed_by_its_name() -> None:
    """A namespace in it, which no API server would let through, does not move it."""
    value = a_tenant("tenant-a")
    value["metadata"]["namespace"] = "x"
    assert decode(Kind.GPU_TENANT, in_json(value)).ref == Ref("", "tenant-a")


@pytest.mark.parametrize(
    ("api_version", "kind", "found"),
    [
        ("v1", "Pod", Kind.POD),
        ("kubevirt.io/v1", "KubeVirt", Kind.KUBEVIRT),
        ("kubevirt.io/v1alpha3", "VirtualMachineInstance", Kind.VMI),
        ("metrics.k8s.io/v1", "Pod", None),
        ("v1", "ConfigMap", None),
    ],
)
def test_kinds_are_told_by_group_and_kind(api_version: str, kind: str, found: Kind | None) -> None:
    """A kind of the same name in another group is another kind."""
    assert kind_named(api_version, kind) is found


def test_the_core_group_has_no_name() -> None:
    """v1 alone is a version."""
    assert group_of("v1") == ""
    assert group_of("a.b/v1") == "a.b"


WHOLE: dict[Kind, dict[str, Any]] = {
    Kind.GPU_CLASS: a_class(),
    Kind.GPU_TENANT: a_tenant("tenant-a", budgets=[{"className": "a", "units": 1}]),
    Kind.HELM_RELEASE: a_release("tenant-root", "tenant-a"),
    Kind.RESOURCE_QUOTA: a_quota("tenant-a", {"requests.x.com/gpu": "1"}),
    Kind.KUBEVIRT: a_kubevirt({"pciHostDevices": [PCI]}),
    Kind.VMI: a_vmi("[]", spec={"domain": {"devices": {"gpus": [{"name": "a"}]}}}),
    Kind.POD: a_pod(),
    Kind.NODE: a_node(),
    Kind.SECRET: a_secret("tenant-a", "license"),
}

JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["name", "key", "x.com/gpu", "spec"]), inner, max_size=3)
    ),
    max_leaves=6,
)


def paths(value: object, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    """Return the way to every part of a value below its metadata's name and namespace."""
    found: list[tuple[str | int, ...]] = [path] if path else []
    if isinstance(value, dict):
        for key, inner in value.items():
            found += paths(inner, (*path, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            found += paths(inner, (*path, index))
    kept = [("metadata",), ("metadata", "name"), ("metadata", "namespace")]
    return [each for each in found if each not in kept]


def replaced(value: Any, path: tuple[str | int, ...], junk: object) -> Any:
    """Return a value with one part of it replaced."""
    if not path:
        return junk
    copy: Any = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = replaced(value[path[0]], path[1:], junk)
    return copy


@given(data=st.data(), kind=st.sampled_from(Kind), junk=JUNK)
def test_junk_in_any_field_never_raises_and_never_hides_a_workload(
    data: st.DataObject, kind: Kind, junk: object
) -> None:
    """Bad input: one bad object spoils only itself, and never makes a figure too good."""
    whole = WHOLE[kind]
    broken = replaced(whole, data.draw(st.sampled_from(paths(whole))), junk)
    decoded = decode(kind, in_json(broken))
    assert decoded.ref.name == whole["metadata"]["name"]
    if kind is Kind.VMI:
        assert isinstance(decoded.value, VMI)
    if kind is Kind.POD and decoded.value is None:
        assert not requests_a_device(broken)
    if kind is Kind.POD and decoded.problem:
        assert isinstance(decoded.value, Pod)
        assert not decoded.value.readable


def requests_a_device(pod: Any) -> bool:
    """Return whether a pod states an amount of the device other than nothing."""
    try:
        amount = pod["spec"]["containers"][0]["resources"]["requests"]["x.com/gpu"]
    except (KeyError, IndexError, TypeError):
        return False
    return amount not in (0, "0", 0.0)


@given(kind=st.sampled_from(Kind), junk=JUNK)
def test_anything_in_place_of_an_object_does_not_raise(kind: Kind, junk: object) -> None:
    """Not even what has no metadata; what is not understood says so."""
    for whole in (junk, {"metadata": junk, "spec": junk, "status": junk}):
        decoded = decode(kind, in_json(whole))
        # Most quotas and releases are no tenant's, most pods ask for no device: nothing is wrong.
        unread = kind in (Kind.RESOURCE_QUOTA, Kind.HELM_RELEASE, Kind.POD)
        assert decoded.value is not None or decoded.problem or unread
