"""Simultaneous equals share one call, and none of them can take it from the others."""

import asyncio
from collections.abc import Callable, Coroutine, Hashable
from typing import Any, Generic, TypeVar

from auth.errors import ReviewUnavailableError

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class SingleFlight(Generic[K, V]):
    """Calls in flight by key; each is a task of its own, so that a caller who leaves ends none."""

    def __init__(self, most: int) -> None:
        """Take the most calls that may be in flight."""
        self._most = most
        self._flights: dict[K, asyncio.Task[V]] = {}

    async def share(self, key: K, call: Callable[[], Coroutine[Any, Any, V]]) -> V:
        """Return what the call in flight gives, or make one.

        Raises what the call raises, and ReviewUnavailableError where too many are in flight.
        """
        flight = self._flights.get(key)
        if flight is None:
            if len(self._flights) >= self._most:
                raise ReviewUnavailableError
            flight = asyncio.get_running_loop().create_task(call())
            self._flights[key] = flight
            flight.add_done_callback(lambda done: self._land(key, done))
        return await asyncio.shield(flight)

    async def close(self) -> None:
        """End all calls."""
        flights = list(self._flights.values())
        for flight in flights:
            flight.cancel()
        await asyncio.wait(flights) if flights else None

    def _land(self, key: K, done: "asyncio.Task[V]") -> None:
        del self._flights[key]
        if not done.cancelled():
            done.exception()  # looked at, although nobody may wait for it any more
