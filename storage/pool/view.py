"""One state of the calculation, kept current change by change (design 5).

Owns the order in which parts learn of changes, and what each part is worth while a source cannot be
believed; the rules themselves are in `usage`, `pools`, `capacity`, `offers` and `verdict`. A view
that was given changes equals one that is made of the resulting snapshot.
"""

from dataclasses import replace
from typing import Final, TypeVar, assert_never

from storage.model.names import is_tenant_namespace, parent_by_name
from storage.model.objects import VMI, GPUClass, KubeVirt, Mode, Node, Pod, TenantRecord
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
from storage.pool.answers import (
    UNKNOWN_CAPACITY,
    Budget,
    BudgetState,
    Capacity,
    ChangedParts,
    Entitlement,
    License,
    Offer,
    PoolFigures,
)
from storage.pool.capacity import CapacityLedger
from storage.pool.changes import Parts, Told
from storage.pool.offers import Catalogue
from storage.pool.pools import UNBOUNDED, UNKNOWN, Pools
from storage.pool.usage import UsageLedger
from storage.pool.verdict import Facts

T = TypeVar("T")


class PoolView:
    """What the options of every namespace and class are made of; one writer, no waiting.

    Reading never changes what `take_changed` will report.
    """

    def __init__(self, policy: Policy, now_ms: int) -> None:
        """Begin with nothing known; use `of` for a state of the cluster."""
        self._policy: Final = policy
        self._known: Final[set[Source]] = set()
        self._catalogue: Final = Catalogue()
        self._capacity: Final = CapacityLedger()
        self._usage: Final = UsageLedger(now_ms)
        self._records: Final[dict[str, TenantRecord]] = {}
        self._vmis: Final[dict[str, VMI]] = {}
        self._pods: Final[dict[str, Pod]] = {}
        self._nodes: Final[dict[str, Node]] = {}
        self._licenses: Final[dict[str, frozenset[str] | None]] = {}
        self._pools = Pools((), ())
        self._tenants_moved = False
        self._told = Told(self._parts())

    @classmethod
    def of(cls, snapshot: ClusterSnapshot, policy: Policy) -> "PoolView":
        """Return the view of a snapshot, in linear time; nothing counts as changed yet."""
        view = cls(policy, snapshot.now_ms)
        view._known.update(snapshot.known)
        view._licenses.update(snapshot.licenses)
        for vmi in snapshot.vmis:
            view._set_vmi(key_of(vmi)[1], vmi)
        # Pods before nodes, and nodes before classes: each is then looked at once.
        for pod in snapshot.pods:
            view._set_pod(key_of(pod)[1], pod)
        for node in snapshot.nodes:
            view._set_node(key_of(node)[1], node)
        for gpu_class in snapshot.classes:
            view._set_class(key_of(gpu_class)[1], gpu_class)
        for kubevirt in snapshot.kubevirts:
            view._catalogue.replace_kubevirt(key_of(kubevirt)[1], kubevirt)
        for record in snapshot.tenants:
            view._set_record(key_of(record)[1], record)
        view._told = Told(view._parts())
        return view

    def apply(self, change: Change) -> None:
        """Take one change. What is dropped and not there changes nothing."""
        match change:
            case Put(obj):
                self._put(obj)
            case Drop(source, key):
                self._drop(source, key)
            case Known(source, known):
                (self._known.add if known else self._known.discard)(source)
            case Licenses(secret_name, namespaces):
                self._licenses[secret_name] = namespaces
            case Tick(now_ms):
                self._usage.tick(now_ms)
            case _:
                assert_never(change)

    @property
    def policy(self) -> Policy:
        """What flags decide."""
        return self._policy

    @property
    def offers_readable(self) -> bool:
        """Whether classes and the KubeVirt object can be believed now."""
        return self.known(Source.CLASSES) and self.known(Source.KUBEVIRT)

    def known(self, source: Source) -> bool:
        """Whether a source may be believed now."""
        return source in self._known

    def next_expiry_ms(self) -> int | None:
        """Return the first moment at which a pod is no longer charged: when a Tick is due (E25)."""
        return self._usage.next_expiry_ms()

    def gpu_class(self, name: str) -> GPUClass | None:
        """Return a class, terminating or not."""
        return self._catalogue.gpu_class(name)

    def offers(self) -> tuple[str, ...]:
        """Return the names of the classes that are not terminating, sorted."""
        return self._catalogue.names()

    def offer(self, class_name: str) -> Offer | None:
        """Return an offer; None: no such class, or terminating."""
        return self._catalogue.offer(class_name, readable=self.offers_readable)

    def capacity(self, class_name: str) -> Capacity:
        """Return free units; unknown while nodes or pods are, and where there is no such class."""
        if not self._known >= {Source.NODES, Source.PODS}:
            return UNKNOWN_CAPACITY
        return self._capacity.capacity(class_name) or UNKNOWN_CAPACITY

    def tenants(self) -> tuple[str, ...]:
        """Return the tenant namespaces with at least one record, sorted."""
        return tuple(sorted(self._current_pools().tree.namespaces))

    def lineage(self, namespace: str) -> tuple[str, ...]:
        """Return the namespaces whose `tenants` and `links` of ChangedParts a namespace goes by.

        Itself if it has a record, else also those above it by name up to the first that has one.
        Nothing for what is no tenant's namespace.
        """
        recorded = self._current_pools().tree.namespaces
        found: list[str] = []
        at = namespace if is_tenant_namespace(namespace) else None
        while at is not None:
            found.append(at)
            at = None if at in recorded else parent_by_name(at)
        return tuple(found)

    def link(self, namespace: str, class_name: str) -> str | None:
        """Return the root of the pool that a namespace draws from.

        None where its budget is unbounded, and where it is unknown or ambiguous for a reason other
        than the pool itself.
        """
        if not self.known(Source.TENANTS):
            return None
        pool = self._current_pools().roots(namespace).get(class_name)
        return None if pool is None else pool.root

    def budget(self, namespace: str, class_name: str) -> Budget:
        """Return what is left. What is no tenant's namespace is unbounded, whatever can be read.

        Unbounded and ambiguous need the tenants alone, bounded the VMIs and pods too (domain 4.5).
        """
        if not is_tenant_namespace(namespace):
            return UNBOUNDED
        if not self.known(Source.TENANTS):
            return UNKNOWN
        budget = self._current_pools().budget(namespace, class_name)
        if budget.state is BudgetState.BOUNDED and not self._usage_readable:
            return UNKNOWN
        return budget

    def entitlement(self, namespace: str, class_name: str) -> Entitlement:
        """Return whether a namespace may use a class; only those of mode vgpu need it granted."""
        gpu_class = self._catalogue.gpu_class(class_name)
        if gpu_class is None or gpu_class.mode is not Mode.VGPU:
            return Entitlement.NOT_REQUIRED
        if not is_tenant_namespace(namespace):
            return Entitlement.MISSING
        if not self.known(Source.TENANTS):
            return Entitlement.UNKNOWN
        granted = class_name in self._current_pools().entitled(namespace)
        return Entitlement.GRANTED if granted else Entitlement.MISSING

    def license(self, namespace: str, class_name: str) -> License:
        """Return whether the Secret that a class needs is in a namespace."""
        gpu_class = self._catalogue.gpu_class(class_name)
        if gpu_class is None or gpu_class.license_secret is None:
            return License.NOT_REQUIRED
        namespaces = self._licenses.get(gpu_class.license_secret)
        if namespaces is None:
            return License.UNKNOWN
        return License.READY if namespace in namespaces else License.MISSING

    def pool(self, root: str, class_name: str) -> PoolFigures | None:
        """Return a pool as the hoster sees it; None where the root declares no such budget."""
        figures = self._current_pools().figures(root, class_name)
        readable = self.known(Source.TENANTS) and self._usage_readable
        return figures if figures is None or readable else replace(figures, remaining=None)

    def facts(self, namespace: str, class_name: str) -> Facts | None:
        """Return what the option of a namespace for a class is made of; None: there is no offer."""
        offer = self.offer(class_name)
        if offer is None:
            return None
        return Facts(
            offer=offer,
            capacity=self.capacity(class_name),
            budget=self.budget(namespace, class_name),
            entitlement=self.entitlement(namespace, class_name),
            license=self.license(namespace, class_name),
        )

    def take_changed(self) -> ChangedParts:
        """Return what differs from the last call, or from the snapshot at the first one."""
        return self._told.take(self._parts(), self._catalogue.licensed)

    @property
    def _usage_readable(self) -> bool:
        return self._known >= {Source.VMIS, Source.PODS}

    def _current_pools(self) -> Pools:
        """Return the pools with everything charged that was heard of."""
        classes_on = self._catalogue.classes_on
        moved = self._usage.take_moved()
        if self._tenants_moved:
            self._tenants_moved = False
            self._pools = Pools(
                self._records.values(),
                ((name, self._usage.usage(name, classes_on)) for name in self._usage.namespaces()),
            )
        else:
            for namespace in moved:
                self._pools.charge(namespace, self._usage.usage(namespace, classes_on))
        return self._pools

    def _parts(self) -> Parts:
        return Parts(
            believed=(self.known(Source.TENANTS), self._usage_readable),
            offers=self._catalogue.offers(readable=self.offers_readable),
            capacities={name: self.capacity(name) for name in self._catalogue.all_names()},
            licenses=dict(self._licenses),
            pools=self._current_pools(),
        )

    def _put(self, obj: Object) -> None:
        _, key = key_of(obj)
        match obj:
            case VMI():
                self._set_vmi(key, obj)
            case Pod():
                self._set_pod(key, obj)
            case Node():
                self._set_node(key, obj)
            case GPUClass():
                self._set_class(key, obj)
            case KubeVirt():
                self._catalogue.replace_kubevirt(key, obj)
            case TenantRecord():
                self._set_record(key, obj)
            case _:
                assert_never(obj)

    def _drop(self, source: Source, key: str) -> None:
        match source:
            case Source.VMIS:
                self._set_vmi(key, None)
            case Source.PODS:
                self._set_pod(key, None)
            case Source.NODES:
                self._set_node(key, None)
            case Source.CLASSES:
                self._set_class(key, None)
            case Source.KUBEVIRT:
                self._catalogue.replace_kubevirt(key, None)
            case Source.TENANTS:
                self._set_record(key, None)
            case _:
                assert_never(source)

    def _set_vmi(self, key: str, new: VMI | None) -> None:
        self._usage.replace_vmi(_exchange(self._vmis, key, new), new)

    def _set_pod(self, key: str, new: Pod | None) -> None:
        old = _exchange(self._pods, key, new)
        self._usage.replace_pod(old, new)
        self._capacity.replace_pod(old, new)

    def _set_node(self, key: str, new: Node | None) -> None:
        self._capacity.replace_node(_exchange(self._nodes, key, new), new)

    def _set_class(self, name: str, new: GPUClass | None) -> None:
        classes_on = self._catalogue.classes_on
        old = self._catalogue.replace_class(name, new)
        if old != new:
            self._capacity.replace_class(old, new)
        if self._catalogue.classes_on != classes_on:
            self._usage.resources_moved()

    def _set_record(self, key: str, new: TenantRecord | None) -> None:
        """Take a record; one of what can be no tenant's namespace says nothing (domain 2.4)."""
        if new is not None and not is_tenant_namespace(new.namespace):
            new = None
        if _exchange(self._records, key, new) != new:
            self._tenants_moved = True


def _exchange(objects: dict[str, T], key: str, new: T | None) -> T | None:
    """Put an object under its key, or take what is there away; return what was there."""
    old = objects.pop(key, None)
    if new is not None:
        objects[key] = new
    return old
