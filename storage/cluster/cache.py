"""The cluster as this process knows it: events in, changes of the calculation's snapshot out.

One writer, no waiting. Only real changes come out: what is told twice changes nothing (design 5). A
source is known while every feed it is read from was listed and is fresh (design 9); what a source
told stays while it is stale, and is believed again when the feed is heard of.
"""

import logging
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final

from storage.cluster.decoded import Ref, Value
from storage.cluster.kinds import DIRECT_SOURCES, Kind
from storage.cluster.list_watch import (
    Bookmark,
    Changed,
    Event,
    Feed,
    Forgotten,
    Gone,
    ListBegan,
    Listed,
    ListEnded,
)
from storage.cluster.shelf import Shelf
from storage.cluster.tenant_ledger import TenantLedger
from storage.cluster.tenants import ClassNames, TenantReader
from storage.model.objects import VMI, GPUClass, KubeVirt, Node, Pod
from storage.model.snapshot import (
    Change,
    ClusterSnapshot,
    Drop,
    Known,
    Licenses,
    Put,
    Source,
)

logger = logging.getLogger(__name__)


class ClusterCache:
    """The decoded objects of a cluster."""

    def __init__(
        self,
        *,
        tenants: TenantReader,
        clock: Callable[[], float],
        stale_after: float = 180.0,
    ) -> None:
        """Begin with nothing known. Clock and `stale_after` are in seconds, the clock monotonic."""
        self._clock = clock
        self._stale_after = stale_after
        self._shelves: dict[Feed, Shelf] = {}
        self._silent: set[Kind] = set()  # logged as not heard of
        self._tenants = TenantLedger(tenants)
        self._licenses: dict[str, frozenset[str] | None] = {}
        self._known: set[Source] = set()
        self._kinds_of: Final[Mapping[Source, frozenset[Kind]]] = {
            **{source: frozenset({kind}) for kind, source in DIRECT_SOURCES.items()},
            Source.TENANTS: tenants.kinds,
        }
        self._needed: Final = frozenset({Kind.SECRET}.union(*self._kinds_of.values()))

    @property
    def needed(self) -> frozenset[Kind]:
        """The kinds that are taken; of Secrets those only that `license_secrets` names."""
        return self._needed

    def apply(self, event: Event) -> tuple[Change, ...]:
        """Take one event; return what it changes, in the order in which it must be applied."""
        feed = event.feed
        if feed.kind not in self._needed:
            return ()
        if isinstance(event, Forgotten):
            return self._forget(feed)
        shelf = self._shelves.get(feed)
        if shelf is None:
            shelf = self._shelves[feed] = Shelf(feed.kind)
        changed = _take(event, shelf)
        if not shelf.listing:  # a list counts when it is complete (design 9)
            shelf.hear(self._clock())
        freshened = _believe(event, shelf)
        changes = self._changes(shelf, changed) if changed else []
        if freshened:
            self._log_heard(feed.kind)
            changes.extend(self._known_changes())
        if feed.kind is Kind.SECRET and (changed or freshened):
            changes.extend(self._license_changes())
        return tuple(changes)

    def expire(self, now: float) -> tuple[Change, ...]:
        """Return what is no longer believed at a time of the cache's clock: feeds not heard of."""
        old = [
            shelf
            for shelf in self._shelves.values()
            if shelf.fresh and shelf.heard is not None and now - shelf.heard > self._stale_after
        ]
        for shelf in old:
            shelf.fresh = False
            self._log_silent(shelf.kind)
        return (*self._known_changes(), *self._license_changes()) if old else ()

    def snapshot(self, now_ms: int = 0) -> ClusterSnapshot:
        """Return the present state; applying later changes to it gives the later states."""
        return ClusterSnapshot(
            classes=tuple(v for v in self._values(Kind.GPU_CLASS) if isinstance(v, GPUClass)),
            kubevirts=tuple(v for v in self._values(Kind.KUBEVIRT) if isinstance(v, KubeVirt)),
            tenants=self._tenants.all(),
            vmis=tuple(v for v in self._values(Kind.VMI) if isinstance(v, VMI)),
            pods=tuple(v for v in self._values(Kind.POD) if isinstance(v, Pod)),
            nodes=tuple(v for v in self._values(Kind.NODE) if isinstance(v, Node)),
            licenses=dict(self._licenses),
            known=frozenset(self._known),
            now_ms=now_ms,
        )

    def license_secrets(self) -> frozenset[str]:
        """Return the names of the Secrets that classes give: the feeds that licenses need."""
        return frozenset(self._licenses)

    def was_listed(self, feed: Feed) -> bool:
        """Whether a feed was ever told whole; before, nothing that it tells is believed."""
        shelf = self._shelves.get(feed)
        return shelf is not None and shelf.listed

    def ages(self, now: float) -> Mapping[Kind, float | None]:
        """Return seconds since each kind was heard of, of its longest silent feed; None: never."""
        heard: dict[Kind, list[float | None]] = defaultdict(list)
        for feed, shelf in self._shelves.items():
            heard[feed.kind].append(shelf.heard)
        return {kind: _age(heard[kind], now) for kind in self._needed_kinds()}

    def objects(self) -> Mapping[Kind, int]:
        """Return how many objects of each kind are kept."""
        return self._counted(len)

    def undecodable(self) -> Mapping[Kind, int]:
        """Return how many objects of each kind could not be understood, wholly or in part."""
        return self._counted(lambda shelf: shelf.undecodable)

    def _forget(self, feed: Feed) -> tuple[Change, ...]:
        """Let a feed go; what it told is as unknown as if it had never been read."""
        shelf = self._shelves.pop(feed, None)
        if shelf is None:
            return ()
        places = [ref for ref, _ in shelf.values()]
        gone = [ref for ref in places if shelf.remove(ref)]
        self._log_heard(feed.kind)
        changes = [*self._changes(shelf, gone), *self._known_changes()]
        return (*changes, *self._license_changes())

    def _needed_kinds(self) -> list[Kind]:
        return [kind for kind in Kind if kind in self._needed]

    def _log_silent(self, kind: Kind) -> None:
        """Log that a kind is not heard of, once however many feeds it has."""
        if kind not in self._silent:
            self._silent.add(kind)
            logger.warning(
                "source not heard of, its figures are unknown",
                extra={"object_kind": kind.kind, "seconds": self._stale_after},
            )

    def _log_heard(self, kind: Kind) -> None:
        """Log that the last silent feed of a kind was heard of again."""
        feeds = (shelf for shelf in self._shelves.values() if shelf.kind is kind)
        if kind in self._silent and all(shelf.fresh or not shelf.listed for shelf in feeds):
            self._silent.remove(kind)
            logger.info("source heard of again", extra={"object_kind": kind.kind})

    def _counted(self, count: Callable[[Shelf], int]) -> Mapping[Kind, int]:
        totals = dict.fromkeys(self._needed_kinds(), 0)
        for shelf in self._shelves.values():
            if shelf.kind in totals:
                totals[shelf.kind] += count(shelf)
        return totals

    def _values(self, kind: Kind) -> Iterator[Value]:
        shelf = self._shelves.get(Feed(kind))
        return (value for _, value in shelf.values()) if shelf else iter(())

    def _changes(self, shelf: Shelf, changed: Iterable[Ref]) -> list[Change]:
        kind = shelf.kind
        if kind in DIRECT_SOURCES:
            changes = [_direct_change(shelf, ref) for ref in changed]
            if kind is Kind.GPU_CLASS:
                changes.extend(self._tenants.use_classes(self._class_names()))
                changes.extend(self._license_changes())
            return changes
        if kind in self._kinds_of[Source.TENANTS]:
            return self._tenants.take(shelf, changed)
        return []

    def _class_names(self) -> ClassNames:
        names: dict[str, list[str]] = defaultdict(list)
        for value in self._values(Kind.GPU_CLASS):
            if isinstance(value, GPUClass):
                names[value.resource_name].append(value.name)
        return {resource: tuple(sorted(found)) for resource, found in names.items()}

    def _known_changes(self) -> list[Change]:
        """Return the sources that are believed anew, or no longer."""
        changes: list[Change] = []
        for source, kinds in self._kinds_of.items():
            known = all(self._fresh(Feed(kind)) for kind in kinds)
            if known != (source in self._known):
                (self._known.add if known else self._known.remove)(source)
                changes.append(Known(source, known))
        return changes

    def _fresh(self, feed: Feed) -> bool:
        shelf = self._shelves.get(feed)
        return shelf is not None and shelf.fresh

    def _license_changes(self) -> list[Change]:
        """Return the licenses whose namespaces differ; one that no class gives is let go."""
        names = {
            value.license_secret
            for value in self._values(Kind.GPU_CLASS)
            if isinstance(value, GPUClass) and value.license_secret is not None
        }
        changes: list[Change] = []
        for name in sorted(self._licenses.keys() | names):
            namespaces = self._namespaces_with(name) if name in names else None
            # A name that is not there is as good as one that cannot be read.
            if self._licenses.get(name) != namespaces:
                changes.append(Licenses(name, namespaces))
            self._licenses[name] = namespaces
        for name in self._licenses.keys() - names:
            del self._licenses[name]
        return changes

    def _namespaces_with(self, secret: str) -> frozenset[str] | None:
        """Return the namespaces that hold a Secret of this name; None while it cannot be read."""
        for feed in (Feed(Kind.SECRET, secret), Feed(Kind.SECRET)):
            if self._fresh(feed):
                refs = (ref for ref, _ in self._shelves[feed].values())
                return frozenset(ref.namespace for ref in refs if ref.name == secret)
        return None


