"""Usage by intent (domain 3.2): what the VMIs and pods of a namespace are charged for.

Sums are kept by class where a VMI names classes and by resource where something is asked for by
resource name. Which classes a resource stands for is asked only when usage is read, so a class that
is renamed, created or deleted moves nothing here.
"""

import re
from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from storage.model.objects import VMI, Pod
from storage.pool.counts import add

ClassesOn = Mapping[str, tuple[str, ...]]  # names of the classes that stand for a resource

_UNIT_NAME: Final = re.compile(r"class-(?P<class_name>.+)-[0-9]+")


@dataclass(frozen=True, slots=True)
class Usage:
    """What a namespace uses: units by class, above 0; not readable: it may be more than is told."""

    units: Mapping[str, int]
    readable: bool = True


NO_USAGE: Final = Usage({})


def named_units(vmi: VMI) -> Counter[str]:
    """Return by class how many of a VMI's GPUs have the name of a unit of the class."""
    names = (_UNIT_NAME.fullmatch(name) for name in vmi.unit_names)
    return Counter(name["class_name"] for name in names if name is not None)


def raw_units(vmi: VMI, classes_on: ClassesOn) -> Counter[str]:
    """Return by class how many of a VMI's devices have the class's resource as their deviceName."""
    return Counter(name for device in vmi.devices for name in classes_on.get(device, ()))


def unreadable_units(vmi: VMI, classes_on: ClassesOn) -> Counter[str]:
    """Return the charge of a VMI whose annotation cannot be read: per class the larger of both.

    Unit names and devices are kept immutable by the spec, whatever becomes of the annotation.
    """
    return named_units(vmi) | raw_units(vmi, classes_on)


class _Namespace:
    """What one namespace holds."""

    __slots__ = ("by_class", "by_resource", "launchers", "uids", "unclear", "unread")

    def __init__(self) -> None:
        self.by_class: dict[str, int] = {}  # counts that annotations name
        self.by_resource: dict[str, int] = {}  # raw units of VMIs, requests of plain pods
        self.unclear: dict[str, VMI] = {}  # VMIs with an unreadable annotation, by name
        self.unread = 0  # VMIs and pods that are not readable
        self.uids: dict[str, int] = {}  # of the VMIs that are there, each with how many have it
        self.launchers: dict[str, list[Pod]] = {}  # pods by the uid of the VMI that controls them

    def is_empty(self) -> bool:
        """Whether nothing is here any more."""
        return not (self.uids or self.launchers or self.unread or self.by_resource)


