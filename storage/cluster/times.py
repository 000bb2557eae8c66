"""Times as Kubernetes writes them: RFC 3339."""

import re
from datetime import datetime
from typing import Final

_RFC3339: Final = re.compile(
    r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:\d{2})", re.ASCII
)


class InvalidTimeError(ValueError):
    """The text is no time in RFC 3339."""


def epoch_ms(text: str) -> int:
    """Return a time in milliseconds since 1970. Raises InvalidTimeError."""
    if _RFC3339.fullmatch(text) is None:
        raise InvalidTimeError
    try:
        return int(datetime.fromisoformat(text).timestamp() * 1000)
    except (ValueError, OverflowError) as error:
        raise InvalidTimeError from error
