"""How this room sees a kube-apiserver: one request and its answer, or one stream of lines.

What the other modules ask through. No status is an error here: whoever asks knows what it means.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Final, Protocol

#: Seconds that one call may take (contract 6.43).
CALL_SECONDS: Final = 10.0


class UnreachableError(Exception):
    """No answer: no connection, none in time, or no credentials to ask with.

    Its text is for logs at debug level only: it can name addresses.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """One answer, whole."""

    status: int
    body: bytes
    retry_after: float | None = None  # seconds, as the answer asks


class Stream(Protocol):
    """An answer that goes on."""

    @property
    def status(self) -> int:
        """The HTTP status; of one other than 200 the lines are the body of an error."""
        ...

    @property
    def retry_after(self) -> float | None:
        """Seconds to wait before the next request, where the answer says so."""
        ...

    def lines(self) -> AsyncIterator[Sequence[bytes]]:
        """Yield complete lines, all that have come at once.

        Ends where the server ends it. Raises UnreachableError where it breaks off, and after too
        long a silence.
        """
        ...


class API(Protocol):
    """A kube-apiserver, asked as one identity."""

    async def call(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: bytes | None = None,
        accept: str = "application/json",
        seconds: float = CALL_SECONDS,
    ) -> Reply:
        """Send one request; a body is JSON. Raises UnreachableError."""
        ...

    def stream(
        self,
        path: str,
        *,
        query: Mapping[str, str],
        accept: str = "application/json",
        silence_seconds: float = 90.0,
    ) -> AbstractAsyncContextManager[Stream]:
        """Open a stream that may go on for ever. Entering raises UnreachableError."""
        ...
