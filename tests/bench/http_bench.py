"""LIST of 20 options over TLS, beside an aiohttp route that sends the same bytes from a constant.

Both servers run in processes of their own on one core, the generator on another; rounds of the two
alternate, so that whatever else the machine does hits both (performance 1, P2).
"""

import asyncio
import json
import multiprocessing
import os
import ssl
import statistics
import tempfile
import time
from collections.abc import Callable, Coroutine
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Final, TextIO, cast

import uvloop
from aiohttp import web
from bench.figures import Figure
from fakes.http_fakes import Certificates, ServingFiles, new_certificates

from apiserver.cli.api import api_services, resources
from apiserver.cli.clocks import wall_seconds
from apiserver.cli.config import demo_config
from apiserver.cli.embedded import EmbeddedCluster
from apiserver.cli.flags import parse
from apiserver.http.app import build_handler
from apiserver.http.bodies import Bodies
from apiserver.http.connection import Server
from apiserver.http.forms import Form
from apiserver.ops.logs import AccessLog
from apiserver.ops.serving import Ending, Lifecycle, Listening, serving
from apiserver.ops.tls import serving_context

CLASSES: Final = 20
CONNECTIONS: Final = 10
ROUNDS: Final = 15
ROUND_SECONDS: Final = 1.0
BAR: Final = 0.6

NAMESPACE: Final = "tenant-acme"
TARGET: Final = (
    f"/apis/options.gpu.cozystack.io/v1alpha1/namespaces/{NAMESPACE}/gpuclassoptions?limit=500"
)
REQUEST: Final = (
    f"GET {TARGET} HTTP/1.1\r\nHost: localhost\r\nAccept: application/json\r\n"
    "User-Agent: bench/1.0\r\nAccept-Encoding: gzip\r\nAuthorization: Bearer secret\r\n\r\n"
).encode()

RBAC: Final = "rbac.authorization.k8s.io"
ROLE: Final = {
    "apiVersion": f"{RBAC}/v1",
    "kind": "ClusterRole",
    "metadata": {"name": "reader"},
    "rules": [
        {
            "apiGroups": ["options.gpu.cozystack.io"],
            "resources": ["gpuclassoptions"],
            "verbs": ["get", "list"],
        }
    ],
}
BINDING: Final = {
    "apiVersion": f"{RBAC}/v1",
    "kind": "RoleBinding",
    "metadata": {"name": "reader", "namespace": NAMESPACE},
    "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": "reader"},
    "subjects": [{"apiGroup": RBAC, "kind": "Group", "name": "acme"}],
}
OBJECTS: Final = {
    "apiVersion": "v1",
    "items": [
        ROLE,
        BINDING,
        *(
            {
                "apiVersion": "gpu.cozystack.io/v1alpha1",
                "kind": "GPUClass",
                "metadata": {"name": f"class-{number}"},
                "spec": {
                    "vendor": "nvidia",
                    "mode": "passthrough",
                    "resourceName": f"nvidia.com/GPU{number}",
                    "maxCount": 8,
                    "memoryPerUnit": "48Gi",
                    "displayName": f"NVIDIA GPU {number} 48 GB",
                },
            }
            for number in range(CLASSES)
        ),
    ],
}


def measure() -> list[Figure]:
    """Return the requests per second of the LIST as a share of the constant route's."""
    with tempfile.TemporaryDirectory() as directory:
        rounds = uvloop.run(_alternate(new_certificates(Path(directory))))
    constant, listing = (statistics.median(rates) for rates in zip(*rounds, strict=True))
    shares = [ours / floor for floor, ours in rounds]
    return [
        Figure(
            name=(
                f"LIST of {CLASSES} options over TLS, {listing:.0f} requests/s beside"
                f" {constant:.0f} of a constant route (rounds {min(shares):.2f} to"
                f" {max(shares):.2f})"
            ),
            value=statistics.median(shares),
            unit="of its requests/s",
            bar=BAR,
            at_most=False,
        )
    ]


async def _alternate(certificates: Certificates) -> list[tuple[float, float]]:
    """Return requests per second of the constant route and of the LIST, round by round."""
    cores = sorted(os.sched_getaffinity(0))
    spawn = multiprocessing.get_context("spawn")
    pipes: list[Connection] = []
    processes = []
    for serve in (_serve_constant, _serve_list):
        ours, theirs = spawn.Pipe()
        process = spawn.Process(target=_on_core, args=(cores[0], serve, certificates.files, theirs))
        process.start()
        pipes.append(ours)
        processes.append(process)
    os.sched_setaffinity(0, {cores[-1]})
    try:
        constant, listing = (pipe.recv() for pipe in pipes)
        trust = certificates.trust
        await _round(constant, trust)  # the first of each is to warm up
        await _round(listing, trust)
        return [
            (await _round(constant, trust), await _round(listing, trust)) for _ in range(ROUNDS)
        ]
    finally:
        os.sched_setaffinity(0, cores)
        for pipe in pipes:
            pipe.send("stop")
        for process in processes:
            process.join()


