"""What one feed holds: its objects as decoded, and when it was last heard of (design 9)."""

import logging
from collections.abc import Iterator

from storage.cluster.decoded import Decoded, Ref, Value
from storage.cluster.kinds import Kind
from storage.model.objects import Pod

logger = logging.getLogger(__name__)


class Shelf:
    """The objects of one feed. Each change says which objects' values differ afterwards."""

    def __init__(self, kind: Kind) -> None:
        self.kind = kind
        self.heard: float | None = None  # seconds of the cache's clock; None: never
        self.listed = False
        self.fresh = False  # was listed, and heard of recently enough
        self._objects: dict[Ref, Decoded] = {}

    def __len__(self) -> int:
        return len(self._objects)

    @property
    def undecodable(self) -> int:
        """How many of its objects could not be understood, wholly or in part."""
        return sum(1 for each in self._objects.values() if each.problem)

    def values(self) -> Iterator[tuple[Ref, Value]]:
        """Yield the objects that say something."""
        for ref, each in self._objects.items():
            if each.value is not None:
                yield ref, each.value

    def value(self, ref: Ref) -> Value | None:
        """Return what an object says; None: nothing, or it is not there."""
        held = self._objects.get(ref)
        return held.value if held else None

    def hear(self, now: float) -> None:
        """Note that the feed was heard of."""
        self.heard = now

    def replace(self, objects: tuple[Decoded, ...]) -> list[Ref]:
        """Take a complete list; return the places whose values differ, those gone first."""
        listed = {each.ref: each for each in objects}
        changed = [ref for ref in list(self._objects) if ref not in listed and self.remove(ref)]
        changed.extend(ref for ref, each in listed.items() if self.put(each))
        return changed

    def put(self, new: Decoded) -> bool:
        """Take one object; return whether its value differs."""
        old = self._objects.get(new.ref)
        if new.problem and (old is None or old.problem != new.problem):
            self._log(new)
        if new.counts:
            self._objects[new.ref] = new
        else:
            self._objects.pop(new.ref, None)
        return (old.value if old else None) != new.value

    def remove(self, ref: Ref) -> bool:
        """Drop one object; return whether it said something."""
        old = self._objects.pop(ref, None)
        return old is not None and old.value is not None

    def _log(self, undecodable: Decoded) -> None:
        """Say what could not be understood, once for each problem; no node's name (design 2)."""
        ref = undecodable.ref
        extra = {"object_kind": self.kind.kind, "problem": undecodable.problem}
        if not self._names_a_node(undecodable):
            extra["object_namespace"], extra["object_name"] = ref.namespace, ref.name
        logger.warning("object not understood", extra=extra)

    def _names_a_node(self, decoded: Decoded) -> bool:
        """Whether the name tells a node: pods that a kubelet runs by itself end in its name."""
        value = decoded.value
        own_pod = isinstance(value, Pod) and value.node and value.name.endswith(value.node)
        return self.kind is Kind.NODE or bool(own_pod)
