"""Simultaneous equals share one call (HS-02; contract 6.42, design 7)."""

import asyncio

import pytest

from auth.errors import ReviewUnavailableError
from auth.single_flight import SingleFlight


class Calls:
    """Counts calls, each of which waits until it is let go."""

    def __init__(self) -> None:
        self.made = 0
        self.entered = asyncio.Event()
        self.leave = asyncio.Event()
        self.error: Exception | None = None

    async def call(self) -> str:
        """Wait, then answer or fail."""
        self.made += 1
        self.entered.set()
        await self.leave.wait()
        if self.error is not None:
            raise self.error
        return f"answer {self.made}"


async def test_equals_share_one_call_and_later_ones_do_not() -> None:
    """One call while it is in flight, a new one after it."""
    flights, calls = SingleFlight[str, str](10), Calls()
    async with asyncio.TaskGroup() as group:
        asking = [group.create_task(flights.share("a", calls.call)) for _ in range(5)]
        await calls.entered.wait()
        calls.leave.set()
    assert {each.result() for each in asking} == {"answer 1"}
    assert await flights.share("a", calls.call) == "answer 2"


async def test_hs_02_a_caller_who_leaves_ends_nothing() -> None:
    """HS-02: the first caller goes away in the middle, the others get their answer."""
    flights, calls = SingleFlight[str, str](10), Calls()
    async with asyncio.TaskGroup() as group:
        first = group.create_task(flights.share("a", calls.call))
        await calls.entered.wait()
        second = group.create_task(flights.share("a", calls.call))
        first.cancel()
        await asyncio.wait([first])
        calls.leave.set()
    assert first.cancelled()
    assert second.result() == "answer 1"
    assert calls.made == 1


async def test_a_call_goes_on_when_everybody_has_left() -> None:
    """What it finds out is kept by whoever made it; its failure is nobody's, and no noise."""
    flights, calls = SingleFlight[str, str](10), Calls()
    calls.error = ReviewUnavailableError()
    only = asyncio.ensure_future(flights.share("a", calls.call))
    await calls.entered.wait()
    only.cancel()
    await asyncio.wait([only])
    calls.leave.set()
    calls.error = None
    assert await flights.share("a", calls.call) == "answer 1"


async def test_a_failure_is_everybodys_and_not_kept() -> None:
    """Contract 6.42: errors are not cached."""
    flights, calls = SingleFlight[str, str](10), Calls()
    calls.error = ReviewUnavailableError()
    asking = [asyncio.ensure_future(flights.share("a", calls.call)) for _ in range(3)]
    await calls.entered.wait()
    calls.leave.set()
    await asyncio.wait(asking)
    assert all(isinstance(each.exception(), ReviewUnavailableError) for each in asking)
    calls.error = None
    assert await flights.share("a", calls.call) == "answer 2"


async def test_no_more_than_a_bound_are_in_flight() -> None:
    """Contract 6.51: what nobody has been identified for is bounded; equals still share."""
    flights, calls = SingleFlight[str, str](2), Calls()
    async with asyncio.TaskGroup() as group:
        for key in ("a", "b"):
            group.create_task(flights.share(key, calls.call))
        await calls.entered.wait()
        shared = group.create_task(flights.share("a", calls.call))
        with pytest.raises(ReviewUnavailableError):
            await flights.share("c", calls.call)
        calls.leave.set()
    assert shared.result() == "answer 2"
    assert await flights.share("c", calls.call) == "answer 3"


async def test_closing_ends_all_calls() -> None:
    """Nothing is left behind at the end of the process."""
    flights, calls = SingleFlight[str, str](10), Calls()
    asking = asyncio.ensure_future(flights.share("a", calls.call))
    await calls.entered.wait()
    await flights.close()
    await asyncio.wait([asking])
    assert asking.cancelled()
    await flights.close()
