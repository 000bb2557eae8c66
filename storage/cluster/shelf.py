"""What one feed holds: its objects as decoded, and when it was last heard of (design 9)."""

import logging
from collections.abc import Iterator

from storage.cluster.consequences import consequence
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
            extra = self._told_of(new) | {"problem": new.problem}
            if new.origin:
                extra["origin"] = new.origin
            logger.warning(consequence(new.value), extra=extra)
        elif old and old.problem and not new.problem:
            logger.info("object is understood again", extra=self._told_of(old))
        if new.counts:
            self._objects[new.ref] = new
        else:
            self._objects.pop(new.ref, None)
        return (old.value if old else None) != new.value

    def remove(self, ref: Ref) -> bool:
        """Drop one object; return whether it said something."""
        old = self._objects.pop(ref, None)
        if old and old.problem:
            logger.info("object that was not understood has gone", extra=self._told_of(old))
        return old is not None and old.value is not None

    def _told_of(self, undecodable: Decoded) -> dict[str, str]:
        """Return what a log line tells of an object: no node's name (design 2)."""
        told = {"object_kind": self.kind.kind}
        if self.kind is Kind.NODE:
            return told
        told["object_namespace"] = undecodable.ref.namespace
        if not _may_tell_a_node(undecodable):
            told["object_name"] = undecodable.ref.name
        return told


def _may_tell_a_node(undecodable: Decoded) -> bool:
    """Whether a name could tell a node's: a kubelet names its own pods after it.

    Of a pod that was not understood an absent node may be one that could not be read.
    """
    value = undecodable.value
    return isinstance(value, Pod) and (not value.node or value.node in value.name)
