"""The listening socket: TLS, and how it ends without cutting anybody off (contract 9.6, 10.6)."""

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final, Protocol

from apiserver.ops.health import Check

_HANDSHAKE_SECONDS: Final = 32  # Go's limit for a request's head
#: From closing a connection to cutting it off. Until then the reader can take what it was sent:
#: an answer that ends its connection may be megabytes, and lies in buffers that nobody can ask.
TLS_SHUTDOWN_SECONDS: Final = 60
_BACKLOG: Final = 1024


class Lifecycle:
    """Where the process stands on its way to its end."""

    def __init__(self) -> None:
        self.stopping = False  # not ready any more, but everything is still answered
        self.turning_away = False  # whoever asks is sent to another server
        self.draining = False  # nothing new is taken

    def shutdown_check(self) -> Check:
        """Return the readiness check that fails first of all."""
        return Check("shutdown", lambda: "the process is shutting down" if self.stopping else None)


class Protocols(Protocol):
    """Makes the protocol of each connection, and ends them all."""

    def __call__(self) -> asyncio.Protocol:
        """Return the protocol of a new connection."""
        ...

    async def shutdown(self, seconds: float | None, /) -> None:
        """Close all connections, each after its request, or when this has passed."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """How a listening socket ends."""

    lifecycle: Lifecycle
    idle: Callable[[], Awaitable[None]]  # waits until no request is in flight
    grace_seconds: float = 0.0  # from not ready to not listening: until endpoints have followed
    finish_seconds: float = 60.0  # for requests in flight
    turn_away: bool = False  # listen, and answer 429, until the last request in flight is done
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep


@dataclass(frozen=True, slots=True, kw_only=True)
class Listening:
    """Where to listen, and by which TLS context."""

    host: str
    port: int  # 0: a free one
    context: ssl.SSLContext
    port_sharing: bool = False


@asynccontextmanager
async def serving(protocols: Protocols, listening: Listening, ending: Ending) -> AsyncIterator[int]:
    """Listen while the block runs, and give it the port. Raises OSError.

    At the end of the block, also by an error: not ready, grace, no new connection and no new
    request, then the requests in flight are waited for.
    """
    loop = asyncio.get_running_loop()
    listener = await loop.create_server(
        protocols,
        listening.host,
        listening.port,
        ssl=listening.context,
        reuse_port=listening.port_sharing,
        backlog=_BACKLOG,
        ssl_handshake_timeout=_HANDSHAKE_SECONDS,
        ssl_shutdown_timeout=TLS_SHUTDOWN_SECONDS,
    )
    try:
        yield listener.sockets[0].getsockname()[1]
    finally:
        await _end(listener, protocols, ending)


async def _end(listener: asyncio.Server, protocols: Protocols, ending: Ending) -> None:
    ending.lifecycle.stopping = True
    try:
        await ending.sleep(ending.grace_seconds)
        if ending.turn_away:
            ending.lifecycle.turning_away = True
            await _finished(ending)
    finally:  # whoever cancels the waiting does not cancel the closing
        listener.close()
        ending.lifecycle.draining = True
        await _finished(ending)
        await protocols.shutdown(1)
        await listener.wait_closed()


async def _finished(ending: Ending) -> None:
    """Wait for the requests in flight, for a time."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(ending.finish_seconds):
            await ending.idle()
