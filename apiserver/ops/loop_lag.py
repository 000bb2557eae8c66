"""How late the event loop is: one loop serves everything, so what stops it stops discovery too."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import Final, NoReturn

from apiserver.ops.metrics import Gauge

_EVERY_SECONDS: Final = 0.05


class LoopLag:
    """The longest that the loop was late since this was last asked."""

    def __init__(
        self,
        clock: Callable[[], float],
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """Measure by a monotonic clock, in seconds."""
        self._clock = clock
        self._sleep = sleep
        self._longest = 0.0

    async def follow(self) -> NoReturn:
        """Measure for ever."""
        while True:
            due = self._clock() + _EVERY_SECONDS
            await self._sleep(_EVERY_SECONDS)
            self._longest = max(self._longest, self._clock() - due)

    def gauges(self) -> Iterable[Gauge]:
        """Yield what a scrape is told, and begin anew."""
        longest, self._longest = self._longest, 0.0
        yield Gauge(
            "gpuclass_event_loop_lag_seconds",
            "Longest time that the event loop was late since the last scrape.",
            longest,
            {},
        )
