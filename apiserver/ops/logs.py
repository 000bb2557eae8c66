"""Logs: the process's own through `logging`, and one line for each request (contract 8.10).

Access lines are gathered and written a few times a second: through `logging` they would cost a
quarter of the requests per second (runtime 6). They hold no query and no address.
"""

import json
import logging
from collections.abc import Callable
from datetime import UTC, datetime
from functools import lru_cache
from typing import Final, TextIO

_FLUSH_SECONDS: Final = 0.25

#: Longer texts are quoted anew each time, so that what is kept of callers' texts has a bound.
_KEPT_LENGTH: Final = 512

#: How much of a path or user agent a line tells.
_TOLD_LENGTH: Final = 1024

#: Attributes that every record has; what a call gives as `extra` is the rest.
_STANDARD: Final = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}

Later = Callable[[float, Callable[[], None]], object]


class Formatter(logging.Formatter):
    """One line: time, level, logger, the constant message, then its data as key="value"."""

    def format(self, record: logging.LogRecord) -> str:
        time = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        data = "".join(
            f" {name}={_value(value)}"
            for name, value in vars(record).items()
            if name not in _STANDARD
        )
        line = f"{time} {record.levelname} {record.name}: {record.getMessage()}{data}"
        if record.exc_info:
            line = f"{line}\n{self.formatException(record.exc_info)}"
        return line


def set_up_logging(stream: TextIO, *, level: int = logging.INFO) -> None:
    """Send the process's logs to a stream, in place of where they went before."""
    handler = logging.StreamHandler(stream)
    handler.setFormatter(Formatter())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)


class AccessLog:
    """Lines of requests, written together shortly after the first of them."""

    def __init__(self, write: Callable[[str], object], later: Later) -> None:
        """Take where lines go, and what calls a function after some seconds."""
        self._write = write
        self._later = later
        self._lines: list[str] = []

    def record(
        self, *, verb: str, path: str, user_agent: str, audit_id: str, code: int, seconds: float
    ) -> None:
        """Note one finished request; the path as it was sent, without its query.

        Verb and Audit-ID must be plain words; what callers write freely is made safe, and cut.
        """
        if not self._lines:
            self._later(_FLUSH_SECONDS, self.flush)
        shown, agent = _value(path[:_TOLD_LENGTH]), _value(user_agent[:_TOLD_LENGTH])
        self._lines.append(
            f'HTTP verb="{verb}" path={shown} latency="{seconds * 1000:.3f}ms"'
            f' userAgent={agent} audit-ID="{audit_id}" resp={code}\n'
        )

    def flush(self) -> None:
        """Write what has gathered; to be called once more at the end."""
        lines, self._lines = self._lines, []
        if lines:
            self._write("".join(lines))


def _value(value: object) -> str:
    """Return a value in quotes, with nothing in it that could begin another line or field."""
    text = str(value)
    return _quoted(text) if len(text) <= _KEPT_LENGTH else json.dumps(text)


@lru_cache(maxsize=1024)
def _quoted(text: str) -> str:
    return json.dumps(text)