def _believe(event: Event, shelf: Shelf) -> bool:
    """Return whether a feed that was not believed is so from this event on.

    A feed that was never listed may hold a part only; it is believed from its list on. So is one
    that is being listed anew: until the end it holds what may have gone.
    """
    listed = isinstance(event, Listed | ListEnded) or (shelf.listed and not shelf.listing)
    freshened = listed and not shelf.fresh
    if listed:
        shelf.fresh = shelf.listed = True
    return freshened


def _take(
    event: Listed | ListBegan | ListEnded | Changed | Gone | Bookmark, shelf: Shelf
) -> list[Ref]:
    """Let a feed's shelf follow an event; return the places whose values differ."""
    match event:
        case ListBegan():
            shelf.begin_list()
            return []
        case ListEnded():
            return shelf.end_list()
        case Listed():
            return shelf.replace(event.objects)
        case Changed():
            return [event.object.ref] if shelf.put(event.object) else []
        case Gone():
            return [event.ref] if shelf.remove(event.ref) else []
        case Bookmark():
            return []


def _direct_change(shelf: Shelf, ref: Ref) -> Change:
    value = shelf.value(ref)
    if isinstance(value, GPUClass | KubeVirt | VMI | Pod | Node):
        return Put(value)
    name = f"{ref.namespace}/{ref.name}" if shelf.kind.namespaced else ref.name
    return Drop(DIRECT_SOURCES[shelf.kind], name)


def _age(heard: list[float | None], now: float) -> float | None:
    times = [time for time in heard if time is not None]
    return now - min(times) if times and len(times) == len(heard) else None
