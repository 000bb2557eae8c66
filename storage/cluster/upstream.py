"""What a list-watch is read from: pages and lines of one feed, whoever speaks to the outside."""

from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Protocol

from storage.cluster.list_watch import Feed


class UnreachableUpstreamError(Exception):
    """No answer, or a stream that broke off or fell silent; tells nothing more."""


@dataclass(frozen=True, slots=True)
class Page:
    """An answer to a request for a page; of a status other than 200 the body is not read."""

    status: int
    body: bytes
    retry_after: float | None = None  # seconds


class Lines(Protocol):
    """An answer to a request for a watch."""

    @property
    def status(self) -> int:
        """The HTTP status; of one other than 200 the lines are not read."""
        ...

    @property
    def retry_after(self) -> float | None:
        """Seconds to wait before the next request, where the answer says so."""
        ...

    def lines(self) -> AsyncIterator[Sequence[bytes]]:
        """Yield complete lines, all that have come at once. Raises UnreachableUpstreamError."""
        ...


class Upstream(Protocol):
    """Where feeds are read."""

    async def page(self, feed: Feed, token: str, *, limit: int, seconds: float) -> Page:
        """Ask for a page after a token; "" is the first. Raises UnreachableUpstreamError."""
        ...

    def watch(
        self, feed: Feed, version: str | None, *, silence_seconds: float, seconds: float
    ) -> AbstractAsyncContextManager[Lines]:
        """Ask for what happens after a version; None: for all objects first, then what happens.

        `seconds` is how long the server is asked to let it last. Entering raises
        UnreachableUpstreamError.
        """
        ...
