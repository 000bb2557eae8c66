"""Durations as Go writes them."""

import pytest

from apiserver.durations import parse_duration_ms


@pytest.mark.parametrize(
    ("text", "milliseconds"),
    [
        ("0", 0),
        ("0s", 0),
        ("10s", 10_000),
        ("1m30s", 90_000),
        ("1.5h", 5_400_000),
        ("250ms", 250),
        (".5s", 500),
        ("1.s", 1000),
        ("1h2m3.5s", 3_723_500),
        ("1500us", 1),
        ("999999ns", 0),
        ("2µs", 0),
    ],
)
def test_a_duration_is_read_as_go_reads_it(text: str, milliseconds: int) -> None:
    """Operators write durations as in every other component."""
    assert parse_duration_ms(text) == milliseconds


@pytest.mark.parametrize(
    "text",
    ["", " ", "10", "s", "-1s", "+1s", "1 s", "1d", "1s1", "1..5s", "1e3s", "\u0661s", "9" * 40],
)
def test_anything_else_is_refused(text: str) -> None:
    """A flag that is not understood ends the process instead of meaning something else."""
    with pytest.raises(ValueError, match="not a duration"):
        parse_duration_ms(text)
