"""How late the event loop is: one loop serves everything, so what stops it stops discovery too."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import Final, NoReturn

from apiserver.ops.metrics import Gauge

_EVERY_SECONDS: Final = 0.05
#: Long enough that no scraper misses a stall, however many there are.
_WINDOW_SECONDS: Final = 120.0


class LoopLag:
    """The longest that the loop was late in the last two to four minutes."""

    def __init__(
        self,
        clock: Callable[[], float],
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """Measure by a monotonic clock, in seconds."""
        self._clock = clock
        self._sleep = sleep
        self._began = clock()
        self._longest = 0.0
        self._longest_before = 0.0  # in the window before this one

    async def follow(self) -> NoReturn:
        """Measure for ever."""
        while True:
            due = self._clock() + _EVERY_SECONDS
            await self._sleep(_EVERY_SECONDS)
            self._take(self._clock() - due)

    def gauges(self) -> Iterable[Gauge]:
        """Yield what a scrape is told."""
        yield Gauge(
            "gpuclass_event_loop_lag_seconds",
            "Longest time that the event loop was late in the last two to four minutes.",
            max(self._longest, self._longest_before),
            {},
        )

    def _take(self, lag: float) -> None:
        if self._clock() - self._began >= _WINDOW_SECONDS:
            self._began = self._clock()
            self._longest_before, self._longest = self._longest, 0.0
        self._longest = max(self._longest, lag)
