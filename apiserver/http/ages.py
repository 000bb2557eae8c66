"""How long ago, as `kubectl get` prints it: in the two largest units that matter."""

from datetime import datetime
from typing import Final

_MINUTE: Final = 60
_HOUR: Final = 60 * _MINUTE
_DAY: Final = 24 * _HOUR
_YEAR: Final = 365 * _DAY

#: Up to which age a unit is used, and up to which one the next smaller unit is told beside it.
_SCALES: Final = (
    (_MINUTE, "m", 3 * _HOUR, 10 * _MINUTE, 1, "s"),
    (_HOUR, "h", 2 * _DAY, 8 * _HOUR, _MINUTE, "m"),
    (_DAY, "d", 2 * _YEAR, 8 * _DAY, _HOUR, "h"),
)


def age_of(created: object, now: float) -> str:
    """Return the age of a creationTimestamp at a Unix time; `<unknown>` where there is none."""
    if not isinstance(created, str):
        return "<unknown>"
    try:
        return human_duration(now - datetime.fromisoformat(created).timestamp())
    except (ValueError, OverflowError):
        return "<unknown>"


def human_duration(seconds: float) -> str:
    """Return a duration in upstream's words: 119s, 2m, 9m59s, 179m, 7h59m, 47h, 7d23h, 729d, 8y."""
    whole = int(seconds)
    if whole < -1:
        return "<invalid>"
    if whole < 2 * _MINUTE:
        return f"{max(whole, 0)}s"
    for unit, name, limit, fine_limit, finer, finer_name in _SCALES:
        if whole < limit:
            rest = whole % unit // finer if whole < fine_limit else 0
            return f"{whole // unit}{name}" + (f"{rest}{finer_name}" if rest else "")
    days = whole % _YEAR // _DAY if whole < 8 * _YEAR else 0
    return f"{whole // _YEAR}y" + (f"{days}d" if days else "")
