"""Ages as kubectl prints them."""

import pytest

from apiserver.http.ages import age_of, human_duration

MINUTE, HOUR, DAY, YEAR = 60, 3600, 86_400, 365 * 86_400


@pytest.mark.parametrize(
    ("seconds", "printed"),
    [
        (-2, "<invalid>"),
        (-1.5, "0s"),
        (0, "0s"),
        (1.9, "1s"),
        (119, "119s"),
        (2 * MINUTE, "2m"),
        (2 * MINUTE + 1, "2m1s"),
        (10 * MINUTE - 1, "9m59s"),
        (10 * MINUTE + 59, "10m"),
        (3 * HOUR - 1, "179m"),
        (3 * HOUR, "3h"),
        (3 * HOUR + 61, "3h1m"),
        (8 * HOUR - 1, "7h59m"),
        (8 * HOUR + 59 * MINUTE, "8h"),
        (2 * DAY - 1, "47h"),
        (2 * DAY, "2d"),
        (2 * DAY + HOUR, "2d1h"),
        (8 * DAY - 1, "7d23h"),
        (8 * DAY + HOUR, "8d"),
        (2 * YEAR - 1, "729d"),
        (2 * YEAR, "2y"),
        (2 * YEAR + DAY, "2y1d"),
        (8 * YEAR - 1, "7y364d"),
        (8 * YEAR + DAY, "8y"),
    ],
)
def test_a_duration_is_told_in_the_units_that_matter(seconds: float, printed: str) -> None:
    """The words that users know from every other resource."""
    assert human_duration(seconds) == printed


@pytest.mark.parametrize("created", [None, "", "yesterday", 7])
def test_an_age_that_cannot_be_told_is_unknown(created: object) -> None:
    """As kubectl prints a missing timestamp."""
    assert age_of(created, 0.0) == "<unknown>"


def test_an_age_is_the_time_since_creation() -> None:
    """RFC 3339 in UTC, as every creationTimestamp."""
    assert age_of("1970-01-01T00:00:00Z", 90.0) == "90s"
