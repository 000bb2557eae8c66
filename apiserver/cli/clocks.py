"""The clocks of the process; everything else is given them."""

import time


def wall_ms() -> int:
    """Return Unix time in milliseconds."""
    return time.time_ns() // 1_000_000


def wall_seconds() -> float:
    """Return Unix time in seconds."""
    return time.time_ns() / 1_000_000_000