def _on_core(
    core: int,
    serve: Callable[[ServingFiles, Connection, TextIO], Coroutine[None, None, None]],
    files: ServingFiles,
    pipe: Connection,
) -> None:
    os.sched_setaffinity(0, {core})
    with Path(os.devnull).open("w") as log:
        uvloop.run(serve(files, pipe, log))


def _cluster() -> EmbeddedCluster:
    """Read a cluster of 20 classes as `demo` reads one."""
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        (directory / "cluster.json").write_text(json.dumps({"kind": "List", **OBJECTS}))
        (directory / "tokens.csv").write_text("secret,maria,maria,acme\n")
        return EmbeddedCluster(directory, demo_config(name, parse(["demo", name]).flags()))


async def _serve_list(files: ServingFiles, pipe: Connection, log: TextIO) -> None:
    """Serve the options as the embedded cluster does: users, rights, figures, all of it."""
    access_log = AccessLog(log.write, asyncio.get_running_loop().call_later)
    lifecycle = Lifecycle()
    services = api_services(_cluster(), access_log, lifecycle)
    server = Server(build_handler(services, Bodies()), wall_clock=wall_seconds)
    ending = Ending(lifecycle=lifecycle, idle=services.in_flight.idle)
    context = serving_context(files.certificate, files.key)
    async with serving(
        server, Listening(host="127.0.0.1", port=0, context=context), ending
    ) as port:
        pipe.send(port)
        await asyncio.to_thread(pipe.recv)


async def _serve_constant(files: ServingFiles, pipe: Connection, _: TextIO) -> None:
    """Serve the bytes of that LIST from a constant, by aiohttp's own application and router."""
    published = _cluster().published
    options = resources(published)["gpuclassoptions"]
    body = b"".join(Bodies().whole(options, NAMESPACE, published, Form.OBJECT, "v1"))

    async def constant(_: web.Request) -> web.Response:
        return web.Response(body=body, content_type="application/json")

    application = web.Application()
    application.router.add_get(TARGET.partition("?")[0], constant)
    runner = web.AppRunner(application, access_log=None)
    await runner.setup()
    site = web.TCPSite(
        runner, "127.0.0.1", 0, ssl_context=serving_context(files.certificate, files.key)
    )
    await site.start()
    pipe.send(runner.addresses[0][1])
    await asyncio.to_thread(pipe.recv)
    await runner.cleanup()


class _Caller(asyncio.Protocol):
    """Asks, reads the whole answer, asks again; all answers must be as long as the first."""

    def __init__(self) -> None:
        self.answers = 0
        self._transport: asyncio.WriteTransport | None = None
        self._size = 0
        self._received = b""
        self._length = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.WriteTransport, transport)
        self._transport.write(REQUEST)

    def data_received(self, data: bytes) -> None:
        self._length += len(data)
        if not self._size:
            self._received += data
            self._size = _size_of(self._received)
        if self._size and self._length >= self._size:
            self._length = 0
            self.answers += 1
            if self._transport is not None:
                self._transport.write(REQUEST)

    def close(self) -> None:
        if self._transport is not None:
            self._transport.abort()


def _size_of(answer: bytes) -> int:
    """Return the bytes of a whole answer, 0 while its head is not complete."""
    head, end, _ = answer.partition(b"\r\n\r\n")
    if not end:
        return 0
    lines = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:])
    return len(head) + len(end) + int(lines[b"content-length"])


async def _round(port: int, trust: ssl.SSLContext) -> float:
    """Return the requests per second of one round."""
    loop = asyncio.get_running_loop()
    callers = [
        (
            await loop.create_connection(
                _Caller, "127.0.0.1", port, ssl=trust, server_hostname="localhost"
            )
        )[1]
        for _ in range(CONNECTIONS)
    ]
    await asyncio.sleep(ROUND_SECONDS / 10)
    before, started = sum(caller.answers for caller in callers), time.perf_counter()
    await asyncio.sleep(ROUND_SECONDS)
    answers = sum(caller.answers for caller in callers) - before
    rate = answers / (time.perf_counter() - started)
    for caller in callers:
        caller.close()
    return rate


if __name__ == "__main__":
    for figure in measure():
        print(figure)
