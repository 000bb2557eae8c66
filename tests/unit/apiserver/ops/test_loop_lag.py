"""How late the event loop is."""

import asyncio

import pytest

from apiserver.ops.loop_lag import LoopLag


async def test_the_longest_delay_since_the_last_scrape_is_told() -> None:
    """A stall between two scrapes is seen, and told once."""
    now = [100.0]
    wakes = iter([0.05, 0.25, 0.06])

    async def sleep(_: float) -> None:
        try:
            now[0] += next(wakes)
        except StopIteration:
            raise asyncio.CancelledError from None

    lag = LoopLag(lambda: now[0], sleep)
    with pytest.raises(asyncio.CancelledError):
        await lag.follow()
    (told,) = lag.gauges()
    assert told.value == pytest.approx(0.2)
    (told,) = lag.gauges()
    assert told.value == 0
