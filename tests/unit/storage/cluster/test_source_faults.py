"""Counts of what went wrong, and how often it is said."""

import logging

import pytest

from storage.cluster.kinds import Kind
from storage.cluster.list_watch import Feed
from storage.cluster.source_faults import SourceFaults
from storage.cluster.watch_state import Reason


class Clock:
    """A clock that stands until it is moved."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    """A clock."""
    return Clock()


def test_the_same_is_counted_each_time_and_said_once_a_minute(
    clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    """A source that stays away does not fill the log."""
    faults = SourceFaults(clock)
    for _ in range(10):
        faults.note(Feed(Kind.POD), Reason.STATUS, 500)
        clock.now += 10
    faults.note(Feed(Kind.NODE), Reason.UNREACHABLE)
    assert faults.counts() == {(Kind.POD, Reason.STATUS): 10, (Kind.NODE, Reason.UNREACHABLE): 1}
    lines = [(record.object_kind, record.reason) for record in caplog.records]  # type: ignore[attr-defined]
    assert lines == [("Pod", "status"), ("Pod", "status"), ("Node", "unreachable")]


def test_a_source_that_is_read_again_is_said_to_be(
    clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    """Once, and what goes wrong next is said at once."""
    caplog.set_level(logging.INFO)
    faults = SourceFaults(clock)
    faults.recovered(Feed(Kind.POD))
    faults.note(Feed(Kind.POD), Reason.FORBIDDEN, 403)
    faults.note(Feed(Kind.POD), Reason.STATUS, 500)
    faults.recovered(Feed(Kind.POD))
    faults.recovered(Feed(Kind.POD))
    faults.note(Feed(Kind.POD), Reason.FORBIDDEN, 403)
    messages = [record.message.partition(":")[0] for record in caplog.records]
    refused = "source may not be read"
    assert messages == [
        refused,
        "source refused to be read, trying again",
        "source is read again",
        refused,
    ]


def test_an_absent_kubevirt_is_no_warning(clock: Clock, caplog: pytest.LogCaptureFixture) -> None:
    """It is a state; our own kinds that are not there need somebody to install them."""
    caplog.set_level(logging.INFO)
    faults = SourceFaults(clock)
    for _ in range(3):
        faults.note(Feed(Kind.VMI), Reason.ABSENT, 404)
        clock.now += 61
    faults.note(Feed(Kind.GPU_CLASS), Reason.ABSENT, 404)
    faults.note(Feed(Kind.POD), Reason.EXPIRED)
    assert [(record.levelname, record.object_kind) for record in caplog.records] == [  # type: ignore[attr-defined]
        ("INFO", "VirtualMachineInstance"),
        ("WARNING", "GPUClass"),
        ("INFO", "Pod"),
    ]


def test_a_secret_that_cannot_be_read_is_named_and_none_hides_another(
    clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    """Each license Secret is a source of its own; whether it is over is said of it alone."""
    caplog.set_level(logging.INFO)
    faults = SourceFaults(clock)
    one, other = Feed(Kind.SECRET, "one"), Feed(Kind.SECRET, "other")
    for feed in (one, other, one, other):
        faults.note(feed, Reason.FORBIDDEN, 403)
    faults.recovered(one)
    faults.forget(other)
    faults.recovered(other)
    lines = [(each.levelname, each.object_name) for each in caplog.records]  # type: ignore[attr-defined]
    assert lines == [("WARNING", "one"), ("WARNING", "other"), ("INFO", "one")]
    assert faults.counts() == {(Kind.SECRET, Reason.FORBIDDEN): 4}
