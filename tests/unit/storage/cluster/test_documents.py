"""Files of objects as plain values."""

import pytest

from storage.cluster.documents import MAX_FILE_BYTES, FileFault, parse

POD = "apiVersion: v1\nkind: Pod\n"


def fault_of(file: str, content: str | bytes) -> FileFault:
    """Return the one thing that is wrong with a file."""
    raw = content if isinstance(content, bytes) else content.encode()
    (fault,) = parse(file, raw).faults
    return fault


def kinds(file: str, content: str) -> list[tuple[str, str, int, int]]:
    """Return apiVersion, kind, document and line of each object of a file without faults."""
    parsed = parse(file, content.encode())
    assert parsed.faults == ()
    return [
        (each.api_version, each.kind, each.position.document, each.position.line)
        for each in parsed.objects
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
    (found,) = parse("a.yaml", content.encode()).objects
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
        ("a.yaml", f"{POD}---\na: {'9' * 5000}\n", 2, 4),
        ("a.yaml", f"{POD}---\na: !!timestamp x\n", 2, 4),
        ("a.yaml", f"{POD}---\na: !!bool x\n", 2, 4),
        ("a.yaml", f"{POD}---\na: !!int ''\n", 2, 4),
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


def test_each_document_and_each_item_has_its_own_faults() -> None:
    """Exit code 2 lists every problem; what is right is read beside them."""
    content = (
        f"x: !a {{y: !b z}}\n---\n{POD}---\nkind: Pod\n---\na: 1\na: 2\nb: 1\nb: 2\n---\n"
        "a: !!int x\nb: [!!timestamp x]\n---\n"
        "apiVersion: v1\nkind: PodList\nitems: [5, {}, {apiVersion: 1}, {kind: List, items: [x]}]\n"
        "---\n? [a]\n: 1\n---\n5\n---\n{a: [1\n---\nkind: Pod\n"
    )
    parsed = parse("a.yaml", content.encode())
    assert [str(fault).removeprefix("a.yaml, ") for fault in parsed.faults] == [
        "document 1, line 1: a tag that is not plain YAML",
        "document 3, line 6: apiVersion and kind are required",
        "document 4, line 9: a key is there twice",
        "document 4, line 11: a key is there twice",
        "document 5, line 13: a value does not fit its tag, or is too large",
        "document 6, line 16, items[0]: not an object",
        "document 6, line 16, items[2]: apiVersion and kind are required",
        "document 6, line 16, items[3].items[0]: not an object",
        "document 7, line 20: a key is a list or mapping",
        "document 8, line 23: not an object",
        "document 9, line 26: a list or mapping in brackets is not closed, or lacks a comma",
    ]
    assert [str(each.position) for each in parsed.objects] == [
        "a.yaml, document 2, line 3",
        "a.yaml, document 6, line 16, items[1]",
    ]


def test_a_fault_leaves_nothing_behind_for_the_next_document() -> None:
    """What one could not construct does not come up as a fault of another."""
    content = f"a: !!int x\nb: {{c: !!int y, <<: 5}}\n---\n{POD}"
    parsed = parse("a.yaml", content.encode())
    assert [fault.document for fault in parsed.faults] == [1]
    assert [each.position.document for each in parsed.objects] == [2]


BRACKETS = "a list or mapping in brackets is not closed, or lacks a comma"
QUOTES = "a text in quotes is not closed"
INDENTED = "a line is not a key of its mapping, or not indented as one"
BEGIN = "a value begins with a character that needs quotes"
BLOCK = "a text in lines does not begin or is not indented as YAML has it"
NOT_PLAIN = "a tag that is not plain YAML"
NAMELESS = "an anchor or alias has no name"


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("{a: [1", BRACKETS),
        ("a: {b: 1\nc: 2", BRACKETS),
        ("a: 'x", QUOTES),
        ('a: "x\n---\ny"', QUOTES),
        ('a: "\\q"', "a text in quotes holds an escape that YAML does not have"),
        ('a: "\\uZZZZ"', "a text in quotes holds an escape that YAML does not have"),
        ("a: b: c", "a colon stands where no key can be"),
        ("a: ? b", "a question mark stands where no key can be"),
        ("a: - b", "a list item stands where no list can be"),
        ("? a\nb", "a key has no colon"),
        ("a:\n\tb: 1", f"a tab indents, or {BEGIN}"),
        ("a: @x", f"a tab indents, or {BEGIN}"),
        ("a: ]", BEGIN),
        ("a: |\n x\n\ty: 1", "a tab indents a line"),
        ("a: |z\n x", BLOCK),
        ("a: 1\n- b", INDENTED),
        ("a: 'x' y", INDENTED),
        ("- a\nb: 1", "a line is not an item of its list, or not indented as one"),
        ("a: *x", "an alias names no anchor"),
        ("a: &x 1\nb: &x 2", "an anchor is there twice"),
        ("a: & b", NAMELESS),
        ("a: * b", NAMELESS),
        ("!foo {}", NOT_PLAIN),
        ("a: !x!y 1", NOT_PLAIN),
        ("a: !<foo\nb", NOT_PLAIN),
        ("<<: 5", "what is merged is not a mapping"),
        ("%FOO\n---\na: 1", "a directive that is not known"),
        ("%YAML 3.0\n---\na: 1", "a version of YAML that is not known"),
        ("{!!seq {a: 1}: 1}", "a key is a list or mapping"),
        ("a: !!binary abc", "a value does not fit its tag"),
        ("a: !!map 5", "a value does not fit its tag"),
        ("[" * 5000, "nested too deep"),
    ],
)
def test_a_fault_in_yaml_is_a_whole_sentence(content: str, sentence: str) -> None:
    """Parsers end in the middle of one, and quote the content."""
    assert fault_of("a.yaml", content).text == sentence


