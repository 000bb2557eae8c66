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
        self.listing = False  # a list is being told part by part
        self._objects: dict[Ref, Decoded] = {}
        #: While a list is told, what it told so far; `_objects` then holds the rest, so that its
        #: end costs what has gone only.
        self._told: dict[Ref, Decoded] = {}

    def __len__(self) -> int:
        return len(self._objects) + len(self._told)

    @property
    def undecodable(self) -> int:
        """How many of its objects could not be understood, wholly or in part."""
        return sum(1 for _, each in self._held() if each.problem)

    def values(self) -> Iterator[tuple[Ref, Value]]:
        """Yield the objects that say something."""
        for ref, each in self._held():
            if each.value is not None:
                yield ref, each.value

    def value(self, ref: Ref) -> Value | None:
        """Return what an object says; None: nothing, or it is not there."""
        held = self._told.get(ref) or self._objects.get(ref)
        return held.value if held else None

    def hear(self, now: float) -> None:
        """Note that the feed was heard of."""
        self.heard = now

    def begin_list(self) -> None:
        """Begin a complete list; what is put until its end is in it. One not ended is void."""
        self._objects.update(self._told)
        self._told = {}
        self.listing = True

    def end_list(self) -> list[Ref]:
        """End a complete list; return the places whose values went with it."""
        gone = [ref for ref in list(self._objects) if self.remove(ref)]
        self._objects, self._told = self._told, {}
        self.listing = False
        return gone

    def replace(self, objects: tuple[Decoded, ...]) -> list[Ref]:
        """Take a complete list; return the places whose values differ, those gone first."""
        self.begin_list()
        self.listing = False
        listed = {each.ref: each for each in objects}
        changed = [ref for ref in list(self._objects) if ref not in listed and self.remove(ref)]
        changed.extend(ref for ref, each in listed.items() if self.put(each))
        return changed

    def put(self, new: Decoded) -> bool:
        """Take one object; return whether its value differs."""
        if self.listing:
            into = self._told
            old = into.get(new.ref) or self._objects.pop(new.ref, None)
        else:
            into = self._objects
            old = into.get(new.ref)
        if new.problem and (old is None or old.problem != new.problem):
            extra = self._told_of(new) | {"problem": new.problem}
            if new.origin:
                extra["origin"] = new.origin
            logger.warning(consequence(new.value), extra=extra)
        elif old and old.problem and not new.problem:
            logger.info("object is understood again", extra=self._told_of(old))
        if old == new:
            into[new.ref] = old  # what is told twice must not turn all memory over (runtime 7)
            return False
        if new.counts:
            into[new.ref] = new
        else:
            into.pop(new.ref, None)
        return (old.value if old else None) != new.value

    def remove(self, ref: Ref) -> bool:
        """Drop one object; return whether it said something."""
        old = self._told.pop(ref, None) or self._objects.pop(ref, None)
        if old and old.problem:
            logger.info("object that was not understood has gone", extra=self._told_of(old))
        return old is not None and old.value is not None

    def _held(self) -> Iterator[tuple[Ref, Decoded]]:
        yield from self._objects.items()
        yield from self._told.items()

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
