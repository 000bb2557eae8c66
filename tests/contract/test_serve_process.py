"""`serve` as a process before a kube-apiserver that fails: what it answers, logs, and leaves.

Cases AU-04, AU-11, AZ-01, OA-01, HS-03 and HS-04 for the whole program.
"""

import asyncio
import contextlib
import json
import re
import signal
import ssl
import stat
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from cluster.control_plane.processes import Program, free_port
from fakes.http_client import GV, Client, Reply, assert_status
from fakes.kube_cluster import small_world
from fakes.stub_api import Authority, StubAPI, StubThread, kubeconfig
from fakes.stub_reviews import ACCESS_REVIEWS, TOKEN_REVIEWS, StubReviews
from fakes.stub_store import CONFIG_MAPS

from apiserver.cli.certificates import new_pair

OPTION = f"{GV}/namespaces/tenant-a/gpuclassoptions/l40s"
DISCOVERY = (GV, "/apis", "/openapi/v2", "/openapi/v3", "/livez")
TRUST = {
    "metadata": {"name": "extension-apiserver-authentication", "namespace": "kube-system"},
    "data": {},
}
#: Rights are asked for anew each time.
NO_CACHES = (
    "--authentication-token-webhook-cache-ttl=0s",
    "--authorization-webhook-cache-authorized-ttl=0s",
    "--authorization-webhook-cache-unauthorized-ttl=0s",
)


@dataclass
class World:
    """A stub of kube-apiserver that comes and goes, and what it knows."""

    stub: StubAPI
    directory: Path
    authority: Authority
    thread: StubThread | None = None
    port: int = 0

    def begin(self) -> None:
        """Serve, on the same port each time."""
        self.thread = StubThread(self.stub, self.authority, self.port)
        self.thread.__enter__()
        self.port = self.thread.port
        config = kubeconfig(self.thread.url, self.authority.ca_file)
        (self.directory / "kubeconfig").write_text(config)

    def end(self) -> None:
        """Serve no more; open connections end."""
        if self.thread is not None:
            self.thread.__exit__(None, None, None)
            self.thread = None

    def call(self, work: Callable[[StubAPI], object]) -> None:
        """Change what the stub does."""
        assert self.thread is not None
        self.thread.call(work)


@dataclass
class Serve:
    """A process, and a client of it."""

    program: Program
    client: Client
    certificates: Path

    @property
    def log(self) -> str:
        """What it has logged."""
        return self.program.log.read_text()


@pytest.fixture
def world(tmp_path: Path) -> World:
    """A small cluster in which a token is a name, and everybody may everything."""
    stub = StubAPI()
    small_world(stub)
    stub.put(CONFIG_MAPS, TRUST)
    StubReviews(
        stub,
        token=lambda spec: {"authenticated": True, "user": {"username": spec["token"]}},
        access=lambda _: {"allowed": True},
    )
    return World(stub, tmp_path, Authority.new(tmp_path))


def command(directory: Path, port: int, *flags: str) -> Sequence[str]:
    """The command line of a process."""
    uses = ("", "authentication-", "authorization-")
    return [
        *(sys.executable, "-m", "apiserver", "serve", "--bind-address=127.0.0.1"),
        *(f"--{use}kubeconfig={directory / 'kubeconfig'}" for use in uses),
        *(f"--secure-port={port}", f"--cert-dir={directory / 'certificates'}", *flags),
    ]


@asynccontextmanager
async def serving(world: World, *flags: str, ready: bool = True) -> AsyncIterator[Serve]:
    """Run a process while the block runs; it has to end by itself then, with 0."""
    port, certificates = free_port(), world.directory / "certificates"
    log = world.directory / "serve.log"
    program = Program("serve", command(world.directory, port, *flags), log)
    program.start()
    try:
        await until(lambda: accepts(port), program)
        trust = ssl.create_default_context(cafile=certificates / "apiserver.crt")
        connector = aiohttp.TCPConnector(ssl=trust)
        async with aiohttp.ClientSession(connector=connector) as session:
            serve = Serve(program, Client(session, port, trust), certificates)
            if ready:
                await until(lambda: answers(serve, "/readyz", 200, token=None), program)
            yield serve
        code = await asyncio.to_thread(program.stop, signal.SIGTERM)
        assert code == 0, serve.log
        assert_silent(serve.log)
    finally:
        program.stop(signal.SIGKILL)
        world.end()


def assert_silent(log: str) -> None:
    """No upstream words, node, traceback or token in any line of the default level."""
    for word in ("zq-upstream", "Traceback", "Bearer", "maria-token", '"n1"', "kubernetes.aio"):
        assert word not in log, log


