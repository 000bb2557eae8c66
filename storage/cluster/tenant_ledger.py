"""The records of tenants, kept as their objects change: each object costs its namespace only."""

from collections.abc import Iterable, Iterator

from storage.cluster.decoded import Ref, TenantValue, Value
from storage.cluster.kinds import Kind
from storage.cluster.shelf import Shelf
from storage.cluster.tenants import ClassNames, TenantReader
from storage.model.objects import TenantRecord
from storage.model.snapshot import Change, Drop, Put, Source


class TenantLedger:
    """The records of tenants, read namespace by namespace as their objects change."""

    def __init__(self, reader: TenantReader) -> None:
        self._reader = reader
        self._classes: ClassNames = {}
        self._objects: dict[str, dict[tuple[Kind, Ref], TenantValue]] = {}
        self._records: dict[str, tuple[TenantRecord, ...]] = {}

    def all(self) -> tuple[TenantRecord, ...]:
        """Return the records of all namespaces."""
        return tuple(record for records in self._records.values() for record in records)

    def take(self, shelf: Shelf, changed: Iterable[Ref]) -> list[Change]:
        """Take the objects at these places as they are now; return the records that differ."""
        touched: dict[str, None] = {}
        for ref in changed:
            namespace = self._reader.namespace_of(shelf.kind, ref)
            touched[namespace] = None
            self._place(namespace, (shelf.kind, ref), shelf.value(ref))
        return [change for namespace in touched for change in self._read(namespace)]

    def use_classes(self, classes: ClassNames) -> list[Change]:
        """Read all namespaces anew where their records depend on the names of classes."""
        if not self._reader.reads_classes or classes == self._classes:
            return []
        self._classes = classes
        return [change for namespace in list(self._objects) for change in self._read(namespace)]

    def _place(self, namespace: str, at: tuple[Kind, Ref], value: Value | None) -> None:
        objects = self._objects.setdefault(namespace, {})
        if isinstance(value, TenantValue):
            objects[at] = value
        else:
            objects.pop(at, None)

    def _read(self, namespace: str) -> Iterator[Change]:
        """Read a namespace; yield the records that went, then those that differ."""
        objects = self._objects.get(namespace, {})
        if not objects:
            self._objects.pop(namespace, None)
        old = {record.key: record for record in self._records.get(namespace, ())}
        new = {
            record.key: record for record in self._reader.records(namespace, objects, self._classes)
        }
        if new:
            self._records[namespace] = tuple(new.values())
        else:
            self._records.pop(namespace, None)
        yield from (Drop(Source.TENANTS, key) for key in sorted(old.keys() - new.keys()))
        yield from (Put(record) for key, record in new.items() if old.get(key) != record)
