"""From JSON to a wire shape; and what can be told of an object that does not have its shape."""

import re
from typing import Any, Final, TypeVar

import msgspec
from msgspec import Struct

from storage.cluster.decoded import Ref
from storage.cluster.wire import ObjectMeta

Wire = TypeVar("Wire", bound=Struct)

_FIELD: Final = re.compile(r" - at `\$\.?(?P<path>[^`]*)`")
_MISSING: Final = re.compile(r"missing required field `(?P<name>[^`]*)`")


class WireError(Exception):
    """Bytes that are not the object they should be; the text names a field, never its value."""


def read(payload: bytes, decoder: "msgspec.json.Decoder[Wire]") -> Wire:
    """Read an object from its JSON. Raises WireError."""
    try:
        return decoder.decode(payload)
    except msgspec.ValidationError as error:
        raise WireError(_fault_of(str(error))) from error
    except (msgspec.MsgspecError, RecursionError) as error:
        raise WireError("the object is not in JSON") from error


def read_row(value: object, shape: type[Wire]) -> Wire | None:
    """Read a part that was left untyped; None: it does not have this shape."""
    try:
        return msgspec.convert(value, shape)
    except (msgspec.MsgspecError, RecursionError):
        return None


def ref_of(metadata: ObjectMeta) -> Ref:
    """Return the place of an object; a cluster-scoped one has no namespace."""
    return Ref(metadata.namespace or "", metadata.name)


class Fragment(Struct, gc=False):
    """What is left of an object that does not have its shape."""

    metadata: Any = None
    spec: Any = None

    @property
    def ref(self) -> Ref:
        """The object's place; "" for what cannot be told."""
        return Ref(text_in(self.metadata, "namespace"), text_in(self.metadata, "name"))


_FRAGMENT: Final = msgspec.json.Decoder(Fragment)


def fragment_of(payload: bytes) -> Fragment:
    """Read what can be read of any bytes; an empty fragment of those that are no object at all."""
    try:
        return _FRAGMENT.decode(payload)
    except (msgspec.MsgspecError, RecursionError):
        return Fragment()


def text_in(value: object, key: str) -> str:
    """Return a text out of an untyped part; "" where there is none."""
    found = value.get(key) if isinstance(value, dict) else None
    return found if isinstance(found, str) else ""


def _fault_of(text: str) -> str:
    """Say in our words which field does not have its type."""
    at = _FIELD.search(text)
    path = at["path"] if at else ""
    missing = _MISSING.search(text)
    if missing:
        return f"{path + '.' if path else ''}{missing['name']} is missing"
    return f"{path or 'the object'} does not have the expected type"
