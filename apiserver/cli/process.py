"""What every command that serves is made of: its end by signals, and listening until then."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from apiserver.cli.clocks import wall_seconds
from apiserver.http.app import build_handler
from apiserver.http.bodies import Bodies
from apiserver.http.connection import Server
from apiserver.http.services import Services
from apiserver.ops.serving import Ending, Listening, serving


class PortError(Exception):
    """A port cannot be listened on; the message says which, and what to do."""


@asynccontextmanager
async def listen(
    flag: str, listening: Listening, services: Services, ending: Ending
) -> AsyncIterator[tuple[int, Server]]:
    """Serve while the block runs, and give it port and server; `flag` names it in PortError."""
    server = Server(build_handler(services, Bodies()), wall_clock=wall_seconds)
    async with AsyncExitStack() as stack:
        try:
            port = await stack.enter_async_context(serving(server, listening, ending))
        except OSError as error:
            raise PortError(
                f"{flag}: cannot listen on {listening.host}:{listening.port}"
                f" ({os.strerror(error.errno or 0)}); give another port, or 0 for a free one"
            ) from error
        yield port, server


def stop_on_signals() -> asyncio.Event:
    """Return what is set by the first signal; the second one ends the process at once with 1."""
    stopped = asyncio.Event()

    def on_signal() -> None:
        if stopped.is_set():
            os._exit(1)
        stopped.set()

    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, on_signal)
    return stopped
