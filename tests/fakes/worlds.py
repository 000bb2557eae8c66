"""Small clusters for tests of the calculation: a builder for each object, and what holds them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from storage.model.entries import ClassEntry
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
from storage.model.snapshot import (
    Change,
    ClusterSnapshot,
    Drop,
    Known,
    Licenses,
    Object,
    Policy,
    Put,
    Source,
    Tick,
    key_of,
)
from storage.pool.answers import Budget, BudgetState
from storage.pool.view import PoolView

CREATED: Final = "2026-01-01T00:00:00Z"
RESOURCE: Final = "nvidia.com/L40S"


def a_class(
    name: str = "l40s",
    resource: str = RESOURCE,
    *,
    max_count: int = 8,
    allowed: tuple[int, ...] | None = None,
    vgpu: bool = False,
    tolerations: tuple[Toleration, ...] = (),
    license_secret: str | None = None,
    terminating: bool = False,
) -> GPUClass:
    """Return a class; passthrough, without a license, of any count up to 8."""
    return GPUClass(
        name=name,
        uid=f"uid-{name}",
        created=CREATED,
        vendor="nvidia",
        mode=Mode.VGPU if vgpu else Mode.PASSTHROUGH,
        resource_name=resource,
        max_count=max_count,
        allowed_counts=allowed,
        tolerations=tolerations,
        license_secret=license_secret,
        terminating=terminating,
    )


def a_kubevirt(
    *resources: str, mediated: tuple[str, ...] = (), selector: str = "10DE:26B9"
) -> KubeVirt:
    """Return a KubeVirt object that permits these PCI devices, `RESOURCE` where none is named."""
    rows = tuple(
        PCIRow(vendor_selector=selector, resource_name=each) for each in resources or (RESOURCE,)
    )
    return KubeVirt(
        namespace="kubevirt", name="kubevirt", created=CREATED, pci=rows, mediated=mediated
    )


def a_tenant(
    namespace: str,
    budgets: Mapping[str, int] | None = None,
    *,
    parent: str | None = None,
    entitlements: tuple[str, ...] = (),
    key: str | None = None,
    readable: bool = True,
    budget_readable: bool = True,
) -> TenantRecord:
    """Return the record of a tenant; its key is its namespace unless given."""
    return TenantRecord(
        key=key or namespace,
        namespace=namespace,
        parent=parent,
        budgets=tuple(sorted((budgets or {}).items())),
        entitlements=entitlements,
        readable=readable,
        budget_readable=budget_readable,
    )


def a_vmi(
    namespace: str,
    entries: Mapping[str, int] | None = None,
    *,
    name: str = "vm",
    raw: Sequence[str] = (),
    final: bool = False,
    readable: bool = True,
) -> VMI:
    """Return a VMI with class entries, or with raw devices and no annotation."""
    return VMI(
        namespace=namespace,
        name=name,
        uid=f"uid-{namespace}-{name}",
        final=final,
        annotated=entries is not None,
        entries=None if entries is None else tuple(ClassEntry(k, n) for k, n in entries.items()),
        devices=tuple(raw),
        readable=readable,
    )


def a_garbled_vmi(
    namespace: str, *, name: str = "vm", units: Sequence[str] = (), raw: Sequence[str] = ()
) -> VMI:
    """Return a VMI whose annotation cannot be read, with the names and devices of its GPUs."""
    return VMI(
        namespace=namespace,
        name=name,
        uid=f"uid-{namespace}-{name}",
        annotated=True,
        unit_names=tuple(units),
        devices=tuple(raw),
    )


def a_pod(
    namespace: str,
    requests: Mapping[str, int] | None = None,
    *,
    name: str = "pod",
    node: str | None = None,
    vmi: VMI | None = None,
    final: bool = False,
    charged_until_ms: int | None = None,
    readable: bool = True,
) -> Pod:
    """Return a pod; the launcher of a VMI where one is given."""
    return Pod(
        namespace=namespace,
        name=name,
        uid=f"uid-{namespace}-{name}",
        node=node,
        final=final,
        charged_until_ms=charged_until_ms,
        vmi_uid=vmi.uid if vmi else None,
        requests=tuple(sorted((requests or {}).items())),
        readable=readable,
    )


def a_node(
    name: str = "zq-node",
    allocatable: Mapping[str, int] | None = None,
    *,
    unschedulable: bool = False,
    deleting: bool = False,
    ready: bool = True,
    kubevirt_schedulable: bool = True,
    taints: tuple[Taint, ...] = (),
) -> Node:
    """Return a healthy node."""
    return Node(
        name=name,
        unschedulable=unschedulable,
        deleting=deleting,
        ready=ready,
        kubevirt_schedulable=kubevirt_schedulable,
        taints=taints,
        allocatable=tuple(sorted((allocatable or {}).items())),
    )


def a_cluster(
    *objects: Object,
    licenses: Mapping[str, frozenset[str] | None] | None = None,
    unknown: frozenset[Source] = frozenset(),
    now_ms: int = 0,
) -> ClusterSnapshot:
    """Return the cluster of these objects; every source is known but the named ones."""
    return ClusterSnapshot(
        classes=tuple(each for each in objects if isinstance(each, GPUClass)),
        kubevirts=tuple(each for each in objects if isinstance(each, KubeVirt)),
        tenants=tuple(each for each in objects if isinstance(each, TenantRecord)),
        vmis=tuple(each for each in objects if isinstance(each, VMI)),
        pods=tuple(each for each in objects if isinstance(each, Pod)),
        nodes=tuple(each for each in objects if isinstance(each, Node)),
        licenses=licenses or {},
        known=frozenset(Source) - unknown,
        now_ms=now_ms,
    )


def a_view(*objects: Object, policy: Policy | None = None, **rest: Any) -> PoolView:
    """Return the view of the cluster of these objects; the rest is as for `a_cluster`."""
    return PoolView.of(a_cluster(*objects, **rest), policy or Policy())


def bounded(remaining: int) -> Budget:
    """Return a budget with so much left."""
    return Budget(BudgetState.BOUNDED, remaining)


UNBOUNDED: Final = Budget(BudgetState.UNBOUNDED)
UNKNOWN: Final = Budget(BudgetState.UNKNOWN)
AMBIGUOUS: Final = Budget(BudgetState.AMBIGUOUS)


@dataclass(slots=True)
class MutableWorld:
    """A state of a cluster that takes changes as plainly as can be: the ground truth of tests."""

    objects: dict[tuple[Source, str], Object] = field(default_factory=dict)
    licenses: dict[str, frozenset[str] | None] = field(default_factory=dict)
    known: set[Source] = field(default_factory=set)
    now_ms: int = 0

    @classmethod
    def of(cls, snapshot: ClusterSnapshot) -> "MutableWorld":
        """Return the state of a snapshot."""
        objects: list[Object] = [
            *snapshot.classes,
            *snapshot.kubevirts,
            *snapshot.tenants,
            *snapshot.vmis,
            *snapshot.pods,
            *snapshot.nodes,
        ]
        return cls(
            {key_of(each): each for each in objects},
            dict(snapshot.licenses),
            set(snapshot.known),
            snapshot.now_ms,
        )

    def apply(self, change: Change) -> None:
        """Take a change."""
        match change:
            case Put(obj):
                self.objects[key_of(obj)] = obj
            case Drop(source, key):
                self.objects.pop((source, key), None)
            case Known(source, known):
                self.known = self.known | {source} if known else self.known - {source}
            case Licenses(secret_name, namespaces):
                self.licenses[secret_name] = namespaces
            case Tick(now_ms):
                self.now_ms = now_ms

    def snapshot(self) -> ClusterSnapshot:
        """Return the state as it is now."""
        made = a_cluster(*self.objects.values(), licenses=dict(self.licenses), now_ms=self.now_ms)
        return replace(made, known=frozenset(self.known))
