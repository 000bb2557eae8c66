"""How late the event loop is."""

import asyncio
from collections.abc import Sequence

import pytest

from apiserver.ops.loop_lag import LoopLag


async def told_after(*wakes: float) -> Sequence[float]:
    """Return what two scrapes are told after sleeps of these lengths."""
    now = [100.0]
    lengths = iter(wakes)

    async def sleep(_: float) -> None:
        try:
            now[0] += next(lengths)
        except StopIteration:
            raise asyncio.CancelledError from None

    lag = LoopLag(lambda: now[0], sleep)
    with pytest.raises(asyncio.CancelledError):
        await lag.follow()
    return [gauge.value for _ in range(2) for gauge in lag.gauges()]


async def test_the_longest_delay_is_told_to_each_who_asks() -> None:
    """A stall between two scrapes is seen, and one scraper hides it from no other."""
    assert await told_after(0.05, 0.25, 0.06) == pytest.approx([0.2, 0.2])


async def test_a_delay_is_forgotten_after_a_while() -> None:
    """The metric says how it is now, not what the start was like."""
    assert await told_after(0.55, *[0.05] * 2500) == pytest.approx([0.5, 0.5])
    assert await told_after(0.55, *[0.05] * 5000) == pytest.approx([0.0, 0.0], abs=1e-9)
