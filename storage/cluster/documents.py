"""One file of objects to plain values: YAML or JSON, many documents, lists unpacked (design 11).

Whoever writes these files is trusted with the cluster's content, not with the process: size, depth
and what aliases expand to are bounded. A fault says file, document and line in our words; nothing
of the content goes into it.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any, Final, NoReturn

import yaml

try:
    from yaml import CSafeLoader as _SafeLoader
except ImportError:  # PyYAML was built without libyaml
    from yaml import SafeLoader as _SafeLoader  # type: ignore[assignment]  # the same interface

MAX_FILE_BYTES: Final = 16 * 1024 * 1024

#: Nodes of one document, each counted as often as aliases repeat it.
MAX_DOCUMENT_NODES: Final = 1_000_000

_TIMESTAMP_TAG: Final = "tag:yaml.org,2002:timestamp"
_MERGE_TAG: Final = "tag:yaml.org,2002:merge"
_MAX_LIST_DEPTH: Final = 8


@dataclass(frozen=True, slots=True)
class FileFault:
    """What is wrong with a file, and where; document and line count from 1, None: not in one."""

    file: str
    text: str
    document: int | None = None
    line: int | None = None

    def __str__(self) -> str:
        where = [self.file]
        if self.document is not None:
            where.append(f"document {self.document}")
        if self.line is not None:
            where.append(f"line {self.line}")
        return f"{', '.join(where)}: {self.text}"


class FileFaultError(Exception):
    """A file that cannot be parsed."""

    def __init__(self, fault: FileFault) -> None:
        super().__init__(str(fault))
        self.fault = fault


@dataclass(frozen=True, slots=True)
class Position:
    """Where an object stands."""

    file: str
    document: int
    line: int

    def __str__(self) -> str:
        return f"{self.file}, document {self.document}, line {self.line}"

    def fault(self, text: str) -> FileFaultError:
        """Return the error that says what is wrong with what stands here."""
        return FileFaultError(FileFault(self.file, text, self.document, self.line))


@dataclass(frozen=True, slots=True)
class PlainObject:
    """An object as it is written."""

    api_version: str
    kind: str
    value: Mapping[str, Any]
    position: Position


class _Loader(_SafeLoader):
    """Plain values only, and times as text: objects in JSON know no other."""

    yaml_implicit_resolvers = {  # noqa: RUF012  # PyYAML's own attribute, read only
        first: [(tag, pattern) for tag, pattern in resolvers if tag != _TIMESTAMP_TAG]
        for first, resolvers in _SafeLoader.yaml_implicit_resolvers.items()
    }


def parse(file: str, content: bytes) -> tuple[PlainObject, ...]:
    """Return the objects of a file, in order. Raises FileFaultError."""
    if len(content) > MAX_FILE_BYTES:
        raise FileFaultError(FileFault(file, f"larger than {MAX_FILE_BYTES >> 20} MiB"))
    is_json = PurePath(file).suffix == ".json"
    documents = _json_document(file, content) if is_json else _yaml_documents(file, content)
    return tuple(
        found for value, position in documents for found in _unpacked(value, position, depth=0)
    )


def _yaml_documents(file: str, content: bytes) -> Iterator[tuple[Any, Position]]:
    number = 1
    try:
        loader = _Loader(content)
        while loader.check_node():
            node = loader.get_node()
            assert node is not None  # check_node said so
            position = Position(file, number, node.start_mark.line + 1)
            _check_nodes(node, position)
            yield loader.construct_document(node), position
            number += 1
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else None
        raise FileFaultError(FileFault(file, _in_our_words(error), number, line)) from error
    except yaml.reader.ReaderError as error:
        line = content.count(b"\n", 0, error.position) + 1
        raise FileFaultError(FileFault(file, "not text in UTF-8", number, line)) from error
    except (yaml.YAMLError, ValueError, OverflowError, RecursionError) as error:
        raise FileFaultError(FileFault(file, "a value cannot be read", number)) from error


def _in_our_words(error: yaml.MarkedYAMLError) -> str:
    """Return what the parser says of YAML, less what it quotes of the content."""
    problem = re.split(r"['\"`(]", error.problem or "not YAML", maxsplit=1)[0]
    return problem.strip() or "not YAML"


def _check_nodes(root: Any, position: Position) -> None:
    """Refuse a document whose aliases blow it up, or loop, and keys that are there twice."""
    waiting = [root]
    seen = 0
    while waiting:
        node = waiting.pop()
        seen += 1
        if seen > MAX_DOCUMENT_NODES:
            raise position.fault("too large once its aliases are expanded")
        if isinstance(node, yaml.MappingNode):
            _check_keys(node, position)
            for key, value in node.value:
                waiting += (key, value)
        elif isinstance(node, yaml.SequenceNode):
            waiting += node.value


def _check_keys(node: yaml.MappingNode, position: Position) -> None:
    keys = set()
    for key, _ in node.value:
        if not isinstance(key, yaml.ScalarNode) or key.tag == _MERGE_TAG:
            continue
        if (key.tag, key.value) in keys:
            line = key.start_mark.line + 1
            raise Position(position.file, position.document, line).fault("a key is there twice")
        keys.add((key.tag, key.value))


def _json_document(file: str, content: bytes) -> Iterator[tuple[Any, Position]]:
    try:
        value = json.loads(content, object_pairs_hook=_without_repeats, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        raise FileFaultError(FileFault(file, "not JSON", 1, error.lineno)) from error
    except (ValueError, RecursionError) as error:
        raise FileFaultError(FileFault(file, "a value cannot be read", 1)) from error
    yield value, Position(file, 1, 1)


def _without_repeats(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key is there twice")
    return found


def _no_constant(text: str) -> NoReturn:
    raise ValueError("a constant that JSON does not have")


def _unpacked(value: Any, position: Position, *, depth: int) -> Iterator[PlainObject]:
    """Yield a document's objects: itself, or the items of a list. An empty document has none."""
    if value is None:
        return
    if not isinstance(value, dict):
        raise position.fault("not an object")
    api_version, kind = value.get("apiVersion"), value.get("kind")
    if not (isinstance(api_version, str) and api_version and isinstance(kind, str) and kind):
        raise position.fault("apiVersion and kind are required")
    if not kind.endswith("List") or "items" not in value:
        yield PlainObject(api_version, kind, value, position)
        return
    items = value["items"] or ()
    if not isinstance(items, list | tuple) or depth == _MAX_LIST_DEPTH:
        raise position.fault("items is not a list of objects")
    # Items of a typed list come without kind and apiVersion out of the API server.
    inherited = {} if kind == "List" else {"apiVersion": api_version, "kind": kind[: -len("List")]}
    for item in items:
        full = {**inherited, **item} if isinstance(item, dict) else item
        if full is None:
            raise position.fault("items holds something that is not an object")
        yield from _unpacked(full, position, depth=depth + 1)
