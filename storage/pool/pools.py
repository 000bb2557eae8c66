"""The pools of all tenants: who draws from which, and their sums kept current (domain 2.4, 3.3).

Nothing is kept per tenant and class: a tenant that declares nothing draws from its parent's pools,
and shares the very mapping that says which these are. Pools are made anew when a tenant's record
changes, in linear time; a change of usage goes up one path.

An ambiguous namespace may have several parents. It draws from nothing itself, but counts in every
pool it might be drawing from.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from storage.model.objects import TenantRecord
from storage.pool.answers import Budget, BudgetState, PoolFigures
from storage.pool.budget import (
    NO_ROOTS,
    UNTOLD,
    Pool,
    Roots,
    declared_pools,
    declares,
    figures,
    largest_budgets,
    remaining,
    roots,
    settle,
)
from storage.pool.tree import Tree
from storage.pool.usage import NO_USAGE, Usage

_NO_CLASSES: Final[frozenset[str]] = frozenset()

UNBOUNDED: Final = Budget(BudgetState.UNBOUNDED)
UNKNOWN: Final = Budget(BudgetState.UNKNOWN)
AMBIGUOUS: Final = Budget(BudgetState.AMBIGUOUS)


class Pools:
    """The pools that the records of tenants make, and what is charged to each."""

    def __init__(self, records: Iterable[TenantRecord], usage: Iterable[tuple[str, Usage]]) -> None:
        self.tree: Final = Tree(records)
        self._roots: Final[dict[str, Roots]] = {}  # of the namespaces whose place is clear
        self._own: Final[dict[str, Roots]] = {}  # by root: the pools that its records declare
        self._surely: Final[dict[str, frozenset[str]]] = {}  # declared by an unclear one anyhow
        self._untold: Final[set[str]] = set()  # clear, but a budget on the way up cannot be read
        self._charged: Final[dict[str, Usage]] = {}
        self._dirty: Final[list[Pool]] = []  # drawn from by whoever's usage moved, repeats and all
        for namespace, parent in self.tree.places.items():
            self._make_clear(self.tree.records(namespace)[0], parent)
        clear = [*self._own.values()]
        for namespace in self.tree.ambiguous:
            self._make_ambiguous(namespace)
        for namespace in self.tree.ambiguous:
            self._carve_ambiguous(namespace)
        self._charge_first(usage, clear)
        for own in clear:
            for pool in own.values():
                pool.below.sort(key=_budget, reverse=True)
                settle(pool)
        self._dirty.clear()

    def charge(self, namespace: str, usage: Usage) -> None:
        """Charge a namespace with what it uses now, in place of what it used before."""
        home = self.tree.home(namespace)
        if home is None:
            return  # nobody's
        before = self._charged.pop(namespace, NO_USAGE)
        if usage.units or not usage.readable:
            self._charged[namespace] = usage
        added = _difference(before.units, usage.units)
        unread = before.readable - usage.readable
        roots = self._roots.get(home)
        if roots is None:
            self._charge_ambiguous(namespace, home, added, unread)
            return
        self._charge_units(roots, added)
        if unread:
            self._charge_unread(roots.values(), unread)

    def settle(self) -> set[tuple[str, str]]:
        """Return the pools, as (root, class), where what remains differs from the last call.

        What one pool leaves to those below matters only to those with a budget above the lesser of
        its limits before and after; the others are capped by themselves in either case.
        """
        changed: set[tuple[str, str]] = set()
        waiting = sorted(_with_above(self._dirty), key=_depth, reverse=True)
        self._dirty.clear()
        while waiting:
            pool = waiting.pop()
            limit = pool.limit
            if settle(pool):
                changed.add((pool.root, pool.class_name))
            if pool.limit != limit:
                least = min(pool.limit, limit)
                for below in pool.below:
                    if below.budget <= least:
                        break
                    waiting.append(below)
        return changed

    def told(self) -> Mapping[tuple[str, str], int]:
        """Return what remained in each pool of a clear root when it was last settled."""
        return {
            (namespace, class_name): pool.told
            for namespace in self._roots
            for class_name, pool in self._own.get(namespace, NO_ROOTS).items()
        }

    def roots(self, namespace: str) -> Roots:
        """Return the pools that a namespace draws from; none where that cannot be told."""
        home = self.tree.home(namespace)
        if home is None or home in self._untold:
            return NO_ROOTS
        return self._roots.get(home, NO_ROOTS)

    def standing(self, namespace: str) -> BudgetState | None:
        """Return what the tree alone says of every budget of a namespace; None: it is clear."""
        home = self.tree.home(namespace)
        if home is None:
            return None
        if home in self._untold:
            return BudgetState.UNKNOWN
        return None if home in self._roots else BudgetState.AMBIGUOUS

    def budget(self, namespace: str, class_name: str) -> Budget:
        """Return what is left for a namespace, recorded or not, tenant or not."""
        match self.standing(namespace):
            case BudgetState.UNKNOWN:
                return UNKNOWN
            case BudgetState.AMBIGUOUS:
                return AMBIGUOUS
        pool = self.roots(namespace).get(class_name)
        if pool is None:
            return UNBOUNDED
        left = remaining(pool)
        return UNKNOWN if left == UNTOLD else Budget(BudgetState.BOUNDED, left)

    def entitled(self, namespace: str) -> frozenset[str]:
        """Return the classes that each record of a namespace grants; not inherited (domain 2.3)."""
        granted = [frozenset(record.entitlements) for record in self.tree.records(namespace)]
        return granted[0].intersection(*granted[1:]) if granted else frozenset()

    def figures(self, root: str, class_name: str) -> PoolFigures | None:
        """Return a pool as the hoster sees it; None where the root declares no such budget.

        What remains is told only where the root's place is clear.
        """
        pool = self._own.get(root, NO_ROOTS).get(class_name)
        if pool is None:
            return None
        clear = root in self._roots and root not in self._untold
        return figures(pool, remaining(pool) if clear else UNTOLD)

    def _make_clear(self, record: TenantRecord, parent: str | None) -> None:
        """Make the pools of a namespace whose parent's are made already."""
        above = NO_ROOTS if parent is None else self._roots[parent]
        own = declared_pools(record, above) if record.budgets else NO_ROOTS
        if own:
            self._own[record.namespace] = own
        self._roots[record.namespace] = roots(own, above)
        if not record.budget_readable:
            for pool in above.values():
                pool.carve_told = False
        if not record.budget_readable or parent in self._untold:
            self._untold.add(record.namespace)

    def _make_ambiguous(self, namespace: str) -> None:
        """Make the pools that a namespace has in some reading of its records."""
        records = self.tree.records(namespace)
        self._surely[namespace] = _surely_declares(records)
        self._own[namespace] = {
            class_name: Pool(namespace, class_name, units, None)
            for class_name, units in largest_budgets(records).items()
        }

    def _carve_ambiguous(self, namespace: str) -> None:
        """Carve the largest stated budget out of each pool it might be part of."""
        for class_name, own in self._own[namespace].items():
            for pool in self._pools_above(namespace, class_name):
                if pool is not own:
                    pool.carve += own.budget
        if not all(record.budget_readable for record in self.tree.records(namespace)):
            above = self.tree.ancestors(namespace)
            for class_name in {name for each in above for name in self._own.get(each, ())}:
                for pool in self._pools_above(namespace, class_name):
                    pool.carve_told = False

    def _charge_first(self, usage: Iterable[tuple[str, Usage]], clear: Sequence[Roots]) -> None:
        """Charge all namespaces for the first time.

        Above a pool its sum is added in one go, each of `clear` after those below it, instead of a
        walk up for each namespace and class.
        """
        others: list[tuple[str, Usage]] = []
        for namespace, used in usage:
            roots = self._roots.get(self.tree.home(namespace) or "")
            if roots is None or not used.readable:
                others.append((namespace, used))
                continue
            self._charged[namespace] = used
            for class_name, units in used.units.items():
                pool = roots.get(class_name)
                if pool is not None:
                    pool.used += units
        for own in reversed(clear):
            for pool in own.values():
                pool.subtree += pool.used
                if pool.above is not None:
                    pool.above.subtree += pool.subtree
        for namespace, used in others:
            self.charge(namespace, used)

    def _charge_units(self, roots: Roots, added: Mapping[str, int]) -> None:
        """Add units of classes to the pools drawn from, and to all above these."""
        dirty = self._dirty
        for class_name, units in added.items():
            pool = roots.get(class_name)
            if pool is not None:
                dirty.append(pool)
                pool.used += units
            while pool is not None:
                pool.subtree += units
                pool = pool.above

    def _charge_unread(self, drawn: Iterable[Pool], unread: int) -> None:
        """Let pools and all above them count a namespace more or less that holds what is unread."""
        for each in drawn:
            self._dirty.append(each)
            each.used_unread += unread
            pool: Pool | None = each
            while pool is not None:
                pool.subtree_unread += unread
                pool = pool.above

    def _charge_ambiguous(
        self, namespace: str, home: str, added: Mapping[str, int], unread: int
    ) -> None:
        """Charge once each pool that might be drawn from, and once each that might be above."""
        above = [
            self._own[each] for each in self.tree.ancestors(home) | {home} if each in self._own
        ]
        declared = {class_name for own in above for class_name in own}
        for class_name in declared if unread else declared & added.keys():
            units = added.get(class_name, 0)
            drawn = self._possible_pools([home], class_name)
            if namespace == home:
                drawn |= self._pools_above(home, class_name)
            enclosing = {own[class_name] for own in above if class_name in own}
            for pool in drawn:
                pool.used += units
                pool.used_unread += unread
            for pool in enclosing:
                pool.subtree += units
                pool.subtree_unread += unread
            self._dirty.extend(pool for pool in enclosing if pool.root in self._roots)

    def _pools_above(self, home: str, class_name: str) -> set[Pool]:
        """Return the pools that a parent of a namespace might draw from."""
        return self._possible_pools(self.tree.parents(home), class_name)

    def _possible_pools(self, homes: Iterable[str], class_name: str) -> set[Pool]:
        """Return the pools that namespaces draw from in any reading of their records.

        Where a record declares the class the namespace is a root; where one does not, or could not
        be understood, it draws from what its parents draw from.
        """
        found: set[Pool] = set()
        seen: set[str] = set()
        waiting = [*homes]
        while waiting:
            home = waiting.pop()
            if home in seen:
                continue
            seen.add(home)
            own = self._own.get(home, NO_ROOTS)
            if class_name in own:
                found.add(own[class_name])
            if class_name not in self._surely.get(home, own):
                waiting.extend(self.tree.parents(home))
        return found


def _difference(before: Mapping[str, int], after: Mapping[str, int]) -> Mapping[str, int]:
    """Return by key how much more there is after than before; negative for less."""
    if not before:
        return after
    keys = before.keys() | after.keys()
    added = {key: after.get(key, 0) - before.get(key, 0) for key in keys}
    return {key: count for key, count in added.items() if count}


def _with_above(pools: Iterable[Pool]) -> set[Pool]:
    """Return pools and everything above them."""
    found: set[Pool] = set()
    for each in pools:
        pool: Pool | None = each
        while pool is not None and pool not in found:
            found.add(pool)
            pool = pool.above
    return found


def _surely_declares(records: Iterable[TenantRecord]) -> frozenset[str]:
    """Return the classes that an unclear namespace declares in every reading of its records."""
    each = [declares(record) if record.readable else _NO_CLASSES for record in records]
    return frozenset.intersection(*each)


def _budget(pool: Pool) -> int:
    return pool.budget


def _depth(pool: Pool) -> int:
    return pool.depth
