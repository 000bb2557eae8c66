"""Times in RFC 3339."""

import pytest

from storage.cluster.times import InvalidTimeError, epoch_ms


@pytest.mark.parametrize(
    ("text", "ms"),
    [
        ("1970-01-01T00:00:00Z", 0),
        ("1970-01-01T00:00:01.5Z", 1500),
        ("1970-01-01T01:00:00+01:00", 0),
        ("2126-11-03T10:00:25Z", 4_949_373_625_000),
    ],
)
def test_a_time_is_milliseconds_of_the_epoch(text: str, ms: int) -> None:
    """Fractions and offsets count."""
    assert epoch_ms(text) == ms


@pytest.mark.parametrize(
    "text",
    ["", "2025-01-01", "2025-01-01 00:00:00Z", "2025-01-01T00:00:00", "2025-13-01T00:00:00Z", "x"],
)
def test_what_is_no_time_is_refused(text: str) -> None:
    """A time without zone, or that is not in the calendar, is none."""
    with pytest.raises(InvalidTimeError):
        epoch_ms(text)
