"""Pages of a list and lines of a watch, from bytes to what they tell (contract 4).

Of a feed that is read by metadata alone, an answer that is anything else is not looked into: it is
as good as garbage (design 2).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

import msgspec
from msgspec import Raw, Struct, field

from storage.cluster.kinds import Kind

#: Kinds of which nothing but metadata is ever taken.
METADATA_ONLY: Final = frozenset({Kind.SECRET})

_PARTIAL: Final = "PartialObjectMetadata"
_INITIAL_END: Final = "k8s.io/initial-events-end"


class GarbageError(Exception):
    """Bytes that are no page, or no line of a watch."""


class ListMeta(Struct, gc=False, rename="camel"):
    """metadata of a list."""

    resource_version: str = ""
    next: str = field(name="continue", default="")


class ListWire(Struct, gc=False):
    """A page of a list; items are left as they came."""

    metadata: ListMeta
    kind: str = ""
    items: tuple[Raw, ...] | None = None


class LineWire(Struct, gc=False):
    """A line of a watch."""

    type: str
    object: Raw


class VersionMeta(Struct, gc=False, rename="camel"):
    """metadata of an object, as far as its place in a watch needs it."""

    resource_version: str = ""
    annotations: dict[str, str] | None = None


class VersionedWire(Struct, gc=False):
    """An object, as far as its place in a watch needs it."""

    kind: str = ""
    metadata: VersionMeta | None = None


class StatusWire(Struct, gc=False):
    """A Status, as far as it decides anything."""

    code: int = 500


_PAGE: Final = msgspec.json.Decoder(ListWire)
_LINE: Final = msgspec.json.Decoder(LineWire)
_VERSIONED: Final = msgspec.json.Decoder(VersionedWire)
_STATUS: Final = msgspec.json.Decoder(StatusWire)


def read_page(kind: Kind, body: bytes) -> ListWire:
    """Read a page. Raises GarbageError."""
    try:
        page = _PAGE.decode(body)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise GarbageError from error
    if kind in METADATA_ONLY and page.kind != f"{_PARTIAL}List":
        raise GarbageError
    if not page.metadata.resource_version:
        raise GarbageError
    return page


@dataclass(frozen=True, slots=True)
class Put:
    """An object came or changed."""

    payload: Raw


@dataclass(frozen=True, slots=True)
class Deleted:
    """An object has gone; the payload is its last state."""

    payload: Raw


@dataclass(frozen=True, slots=True)
class Marked:
    """A bookmark."""

    version: str
    initial_end: bool  # all objects of a streaming list have been told


@dataclass(frozen=True, slots=True)
class Erred:
    """The watch ends with a status."""

    status: int


Told: TypeAlias = Put | Deleted | Marked | Erred


def read_line(kind: Kind, raw: bytes) -> Told:
    """Read a line of a watch. Raises GarbageError."""
    try:
        line = _LINE.decode(raw)
        match line.type:
            case "ADDED" | "MODIFIED":
                _refuse_whole(kind, line.object)
                return Put(line.object)
            case "DELETED":
                _refuse_whole(kind, line.object)
                return Deleted(line.object)
            case "BOOKMARK":
                mark = _VERSIONED.decode(line.object)
                meta = mark.metadata or VersionMeta()
                return Marked(meta.resource_version, _ends_initial(meta.annotations or {}))
            case "ERROR":
                return Erred(_STATUS.decode(line.object).code)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise GarbageError from error
    raise GarbageError


def version_of(payload: Raw) -> str:
    """Return the version of an object. Raises GarbageError where it has none."""
    try:
        meta = _VERSIONED.decode(payload).metadata
    except (msgspec.MsgspecError, RecursionError) as error:
        raise GarbageError from error
    if meta is None or not meta.resource_version:
        raise GarbageError
    return meta.resource_version


def _refuse_whole(kind: Kind, payload: Raw) -> None:
    """Raise GarbageError for an object that should be metadata alone and is not."""
    if kind in METADATA_ONLY and _VERSIONED.decode(payload).kind != _PARTIAL:
        raise GarbageError


def _ends_initial(annotations: Mapping[str, str]) -> bool:
    return annotations.get(_INITIAL_END) == "true"
