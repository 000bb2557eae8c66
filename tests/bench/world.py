"""One cluster in four sizes, the same at every run: what the benches measure against."""

from dataclasses import dataclass
from enum import Enum
from random import Random
from typing import Final

from storage.model.entries import ClassEntry
from storage.model.names import ROOT_TENANT
from storage.model.objects import (
    VMI,
    GPUClass,
    KubeVirt,
    Mode,
    Node,
    PCIRow,
    Pod,
    Taint,
    TenantRecord,
    Toleration,
)
from storage.model.snapshot import ClusterSnapshot

CLASSES: Final = 20
MAX_DEPTH: Final = 6
BOUNDED_SHARE: Final = 0.3
LICENSE: Final = "license"
DEDICATED: Final = Taint(key="gpu.example.com/dedicated", value="vm", effect="NoSchedule")

_CREATED: Final = "2026-01-01T00:00:00Z"


@dataclass(frozen=True, slots=True)
class Shape:
    """How much of everything there is."""

    nodes: int
    tenants: int
    vms: int


class Size(Enum):
    """The sizes of performance section 1."""

    S = Shape(10, 100, 1_000)
    M = Shape(100, 300, 5_000)
    L = Shape(1_000, 1_000, 10_000)
    XL = Shape(5_000, 5_000, 100_000)


def class_name(number: int) -> str:
    """Return the name of a class."""
    return f"class{number}"


def resource(number: int) -> str:
    """Return the resource that a class stands for."""
    return f"nvidia.com/GPU{number}"


def a_world(shape: Shape, seed: int = 1) -> ClusterSnapshot:
    """Return a cluster: each VM has an entry of one class and a launcher pod on some node."""
    random = Random(seed)  # noqa: S311 - a world to measure, no secret
    tenants = _tenants(shape, random)
    vmis, pods = _vms(shape, [record.namespace for record in tenants], random)
    return ClusterSnapshot(
        classes=tuple(_class(number) for number in range(CLASSES)),
        kubevirts=(
            KubeVirt(
                namespace="kubevirt",
                name="kubevirt",
                created=_CREATED,
                pci=tuple(
                    PCIRow(vendor_selector="10DE:26B9", resource_name=resource(n))
                    for n in range(CLASSES)
                ),
            ),
        ),
        tenants=tenants,
        vmis=vmis,
        pods=pods,
        nodes=tuple(_node(number) for number in range(shape.nodes)),
        licenses={LICENSE: frozenset(record.namespace for record in tenants[::2])},
    )


def _class(number: int) -> GPUClass:
    vgpu = number % 4 == 3
    return GPUClass(
        name=class_name(number),
        uid=f"uid-{number}",
        created=_CREATED,
        vendor="nvidia",
        mode=Mode.VGPU if vgpu else Mode.PASSTHROUGH,
        resource_name=resource(number),
        max_count=8,
        allowed_counts=(1, 2, 4, 8) if number % 2 else None,
        tolerations=(Toleration(key=DEDICATED.key, exists=True),),
        license_secret=LICENSE if vgpu else None,
    )


def _node(number: int) -> Node:
    """Return a node with devices of two classes."""
    offered = (number % CLASSES, (number + 7) % CLASSES)
    return Node(
        name=f"node-{number}",
        unschedulable=number % 50 == 0,
        ready=number % 40 != 0,
        kubevirt_schedulable=True,
        taints=(DEDICATED,),
        allocatable=tuple(sorted((resource(each), 16) for each in offered)),
    )


def _tenants(shape: Shape, random: Random) -> tuple[TenantRecord, ...]:
    """Return a tree; a bounded tenant declares one to four classes."""
    records = [
        TenantRecord(
            key=ROOT_TENANT,
            namespace=ROOT_TENANT,
            budgets=tuple((class_name(n), shape.vms) for n in range(CLASSES)),
        )
    ]
    shallow = [(ROOT_TENANT, 1)]
    for number in range(1, shape.tenants):
        parent, depth = random.choice(shallow)
        prefix = "tenant" if parent == ROOT_TENANT else parent
        namespace = f"{prefix}-t{number}"
        if depth + 1 < MAX_DEPTH:
            shallow.append((namespace, depth + 1))
        declared = random.sample(range(CLASSES), random.randint(1, 4))
        bounded = random.random() < BOUNDED_SHARE
        records.append(
            TenantRecord(
                key=namespace,
                namespace=namespace,
                parent=parent,
                budgets=tuple(sorted((class_name(n), random.randint(5, 60)) for n in declared))
                if bounded
                else (),
                entitlements=tuple(class_name(n) for n in range(3, CLASSES, 4))
                if number % 3
                else (),
            )
        )
    return tuple(records)


def _vms(
    shape: Shape, namespaces: list[str], random: Random
) -> tuple[tuple[VMI, ...], tuple[Pod, ...]]:
    vmis: list[VMI] = []
    pods: list[Pod] = []
    for number in range(shape.vms):
        wanted = random.randrange(CLASSES)
        vmis.append(a_vm(number, random.choice(namespaces), wanted, random.randint(1, 2)))
        pods.append(a_launcher(vmis[-1], f"node-{random.randrange(shape.nodes)}", wanted))
    return tuple(vmis), tuple(pods)


def a_vm(number: int, namespace: str, wanted: int, count: int) -> VMI:
    """Return a running VM with units of one class."""
    return VMI(
        namespace=namespace,
        name=f"vm-{number}",
        uid=f"vm-uid-{number}",
        annotated=True,
        entries=(ClassEntry(class_name(wanted), count),),
    )


def a_launcher(vmi: VMI, node: str, wanted: int) -> Pod:
    """Return a VM's pod on a node."""
    count = vmi.entries[0].count if vmi.entries else 0
    return Pod(
        namespace=vmi.namespace,
        name=f"launcher-{vmi.name}",
        uid=f"pod-{vmi.uid}",
        node=node,
        vmi_uid=vmi.uid,
        requests=((resource(wanted), count),),
    )
