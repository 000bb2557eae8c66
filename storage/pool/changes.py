"""What differs between the state last taken and the present one, part by part (design 5, 6)."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeVar

from storage.pool.answers import Capacity, ChangedParts, Offer
from storage.pool.budget import Roots
from storage.pool.pools import Pools

K = TypeVar("K")
V = TypeVar("V")

Licenses = Mapping[str, frozenset[str] | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """Every part of one state, each as a mapping that is not changed any more but for the pools."""

    believed: tuple[bool, bool]  # the tenants, and what they use
    offers: Mapping[str, Offer]  # by class
    capacities: Mapping[str, Capacity]  # by class
    licenses: Licenses  # by Secret: the namespaces that hold one, None while that cannot be read
    pools: Pools


class Told:
    """What was last taken of each part."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    def take(self, now: Parts, licensed: Callable[[str], frozenset[str]]) -> ChangedParts:
        """Return what differs and go on from there; `licensed` gives the classes of a Secret."""
        before, self._parts = self._parts, now
        if before.pools is now.pools:
            tree = None
            pools = now.pools.settle()
        else:
            now.pools.settle()
            tree = TreeChanges(before.pools, now.pools)
            pools = tree.pools()
        secrets = differing_licenses(before.licenses, now.licenses)
        return ChangedParts(
            everything=before.believed != now.believed,
            offers=frozenset(differing(before.offers, now.offers)),
            capacities=frozenset(differing(before.capacities, now.capacities)),
            pools=frozenset(pools),
            tenants=tree.tenants if tree else frozenset(),
            links=frozenset(tree.links() if tree else ()),
            licenses=frozenset(
                (namespace, class_name)
                for secret, namespaces in secrets.items()
                for class_name in licensed(secret)
                for namespace in namespaces or ()
            ),
            license_sources=frozenset(
                class_name
                for secret, namespaces in secrets.items()
                for class_name in licensed(secret)
                if namespaces is None
            ),
        )


class TreeChanges:
    """Keys of the parts of one tree of pools that another tree has otherwise."""

    def __init__(self, before: Pools, after: Pools) -> None:
        """Compare what `before` told when it was last settled with a tree just settled."""
        self._before = before
        self._after = after
        self._roots_seen: dict[tuple[int, int], frozenset[str]] = {}
        #: Namespaces that have a record in one tree only, or turned clear or unclear.
        self.tenants = frozenset(self._moved_tenants())

    def pools(self) -> set[tuple[str, str]]:
        """Return (root, class) of pools that came, went or have another number left."""
        return differing(self._before.told(), self._after.told())

    def _moved_tenants(self) -> Iterator[str]:
        before, after = self._before.tree.namespaces, self._after.tree.namespaces
        yield from before ^ after
        for namespace in before & after:
            if self._before.standing(namespace) is not self._after.standing(namespace):
                yield namespace

    def links(self) -> Iterator[tuple[str, str]]:
        """Yield (namespace, class) with another root or entitlement, beside those of `tenants`."""
        recorded = self._before.tree.namespaces & self._after.tree.namespaces
        for namespace in recorded - self.tenants:
            roots = self._moved_roots(self._before.roots(namespace), self._after.roots(namespace))
            granted = self._before.entitled(namespace) ^ self._after.entitled(namespace)
            for class_name in roots | granted:
                yield namespace, class_name

    def _moved_roots(self, before: Roots, after: Roots) -> frozenset[str]:
        """Return the classes drawn from elsewhere; all tenants together share few mappings."""
        at = id(before), id(after)
        if at not in self._roots_seen:
            names_before = {class_name: pool.root for class_name, pool in before.items()}
            names_after = {class_name: pool.root for class_name, pool in after.items()}
            self._roots_seen[at] = frozenset(differing(names_before, names_after))
        return self._roots_seen[at]


def differing(before: Mapping[K, V], after: Mapping[K, V]) -> set[K]:
    """Return the keys that only one mapping has, or that have another value in each."""
    if before is after:
        return set()
    return {key for key in before.keys() | after.keys() if before.get(key) != after.get(key)}


def differing_licenses(before: Licenses, after: Licenses) -> Licenses:
    """Return by Secret the namespaces where it came or went; None: it became (un)readable."""
    moved: dict[str, frozenset[str] | None] = {}
    for secret in differing(before, after):
        old, new = before.get(secret), after.get(secret)
        moved[secret] = None if old is None or new is None else old ^ new
    return moved
