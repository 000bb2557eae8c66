"""Which form of an answer a caller accepts, as Go reads the Accept header (contract 3.1 to 3.9)."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum, StrEnum
from math import isnan
from typing import Final

from apiserver.http.errors import NotAcceptableError
from apiserver.http.memo import memoised


class Encoding(StrEnum):
    """Media types of answers, by preference of the server."""

    JSON = "application/json"
    YAML = "application/yaml"


class Kind(Enum):
    """What an answer can be turned into on the caller's wish."""

    AS_IS = ""
    TABLE = "Table"
    PARTIAL = "PartialObjectMetadata"
    PARTIAL_LIST = "PartialObjectMetadataList"
    AGGREGATED_DISCOVERY = "APIGroupDiscoveryList"


class Purpose(StrEnum):
    """What is asked for."""

    OBJECTS = "objects"  # of a resource, single or listed
    DISCOVERY = "discovery"  # of all groups
    DOCUMENT = "document"  # sent as it is


_ENCODINGS: Final[Mapping[Purpose, tuple[Encoding, ...]]] = {
    Purpose.OBJECTS: (Encoding.JSON, Encoding.YAML),
    Purpose.DISCOVERY: (Encoding.JSON,),
    Purpose.DOCUMENT: (Encoding.JSON,),
}
#: By group, version and kind as the parameters g, v and as give them; v2beta1 of discovery is gone.
_CONVERSIONS: Final[Mapping[Purpose, Mapping[tuple[str, str, str], Kind]]] = {
    Purpose.OBJECTS: {
        ("meta.k8s.io", version, kind.value): kind
        for version in ("v1", "v1beta1")
        for kind in (Kind.TABLE, Kind.PARTIAL, Kind.PARTIAL_LIST)
    },
    Purpose.DISCOVERY: {
        ("apidiscovery.k8s.io", "v2", "APIGroupDiscoveryList"): Kind.AGGREGATED_DISCOVERY
    },
    Purpose.DOCUMENT: {},
}


#: How much of an Accept header is read: nobody needs more, and it is read before anybody is asked.
_MAX_CLAUSES: Final = 64
_MAX_PARAMETERS: Final = 16


@dataclass(frozen=True, slots=True)
class Negotiated:
    """The first clause that can be met."""

    encoding: Encoding = Encoding.JSON
    kind: Kind = Kind.AS_IS
    version: str = "v1"  # of the kind's group
    pretty: bool = False


@dataclass(frozen=True, slots=True)
class _Clause:
    type: str
    subtype: str
    quality: float = 1.0
    parameters: dict[str, str] = field(default_factory=dict)

    def rank(self) -> tuple[float, bool, bool]:
        """Order of trial: by quality, then the specific before the wildcard, then as written."""
        return -self.quality, self.type == "*", self.subtype == "*"

    def covers(self, encoding: Encoding) -> bool:
        kind, _, subtype = encoding.value.partition("/")
        if self.type == "*":
            return self.subtype == "*"
        return self.type == kind and self.subtype in ("*", subtype)


@memoised
def negotiate(accept: str, purpose: Purpose) -> Negotiated:
    """Return the first form that is acceptable; an empty header accepts JSON.

    Raises NotAcceptableError.
    """
    if not accept:
        return Negotiated()
    for clause in sorted(_clauses(accept), key=_Clause.rank):
        for encoding in _ENCODINGS[purpose]:
            if clause.covers(encoding):
                met = _met(clause, encoding, purpose)
                if met is not None:
                    return met
    supported = ", ".join(encoding.value for encoding in _ENCODINGS[purpose])
    raise NotAcceptableError(f"only the following media types are accepted: {supported}")


def _met(clause: _Clause, encoding: Encoding, purpose: Purpose) -> Negotiated | None:
    """Return what a clause asks for; None where one of its parameters cannot be honoured."""
    given = clause.parameters
    if given.get("stream", "") not in ("", "watch") or given.get("sv", ""):
        return None
    pretty = given.get("pretty") == "1"
    if not given.keys() & {"as", "g", "v"}:
        return Negotiated(encoding, pretty=pretty)
    group, version, kind = (given.get(name, "") for name in ("g", "v", "as"))
    conversion = _CONVERSIONS[purpose].get((group, version, kind))
    return None if conversion is None else Negotiated(encoding, conversion, version, pretty)


def _clauses(accept: str) -> Iterator[_Clause]:
    for text in accept.split(",", _MAX_CLAUSES)[:_MAX_CLAUSES]:
        media_type, *parameters = text.split(";", _MAX_PARAMETERS + 1)[: _MAX_PARAMETERS + 1]
        kind, slash, subtype = media_type.strip().partition("/")
        if not slash and kind == "*":
            subtype = "*"
        elif not slash or "/" in subtype:
            continue
        pairs = dict(_parameter(parameter) for parameter in parameters)
        quality = _quality(pairs.pop("q")) if "q" in pairs else 1.0
        yield _Clause(kind.strip(), subtype.strip(), quality, pairs)


def _parameter(text: str) -> tuple[str, str]:
    name, _, value = text.partition("=")
    return name.strip(), value.strip()


def _quality(text: str) -> float:
    """Return a clause's weight; what is no number counts as 0: last, but not refused."""
    try:
        number = float(text)
    except ValueError:
        return 0.0
    return 0.0 if isnan(number) else number
