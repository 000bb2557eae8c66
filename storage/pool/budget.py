"""One pool of one class, and what is left in it (domain 3.3), formula by formula.

Owns the formulas alone: who draws from which pool, and keeping the sums, is the business of
`pools`. What cannot be told is the number `UNTOLD`, below all others: the least of several figures
is untold where one of them is, so no figure ever comes out too good.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from storage.model.objects import TenantRecord
from storage.pool.answers import PoolFigures

UNTOLD: Final = -1


class Pool:
    """The pool that a namespace's declaration for a class makes.

    Four sums are kept beside each other: `used` and `subtree` in units, and of the namespaces that
    add to each how many hold something unreadable.
    """

    __slots__ = (
        "above", "below", "budget", "carve", "carve_told", "class_name", "depth", "limit", "root",
        "subtree", "subtree_unread", "told", "used", "used_unread",
    )  # fmt: skip

    def __init__(self, root: str, class_name: str, budget: int, above: "Pool | None") -> None:
        self.root = root
        self.class_name = class_name
        self.budget = budget
        self.above = above  # the nearest pool of the class above the root
        self.below: list[Pool] = []  # those it is above of, largest budget first
        self.depth: int = 0 if above is None else above.depth + 1
        self.carve = 0
        self.carve_told = True
        self.used = 0
        self.used_unread = 0
        self.subtree = 0
        self.subtree_unread = 0
        self.limit = UNTOLD  # what it left to those below when it was last settled
        self.told = UNTOLD  # what remained when it was last settled


Roots = Mapping[str, Pool]  # by class: the pool that a namespace draws from

NO_ROOTS: Final[Roots] = {}


def declares(record: TenantRecord) -> frozenset[str]:
    """Return the classes that a record has a budget entry for; 0 is one too."""
    return frozenset(class_name for class_name, _ in record.budgets)


def declared_pools(record: TenantRecord, above: Roots) -> Roots:
    """Return a pool for each budget entry, carved out of what the parent draws from.

    That is domain's carve(r,k): whole, used or not, from root(parent(c),k).
    """
    own = {
        class_name: Pool(record.namespace, class_name, units, above.get(class_name))
        for class_name, units in record.budgets
    }
    for pool in own.values():
        if pool.above is not None:
            pool.above.carve += pool.budget
            pool.above.below.append(pool)
    return own


def roots(own: Roots, above: Roots) -> Roots:
    """Return domain's root(t,k) by class: the nearest that declares it; none is unbounded.

    Whoever declares nothing has the very mapping of its parent.
    """
    return {**above, **own} if own else above


def shared(pool: Pool) -> int:
    """Return what the root and its undeclared descendants have together."""
    return max(pool.budget - pool.carve, 0)


def overcommit(pool: Pool) -> int:
    """Return by how much the pools below state more than this one has."""
    return max(pool.carve - pool.budget, 0)


def own_remaining(pool: Pool) -> int:
    """Return what is left of the shared part: domain's remaining(r,k)."""
    if pool.used_unread or not pool.carve_told:
        return UNTOLD
    return max(shared(pool) - pool.used, 0)


def headroom(pool: Pool) -> int:
    """Return what everything at and below the root leaves of the budget: the ancestor cap."""
    return UNTOLD if pool.subtree_unread else max(pool.budget - pool.subtree, 0)


def remaining(pool: Pool) -> int:
    """Return what is left for whoever draws from the pool: domain's remaining(t,k)."""
    left = own_remaining(pool)
    ancestor = pool.above
    while ancestor is not None:
        left = min(left, headroom(ancestor))
        ancestor = ancestor.above
    return left


def settle(pool: Pool) -> bool:
    """Set `limit` and `told` from the settled pool above; whether `told` is another number now.

    The same as `remaining`, in one step instead of a walk: an ancestor's limit is the least of its
    own headroom and of those above it.
    """
    cap = pool.budget if pool.above is None else pool.above.limit
    before = pool.told
    pool.limit = min(cap, headroom(pool))
    pool.told = min(cap, own_remaining(pool))
    return pool.told != before


def figures(pool: Pool, left: int) -> PoolFigures:
    """Return the pool as the hoster sees it, with what is left of it."""
    return PoolFigures(
        budget=pool.budget,
        carved=pool.carve,
        shared=shared(pool),
        used=pool.used,
        subtree=pool.subtree,
        overcommit=overcommit(pool),
        remaining=None if left == UNTOLD else left,
    )


def largest_budgets(records: Iterable[TenantRecord]) -> Mapping[str, int]:
    """Return by class the largest budget that records of one namespace state."""
    largest: dict[str, int] = {}
    for record in records:
        for class_name, units in record.budgets:
            largest[class_name] = max(units, largest.get(class_name, 0))
    return largest
