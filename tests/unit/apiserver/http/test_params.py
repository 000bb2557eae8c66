"""Query parameters of get and list."""

from urllib.parse import quote

import pytest

from apiserver.http.errors import BadRequestError, InvalidOptionsError
from apiserver.http.forms import Form
from apiserver.http.params import ListOptions, get_options, list_options, table_form
from apiserver.http.query import first, parse_query
from apiserver.http.selection import read_selectors
from storage.views.quoting import excerpt

FORBIDDEN = "FieldValueForbidden"
NOT_SUPPORTED = "FieldValueNotSupported"


def options_of(text: str) -> ListOptions:
    """Return the options of a list with this query."""
    query = parse_query(text)
    texts = first(query, "labelSelector"), first(query, "fieldSelector")
    return list_options(query, read_selectors(*texts) if any(texts) else None)


@pytest.mark.parametrize(
    ("query", "minimum", "exact"),
    [
        ("", 0, False),
        ("resourceVersion=", 0, False),
        ("resourceVersion=0", 0, False),
        ("resourceVersion=7", 7, False),
        ("resourceVersion=7&resourceVersionMatch=NotOlderThan", 7, False),
        ("resourceVersion=0&resourceVersionMatch=NotOlderThan", 0, False),
        ("resourceVersion=7&resourceVersionMatch=Exact", 7, True),
        ("resourceVersion=18446744073709551615", 2**64 - 1, False),
        ("limit=500&resourceVersion=0", 0, False),
        ("limit=0&timeoutSeconds=5&allowWatchBookmarks=true&shardSelector=x&unknown=y", 0, False),
    ],
)
def test_a_list_says_how_fresh_it_must_be(query: str, minimum: int, exact: bool) -> None:
    """Contract 4.12; WA-10: `limit` is legal and changes nothing."""
    options = options_of(query)
    assert (options.minimum, options.exact) == (minimum, exact)
    assert not options.selective
    assert not options.watch


def test_selectors_make_a_list_selective() -> None:
    """Contract 4.7."""
    assert options_of("labelSelector=a=b").selective
    assert options_of("fieldSelector=metadata.name=b").selective


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("limit=x", 'strconv.ParseInt: parsing "x": invalid syntax'),
        ("limit=-1", "limit must not be negative: -1"),
        ("timeoutSeconds=1.5", 'strconv.ParseInt: parsing "1.5": invalid syntax'),
        ("labelSelector=,", "found ',', expected: !, identifier, or 'end of string'"),
        ("fieldSelector=x", "invalid selector: 'x'; can't understand 'x'"),
        (
            "fieldSelector=spec.vendor=x",
            '"spec.vendor" is not a known field selector: only "metadata.name",'
            ' "metadata.namespace"',
        ),
        ("continue=x", "invalid continue token: continue key is not valid"),
        ("continue=x&resourceVersion=0", "invalid continue token: continue key is not valid"),
        (
            "continue=x&resourceVersion=7",
            "specifying resource version is not allowed when using continue",
        ),
        *(
            (
                f"resourceVersion={quote(text)}",
                f'invalid resource version: resourceVersion: Invalid value: "{excerpt(text)}":'
                f' strconv.ParseUint: parsing "{excerpt(text)}": {why}',
            )
            for text, why in [
                ("x", "invalid syntax"),
                ("-1", "invalid syntax"),
                ("00", "invalid syntax"),
                ("07", "invalid syntax"),
                ("1.0", "invalid syntax"),
                ("18446744073709551616", "value out of range"),
                ("9" * 400, "value out of range"),
            ]
        ),
    ],
)
def test_what_cannot_be_decoded_is_a_bad_request(query: str, message: str) -> None:
    """Contract 4.2, 4.5, 4.6, 4.14, 4.16; WA-10: a forged token is 400."""
    with pytest.raises(BadRequestError) as caught:
        options_of(query)
    assert str(caught.value) == message


MATCH = "resourceVersionMatch"
SEND = "sendInitialEvents"


