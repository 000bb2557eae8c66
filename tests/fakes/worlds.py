"""Small clusters for tests of the calculation: builders for one object each, and random worlds.

A random world is drawn from few names, so that everything meets everything: double owners, loops,
shared resource names, pods of VMIs that are not there.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from hypothesis import strategies as st

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


# Names that random worlds are drawn from.
NAMESPACES: Final = (
    "tenant-root",
    "tenant-a",
    "tenant-a-b",
    "tenant-a-b-c",
    "tenant-a-b-c-d",
    "tenant-a-e",
    "tenant-f",
    "tenant-f-g-h",
    "default",
)
#: Beside these, namespaces that nothing is ever recorded of or found in.
ASKED: Final = (*NAMESPACES, "tenant-f-g", "tenant-a-b-x", "tenant-y", "tenant-y-z")
CLASS_NAMES: Final = ("k1", "k2", "k3")
RESOURCES: Final = ("nvidia.com/R1", "nvidia.com/R2", "nvidia.com/R3")
NODES: Final = ("zq-1", "zq-2", "zq-3")
SECRETS: Final = ("license-1", "license-2")
UIDS: Final = ("u1", "u2", "u3", "u4")

_TAINTS: Final = tuple(
    Taint(key=key, value="v", effect=effect)
    for key in ("dedicated", "broken")
    for effect in ("NoSchedule", "PreferNoSchedule", "NoExecute")
)
_TOLERATIONS: Final = tuple(
    Toleration(key="dedicated", exists=exists, value="" if exists else value, effect=effect)
    for exists, value in ((True, ""), (False, "v"), (False, "w"))
    for effect in ("", "NoSchedule", "NoExecute")
)

_RARELY: Final = st.sampled_from((False, False, False, False, False, True))
_MOSTLY: Final = _RARELY.map(lambda rare: not rare)


def classes() -> st.SearchStrategy[GPUClass]:
    """Draw a class; now and then two name one resource."""
    return st.builds(
        a_class,
        name=st.sampled_from(CLASS_NAMES),
        resource=st.sampled_from(RESOURCES),
        max_count=st.integers(1, 12),
        allowed=st.none(),
        vgpu=st.booleans(),
        tolerations=st.lists(st.sampled_from(_TOLERATIONS), max_size=2).map(tuple),
        license_secret=st.none() | st.sampled_from(SECRETS),
        terminating=_RARELY,
    ).flatmap(_with_allowed)


def _with_allowed(gpu_class: GPUClass) -> st.SearchStrategy[GPUClass]:
    counts = st.sets(st.integers(1, gpu_class.max_count), min_size=1, max_size=4)
    allowed = st.none() | counts.map(lambda each: tuple(sorted(each)))
    return allowed.map(lambda each: replace(gpu_class, allowed_counts=each))


def kubevirts() -> st.SearchStrategy[KubeVirt]:
    """Draw a KubeVirt object: one of two names, one of two ages, rows of any selector."""
    rows = st.builds(
        PCIRow,
        vendor_selector=st.sampled_from(("10DE:26B9", "1002:7408", "15B3:101E", "10de:1", "")),
        resource_name=st.sampled_from(RESOURCES),
    )
    return st.builds(
        KubeVirt,
        namespace=st.just("kubevirt"),
        name=st.sampled_from(("one", "two")),
        created=st.sampled_from((CREATED, "2025-01-01T00:00:00Z")),
        pci=st.lists(rows, max_size=4).map(tuple),
        mediated=st.lists(st.sampled_from(RESOURCES), max_size=2).map(tuple),
    )


def tenants() -> st.SearchStrategy[TenantRecord]:
    """Draw a record: any parent, now and then a second owner or something unreadable."""
    budgets = st.dictionaries(st.sampled_from(CLASS_NAMES), st.integers(0, 12), max_size=3)
    return st.builds(
        a_tenant,
        namespace=st.sampled_from(NAMESPACES),
        budgets=budgets,
        parent=st.none() | st.none() | st.sampled_from(ASKED),
        entitlements=st.sets(st.sampled_from(CLASS_NAMES)).map(lambda names: tuple(sorted(names))),
        key=st.none() | st.none() | st.none() | st.sampled_from(("second", "third")),
        readable=_MOSTLY,
        budget_readable=_MOSTLY,
    )


def vmis() -> st.SearchStrategy[VMI]:
    """Draw a VMI: annotated, raw, garbled or unreadable."""
    entries = st.dictionaries(
        st.sampled_from(CLASS_NAMES), st.integers(1, 4), min_size=1, max_size=2
    ).map(lambda counts: tuple(ClassEntry(name, count) for name, count in counts.items()))
    units = st.builds("class-{}-{}".format, st.sampled_from(CLASS_NAMES), st.integers(0, 3))
    annotation = st.one_of(
        st.fixed_dictionaries({"annotated": st.just(True), "entries": entries}),
        st.fixed_dictionaries({"annotated": st.just(False)}),
        st.fixed_dictionaries(
            {
                "annotated": st.just(True),
                "unit_names": st.lists(units | st.just("gpu1"), max_size=3).map(tuple),
            }
        ),
    )
    common = st.fixed_dictionaries(
        {
            "namespace": st.sampled_from(NAMESPACES),
            "name": st.sampled_from(("vm-1", "vm-2")),
            "uid": st.sampled_from(UIDS),
            "final": _RARELY,
            "devices": st.lists(st.sampled_from(RESOURCES), max_size=3).map(tuple),
            "readable": _MOSTLY,
        }
    )
    return st.builds(lambda one, other: VMI(**one, **other), common, annotation)


def pods() -> st.SearchStrategy[Pod]:
    """Draw a pod: plain, a launcher of a VMI that may be there, or unreadable."""
    requests = st.dictionaries(st.sampled_from(RESOURCES), st.integers(1, 4), max_size=2)
    return st.builds(
        Pod,
        namespace=st.sampled_from(NAMESPACES),
        name=st.sampled_from(("pod-1", "pod-2", "pod-3")),
        uid=st.just("uid"),
        node=st.none() | st.sampled_from(NODES),
        final=_RARELY,
        charged_until_ms=st.none() | st.integers(0, 20),
        vmi_uid=st.none() | st.sampled_from(UIDS),
        requests=requests.map(lambda counts: tuple(sorted(counts.items()))),
        readable=_MOSTLY,
    )


def nodes() -> st.SearchStrategy[Node]:
    """Draw a node, more often fit than not."""
    return st.builds(
        a_node,
        name=st.sampled_from(NODES),
        allocatable=st.dictionaries(st.sampled_from(RESOURCES), st.integers(0, 8)),
        unschedulable=_RARELY,
        deleting=_RARELY,
        ready=_MOSTLY,
        kubevirt_schedulable=_MOSTLY,
        taints=st.lists(st.sampled_from(_TAINTS), max_size=2).map(tuple),
    )


def objects() -> st.SearchStrategy[Object]:
    """Draw any object."""
    return st.one_of(classes(), kubevirts(), tenants(), vmis(), pods(), nodes())


def licenses() -> st.SearchStrategy[frozenset[str] | None]:
    """Draw the namespaces that hold a Secret."""
    return st.none() | st.frozensets(st.sampled_from(ASKED))


def policies() -> st.SearchStrategy[Policy]:
    """Draw what flags decide."""
    return st.builds(Policy, admission_disabled=_RARELY)


def snapshots() -> st.SearchStrategy[ClusterSnapshot]:
    """Draw a state of a cluster; now and then a source is not known."""
    return st.builds(
        lambda drawn, held, unknown, now_ms: MutableWorld(
            {key_of(each): each for each in drawn}, held, set(Source) - unknown, now_ms
        ).snapshot(),
        st.tuples(
            *(
                st.lists(kind, max_size=size)
                for kind, size in (
                    (classes(), 4),
                    (kubevirts(), 2),
                    (tenants(), 9),
                    (vmis(), 7),
                    (pods(), 6),
                    (nodes(), 4),
                )
            )
        ).map(lambda lists: [each for some in lists for each in some]),
        st.dictionaries(st.sampled_from(SECRETS), licenses()),
        st.just(frozenset()) | st.just(frozenset()) | st.frozensets(st.sampled_from(Source)),
        st.integers(0, 20),
    )


def drops() -> st.SearchStrategy[Drop]:
    """Draw the end of an object that may be there."""
    return objects().map(lambda obj: Drop(*key_of(obj)))


def changes() -> st.SearchStrategy[Change]:
    """Draw a change, most often of an object."""
    return st.one_of(
        objects().map(Put),
        objects().map(Put),
        drops(),
        st.builds(Known, st.sampled_from(Source), _MOSTLY),
        st.builds(Licenses, st.sampled_from(SECRETS), licenses()),
        st.builds(Tick, st.integers(0, 20)),
    )
