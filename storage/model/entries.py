"""The class annotation of a VM (domain 2.5): the one parser that usage and admission share.

The standard parser takes more than JSON and forgives what must not be forgiven here; its hooks make
it strict. Nothing is expanded and no large number is built before the bound of units has been held
against it.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NoReturn

from storage.model.names import MAX_UNITS_PER_VM, is_class_name

MAX_ANNOTATION_BYTES: Final = 4096

_MEMBERS: Final = frozenset({"className", "count"})

#: Digits that a count within the bound can have; JSON knows no leading zeros.
_MAX_COUNT_DIGITS: Final = len(str(MAX_UNITS_PER_VM))

#: Stands for a count that has more digits than any count within the bound.
_BEYOND_BOUND: Final = MAX_UNITS_PER_VM + 1


@dataclass(frozen=True, slots=True)
class ClassEntry:
    """A wish for units of one class."""

    class_name: str
    count: int  # 1 to 1024


class ClassEntriesError(ValueError):
    """The annotation cannot be granted as it stands. It carries nothing of the text."""


class MalformedClassEntriesError(ClassEntriesError):
    """The annotation is not what domain 2.5 allows."""


class TooManyUnitsError(ClassEntriesError):
    """The counts add up to more than `MAX_UNITS_PER_VM`."""


def parse_class_entries(text: str) -> tuple[ClassEntry, ...]:
    """Return the entries in the order in which they are written, one at least, none repeated.

    Raises MalformedClassEntriesError and, only for text without another fault, TooManyUnitsError.
    """
    entries = tuple(_entry(member) for member in _members(text))
    if len({entry.class_name for entry in entries}) != len(entries):
        raise MalformedClassEntriesError
    if sum(entry.count for entry in entries) > MAX_UNITS_PER_VM:
        raise TooManyUnitsError
    return entries


def _members(text: str) -> list[object]:
    """Return what the array holds, any JSON values, one at least."""
    try:
        if len(text.encode()) > MAX_ANNOTATION_BYTES:
            raise MalformedClassEntriesError
        value = json.loads(
            text,
            object_pairs_hook=_object,
            parse_int=_integer,
            parse_float=_refuse,
            parse_constant=_refuse,
        )
    except (json.JSONDecodeError, UnicodeEncodeError, RecursionError):
        raise MalformedClassEntriesError from None
    if not isinstance(value, list) or not value:
        raise MalformedClassEntriesError
    return value


def _entry(member: object) -> ClassEntry:
    """Return an entry of exactly two members, each of exactly its type: True is no count."""
    if not isinstance(member, dict) or member.keys() != _MEMBERS:
        raise MalformedClassEntriesError
    name, count = member["className"], member["count"]
    if not isinstance(name, str) or not is_class_name(name):
        raise MalformedClassEntriesError
    if type(count) is not int or count < 1:
        raise MalformedClassEntriesError
    return ClassEntry(name, count)


def _object(pairs: Sequence[tuple[str, object]]) -> dict[str, object]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise MalformedClassEntriesError
    return members


def _integer(digits: str) -> int:
    """Return an integer, any that is too long to be within the bound as just beyond it."""
    if digits.startswith("-"):
        raise MalformedClassEntriesError
    return int(digits) if len(digits) <= _MAX_COUNT_DIGITS else _BEYOND_BOUND


def _refuse(_: str) -> NoReturn:
    raise MalformedClassEntriesError