async def until(holds: Callable[[], Awaitable[bool]], program: Program) -> None:
    """Wait until something holds of a process that runs."""
    async with asyncio.timeout(30):
        while not await holds():
            assert program.running, program.log_tail()
            await asyncio.sleep(0.01)


async def accepts(port: int) -> bool:
    """Whether somebody listens."""
    try:
        _, writer = await asyncio.open_connection("127.0.0.1", port)
    except OSError:
        return False
    await drop(writer)
    return True


async def answers(serve: Serve, path: str, code: int, token: str | None = "maria-token") -> bool:
    """Whether a GET is answered by a code."""
    return (await serve.client.get(path, token=token)).code == code


async def shows(serve: Serve, path: str, **capacity: Any) -> bool:
    """Whether an option shows some figures; it has to be served."""
    reply = await serve.client.get(path, token="maria-token")
    assert reply.code == 200, reply.body
    shown = reply.json["status"]["capacity"]
    return {name: shown.get(name) for name in capacity} == capacity


async def assert_discovered(serve: Serve) -> None:
    """Assert that what every client of the cluster needs is there."""
    for path in DISCOVERY:
        assert (await serve.client.get(path, token=None)).code == 200, path


def assert_tells_nothing(reply: Reply) -> None:
    """Assert that no upstream word is in an error answer."""
    for word in (b"zq-upstream", b"system:", b"kubeconfig", b"127.0.0.1", b"Traceback"):
        assert word not in reply.body


async def test_az_01_without_reviews_everything_but_the_api_is_served(world: World) -> None:
    """AU-11, AZ-01, OA-01: errors grant nothing, discovery stays, and it works once they are."""
    world.begin()
    async with serving(world, *NO_CACHES) as serve:
        assert await answers(serve, OPTION, 200)
        world.call(lambda stub: stub.fail(ACCESS_REVIEWS, 403))
        reply = await serve.client.get(OPTION, token="maria-token")
        assert_status(reply, 503, "ServiceUnavailable")
        assert reply.headers["Retry-After"] == "1"
        assert_tells_nothing(reply)
        await assert_discovered(serve)
        world.call(lambda stub: stub.fail(TOKEN_REVIEWS, 403))
        reply = await serve.client.get(OPTION, token="maria-token")
        assert_status(reply, 401, "Unauthorized")
        assert_tells_nothing(reply)
        await assert_discovered(serve)
        assert serve.log.count("bind ClusterRole system:auth-delegator") == 2
        for path in (ACCESS_REVIEWS, TOKEN_REVIEWS):
            world.call(lambda stub, path=path: stub.heal(path))  # type: ignore[misc]
        assert await answers(serve, OPTION, 200)


async def test_au_04_without_whom_to_trust_tokens_are_served(world: World) -> None:
    """AU-04: no exit, a line that names the Role to bind, discovery, and callers with tokens."""
    world.stub.fail("/api/v1/namespaces/kube-system/configmaps", 403)
    world.begin()
    async with serving(world, ready=False) as serve:
        await until(lambda: answers(serve, OPTION, 200), serve.program)
        await assert_discovered(serve)
        assert "bind Role extension-apiserver-authentication-reader" in serve.log
        assert await answers(serve, "/readyz", 500, token=None)
        world.call(lambda stub: stub.heal("/api/v1/namespaces/kube-system/configmaps"))
        await until(lambda: answers(serve, "/readyz", 200, token=None), serve.program)


async def test_answers_outlive_their_source_until_they_are_too_old(world: World) -> None:
    """Kube-apiserver away: figures stay, then are Unknown, never 0; back without a restart."""
    world.stub.bookmark_seconds = 0.5  # each source is heard of more often than it is too old
    world.begin()
    keeps = (
        "--authentication-token-webhook-cache-ttl=1h",
        "--authorization-webhook-cache-authorized-ttl=1h",
    )
    async with serving(world, "--source-stale-after=5s", "--capacity-tick=0s", *keeps) as serve:
        assert await shows(serve, OPTION, state="Known", free=8)
        world.end()
        assert await shows(serve, OPTION, state="Known", free=8)
        await until(lambda: shows(serve, OPTION, state="Unknown", free=None), serve.program)
        await assert_discovered(serve)
        assert await answers(serve, "/readyz", 200, token=None)
        world.begin()
        await until(lambda: shows(serve, OPTION, state="Known", free=8), serve.program)
        assert "source is read again" in serve.log


async def test_flags_are_logged_and_the_self_signed_pair_is_kept(world: World) -> None:
    """Contract 11: what was typed is said; the key is nobody else's, and clients' trust lasts."""
    world.begin()
    async with serving(world) as serve:
        pair = serve.certificates / "apiserver.crt", serve.certificates / "apiserver.key"
        first = [each.read_bytes() for each in pair]
        assert stat.S_IMODE(pair[1].stat().st_mode) == 0o600
        assert "FLAG: --bind-address=127.0.0.1" in serve.log
    world.begin()
    async with serving(world):
        assert [each.read_bytes() for each in pair] == first


