"""What kubelets and kube-proxy do for a Service: probe replicas, give connections to ready ones.

Connections that are open stay where they are, as with kube-proxy, until they are cut.
"""

import asyncio
import itertools
import ssl
import threading
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

_HOST: Final = "127.0.0.1"
_PROBE_EVERY: Final = 1.0
_PROBE_SECONDS: Final = 1.0
_CHUNK: Final = 1 << 16


class Balancer:
    """One port before the ports of several replicas; runs in a thread of its own."""

    def __init__(self, ports: Sequence[int]) -> None:
        self.port = 0
        self.ready: frozenset[int] = frozenset()
        self._ports = tuple(ports)
        self._turns = itertools.count()
        self._open: set[asyncio.StreamWriter] = set()
        self._loop = asyncio.new_event_loop()
        self._listening = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        """Listen on a free port."""
        self._thread.start()
        assert self._listening.wait(10)

    def stop(self) -> None:
        """Close everything."""
        self._loop.call_soon_threadsafe(self._task.cancel)
        self._thread.join(10)

    def cut(self) -> None:
        """Cut all connections: whoever had them connects anew."""

        def close() -> None:
            for writer in self._open:
                writer.transport.abort()

        self._loop.call_soon_threadsafe(close)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._task = self._loop.create_task(self._serve())
        with suppress(asyncio.CancelledError):
            self._loop.run_until_complete(self._task)
        self._loop.run_until_complete(self._loop.shutdown_asyncgens())
        self._loop.close()

    async def _serve(self) -> None:
        async with asyncio.TaskGroup() as tasks:

            async def accepted(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
                self._open.add(writer)
                tasks.create_task(self._pass_on(reader, writer))

            await self._probe()
            server = await asyncio.start_server(accepted, _HOST, 0)
            self.port = server.sockets[0].getsockname()[1]
            self._listening.set()
            try:
                while True:
                    await asyncio.sleep(_PROBE_EVERY)
                    await self._probe()
            finally:
                server.close()
                for writer in self._open:
                    writer.transport.abort()

    async def _probe(self) -> None:
        self.ready = frozenset([port for port in self._ports if await _answers(port)])

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Connect to the next ready replica, and carry bytes both ways."""
        writers = {writer}
        try:
            ready = [port for port in self._ports if port in self.ready]
            if not ready:
                return
            port = ready[next(self._turns) % len(ready)]
            back_reader, back_writer = await asyncio.open_connection(_HOST, port)
            writers.add(back_writer)
            self._open.add(back_writer)
            async with asyncio.TaskGroup() as both:
                both.create_task(_carry(reader, back_writer))
                both.create_task(_carry(back_reader, writer))
        except OSError:
            pass  # whoever connected sees it end
        finally:
            self._open -= writers
            for each in writers:
                each.transport.abort()


def is_ready(port: int) -> bool:
    """Whether what listens on a port of loopback says that it is ready."""
    return asyncio.run(_answers(port))


async def _carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while data := await reader.read(_CHUNK):
            writer.write(data)
            await writer.drain()
        if writer.can_write_eof():
            writer.write_eof()


async def _answers(port: int) -> bool:
    """Ask as a kubelet does: anonymously, trusting any certificate."""
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    try:
        async with asyncio.timeout(_PROBE_SECONDS):
            reader, writer = await asyncio.open_connection(_HOST, port, ssl=context)
            try:
                writer.write(b"GET /readyz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
                return b" 200 " in await reader.readline()
            finally:
                writer.transport.abort()
    except (OSError, TimeoutError):
        return False
