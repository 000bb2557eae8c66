"""`serve` as a process of its own before a stub of kube-apiserver, and what is asked of it."""

import asyncio
import re
import signal
import ssl
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import aiohttp
from cluster.control_plane.processes import Program, free_port
from fakes.http_client import GV, Client, Reply
from fakes.stub_process import StubProcess

DISCOVERY: Final = GV

_READY_SECONDS: Final = 60.0
_POLL_SECONDS: Final = 0.01


@dataclass(frozen=True, slots=True)
class Served:
    """A process that is ready, and what its start took."""

    program: Program
    port: int
    trust: ssl.SSLContext
    client: Client
    ready_seconds: float  # from exec

    def memory_mb(self) -> float:
        """Return the most memory that it ever had, in 10^6 bytes."""
        status = Path(f"/proc/{self.program.pid}/status").read_text()
        found = re.search(r"VmHWM:\s+(\d+) kB", status)
        if found is None:
            raise RuntimeError("the kernel does not tell the memory of a process")
        return int(found[1]) * 1024 / 1e6


def serve_flags(stub: StubProcess) -> list[str]:
    """Return the flags that every `serve` before a stub takes."""
    uses = ("", "authentication-", "authorization-")
    return [*(f"--{use}kubeconfig={stub.kubeconfig}" for use in uses), "--capacity-tick=0s"]


@asynccontextmanager
async def serving_before(stub: StubProcess, directory: Path) -> AsyncIterator[Served]:
    """Run `serve` from exec until it is ready, and on while the block runs."""
    port = free_port()
    flags = [*serve_flags(stub), f"--secure-port={port}", "--bind-address=127.0.0.1"]
    certificates = directory / "certificates"
    command = [sys.executable, "-m", "apiserver", "serve", *flags, f"--cert-dir={certificates}"]
    program = Program("serve", command, directory / "serve.log")
    began = time.perf_counter()
    program.start()
    try:
        await _listens(program, port)
        trust = ssl.create_default_context(cafile=certificates / "apiserver.crt")
        connector = aiohttp.TCPConnector(ssl=trust)
        async with aiohttp.ClientSession(connector=connector) as session:
            client = Client(session, port, trust)
            await _until_ready(client)
            yield Served(program, port, trust, client, time.perf_counter() - began)
    finally:
        program.stop(signal.SIGTERM)


async def ask(client: Client, path: str, token: str | None = "admin") -> Reply:
    """Return the answer of a GET, which must be one."""
    reply = await client.get(path, token=token)
    if reply.code != 200:
        raise RuntimeError(f"{path} is answered by {reply.code}: {reply.body.decode()}")
    return reply


async def figures(client: Client, path: str) -> dict[str, Any]:
    """Return what an object shows of capacity."""
    capacity: dict[str, Any] = (await ask(client, path)).json["status"]["capacity"]
    return capacity


async def answer_seconds(client: Client) -> list[float]:
    """Return how long discovery and the liveness probe take."""
    seconds = []
    for path in (DISCOVERY, "/livez"):
        began = time.perf_counter()
        await ask(client, path, token=None)
        seconds.append(time.perf_counter() - began)
    return seconds


async def _listens(program: Program, port: int) -> None:
    async with asyncio.timeout(_READY_SECONDS):
        while program.running:
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", port)
            except OSError:
                await asyncio.sleep(_POLL_SECONDS)
                continue
            writer.close()
            return
    raise RuntimeError(f"serve ended: {program.log.read_text()}")


async def _until_ready(client: Client) -> None:
    async with asyncio.timeout(_READY_SECONDS):
        while True:
            if (await client.get("/readyz", token=None)).code == 200:
                return
            await asyncio.sleep(_POLL_SECONDS)
