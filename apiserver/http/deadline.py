"""How long a request may take, and how it ends there (contract 8.4)."""

import asyncio
from collections.abc import Coroutine
from typing import Any, Final, TypeVar

from apiserver.durations import parse_duration_ms
from apiserver.http.errors import BadRequestError
from apiserver.http.query import Query, first

T = TypeVar("T")

_MAX_LENGTH: Final = 128  # of a duration
_LOOK_SECONDS: Final = 0.25


def seconds_allowed(query: Query, most: float) -> float:
    """Return the seconds that the caller allows, at most the server's. Raises BadRequestError."""
    text = first(query, "timeout")
    if not text:
        return most
    try:
        if len(text) > _MAX_LENGTH:
            raise ValueError(text)
        wished = parse_duration_ms(text) / 1000
    except ValueError:
        raise BadRequestError("invalid timeout specified in the request URL") from None
    return min(wished, most) if wished else most


class Deadlines:
    """Ends requests that take too long, within a quarter of a second.

    One timer looks after all of them: one for each would take a fifth of the requests per second.
    """

    def __init__(self) -> None:
        self._ends: dict[asyncio.Task[Any], float] = {}  # by the loop's clock
        self._overdue: set[asyncio.Task[Any]] = set()
        self._looking = False

    async def within(self, seconds: float, work: Coroutine[Any, Any, T]) -> T:
        """Await the work in the present task. Raises TimeoutError where it takes longer."""
        loop = asyncio.get_running_loop()
        task = asyncio.current_task(loop)
        if task is None:  # a coroutine runs in a task; this is for the type checker
            return await work
        self._ends[task] = loop.time() + seconds
        if not self._looking:
            self._looking = True
            loop.call_later(_LOOK_SECONDS, self._look, loop)
        try:
            return await work
        except asyncio.CancelledError:
            # Cancelled by somebody else as well: then it is not for us to go on.
            if task in self._overdue and not task.uncancel():
                raise TimeoutError from None
            raise
        finally:
            self._ends.pop(task, None)
            self._overdue.discard(task)

    def _look(self, loop: asyncio.AbstractEventLoop) -> None:
        now = loop.time()
        for task in [task for task, end in self._ends.items() if end <= now]:
            del self._ends[task]
            self._overdue.add(task)
            task.cancel()
        self._looking = bool(self._ends)
        if self._looking:
            loop.call_later(_LOOK_SECONDS, self._look, loop)
