"""One file of objects to plain values: YAML or JSON, many documents, lists unpacked (design 11).

Whoever writes these files is trusted with the cluster's content, not with the process: size, depth
and what aliases expand to are bounded. A fault says file, document and line in our words; nothing
of the content goes into it.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import Any, Final, NoReturn, TypeAlias

import yaml
from yaml.constructor import SafeConstructor

from storage.cluster.syntax_faults import json_fault, yaml_fault

try:
    from yaml import CSafeLoader as _SafeLoader
except ImportError:  # PyYAML was built without libyaml
    from yaml import SafeLoader as _SafeLoader  # type: ignore[assignment]  # the same interface

#: Composing YAML takes two seconds and 160 MB a MiB where it is dense.
MAX_FILE_BYTES: Final = 4 * 1024 * 1024

#: Nodes of one document, each counted as often as aliases repeat it.
MAX_DOCUMENT_NODES: Final = 1_000_000

_TIMESTAMP_TAG: Final = "tag:yaml.org,2002:timestamp"
_MERGE_TAG: Final = "tag:yaml.org,2002:merge"
_NUMBERS: Final = ("tag:yaml.org,2002:int", "tag:yaml.org,2002:float")
_MAX_NUMBER_LENGTH: Final = 100
_MAX_LIST_DEPTH: Final = 8

#: What PyYAML lets out where a value does not fit its tag, `!!int x` say, or is too large.
_UNFIT: Final = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)


@dataclass(frozen=True, slots=True)
class FileFault:
    """What is wrong with a file, and where; document and line count from 1, None: not in one."""

    file: str
    text: str
    document: int | None = None
    line: int | None = None
    item: str = ""  # the path of a list's item in its document

    def __str__(self) -> str:
        return f"{_place(self.file, self.document, self.line, self.item)}: {self.text}"


class FileFaultError(Exception):
    """A file, or an object of it, that cannot be read."""

    def __init__(self, fault: FileFault) -> None:
        super().__init__(str(fault))
        self.fault = fault


@dataclass(frozen=True, slots=True)
class Position:
    """Where an object stands."""

    file: str
    document: int
    line: int
    item: str = ""

    def __str__(self) -> str:
        return _place(self.file, self.document, self.line, self.item)

    def fault(self, text: str) -> FileFault:
        """Say what is wrong with what stands here."""
        return FileFault(self.file, text, self.document, self.line, self.item)


def _place(file: str, document: int | None, line: int | None, item: str) -> str:
    where = [file]
    if document is not None:
        where.append(f"document {document}")
    if line is not None:
        where.append(f"line {line}")
    if item:
        where.append(item)
    return ", ".join(where)


@dataclass(frozen=True, slots=True)
class PlainObject:
    """An object as it is written."""

    api_version: str
    kind: str
    value: Mapping[str, Any]
    position: Position


@dataclass(frozen=True, slots=True, kw_only=True)
class Parsed:
    """The objects of a file, in order, and its faults, by place."""

    objects: tuple[PlainObject, ...]
    faults: tuple[FileFault, ...]


_Found: TypeAlias = PlainObject | FileFault


class _Loader(_SafeLoader):
    """Plain values only, and times as text: objects in JSON know no other."""

    yaml_implicit_resolvers = {  # noqa: RUF012  # PyYAML's own attribute, read only
        first: [(tag, pattern) for tag, pattern in resolvers if tag != _TIMESTAMP_TAG]
        for first, resolvers in _SafeLoader.yaml_implicit_resolvers.items()
    }


def parse(file: str, content: bytes) -> Parsed:
    """Return what a file holds, and everything that is wrong with it.

    What is no YAML or JSON ends the file; any other fault costs its document or item only.
    """
    objects: list[PlainObject] = []
    faults: dict[FileFault, None] = {}  # aliases repeat them
    for found in _found(file, content):
        if isinstance(found, PlainObject):
            objects.append(found)
        else:
            faults[found] = None
    return Parsed(objects=tuple(objects), faults=by_place(faults))


def by_place(faults: Iterable[FileFault]) -> tuple[FileFault, ...]:
    """Sort faults by file, document and line."""
    return tuple(sorted(faults, key=lambda each: (each.file, each.document or 0, each.line or 0)))


def _found(file: str, content: bytes) -> Iterator[_Found]:
    if len(content) > MAX_FILE_BYTES:
        yield FileFault(file, f"larger than {MAX_FILE_BYTES >> 20} MiB")
    elif PurePath(file).suffix == ".json":
        yield from _in_json(file, content)
    else:
        yield from _in_yaml(file, content)


def _in_yaml(file: str, content: bytes) -> Iterator[_Found]:
    number = 1
    try:
        loader = _Loader(content)
        while loader.check_node():
            node = loader.get_node()
            assert node is not None  # check_node said so
            yield from _in_node(node, Position(file, number, node.start_mark.line + 1))
            number += 1
    except yaml.YAMLError as error:
        text, line = yaml_fault(error, content)
        yield FileFault(file, text, number, line)
    except RecursionError:
        yield FileFault(file, "nested too deep", number)


def _in_node(node: yaml.Node, position: Position) -> Iterator[_Found]:
    """Yield what a document holds; a fault in YAML's terms hides those in terms of objects."""
    faults = dict.fromkeys(_node_faults(node, position))
    if faults:
        yield from faults
        return
    try:
        # One for each document: what a fault leaves behind would come up in the next.
        value = SafeConstructor().construct_document(node)
    except yaml.MarkedYAMLError as error:
        text, line = yaml_fault(error, b"")
        yield FileFault(position.file, text, position.document, line)
    except RecursionError:
        yield position.fault("nested too deep")
    except _UNFIT:
        yield position.fault("a value does not fit its tag, or is too large")
    else:
        yield from _unpacked(value, position, depth=0)


