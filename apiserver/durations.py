"""Durations as Go writes them: "10s", "1m30s", "1.5h", "0"."""

import re
from fractions import Fraction
from typing import Final

_UNITS_MS: Final = {
    "ns": Fraction(1, 1_000_000),
    "us": Fraction(1, 1000),
    "µs": Fraction(1, 1000),
    "ms": Fraction(1),
    "s": Fraction(1000),
    "m": Fraction(60_000),
    "h": Fraction(3_600_000),
}
_PART: Final = re.compile(
    r"([0-9]{1,12}(?:\.[0-9]{0,9})?|\.[0-9]{1,9})(ns|us|µs|ms|s|m|h)", re.ASCII
)


def parse_duration_ms(text: str) -> int:
    """Return whole milliseconds, rounded down. Raises ValueError, for a negative duration too."""
    if text == "0":
        return 0
    total, position = Fraction(0), 0
    while position < len(text):
        part = _PART.match(text, position)
        if part is None:
            raise ValueError("not a duration like 10s or 1m30s")
        total += Fraction(part[1].rstrip(".") or "0") * _UNITS_MS[part[2]]
        position = part.end()
    if not text:
        raise ValueError("not a duration like 10s or 1m30s")
    return int(total)
