"""The published state: every part of the calculation with a revision, free units as of the last
tick.

The one place where the flow of events meets the flow of requests: `publish` is called after changes
were applied to the calculation, everything else is read. One writer, and no waiting within an
update.
"""

from collections.abc import Sequence
from dataclasses import replace

from storage.model.snapshot import Policy, Source
from storage.pool.answers import UNKNOWN_CAPACITY, Capacity, Offer
from storage.pool.verdict import CapacityDetail, Facts, largest_fit
from storage.pool.view import PoolView
from storage.views.resource import NotReadyError
from storage.views.revisions import RevisionLine


class Published:
    """Parts and their revisions (design 6). A part that never changed has the line's first one.

    Revisions of what has gone are kept: a part that comes back takes a new one, above the old.
    """

    def __init__(self, view: PoolView, line: RevisionLine, detail: CapacityDetail) -> None:
        self._view = view
        self._line = line
        self._detail = detail
        self._ready = False
        self._generation = 0
        self._free_units: dict[str, Capacity] = {}  # as published, by class
        self._awaiting_tick: set[str] = set()  # classes whose free units are other by now
        self._everything = line.first
        self._set_of_classes = line.first
        self._offers: dict[str, int] = {}
        self._capacities: dict[str, int] = {}
        self._pools: dict[tuple[str, str], int] = {}
        self._tenants: dict[str, int] = {}
        self._links: dict[tuple[str, str], int] = {}
        self._licenses: dict[tuple[str, str], int] = {}
        self._license_sources: dict[str, int] = {}
        self._awaiting_tick.update(view.offers())
        self.publish(tick=True)

    @property
    def generation(self) -> int:
        """A number that changes with anything published."""
        return self._generation

    @property
    def policy(self) -> Policy:
        """What flags decide of the calculation."""
        return self._view.policy

    @property
    def detail(self) -> CapacityDetail:
        """How much of free units is shown."""
        return self._detail

    @property
    def ready(self) -> bool:
        """Whether classes were read at least once."""
        return self._ready

    def list_revision(self) -> int:
        """Return the revision of a list made now."""
        return self._line.list_revision()

    def admit(self, revision: int) -> bool:
        """Whether an answer at or after this revision can be given now (design 6)."""
        return self._line.admit(revision)

    def publish(self, *, tick: bool) -> None:
        """Publish what the calculation changed, under one revision; free units only at a tick.

        Budgets are the tenant's own and are published at once; when others start and stop shows on
        the common tick alone (domain D9).
        """
        self._line.follows_clock = self._view.known(Source.CLASSES) and self._view.known(
            Source.TENANTS
        )
        self._ready = self._ready or self._view.known(Source.CLASSES)
        changed = self._view.take_changed()
        # What is shown of free units depends on the offer's counts too.
        self._awaiting_tick |= changed.capacities | changed.offers
        moved = self._take_free_units(tick=tick)
        if not changed and not moved:
            return
        revision = self._line.mint()
        self._generation += 1
        if changed.everything:
            self._everything = revision
        if changed.offers:
            self._set_of_classes = revision
        for table, keys in (
            (self._offers, changed.offers),
            (self._capacities, moved),
            (self._tenants, changed.tenants),
            (self._license_sources, changed.license_sources),
        ):
            table.update(dict.fromkeys(keys, revision))
        for pairs, found in (
            (self._pools, changed.pools),
            (self._links, changed.links),
            (self._licenses, changed.licenses),
        ):
            pairs.update(dict.fromkeys(found, revision))

    def classes(self) -> Sequence[str]:
        """Return the names of all classes that have options, sorted. Raises NotReadyError."""
        self._require_ready()
        return self._view.offers()

    def tenants(self) -> Sequence[str]:
        """Return the recorded tenants' namespaces, sorted. Raises NotReadyError."""
        self._require_ready()
        return self._view.tenants()

    def offer(self, class_name: str) -> Offer | None:
        """Return a class's offer; None where there is none. Raises NotReadyError."""
        self._require_ready()
        return self._view.offer(class_name)

    def free_units(self, class_name: str) -> Capacity:
        """Return a class's free units as of the last tick."""
        return self._free_units.get(class_name, UNKNOWN_CAPACITY)

    def facts(self, namespace: str, class_name: str) -> Facts:
        """Return what an option is judged by. Only for classes that `offer` knows."""
        facts = self._view.facts(namespace, class_name)
        if facts is None:
            raise LookupError(class_name)
        return replace(facts, capacity=self.free_units(class_name))

    def offer_revision(self, class_name: str) -> int:
        """Return the revision of a class's offer: of the class, KubeVirt's table, free units."""
        return max(
            self._line.first,
            self._offers.get(class_name, 0),
            self._capacities.get(class_name, 0),
        )

    def option_revision(self, namespace: str, class_name: str) -> int:
        """Return the greatest revision of the parts that a class's option depends on."""
        pair = (namespace, class_name)
        revision = max(
            self._everything,
            self.offer_revision(class_name),
            self._licenses.get(pair, 0),
            self._license_sources.get(class_name, 0),
        )
        root = self._view.link(namespace, class_name)
        if root is not None:
            revision = max(revision, self._pools.get((root, class_name), 0))
        for each in self._view.lineage(namespace):
            revision = max(
                revision, self._tenants.get(each, 0), self._links.get((each, class_name), 0)
            )
        return revision

    def console_revision(self, namespace: str) -> int:
        """Return the revision of all options of a namespace together, and of which there are."""
        revisions = [self.option_revision(namespace, name) for name in self.classes()]
        return max(self._set_of_classes, *revisions) if revisions else self._set_of_classes

    def _require_ready(self) -> None:
        if not self._ready:
            raise NotReadyError

    def _take_free_units(self, *, tick: bool) -> set[str]:
        """Publish free units that are due; return the classes whose published ones differ now.

        A class that is not shown yet has no earlier figure to be compared with: it is due at once.
        """
        due = {name for name in self._awaiting_tick if tick or name not in self._free_units}
        self._awaiting_tick -= due
        moved = set()
        for name in due:
            offer = self._view.offer(name)
            free = None if offer is None else self._shown(offer)
            if free == self._free_units.get(name):
                continue
            moved.add(name)
            if free is None:
                del self._free_units[name]
            else:
                self._free_units[name] = free
        return moved

    def _shown(self, offer: Offer) -> Capacity:
        """Return a class's free units less whatever no answer shows.

        What is not shown must not be told by a revision either: no figure of a node's above what
        the class offers to one VM, and nothing of what the hoster hides.
        """
        capacity = self._view.capacity(offer.gpu_class.name)
        if self._detail is CapacityDetail.NONE or capacity.largest is None:
            return UNKNOWN_CAPACITY
        if self._detail is CapacityDetail.FREE:
            return Capacity(capacity.free, capacity.free)
        return Capacity(capacity.free, largest_fit(offer.gpu_class, capacity.largest))
