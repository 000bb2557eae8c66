"""How many requests may be in flight."""

import asyncio

import pytest

from apiserver.http.errors import TooManyRequestsError
from apiserver.http.limits import InFlight


@pytest.mark.parametrize(
    ("verb", "kind"),
    [
        ("get", "readOnly"),
        ("list", "readOnly"),
        ("watch", "readOnly"),
        ("create", "mutating"),
        ("", "mutating"),
        ("options", "mutating"),
    ],
)
def test_a_verb_counts_against_its_own_limit(verb: str, kind: str) -> None:
    """Contract 8.1: what is not known to only read counts as changing something."""
    in_flight = InFlight(read_only=1, mutating=1)
    in_flight.lane(verb).enter(privileged=False)
    with pytest.raises(TooManyRequestsError):
        in_flight.lane(verb).enter(privileged=False)
    assert in_flight.peaks() == {"readOnly": 0, "mutating": 0} | {kind: 1}


def test_the_privileged_always_get_through() -> None:
    """Contract 8.1: members of system:masters pass, and count."""
    lane = InFlight(read_only=1).lane("get")
    lane.enter(privileged=False)
    lane.enter(privileged=True)
    assert lane.running == 2


def test_0_is_no_limit() -> None:
    """Contract 8.1."""
    lane = InFlight(read_only=0).lane("get")
    for _ in range(1000):
        lane.enter(privileged=False)
    assert lane.running == 1000


def test_a_slot_is_free_again_after_the_answer() -> None:
    """What is counted in is counted out."""
    lane = InFlight(read_only=1).lane("get")
    lane.enter(privileged=False)
    lane.leave()
    lane.enter(privileged=False)
    assert lane.running == 1


def test_the_peak_is_that_since_it_was_last_asked() -> None:
    """A scrape sees what happened since the one before, not one moment."""
    in_flight = InFlight()
    lane = in_flight.lane("get")
    for _ in range(3):
        lane.enter(privileged=False)
    lane.leave()
    assert in_flight.peaks()["readOnly"] == 3
    assert in_flight.peaks()["readOnly"] == 2


async def test_idle_waits_for_the_last_one() -> None:
    """Stopping waits for requests of both kinds."""
    in_flight = InFlight()
    await in_flight.idle()
    in_flight.lane("get").enter(privileged=False)
    in_flight.lane("create").enter(privileged=False)
    waiting = asyncio.ensure_future(in_flight.idle())
    in_flight.lane("get").leave()
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert not waiting.done()
    in_flight.lane("create").leave()
    await waiting
