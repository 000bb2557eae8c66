"""How long a request may take."""

import asyncio

import pytest

from apiserver.http.deadline import Deadlines, seconds_allowed
from apiserver.http.errors import BadRequestError
from apiserver.http.query import parse_query


@pytest.mark.parametrize(
    ("query", "seconds"),
    [
        ("", 60),
        ("timeout=", 60),
        ("timeout=0", 60),
        ("timeout=0s", 60),
        ("timeout=10s", 10),
        ("timeout=32s", 32),
        ("timeout=1m30s", 60),
        ("timeout=1h", 60),
        ("timeout=1.5s", 1.5),
        ("timeout=250ms", 0.25),
    ],
)
def test_the_caller_may_allow_less_but_not_more(query: str, seconds: float) -> None:
    """Contract 8.4: the server's own bound is a minute."""
    assert seconds_allowed(parse_query(query), 60) == pytest.approx(seconds)


@pytest.mark.parametrize("text", ["x", "10", "-1s", "1s x", "1 s", "s", "1s" * 65])
def test_what_is_no_duration_is_refused(text: str) -> None:
    """Contract 8.4."""
    with pytest.raises(BadRequestError, match="invalid timeout specified in the request URL"):
        seconds_allowed({"timeout": (text,)}, 60)


async def test_work_in_time_gives_its_result() -> None:
    """The deadline changes nothing about what keeps it."""

    async def work() -> int:
        await asyncio.sleep(0)
        return 7

    assert await Deadlines().within(60, work()) == 7


async def test_work_that_takes_too_long_ends_in_a_timeout() -> None:
    """It is cancelled, so that nothing goes on for nobody, and others go on."""
    deadlines = Deadlines()
    never = asyncio.Event()
    cancelled = asyncio.Event()

    async def work() -> None:
        try:
            await never.wait()
        except asyncio.CancelledError:
            cancelled.set()
            raise

    async def patient() -> str:
        await cancelled.wait()
        return "done"

    async with asyncio.TaskGroup() as group:
        other = group.create_task(deadlines.within(60, patient()))
        with pytest.raises(TimeoutError):
            await deadlines.within(0, work())
    assert other.result() == "done"


async def test_who_is_cancelled_by_somebody_else_stays_cancelled() -> None:
    """A caller that has gone is no timeout."""
    started = asyncio.Event()

    async def work() -> None:
        started.set()
        await asyncio.Event().wait()

    task = asyncio.ensure_future(Deadlines().within(60, work()))
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_who_is_cancelled_by_others_as_well_does_not_go_on() -> None:
    """A stop that comes with the deadline is still a stop."""

    async def work() -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            task.cancel()
            raise

    task = asyncio.ensure_future(Deadlines().within(0, work()))
    with pytest.raises(asyncio.CancelledError):
        await task
