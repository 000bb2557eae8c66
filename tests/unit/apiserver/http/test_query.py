"""Percent-encoding and query values, as Go reads them."""

import pytest

from apiserver.http.errors import BadRequestError
from apiserver.http.query import boolean, first, integer, parse_query, unescape


@pytest.mark.parametrize(
    ("text", "expected"),
    [("plain", "plain"), ("a%2Fb", "a/b"), ("gr%C3%B6n", "grön"), ("grön", "grön"), ("a+b", "a+b")],
)
def test_percent_encoding_is_decoded_as_utf8(text: str, expected: str) -> None:
    """A plus sign is a plus sign in a path."""
    assert unescape(text) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a%", 'invalid URL escape "%"'),
        ("a%2", 'invalid URL escape "%2"'),
        ("a%zz", 'invalid URL escape "%zz"'),
        ("a%ff", "the URL is not UTF-8"),
        ("a\udcff", "the URL is not UTF-8"),
    ],
)
def test_a_broken_escape_is_refused(text: str, message: str) -> None:
    """Nothing is guessed: what cannot be decoded ends the request with 400."""
    with pytest.raises(BadRequestError) as caught:
        unescape(text)
    assert str(caught.value) == message


def test_a_query_keeps_all_values_and_the_first_one_wins() -> None:
    """Repeated parameters are kept for `exclude`; everything else takes the first."""
    query = parse_query("a=1&a=2&b=x+y%3D&c&&=e")
    assert query == {"a": ("1", "2"), "b": ("x y=",), "c": ("",), "": ("e",)}
    assert first(query, "a") == "1"
    assert first(query, "absent") == ""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", None),
        ("watch", True),
        ("watch=", True),
        ("watch=true", True),
        ("watch=no", True),
        ("watch=0", False),
        ("watch=false", False),
        ("watch=FALSE", False),
        ("watch=0&watch=1", False),
    ],
)
def test_a_switch_is_off_only_for_0_and_false(text: str, expected: bool | None) -> None:
    """Contract 4.2: anything else is on, the empty value too."""
    assert boolean(parse_query(text), "watch") is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [("", None), ("limit=500", 500), ("limit=-1", -1), ("limit=%2B7", 7), ("limit=007", 7)],
)
def test_integers_are_decimal(text: str, expected: int | None) -> None:
    """Contract 4.2."""
    assert integer(parse_query(text), "limit") == expected


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ("", "invalid syntax"),
        ("x", "invalid syntax"),
        ("1.5", "invalid syntax"),
        ("1_000", "invalid syntax"),
        ("0x10", "invalid syntax"),
        ("\u0661", "invalid syntax"),
        ("9223372036854775808", "value out of range"),
        ("-9223372036854775809", "value out of range"),
        ("9" * 400, "value out of range"),
    ],
)
def test_what_is_no_integer_is_named_in_upstreams_words(value: str, why: str) -> None:
    """The text is that of Go's strconv, however long the digits are."""
    with pytest.raises(BadRequestError) as caught:
        integer({"limit": (value,)}, "limit")
    shown = value if len(value) <= 128 else f"{value[:128]}..."
    assert str(caught.value) == f'strconv.ParseInt: parsing "{shown}": {why}'
