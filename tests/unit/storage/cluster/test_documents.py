"""Files of objects as plain values."""

import pytest

from storage.cluster.documents import MAX_FILE_BYTES, FileFault, FileFaultError, parse

POD = "apiVersion: v1\nkind: Pod\n"


def fault_of(file: str, content: str | bytes) -> FileFault:
    """Return what is wrong with a file."""
    raw = content if isinstance(content, bytes) else content.encode()
    with pytest.raises(FileFaultError) as raised:
        parse(file, raw)
    return raised.value.fault


def kinds(file: str, content: str) -> list[tuple[str, str, int, int]]:
    """Return apiVersion, kind, document and line of each object."""
    return [
        (each.api_version, each.kind, each.position.document, each.position.line)
        for each in parse(file, content.encode())
    ]


@pytest.mark.parametrize(
    ("file", "content", "found"),
    [
        ("a.yaml", "", []),
        ("a.yaml", "# nothing\n---\n---\n", []),
        ("a.yaml", POD, [("v1", "Pod", 1, 1)]),
        ("a.yml", f"{POD}---\n{POD}", [("v1", "Pod", 1, 1), ("v1", "Pod", 2, 4)]),
        ("a.yaml", f"---\n\n---\n{POD}", [("v1", "Pod", 2, 4)]),
        ("a.json", '{"apiVersion": "v1", "kind": "Pod"}', [("v1", "Pod", 1, 1)]),
        ("a.json", "null", []),
        (
            "a.yaml",
            "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: a/v1, kind: B}\n",
            [("a/v1", "B", 1, 1)],
        ),
        (
            "a.yaml",
            "apiVersion: v1\nkind: PodList\nitems: [{metadata: {name: a}}, {metadata: {}}]\n",
            [("v1", "Pod", 1, 1)] * 2,
        ),
        ("a.yaml", "apiVersion: v1\nkind: PodList\nitems: null\n", []),
        ("a.yaml", "apiVersion: v1\nkind: AllowList\n", [("v1", "AllowList", 1, 1)]),
        (
            "a.yaml",
            "apiVersion: v1\nkind: List\nitems:\n"
            "- {apiVersion: v1, kind: List, items: [{apiVersion: v1, kind: Pod}]}\n",
            [("v1", "Pod", 1, 1)],
        ),
    ],
)
def test_a_file_is_its_objects(
    file: str, content: str, found: list[tuple[str, str, int, int]]
) -> None:
    """Many documents to a file, lists unpacked, typed ones as the API server writes them."""
    assert kinds(file, content) == found


def test_times_stay_text_and_anchors_are_followed() -> None:
    """Objects know no times but text; an alias is what it stands for."""
    content = POD + "at: 2025-01-01T00:00:00Z\na: &x {b: 1}\nc: *x\nd: {<<: *x, e: 2}\n"
    (found,) = parse("a.yaml", content.encode())
    assert found.value["at"] == "2025-01-01T00:00:00Z"
    assert found.value["c"] == {"b": 1}
    assert found.value["d"] == {"b": 1, "e": 2}


@pytest.mark.parametrize(
    ("file", "content", "document", "line"),
    [
        ("a.yaml", "a: b: c\n", 1, 1),
        ("a.yaml", f"{POD}---\n{POD}x: [1\n", 2, 7),
        ("a.yaml", f"{POD}---\nx: *nowhere\n", 2, 4),
        ("a.yaml", "x: !!python/object:os.system {}\n", 1, 1),
        ("a.yaml", f"{POD}a: 1\nb: 2\na: 3\n", 1, 5),
        ("a.yaml", f"{POD}---\n- a\n", 2, 4),
        ("a.yaml", f"{POD}---\nplain text\n", 2, 4),
        ("a.yaml", "kind: Pod\n", 1, 1),
        ("a.yaml", "apiVersion: 1\nkind: Pod\n", 1, 1),
        ("a.yaml", "apiVersion: v1\nkind: List\nitems: {a: b}\n", 1, 1),
        ("a.yaml", "apiVersion: v1\nkind: List\nitems: [5]\n", 1, 1),
        ("a.yaml", "apiVersion: v1\nkind: List\nitems: [null]\n", 1, 1),
        ("a.yaml", f"{POD}a: {'[' * 5000}\n", 1, 3),
        ("a.yaml", f"{POD}a: {'9' * 5000}\n", 1, None),
        ("a.yaml", b"\xff\xfe\xff", 1, 1),
        ("a.yaml", b"a: 1\nb: \x00\n", 1, 2),
        ("a.json", '{"a": 1\n', 1, 2),
        ("a.json", "{} {}", 1, 1),
        ("a.json", '{"a": NaN}', 1, None),
        ("a.json", '{"a": 1, "a": 2}', 1, None),
        ("a.json", "[" * 100_000, 1, None),
        ("a.json", b"\xff", 1, None),
        ("a.json", "9" * 5000, 1, None),
    ],
)
def test_a_fault_says_where_it_is(
    file: str, content: str | bytes, document: int, line: int | None
) -> None:
    """Design 11: file, document and line; nothing raises that is no fault."""
    fault = fault_of(file, content)
    assert (fault.file, fault.document, fault.line) == (file, document, line)
    assert fault.text


def test_a_fault_quotes_nothing_of_the_file() -> None:
    """It is logged, and a file holds names of nodes."""
    for content in ("x: *zq-node\n", "zq-node\n", "x: !zq-node {}\n", "zq-a: 1\nzq-a: 2\n"):
        assert "zq-" not in str(fault_of("a.yaml", content))


def test_lists_in_lists_end_somewhere() -> None:
    """Nobody nests them; a loop of them by alias is a fault like any other."""
    nested = "{apiVersion: v1, kind: Pod}"
    for _ in range(10):
        nested = f"{{apiVersion: v1, kind: List, items: [{nested}]}}"
    assert fault_of("a.yaml", nested).text == "items is not a list of objects"


@pytest.mark.parametrize(
    "bomb",
    [
        "a: &a [x, x, x, x, x, x, x, x, x]\n"
        + "".join(
            f"{new}: &{new} [{', '.join([f'*{old}'] * 9)}]\n"
            for old, new in zip("abcdefgh", "bcdefghi", strict=True)
        ),
        "a: &a {b: *a}\n",
    ],
)
def test_aliases_cannot_blow_a_document_up(bomb: str) -> None:
    """Contract 6.51: what they expand to is bounded, loops included."""
    assert fault_of("a.yaml", POD + bomb).text == "too large once its aliases are expanded"


def test_a_huge_file_is_not_read() -> None:
    """Parsing takes many times the size in memory."""
    assert fault_of("a.yaml", b" " * (MAX_FILE_BYTES + 1)).text == "larger than 16 MiB"


def test_a_fault_reads_as_a_sentence() -> None:
    """As a person is told it at start."""
    assert str(FileFault("a.yaml", "not YAML", 2, 7)) == "a.yaml, document 2, line 7: not YAML"
    assert str(FileFault("a.yaml", "cannot be read")) == "a.yaml: cannot be read"
