"""Quantities: upstream's grammar, exact values, nothing that could be built without end."""

import math
from fractions import Fraction

import pytest
from fakes.random_worlds import examples
from hypothesis import given
from hypothesis import strategies as st

from storage.model.quantity import (
    MAX_LENGTH,
    MAX_QUANTITY,
    InvalidQuantityError,
    parse_quantity,
)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0", 0),
        ("8", 8),
        ("+8", 8),
        ("-8", -8),
        ("007", 7),
        ("1.5", Fraction(3, 2)),
        ("1.", 1),
        (".5", Fraction(1, 2)),
        ("-.5", Fraction(-1, 2)),
        ("1n", Fraction(1, 10**9)),
        ("1u", Fraction(1, 10**6)),
        ("1m", Fraction(1, 1000)),
        ("1k", 10**3),
        ("1M", 10**6),
        ("1G", 10**9),
        ("1T", 10**12),
        ("1P", 10**15),
        ("1E", 10**18),
        ("1Ki", 2**10),
        ("1Mi", 2**20),
        ("1Gi", 2**30),
        ("1Ti", 2**40),
        ("1Pi", 2**50),
        ("1Ei", 2**60),
        ("1.5Gi", 3 * 2**29),
        ("1.Gi", 2**30),
        ("1e3", 1000),
        ("1E3", 1000),
        ("1e+3", 1000),
        ("1e-3", Fraction(1, 1000)),
        ("1.5e1", 15),
        ("0e999", 0),
    ],
)
def test_a_quantity_has_its_exact_value(text: str, value: int | Fraction) -> None:
    """Every suffix and both kinds of exponent, as apimachinery reads them; never a float."""
    assert parse_quantity(text) == value


@pytest.mark.parametrize(
    ("text", "units"), [("2000m", 2), ("1k", 1000), ("7500m", 7), ("7999999999n", 7)]
)
def test_units_of_a_node_round_down(text: str, units: int) -> None:
    """E28: an extended resource need not look like a whole number."""
    assert math.floor(parse_quantity(text)) == units


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "x",
        "k",
        "+",
        "-",
        ".",
        "+.",
        "1 k",
        " 1",
        "1 ",
        "1\n",
        "\t1",
        "+-1",
        "--1",
        "1e",
        "1e+",
        "1E-",
        "1e1.5",
        "1e3k",
        "1kk",
        "1ki",
        "1K",
        "1mi",
        "1i",
        "1.1.1",
        "1,5",
        "1_000",
        "0x10",
        "Inf",
        "NaN",
        "\u0663",
        "\uff11",
        "1e\u0663",
        "1/2",
        "1e1000",
        "1e-1000",
        "1e0000",
        "1e99999999999999999999",
        "9" * (MAX_LENGTH + 1),
    ],
)
def test_what_is_no_quantity_is_refused(text: str) -> None:
    """E28: x is no quantity; nor is anything that upstream refuses or that has no bound."""
    with pytest.raises(InvalidQuantityError):
        parse_quantity(text)


def test_an_error_carries_nothing_of_the_text() -> None:
    """Text of a cluster's objects is not ours to repeat."""
    with pytest.raises(InvalidQuantityError) as caught:
        parse_quantity("zq-secret")
    assert "zq-" not in repr(caught.value)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("9223372036854775807", MAX_QUANTITY),
        ("9223372036854775808", MAX_QUANTITY),
        ("-9223372036854775808", -MAX_QUANTITY),
        ("8Ei", MAX_QUANTITY),
        ("1e999", MAX_QUANTITY),
        ("9" * MAX_LENGTH, MAX_QUANTITY),
    ],
)
def test_what_is_beyond_upstreams_largest_counts_as_that(text: str, value: int) -> None:
    """Upstream cuts off at 2^63-1 in magnitude; so no giant number gets into a sum."""
    assert parse_quantity(text) == value


@given(st.integers(-(10**15), 10**15), st.integers(0, 9))
@examples(100)
def test_decimal_digits_are_exact(digits: int, places: int) -> None:
    """QB-01: no rounding tail, whatever the number of decimal places."""
    sign, number = ("-" if digits < 0 else ""), str(abs(digits)).rjust(places + 1, "0")
    cut = len(number) - places
    assert parse_quantity(f"{sign}{number[:cut]}.{number[cut:]}") == Fraction(digits, 10**places)