async def test_hs_03_a_stop_is_not_ready_first_and_ends_soon(world: World) -> None:
    """HS-03 but for watches: requests are answered to the end, idle connections hold up nothing."""
    world.begin()
    async with serving(world, "--shutdown-delay-duration=1s") as serve:
        idle = [
            await asyncio.open_connection("127.0.0.1", serve.client.port, ssl=serve.client.trust)
            for _ in range(50)
        ]
        assert await answers(serve, OPTION, 200)
        serve.program.send(signal.SIGTERM)
        await until(lambda: answers(serve, "/readyz", 500, token=None), serve.program)
        assert await answers(serve, OPTION, 200)
        assert await asyncio.to_thread(serve.program.wait, 15) == 0
        for _, writer in idle:
            await drop(writer)


async def test_hs_04_connections_are_let_go_however_they_end(world: World) -> None:
    """HS-04 but for watches: whole, dropped in the handshake, dropped with a request under way."""
    world.begin()
    async with serving(world) as serve:
        await connect(serve, 30)  # what is made once is made by now
        before = descriptors(serve)
        await connect(serve, 300)
        await until(lambda: no_more(serve, before), serve.program)
        assert await answers(serve, OPTION, 200)


async def connect(serve: Serve, times: int) -> None:
    """Connect, a third of the times each way."""
    port, trust = serve.client.port, serve.client.trust
    request = f"GET {OPTION} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer maria-token\r\n"
    for number in range(times):
        tls = None if number % 3 == 0 else trust
        reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=tls)
        if number % 3 == 0:
            writer.write(b"\x16\x03\x01\x02\x00\x01")  # the beginning of a handshake
        elif number % 3 == 1:
            writer.write(f"{request}Connection: close\r\n\r\n".encode())
            assert b"200 OK" in await reader.read()
        else:
            writer.write(f"{request}\r\n".encode())
        await drop(writer)


async def drop(writer: asyncio.StreamWriter) -> None:
    """End a connection without a farewell."""
    writer.transport.abort()
    with contextlib.suppress(OSError):
        await writer.wait_closed()


def descriptors(serve: Serve) -> int:
    """Return how many files and sockets a process has open."""
    return len(list(Path(f"/proc/{serve.program.pid}/fd").iterdir()))


async def no_more(serve: Serve, before: int) -> bool:
    """Whether a process has as few descriptors as before."""
    return descriptors(serve) <= before


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--request-timeout=0s", "--max-requests-inflight=-1"], ["at least", "whole number"]),
        (["--tls-min-version=1.2", "--nonsense"], ["VersionTLS12", "--nonsense"]),
    ],
)
def test_a_wrong_command_line_ends_with_2_and_says_everything(
    tmp_path: Path, flags: list[str], said: list[str]
) -> None:
    """Contract 11: whoever types it needs one try to mend it."""
    run = subprocess.run(
        [sys.executable, "-m", "apiserver", "serve", *flags],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert run.returncode == 2
    for each in said:
        assert each in run.stderr
    assert not re.search("Traceback", run.stderr)


def test_a_pair_that_does_not_fit_ends_with_2_and_says_whose_it_is(world: World) -> None:
    """Of several pairs on a command line the one is named that has to be mended."""
    world.begin()
    world.end()
    good, bad = world.directory / "apiserver.crt", world.directory / "bad.pem"
    certificate, key = new_pair(datetime.now(UTC))[1:]
    good.write_bytes(certificate)
    (key_file := world.directory / "apiserver.key").write_bytes(key)
    bad.write_text("no certificate")
    pair = [f"--tls-cert-file={good}", f"--tls-private-key-file={key_file}"]
    sni = f"--tls-sni-cert-key={bad},{key_file}:other.example"
    run = subprocess.run(
        command(world.directory, 0, *pair, sni),
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert run.returncode == 2
    assert "--tls-sni-cert-key" in run.stderr.splitlines()[-1]
    assert str(bad) in run.stderr.splitlines()[-1]


def test_a_kubeconfig_that_is_none_ends_with_1(tmp_path: Path) -> None:
    """It is said which, and in one line: nobody reads a traceback of ours."""
    (tmp_path / "kubeconfig").write_text(json.dumps({"kind": "Config"}))
    run = subprocess.run(
        command(tmp_path, 0), capture_output=True, text=True, timeout=30, check=False
    )
    assert run.returncode == 1
    assert str(tmp_path / "kubeconfig") in run.stderr.splitlines()[-1]
    assert "Traceback" not in run.stderr