class UsageLedger:
    """The usage of every namespace, kept current change by change; tenants or not."""

    def __init__(self, now_ms: int) -> None:
        self._now_ms = now_ms
        self._namespaces: dict[str, _Namespace] = {}
        #: Charged or once charged pods that stop being charged at a known moment, by that moment.
        self._deadlines: list[Pod] = []
        self._moved: set[str] = set()

    def namespaces(self) -> Iterable[str]:
        """Return the namespaces that hold anything, in no order."""
        return self._namespaces.keys()

    def usage(self, namespace: str, classes_on: ClassesOn) -> Usage:
        """Return what a namespace uses: domain's usage(ns,k) for every class that is used there."""
        held = self._namespaces.get(namespace)
        if held is None:
            return NO_USAGE
        if not held.by_resource and not held.unclear:
            return Usage(dict(held.by_class), not held.unread)
        units = Counter(held.by_class)
        for resource, count in held.by_resource.items():
            for class_name in classes_on.get(resource, ()):
                units[class_name] += count
        for vmi in held.unclear.values():
            units.update(unreadable_units(vmi, classes_on))
        return Usage(units, not held.unread)

    def take_moved(self) -> set[str]:
        """Return the namespaces whose usage may differ from what it was at the last call."""
        moved = self._moved
        if moved:
            self._moved = set()
        return moved

    def resources_moved(self) -> None:
        """Take note that a resource stands for other classes than before."""
        self._moved.update(
            name for name, held in self._namespaces.items() if held.by_resource or held.unclear
        )

    def next_expiry_ms(self) -> int | None:
        """Return the first moment from now on at which a pod is no longer charged (E25)."""
        at = bisect_left(self._deadlines, self._now_ms, key=_deadline_ms)
        return _deadline_ms(self._deadlines[at]) + 1 if at < len(self._deadlines) else None

    def tick(self, now_ms: int) -> None:
        """Let the clock move; one that jumps back charges again what it had let go."""
        earlier, later = sorted((self._now_ms, now_ms))
        first = bisect_left(self._deadlines, earlier, key=_deadline_ms)
        end = bisect_left(self._deadlines, later, key=_deadline_ms)
        sign = -1 if now_ms > self._now_ms else 1
        self._now_ms = now_ms
        for pod in self._deadlines[first:end]:
            self._count_requests(pod, sign)
            self._let_go(pod.namespace)

    def replace_vmi(self, old: VMI | None, new: VMI | None) -> None:
        """Take a VMI in the place of what was there under its key."""
        if old is not None:
            self._count_vmi(old, -1)
            self._let_go(old.namespace)
        if new is not None:
            self._count_vmi(new, 1)

    def replace_pod(self, old: Pod | None, new: Pod | None) -> None:
        """Take a pod in the place of what was there under its key."""
        if old is not None:
            self._count_pod(old, -1)
            self._let_go(old.namespace)
        if new is not None:
            self._count_pod(new, 1)

    def _count_vmi(self, vmi: VMI, sign: int) -> None:
        held = self._held(vmi.namespace)
        if not vmi.final:
            if not vmi.readable:
                held.unread += sign
            elif vmi.entries is not None:
                for entry in vmi.entries:
                    add(held.by_class, entry.class_name, sign * entry.count)
            elif not vmi.annotated:
                for device in vmi.devices:
                    add(held.by_resource, device, sign)
            elif sign > 0:
                held.unclear[vmi.name] = vmi
            else:
                del held.unclear[vmi.name]
        self._count_uid(held, vmi.uid, sign)

    def _count_uid(self, held: _Namespace, uid: str, sign: int) -> None:
        """Charge a VMI's pods only while no VMI of the uid is there: the VMI is charged then."""
        was_there = uid in held.uids
        add(held.uids, uid, sign)
        if was_there != (uid in held.uids):
            for pod in held.launchers.get(uid, ()):
                self._count_plain(pod, -sign)

    def _count_pod(self, pod: Pod, sign: int) -> None:
        held = self._held(pod.namespace)
        if not pod.final:
            if not pod.readable:
                held.unread += sign
            if pod.vmi_uid is None or pod.vmi_uid not in held.uids:
                self._count_plain(pod, sign)
            if pod.vmi_uid is not None:
                _list(held.launchers, pod.vmi_uid, pod, sign)

    def _count_plain(self, pod: Pod, sign: int) -> None:
        """Charge a pod that is no launcher of a VMI here, until its deletion is due."""
        if pod.charged_until_ms is not None:
            if sign > 0:
                insort(self._deadlines, pod, key=_deadline)
            else:
                del self._deadlines[bisect_left(self._deadlines, _deadline(pod), key=_deadline)]
            if self._now_ms > pod.charged_until_ms:
                return
        self._count_requests(pod, sign)

    def _count_requests(self, pod: Pod, sign: int) -> None:
        held = self._held(pod.namespace)
        for resource, count in pod.requests:
            add(held.by_resource, resource, sign * count)

    def _held(self, namespace: str) -> _Namespace:
        """Return what a namespace holds, about to be changed."""
        self._moved.add(namespace)
        held = self._namespaces.get(namespace)
        if held is None:
            held = self._namespaces[namespace] = _Namespace()
        return held

    def _let_go(self, namespace: str) -> None:
        if self._namespaces[namespace].is_empty():
            del self._namespaces[namespace]


def _list(lists: dict[str, list[Pod]], key: str, pod: Pod, sign: int) -> None:
    """Add to or remove from a list, keeping none that is empty."""
    if sign > 0:
        lists.setdefault(key, []).append(pod)
        return
    lists[key].remove(pod)
    if not lists[key]:
        del lists[key]


def _deadline_ms(pod: Pod) -> int:
    assert pod.charged_until_ms is not None, "only such pods have a deadline"
    return pod.charged_until_ms


def _deadline(pod: Pod) -> tuple[int, str, str]:
    return _deadline_ms(pod), pod.namespace, pod.name
