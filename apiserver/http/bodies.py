"""Encoded objects and lists, kept per revision and form within one bound of bytes (design 6).

An entry is named without its revision and checked against it, so what is out of date is replaced
rather than left to age.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, TypeAlias

from cachetools import LRUCache

from apiserver.http.forms import Form
from apiserver.http.services import Served
from storage.views.resource import Freshness, Key

MAX_BYTES: Final = 64 * 1024 * 1024

#: What an entry costs beside its bytes.
_ENTRY_BYTES: Final = 512

#: A body in pieces, in order.
Body: TypeAlias = tuple[bytes, ...]

_Name: TypeAlias = tuple[str, str | None, str | None, Form, str]


@dataclass(frozen=True, slots=True)
class _Entry:
    stamp: tuple[int, int]  # revision of an object or generation of a list, and the moment
    body: bytes


class Bodies:
    """The bytes of answers. Not for use by two threads."""

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self._max_bytes = max_bytes
        self._entries: LRUCache[_Name, _Entry] = LRUCache(max_bytes, getsizeof=_size)
        self._heads: dict[tuple[str, Form, str], tuple[bytes, bytes, bytes]] = {}

    def single(self, served: Served, key: Key, form: Form, version: str) -> Body:
        """Return one object, on a line."""
        return self._item(served, key, form, version), b"\n"

    def _item(self, served: Served, key: Key, form: Form, version: str) -> bytes:
        """Return one object, or its row in a Table, at the key's revision."""
        name = (served.info.plural, key.namespace, key.name, form, version)
        stamp = (key.revision, served.encoder.moment(form))
        body = self._find(name, stamp)
        if body is None:
            made = served.encoder.item(served.resource.compose(key), form, version)
            body = self._keep(name, stamp, made)
        return body

    def listed(
        self, served: Served, keys: Iterable[Key], revision: int, form: Form, version: str
    ) -> Body:
        """Return a list or Table of these objects, under a revision of its own."""
        before, middle, after = self._head(served, form, version)
        items = b",".join([self._item(served, key, form, version) for key in keys])
        return before, b"%d" % revision, middle, items, after

    def whole(
        self, served: Served, namespace: str | None, freshness: Freshness, form: Form, version: str
    ) -> Body:
        """Return the list or Table of a namespace or, with None, of all. Raises NotReadyError."""
        name = (served.info.plural, namespace, None, form, version)
        stamp = (freshness.generation, served.encoder.moment(form))
        before, middle, after = self._head(served, form, version)
        rest = self._find(name, stamp)
        if rest is None:
            keys = served.resource.keys(namespace)
            items = b",".join([self._item(served, key, form, version) for key in keys])
            rest = self._keep(name, stamp, b"".join((middle, items, after)))
        return before, b"%d" % freshness.list_revision(), rest

    def _head(self, served: Served, form: Form, version: str) -> tuple[bytes, bytes, bytes]:
        name = (served.info.plural, form, version)
        if name not in self._heads:
            before, middle, after = served.encoder.list_head(form, version)
            self._heads[name] = before, middle, after + b"\n"
        return self._heads[name]

    def _find(self, name: _Name, stamp: tuple[int, int]) -> bytes | None:
        entry = self._entries.get(name)
        return entry.body if entry is not None and entry.stamp == stamp else None

    def _keep(self, name: _Name, stamp: tuple[int, int], body: bytes) -> bytes:
        entry = _Entry(stamp, body)
        if _size(entry) <= self._max_bytes:
            self._entries[name] = entry
        return body


def _size(entry: _Entry) -> int:
    return len(entry.body) + _ENTRY_BYTES
