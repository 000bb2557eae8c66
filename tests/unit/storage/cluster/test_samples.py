"""The sample cluster, from files to the snapshot."""

import shutil
from pathlib import Path

import pytest

from storage.cluster.cache import ClusterCache
from storage.cluster.files import FileSource
from storage.cluster.tenants import CozystackReader, GPUTenantReader, TenantReader
from storage.model.entries import ClassEntry
from storage.model.objects import VMI, GPUClass, Mode, Pod, TenantRecord, Toleration
from storage.model.snapshot import ClusterSnapshot, Source

SAMPLES = Path(__file__).parents[3] / "data" / "samples"
L40S, HALF = "nvidia.com/AD102GL_L40S", "nvidia.com/L40S-24Q"
H200 = "nvidia.com/GH100_H200_SXM_141GB"


def snapshot(directory: Path, numbers: str, reader: TenantReader) -> ClusterSnapshot:
    """Return what the cache makes of some of the samples."""
    for number in numbers.split():
        for sample in SAMPLES.glob(f"{number}-*.yaml"):
            shutil.copy(sample, directory)
    cache = ClusterCache(tenants=reader, clock=lambda: 0.0)
    for event in FileSource(directory).load().events:
        cache.apply(event)
    assert set(cache.undecodable().values()) == {0}
    return cache.snapshot()


@pytest.fixture
def cluster(tmp_path: Path) -> ClusterSnapshot:
    """Return the one cluster of the samples."""
    return snapshot(tmp_path, "10 20 30 40 50 60 70", GPUTenantReader())


def test_everything_is_known(cluster: ClusterSnapshot) -> None:
    """A directory is a whole cluster."""
    assert cluster.known == frozenset(Source)
    assert cluster.licenses == {"gpu-license-vws": frozenset({"tenant-acme"})}


def test_the_nodes_are_what_the_file_says_of_each(cluster: ClusterSnapshot) -> None:
    """One node for each rule of the capacity figure."""
    assert {
        node.name: (
            dict(node.allocatable),
            node.ready,
            node.unschedulable,
            node.kubevirt_schedulable,
            len(node.taints),
        )
        for node in cluster.nodes
    } == {
        "zq-alder": ({L40S: 8}, True, False, True, 1),
        "zq-birch": ({L40S: 6}, True, False, True, 1),
        "zq-cedar": ({L40S: 8}, True, True, True, 2),
        "zq-dogwood": ({HALF: 16}, True, False, True, 1),
        "zq-elm": ({H200: 8}, False, False, True, 3),
        "zq-fir": ({H200: 8}, True, False, True, 2),
        "zq-gorse": ({HALF: 2}, True, False, True, 1),
        "zq-hazel": ({L40S: 8}, True, False, False, 1),
        "zq-iris": ({}, True, False, True, 0),
    }


def test_the_classes_and_the_table(cluster: ClusterSnapshot) -> None:
    """Without time and uid, which files do not give."""
    assert {each.name: (each.mode, each.allowed_counts) for each in cluster.classes} == {
        "l40s": (Mode.PASSTHROUGH, None),
        "l40s-24q": (Mode.VGPU, None),
        "h200": (Mode.PASSTHROUGH, (1, 2, 4, 8)),
    }
    (l40s,) = (each for each in cluster.classes if each.name == "l40s")
    assert l40s == GPUClass(
        name="l40s",
        uid=l40s.uid,
        created="2000-01-01T00:00:00Z",
        vendor="nvidia",
        mode=Mode.PASSTHROUGH,
        resource_name=L40S,
        max_count=4,
        memory_per_unit="48Gi",
        display_name="NVIDIA L40S 48 GB",
        description="A whole L40S card. Rendering and mid-size inference.",
        tolerations=(
            Toleration(
                key="gpu.example.com/dedicated", exists=False, value="zq-vm", effect="NoSchedule"
            ),
        ),
    )
    (kubevirt,) = cluster.kubevirts
    assert [row.resource_name for row in kubevirt.pci] == [
        L40S,
        H200,
        HALF,
        "nvidia.com/GH100_H100_NVSWITCH",
        "mellanox.com/CX6DX_VF",
    ]
    assert kubevirt.mediated == ("nvidia.com/A40-24Q",)