def test_something_after_a_document_is_a_fault_of_its_own() -> None:
    """A bracket too many, say."""
    parsed = parse("a.yaml", f"{{apiVersion: v1, kind: Pod}}}}\n---\n{POD}".encode())
    (fault,) = parsed.faults
    assert fault.text == "something stands between the end of a document and the next"
    assert len(parsed.objects) == 1


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("", "not JSON: it ends too early"),
        ('{"a": [1\n', "not JSON: it ends too early"),
        ('{"a": "x}', "not JSON: the text that begins in column 7 is not closed"),
        ("{} {}", "not JSON: something follows its end in column 4"),
        ('{\n"a" 1}', "not JSON from column 5 on"),
        ('{"a": 1, "a": 2}', "a key is there twice"),
        ('{"a": -Infinity}', "NaN and Infinity are not in JSON"),
        ("9" * 5000, "a number has too many digits"),
        ("[" * 100_000, "nested too deep"),
        (b"\xff", "not text in UTF-8"),
    ],
)
def test_a_fault_in_json_says_what_and_where(content: str | bytes, sentence: str) -> None:
    """A file from a machine is one line: the column is what helps."""
    assert fault_of("a.json", content).text == sentence


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
    assert fault_of("a.yaml", POD + bomb).text == "more than 1000000 values, aliases expanded"


def test_a_huge_file_is_not_read() -> None:
    """Parsing takes many times the size in memory."""
    assert fault_of("a.yaml", b" " * (MAX_FILE_BYTES + 1)).text == "larger than 4 MiB"


def test_a_fault_reads_as_a_sentence() -> None:
    """As a person is told it at start."""
    assert str(FileFault("a.yaml", "not YAML", 2, 7)) == "a.yaml, document 2, line 7: not YAML"
    assert str(FileFault("a.yaml", "cannot be read")) == "a.yaml: cannot be read"


@pytest.mark.parametrize("number", ["1:" * 200 + "1", "9" * 101, "0." + "1" * 100])
def test_a_number_of_more_than_a_hundred_digits_is_refused(number: str) -> None:
    """Making it could take longer than reading the rest of the directory."""
    fault = fault_of("a.yaml", f"{POD}spec: {{a: {number}}}\n")
    assert fault.text == "a number that is too long"