def _node_faults(root: yaml.Node, position: Position) -> Iterator[FileFault]:
    """Yield what is wrong below a node: tags, keys, and aliases that blow it up or loop."""
    waiting = [root]
    seen = 0
    while waiting:
        node = waiting.pop()
        seen += 1
        if seen > MAX_DOCUMENT_NODES:
            yield position.fault(f"more than {MAX_DOCUMENT_NODES} values, aliases expanded")
            return
        if node.tag in _NUMBERS and len(node.value) > _MAX_NUMBER_LENGTH:
            # One in sixties takes quadratic time to make.
            yield _fault_at(node, position, "a number that is too long")
        if node.tag not in SafeConstructor.yaml_constructors:
            yield _fault_at(node, position, "a tag that is not plain YAML")
        if isinstance(node, yaml.MappingNode):
            yield from _key_faults(node, position)
            for key, value in node.value:
                waiting += (value,) if key.tag == _MERGE_TAG else (key, value)
        elif isinstance(node, yaml.SequenceNode):
            waiting += node.value


def _key_faults(node: yaml.MappingNode, position: Position) -> Iterator[FileFault]:
    keys = set()
    for key, _ in node.value:
        if not isinstance(key, yaml.ScalarNode):
            yield _fault_at(key, position, "a key is a list or mapping")
        elif key.tag == _MERGE_TAG:
            continue
        elif (key.tag, key.value) in keys:
            yield _fault_at(key, position, "a key is there twice")
        else:
            keys.add((key.tag, key.value))


def _fault_at(node: yaml.Node, position: Position, text: str) -> FileFault:
    return FileFault(position.file, text, position.document, node.start_mark.line + 1)


class _NotPlainError(Exception):
    """Something in JSON that is not taken, as a sentence."""


def _in_json(file: str, content: bytes) -> Iterator[_Found]:
    try:
        value = json.loads(content, object_pairs_hook=_without_repeats, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        yield FileFault(file, json_fault(error), 1, error.lineno)
    except UnicodeDecodeError:
        yield FileFault(file, "not text in UTF-8", 1)
    except _NotPlainError as error:
        yield FileFault(file, str(error), 1)
    except ValueError:
        yield FileFault(file, "a number has too many digits", 1)
    except RecursionError:
        yield FileFault(file, "nested too deep", 1)
    else:
        yield from _unpacked(value, Position(file, 1, 1), depth=0)


def _without_repeats(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise _NotPlainError("a key is there twice")
    return found


def _no_constant(text: str) -> NoReturn:
    raise _NotPlainError("NaN and Infinity are not in JSON")


def _unpacked(value: Any, position: Position, *, depth: int) -> Iterator[_Found]:
    """Yield a document's objects: itself, or the items of a list. An empty document has none."""
    if value is None:
        return
    if not isinstance(value, dict):
        yield position.fault("not an object")
        return
    api_version, kind = value.get("apiVersion"), value.get("kind")
    if not (isinstance(api_version, str) and api_version and isinstance(kind, str) and kind):
        yield position.fault("apiVersion and kind are required")
        return
    if not kind.endswith("List") or "items" not in value:
        yield PlainObject(api_version, kind, value, position)
        return
    items = value["items"] or ()
    if not isinstance(items, list | tuple) or depth == _MAX_LIST_DEPTH:
        yield position.fault("items is not a list of objects")
        return
    # Items of a typed list come without kind and apiVersion out of the API server.
    inherited = {} if kind == "List" else {"apiVersion": api_version, "kind": kind[: -len("List")]}
    for index, item in enumerate(items):
        at = replace(position, item=f"{position.item}.items[{index}]".lstrip("."))
        if isinstance(item, dict):
            yield from _unpacked({**inherited, **item}, at, depth=depth + 1)
        else:
            yield at.fault("not an object")
