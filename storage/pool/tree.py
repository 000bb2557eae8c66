"""The tree of tenants (domain 2.4): who is whose parent, and where that cannot be told.

A namespace without a record draws its parent from its name, so it needs no place of its own here:
its home, the nearest namespace above it that has a record, stands for it.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from typing import Final

from storage.model.names import ROOT_TENANT, is_tenant_namespace, parent_by_name
from storage.model.objects import TenantRecord

Records = Mapping[str, Sequence[TenantRecord]]


def records_of(records: Iterable[TenantRecord]) -> Records:
    """Return the records by namespace."""
    by_namespace: dict[str, list[TenantRecord]] = {}
    for record in records:
        known = by_namespace.get(record.namespace)
        if known is None:
            by_namespace[record.namespace] = [record]
        else:
            known.append(record)
    return by_namespace


def parent_of(record: TenantRecord) -> str | None:
    """Return the parent that a record gives its namespace: the stated one wins over the name."""
    if record.namespace == ROOT_TENANT:
        return None
    return record.parent or parent_by_name(record.namespace)


class Tree:
    """The tree as its records tell it; never changed, built anew in linear time."""

    def __init__(self, records: Iterable[TenantRecord]) -> None:
        """Read the records, in any order, all of tenants' namespaces."""
        self._records: Final = records_of(records)
        #: The namespaces whose place is clear, each after the one above it: the nearest above that
        #: has a record, None at the top.
        self.places: Final[Mapping[str, str | None]] = dict(self._places())
        self._parents: Final = {
            namespace: self._possible_parents(self._records[namespace])
            for namespace in self._records.keys() - self.places.keys()
        }

    @property
    def namespaces(self) -> Set[str]:
        """The namespaces with a record."""
        return self._records.keys()

    @property
    def ambiguous(self) -> Set[str]:
        """The namespaces with a record for which it cannot be told where they stand.

        One has two records or one that was not understood, its parents loop or are no tenants, or
        one of its parents is ambiguous.
        """
        return self._parents.keys()

    def records(self, namespace: str) -> Sequence[TenantRecord]:
        """Return what is recorded of a namespace, nothing for most names."""
        return self._records.get(namespace, ())

    def home(self, namespace: str) -> str | None:
        """Return the nearest of a namespace and those above it by name that has a record.

        None where there is none, and for what is no tenant's namespace.
        """
        if namespace in self._records:
            return namespace
        at = namespace if is_tenant_namespace(namespace) else None
        while at is not None and at not in self._records:
            at = parent_by_name(at)
        return at

    def parents(self, home: str) -> Iterable[str]:
        """Return each parent with a record that a namespace with a record might have."""
        if home in self._parents:
            return self._parents[home]
        parent = self.places[home]
        return () if parent is None else (parent,)

    def ancestors(self, home: str) -> frozenset[str]:
        """Return everything with a record that might be above; itself only where parents loop."""
        found: set[str] = set()
        waiting = [*self.parents(home)]
        while waiting:
            namespace = waiting.pop()
            if namespace not in found:
                found.add(namespace)
                waiting.extend(self.parents(namespace))
        return frozenset(found)

    def _places(self) -> Iterator[tuple[str, str | None]]:
        """Walk down from whatever has nothing above it: what this never reaches is not clear."""
        below: dict[str | None, list[str]] = {}
        for namespace, records in self._records.items():
            if len(records) > 1 or not records[0].readable:
                continue
            parent = parent_of(records[0])
            if parent is not None and parent not in self._records:
                if not is_tenant_namespace(parent):
                    continue
                parent = self.home(parent)
            below.setdefault(parent, []).append(namespace)
        walked: list[str | None] = [None]
        for parent in walked:  # grows while it is walked
            for namespace in below.get(parent, ()):
                yield namespace, parent
                walked.append(namespace)

    def _possible_parents(self, records: Sequence[TenantRecord]) -> frozenset[str]:
        stated = {parent for record in records if (parent := parent_of(record)) is not None}
        homes = {self.home(parent) for parent in stated}
        return frozenset(home for home in homes if home is not None)