def test_the_tree_of_tenants(cluster: ClusterSnapshot) -> None:
    """Parents, budgets and entitlements as stated."""
    assert {
        each.namespace: (each.parent, dict(each.budgets), each.entitlements)
        for each in cluster.tenants
    } == {
        "tenant-root": (None, {"l40s": 20}, ()),
        "tenant-acme": ("tenant-root", {"l40s": 8, "l40s-24q": 4}, ("l40s-24q",)),
        "tenant-acme-dev": ("tenant-acme", {}, ()),
        "tenant-acme-prod": ("tenant-acme", {"l40s": 4}, ()),
        "tenant-zeta": ("tenant-root", {}, ()),
    }


def test_the_vmis(cluster: ClusterSnapshot) -> None:
    """QB-02: the finished one is told; the raw one has no entries."""

    def brief(vmi: VMI) -> tuple[bool, tuple[ClassEntry, ...] | None, int]:
        return vmi.final, vmi.entries, len(vmi.devices)

    assert {each.name.removeprefix("vm-instance-"): brief(each) for each in cluster.vmis} == {
        "train1": (False, (ClassEntry("l40s", 2),), 2),
        "nb": (False, (ClassEntry("l40s", 1),), 1),
        "infer": (False, (ClassEntry("l40s", 3),), 3),
        "batch": (True, (ClassEntry("l40s", 1),), 1),
        "raw": (False, None, 1),
        "desk": (False, (ClassEntry("l40s-24q", 1),), 1),
    }


def test_the_pods(cluster: ClusterSnapshot) -> None:
    """Launchers by their VMI, the one that is being deleted, no hotplug pod."""

    def brief(pod: Pod) -> tuple[str | None, bool, str | None, tuple[tuple[str, int], ...]]:
        number = pod.vmi_uid[-1] if pod.vmi_uid else None
        return pod.node, pod.final, number, pod.requests

    assert {each.name.removeprefix("virt-launcher-vm-"): brief(each) for each in cluster.pods} == {
        "instance-train1-x7k2p": ("zq-alder", False, "1", ((L40S, 2),)),
        "instance-nb-5q9wz": (None, False, "2", ((L40S, 1),)),
        "instance-infer-m2v8c": ("zq-birch", False, "3", ((L40S, 3),)),
        "instance-batch-9xk4d": ("zq-alder", True, "4", ((L40S, 1),)),
        "instance-raw-t6b1n": ("zq-alder", False, "5", ((L40S, 1),)),
        "instance-desk-c3h7s": ("zq-dogwood", False, "6", ((HALF, 1),)),
        "instance-desk-w8r5j": ("zq-gorse", False, "6", ((HALF, 1),)),
        "cuda-job-1": ("zq-birch", False, None, ((L40S, 1),)),
        "nvidia-sandbox-validator-probe": ("zq-alder", True, None, ((L40S, 1),)),
    }
    (deleted,) = (each for each in cluster.pods if each.charged_until_ms is not None)
    assert deleted.charged_until_ms == 4_949_373_655_000


def test_the_platforms_storage_says_the_same(tmp_path: Path) -> None:
    """Domain 2.3b: release and quota give the record that a GPUTenant gives."""
    cluster = snapshot(tmp_path, "30 41", CozystackReader())
    assert cluster.tenants == (
        TenantRecord(
            key="HelmRelease/tenant-acme/tenant-prod",
            namespace="tenant-acme-prod",
            parent="tenant-acme",
            budgets=(("l40s", 4),),
        ),
    )


def test_the_classes_at_the_edge(tmp_path: Path) -> None:
    """Conflict and missing permission are the calculation's to find; a broken name is left out."""
    for sample in ("30-gpuclasses.yaml", "31-gpuclasses-edge.yaml"):
        shutil.copy(SAMPLES / sample, tmp_path)
    cache = ClusterCache(tenants=GPUTenantReader(), clock=lambda: 0.0)
    for event in FileSource(tmp_path).load().events:
        cache.apply(event)
    assert {each.name: each.terminating for each in cache.snapshot().classes} == {
        "l40s": False,
        "l40s-24q": False,
        "h200": False,
        "l40s-cheap": False,
        "mi300x": False,
        "a40-24q": True,
    }
    assert sum(cache.undecodable().values()) == 1
