"""What parsers say of YAML and JSON, in whole sentences of ours (design 11).

Parsers quote the content, which holds names of nodes, and word what they expect for themselves.
"""

import json
from typing import Final

import yaml

#: A part of what PyYAML or libyaml says, and what a person is told; the first that fits counts.
_SENTENCES: Final = (
    ("tab character", "a tab indents a line"),
    ("flow sequence", "a list or mapping in brackets is not closed, or lacks a comma"),
    ("flow mapping", "a list or mapping in brackets is not closed, or lacks a comma"),
    ("unexpected end of stream", "a text in quotes is not closed"),
    ("unexpected document", "a text in quotes is not closed"),
    ("quoted scalar", "a text in quotes holds an escape that YAML does not have"),
    ("mapping values are not allowed", "a colon stands where no key can be"),
    ("mapping keys are not allowed", "a question mark stands where no key can be"),
    ("entries are not allowed", "a list item stands where no list can be"),
    ("expected ':'", "a key has no colon"),
    (
        "cannot start any token",
        "a tab indents, or a value begins with a character that needs quotes",
    ),
    ("node content", "a value begins with a character that needs quotes"),
    ("maximum nesting depth", "nested too deep"),
    ("block scalar", "a text in lines does not begin or is not indented as YAML has it"),
    ("block mapping", "a line is not a key of its mapping, or not indented as one"),
    ("block collection", "a line is not an item of its list, or not indented as one"),
    ("document start", "something stands between the end of a document and the next"),
    ("undefined alias", "an alias names no anchor"),
    ("duplicate anchor", "an anchor is there twice"),
    ("anchor", "an anchor or alias has no name"),
    ("alias", "an anchor or alias has no name"),
    ("scanning a tag", "a tag that is not plain YAML"),
    ("parsing a tag", "a tag that is not plain YAML"),
    ("tag handle", "a tag that is not plain YAML"),
    ("for merging", "what is merged is not a mapping"),
    ("unhashable", "a key is a list or mapping"),
    ("base64", "a value does not fit its tag"),
    ("expected a ", "a value does not fit its tag"),
    ("directive", "a directive that is not known"),
    ("incompatible YAML", "a version of YAML that is not known"),
)

_NOT_TEXT: Final = "not text in UTF-8, or a character that is not allowed in YAML"


def yaml_fault(error: yaml.YAMLError, content: bytes) -> tuple[str, int | None]:
    """Return what is wrong and in which line; None: the parser does not know."""
    if isinstance(error, yaml.reader.ReaderError):
        return _NOT_TEXT, content.count(b"\n", 0, error.position) + 1
    if not isinstance(error, yaml.MarkedYAMLError):
        return "not YAML", None
    said = f"{error.context} {error.problem}"
    found = (sentence for part, sentence in _SENTENCES if part in said)
    mark = error.problem_mark or error.context_mark
    return next(found, "not YAML"), mark.line + 1 if mark else None


def json_fault(error: json.JSONDecodeError) -> str:
    """Return what is wrong and in which column."""
    if error.msg.startswith("Unterminated"):
        return f"not JSON: the text that begins in column {error.colno} is not closed"
    if error.pos >= len(error.doc.rstrip()):
        return "not JSON: it ends too early"
    if error.msg.startswith("Extra"):
        return f"not JSON: something follows its end in column {error.colno}"
    return f"not JSON from column {error.colno} on"