@pytest.mark.parametrize(
    ("query", "causes"),
    [
        (
            f"{MATCH}=Exact",
            [
                (
                    MATCH,
                    FORBIDDEN,
                    f"Forbidden: {MATCH} is forbidden unless resourceVersion is provided",
                )
            ],
        ),
        (
            f"{MATCH}=NotOlderThan&resourceVersion=7&continue=x",
            [(MATCH, FORBIDDEN, f"Forbidden: {MATCH} is forbidden when continue is provided")],
        ),
        (
            f"{MATCH}=Other&resourceVersion=7",
            [
                (
                    MATCH,
                    NOT_SUPPORTED,
                    'Unsupported value: "Other": supported values: "Exact", "NotOlderThan", ""',
                )
            ],
        ),
        (
            f"{MATCH}=Exact&resourceVersion=0",
            [
                (
                    MATCH,
                    FORBIDDEN,
                    f'Forbidden: {MATCH} "exact" is forbidden for resourceVersion "0"',
                )
            ],
        ),
        (f"{SEND}=false", [(SEND, FORBIDDEN, f"Forbidden: {SEND} is forbidden for list")]),
        (
            f"{SEND}&{MATCH}=Exact",
            [
                (
                    MATCH,
                    FORBIDDEN,
                    f"Forbidden: {MATCH} is forbidden unless resourceVersion is provided",
                ),
                (SEND, FORBIDDEN, f"Forbidden: {SEND} is forbidden for list"),
            ],
        ),
        (
            f"watch=1&{SEND}=true",
            [(MATCH, FORBIDDEN, f"Forbidden: {SEND} requires setting {MATCH} to NotOlderThan")],
        ),
        (
            f"watch=1&{MATCH}=NotOlderThan",
            [
                (
                    MATCH,
                    FORBIDDEN,
                    f"Forbidden: {MATCH} is forbidden for watch unless {SEND} is provided",
                )
            ],
        ),
        (
            f"watch=1&{SEND}=1&{MATCH}=Exact",
            [
                (MATCH, FORBIDDEN, f"Forbidden: {SEND} requires setting {MATCH} to NotOlderThan"),
                (
                    MATCH,
                    NOT_SUPPORTED,
                    'Unsupported value: "Exact": supported values: "NotOlderThan"',
                ),
            ],
        ),
        (
            f"watch=1&{SEND}=1&{MATCH}=NotOlderThan&continue=x",
            [(MATCH, FORBIDDEN, f"Forbidden: {MATCH} is forbidden when continue is provided")],
        ),
    ],
)
def test_options_that_do_not_go_together_are_all_named(
    query: str, causes: list[tuple[str, str, str]]
) -> None:
    """Contract 4.11, every row of its table that can be met without a watch to serve."""
    with pytest.raises(InvalidOptionsError) as caught:
        options_of(query)
    found = [(cause.field, cause.reason, cause.message) for cause in caught.value.causes]
    assert found == causes


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", Form.TABLE_METADATA),
        ("includeObject=Metadata", Form.TABLE_METADATA),
        ("includeObject=Object", Form.TABLE_OBJECT),
        ("includeObject=None", Form.TABLE_NONE),
    ],
)
def test_a_tables_rows_carry_what_was_asked_for(query: str, expected: Form) -> None:
    """Contract 3.21."""
    assert table_form(parse_query(query)) is expected


def test_an_unknown_row_object_is_refused() -> None:
    """Contract 3.21, with upstream's text."""
    with pytest.raises(BadRequestError) as caught:
        table_form(parse_query("includeObject=All"))
    assert str(caught.value) == (
        'Unable to convert to Table as requested: includeObject: Invalid value: "All": must be'
        " 'Metadata', 'Object', 'None', or empty"
    )


def test_a_get_takes_a_revision_and_nothing_else() -> None:
    """Contract 4.3: parameters of lists mean nothing on a named object."""
    query = "resourceVersion=7&limit=x&labelSelector=,&continue=y&export=0"
    assert get_options(parse_query(query)) == 7


def test_export_is_gone() -> None:
    """Contract 5.11."""
    with pytest.raises(BadRequestError, match="no longer supported"):
        get_options(parse_query("export=true"))
