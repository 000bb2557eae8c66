"""Percent-encoding and values of a query as Go reads them (contract 4.1, 4.2)."""

import re
from collections.abc import Mapping
from typing import Final, TypeAlias
from urllib.parse import unquote_to_bytes

from apiserver.http.errors import BadRequestError
from storage.views.quoting import excerpt, quoted

#: All values of each parameter, in order.
Query: TypeAlias = Mapping[str, tuple[str, ...]]

_BAD_ESCAPE: Final = re.compile(r"%(?![0-9A-Fa-f]{2}).{0,2}", re.DOTALL)
_INTEGER: Final = re.compile(r"[+-]?[0-9]+", re.ASCII)
_INTEGER_LIMIT: Final = 1 << 63
_INTEGER_MAX_LENGTH: Final = 20


def unescape(text: str) -> str:
    """Decode percent-encoding; a broken one, or one that is not UTF-8, raises BadRequestError."""
    if "%" not in text and text.isascii():
        return text
    broken = _BAD_ESCAPE.search(text)
    if broken is not None:
        raise BadRequestError(f"invalid URL escape {quoted(broken[0])}")
    try:
        return unquote_to_bytes(text.encode("utf-8", "surrogateescape")).decode()
    except UnicodeDecodeError:
        raise BadRequestError("the URL is not UTF-8") from None


def parse_query(text: str) -> Query:
    """Split a query string. Raises BadRequestError, where Go would drop the parameter."""
    values: dict[str, list[str]] = {}
    for pair in text.split("&"):
        if pair:
            name, _, value = pair.replace("+", " ").partition("=")
            values.setdefault(unescape(name), []).append(unescape(value))
    return {name: tuple(found) for name, found in values.items()}


def first(query: Query, name: str) -> str:
    """Return the first value of a parameter, "" where it is absent."""
    return query[name][0] if name in query else ""


def boolean(query: Query, name: str) -> bool | None:
    """Return a switch, None where it is absent; anything but "0" and "false" is on, "" too."""
    if name not in query:
        return None
    value = query[name][0]
    return value != "0" and value.lower() != "false"


def integer(query: Query, name: str) -> int | None:
    """Return a 64-bit integer, None where it is absent. Raises BadRequestError."""
    if name not in query:
        return None
    value = query[name][0]
    shown = quoted(excerpt(value))
    if not _INTEGER.fullmatch(value):
        raise BadRequestError(f"strconv.ParseInt: parsing {shown}: invalid syntax")
    number = int(value) if len(value) <= _INTEGER_MAX_LENGTH else _INTEGER_LIMIT
    if not -_INTEGER_LIMIT <= number < _INTEGER_LIMIT:
        raise BadRequestError(f"strconv.ParseInt: parsing {shown}: value out of range")
    return number
