"""Capacity by physics (domain 3.4): which units of a class are free on nodes that can take it.

Sums are kept by resource name, as nodes and pods state them; a class only looks at one of them.
"""

from collections.abc import Collection, Iterable
from typing import Final

from storage.model.objects import GPUClass, Node, Pod, Taint, Toleration
from storage.model.quantity import MAX_QUANTITY
from storage.pool.answers import Capacity
from storage.pool.counts import add

_REPELLING: Final = frozenset({"NoSchedule", "NoExecute"})


def tolerates(toleration: Toleration, taint: Taint) -> bool:
    """Whether a toleration covers a taint; an empty effect covers every effect."""
    return (
        toleration.key == taint.key
        and toleration.effect in ("", taint.effect)
        and (toleration.exists or toleration.value == taint.value)
    )


def eligible(node: Node, tolerations: Collection[Toleration]) -> bool:
    """Whether a node can take VMs of a class with these tolerations: domain's eligible(n,k)."""
    return (
        not node.unschedulable
        and not node.deleting
        and node.ready
        and node.kubevirt_schedulable
        and all(
            any(tolerates(toleration, taint) for toleration in tolerations)
            for taint in node.taints
            if taint.effect in _REPELLING
        )
    )


def held_on(pod: Pod) -> str | None:
    """Return the node where a pod holds what it requests, being deleted or not; None: nowhere."""
    return None if pod.final else pod.node


def free(allocatable: int, held: int) -> int:
    """Return a node's free units: one with more pods than healthy devices has none, not fewer."""
    return max(allocatable - held, 0)


class _Held:
    """What the pods of one node hold; the node itself may be unknown."""

    __slots__ = ("units", "unread")

    def __init__(self) -> None:
        self.units: dict[str, int] = {}  # by resource
        self.unread = 0  # pods of which it cannot be told what they hold


class _ClassCapacity:
    """The free units of one class on each node that can take it."""

    __slots__ = ("free", "gpu_class", "nodes_with", "total")

    def __init__(self, gpu_class: GPUClass) -> None:
        self.gpu_class = gpu_class
        self.free: dict[str, int] = {}  # by node
        self.nodes_with: dict[int, int] = {}  # how many nodes have exactly so many free units
        self.total = 0

    def set(self, node: str, units: int | None) -> None:
        """Note what a node has free; None: it cannot take the class."""
        before = self.free.pop(node, None)
        if before is not None:
            self.total -= before
            self.nodes_with[before] -= 1
            if not self.nodes_with[before]:
                del self.nodes_with[before]
        if units is not None:
            self.free[node] = units
            self.total += units
            self.nodes_with[units] = self.nodes_with.get(units, 0) + 1

    def capacity(self) -> Capacity:
        """Return free(k) and largest(k); both 0 where no node can take the class."""
        return Capacity(min(self.total, MAX_QUANTITY), max(self.nodes_with, default=0))


class CapacityLedger:
    """The capacity of every class, kept current change by change."""

    def __init__(self) -> None:
        self._nodes: dict[str, Node] = {}
        self._held: dict[str, _Held] = {}  # by node
        self._on_resource: dict[str, dict[str, _ClassCapacity]] = {}  # then by class
        self._nodes_with: dict[str, set[str]] = {}  # by resource: nodes that advertise it
        self._classes: dict[str, _ClassCapacity] = {}
        self._astray = 0  # pods that may hold devices on any node

    def capacity(self, class_name: str) -> Capacity | None:
        """Return the capacity of a class, terminating or not; None: it is not known."""
        held = self._classes.get(class_name)
        return None if held is None or self._astray else held.capacity()

    def replace_class(self, old: GPUClass | None, new: GPUClass | None) -> None:
        """Take a class in the place of what had its name; looks at every node with its resource."""
        if old is not None:
            del self._classes[old.name]
            del self._on_resource[old.resource_name][old.name]
        if new is not None:
            fresh = self._classes[new.name] = _ClassCapacity(new)
            self._on_resource.setdefault(new.resource_name, {})[new.name] = fresh
            for name in self._nodes_with.get(new.resource_name, ()):
                self._look(self._nodes[name], new.resource_name, (fresh,))

    def replace_node(self, old: Node | None, new: Node | None) -> None:
        """Take a node in the place of what had its name."""
        if old is not None:
            del self._nodes[old.name]
            for resource, _ in old.allocatable:
                self._nodes_with[resource].discard(old.name)
                for capacity in self._on(resource):
                    capacity.set(old.name, None)
        if new is not None:
            self._nodes[new.name] = new
            for resource, _ in new.allocatable:
                self._nodes_with.setdefault(resource, set()).add(new.name)
                self._look(new, resource, self._on(resource))

    def replace_pod(self, old: Pod | None, new: Pod | None) -> None:
        """Take a pod in the place of what was there under its key."""
        if old is not None:
            self._count(old, -1)
        if new is not None:
            self._count(new, 1)

    def _count(self, pod: Pod, sign: int) -> None:
        if pod.astray and not pod.final:
            self._astray += sign
        name = held_on(pod)
        if name is None:
            return
        held = self._held.get(name)
        if held is None:
            held = self._held[name] = _Held()
        for resource, count in pod.requests:
            add(held.units, resource, sign * count)
        if not pod.readable:
            held.unread += sign
        if not held.units and not held.unread:
            del self._held[name]
        node = self._nodes.get(name)
        if node is not None:
            touched = dict(pod.requests if pod.readable else node.allocatable)
            for resource, _ in node.allocatable:
                if resource in touched:
                    self._look(node, resource, self._on(resource))

    def _on(self, resource: str) -> Collection[_ClassCapacity]:
        """Return the classes that stand for a resource."""
        return self._on_resource.get(resource, {}).values()

    def _look(self, node: Node, resource: str, classes: Iterable[_ClassCapacity]) -> None:
        """Let classes on a resource see what a node has free of it."""
        for capacity in classes:
            units: int | None = None
            if eligible(node, capacity.gpu_class.tolerations):
                units = self._free(node, resource)
            capacity.set(node.name, units)

    def _free(self, node: Node, resource: str) -> int:
        held = self._held.get(node.name)
        if held is not None and held.unread:
            return 0
        taken = 0 if held is None else held.units.get(resource, 0)
        return free(dict(node.allocatable)[resource], taken)
