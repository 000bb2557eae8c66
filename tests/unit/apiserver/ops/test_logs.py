"""Log lines."""

import io
import logging
import sys
from collections.abc import Callable, Iterator

import pytest

from apiserver.ops.logs import AccessLog, Formatter, set_up_logging


class Timers:
    """Keeps what is to be called later."""

    def __init__(self) -> None:
        self.due: list[tuple[float, Callable[[], None]]] = []

    def later(self, seconds: float, function: Callable[[], None]) -> None:
        """Keep a call."""
        self.due.append((seconds, function))


def record(log: AccessLog, **changes: str) -> None:
    """Note one request."""
    fields = {"path": "/apis", "user_agent": "kubectl/v1.37", "audit_id": "a-1"} | changes
    log.record(verb="GET", code=200, seconds=0.0012345, **fields)


def test_requests_are_written_together() -> None:
    """One write a few times a second, however many requests there are."""
    written: list[str] = []
    timers = Timers()
    log = AccessLog(written.append, timers.later)
    record(log)
    record(log, path="/version")
    assert not written
    ((seconds, flush),) = timers.due
    assert 0 < seconds <= 0.5
    flush()
    assert written == [
        'HTTP verb="GET" path="/apis" latency="1.234ms" userAgent="kubectl/v1.37"'
        ' audit-ID="a-1" resp=200\n'
        'HTTP verb="GET" path="/version" latency="1.234ms" userAgent="kubectl/v1.37"'
        ' audit-ID="a-1" resp=200\n'
    ]
    record(log)
    assert len(timers.due) == 2


def test_a_last_flush_leaves_nothing_behind() -> None:
    """Stopping writes what has gathered; the timer that comes later writes nothing."""
    written: list[str] = []
    timers = Timers()
    log = AccessLog(written.append, timers.later)
    record(log)
    log.flush()
    timers.due[0][1]()
    assert len(written) == 1


@pytest.mark.parametrize(
    ("agent", "shown"),
    [
        ('x" resp=200', '"x\\" resp=200"'),
        ("x\nHTTP verb", '"x\\nHTTP verb"'),
        ("\x1b[31m", '"\\u001b[31m"'),
        ("x\udcff", '"x\\udcff"'),
        ("y" * 600 + "\n", f'"{"y" * 600}\\n"'),
    ],
)
def test_a_caller_cannot_forge_a_line(agent: str, shown: str) -> None:
    """What callers write stays within its quotes."""
    written: list[str] = []
    log = AccessLog(written.append, lambda _seconds, _flush: None)
    record(log, user_agent=agent)
    log.flush()
    assert f"userAgent={shown} audit-ID=" in written[0]
    assert written[0].count("\n") == 1


@pytest.mark.parametrize("field", ["path", "user_agent"])
def test_a_caller_cannot_fill_the_log_with_a_line(field: str) -> None:
    """A header may be a mebibyte; a line tells how what callers write begins."""
    written: list[str] = []
    log = AccessLog(written.append, lambda _seconds, _flush: None)
    record(log, **{field: "y" * 1024 + "z" * 100_000})
    log.flush()
    assert f'"{"y" * 1024}"' in written[0]
    assert "zz" not in written[0]


def a_record(**extra: object) -> logging.LogRecord:
    """Return a record with data."""
    return logging.makeLogRecord(
        {"name": "room", "levelname": "INFO", "msg": "a thing happened", "created": 1.5} | extra
    )


def test_a_line_has_its_data_beside_a_constant_message() -> None:
    """Messages can be counted; data can be found."""
    assert Formatter().format(a_record(kind="Node", count=2)) == (
        '1970-01-01T00:00:01.500+00:00 INFO room: a thing happened kind="Node" count="2"'
    )


def test_an_exception_follows_its_line() -> None:
    """The log is the one place for a traceback."""
    try:
        raise ZeroDivisionError("why")
    except ZeroDivisionError:
        line = Formatter().format(a_record(exc_info=sys.exc_info()))
    assert line.splitlines()[1] == "Traceback (most recent call last):"
    assert line.endswith("ZeroDivisionError: why")


@pytest.fixture
def root_logger() -> Iterator[logging.Logger]:
    """Give the root logger back as it was."""
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    yield root
    root.handlers[:] = handlers
    root.setLevel(level)


@pytest.mark.usefixtures("root_logger")
def test_logs_go_to_the_stream_that_was_chosen() -> None:
    """Info and above, one line each."""
    stream = io.StringIO()
    set_up_logging(stream)
    logging.getLogger("room").info("a thing happened", extra={"kind": "Node"})
    logging.getLogger("room").debug("not told")
    assert stream.getvalue().endswith('INFO room: a thing happened kind="Node"\n')
    assert stream.getvalue().count("\n") == 1
