"""Our requests to kube-apiserver over real sockets and TLS: cases PC-06 and PC-07."""

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

import pytest
from aiohttp import web
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from fakes.kube_cluster import Followed, Setting, following, small_world
from fakes.objects import a_pod
from fakes.stub_api import Authority, StubAPI, kubeconfig, running
from fakes.stub_store import NODES, PODS

import apiserver
from apiserver.kube.api import API, UnreachableError
from apiserver.kube.client import KubeClient, load_client
from apiserver.kube.connection import from_kubeconfig, in_cluster
from storage.cluster.watch_state import Reason


class Clock:
    """A clock that stands until it is moved."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@asynccontextmanager
async def client_of(
    url: str, ca_file: Path, directory: Path, clock: Clock | None = None, **user: str
) -> AsyncIterator[KubeClient]:
    """Give a client made from a kubeconfig."""
    config = directory / "kubeconfig"
    config.write_text(kubeconfig(url, ca_file, **user))
    client = await asyncio.to_thread(load_client, config, clock=clock or Clock())
    try:
        yield client
    finally:
        await client.close()


async def test_pc_06_a_rotated_token_is_used_by_calls_and_watches(tmp_path: Path) -> None:
    """Within a minute of the file's change, whatever state it was caught in (PC-06)."""
    stub = StubAPI()
    small_world(stub)
    clock = Clock()
    account = tmp_path / "account"
    account.mkdir()
    (account / "token").write_text("first\n")
    stub.tokens = {"first"}
    authority = Authority.new(tmp_path)
    (account / "ca.crt").write_bytes(authority.ca_file.read_bytes())
    async with running(stub, authority) as url:
        port = url.rpartition(":")[2]
        environ = {"KUBERNETES_SERVICE_HOST": "127.0.0.1", "KUBERNETES_SERVICE_PORT": port}
        connection = await asyncio.to_thread(in_cluster, clock, account, environ)
        client = KubeClient(connection, clock=clock)
        async with contextlib.AsyncExitStack() as stack:
            stack.push_async_callback(client.close)
            cluster = await stack.enter_async_context(following(Followed(stub, client, Setting())))
            await cluster.settled()
            for content in ("", "\n", "second token with spaces", "second\n"):
                (account / "token").write_text(content)
                if content != "second\n":
                    clock.now += 61
                    assert (await client.call("GET", "/api/v1/nodes")).status == 200
            clock.now += 61
            stub.tokens = {"first", "second"}
            assert (await client.call("GET", "/api/v1/nodes")).status == 200
            stub.tokens = {"second"}
            for watch in list(stub.watches):
                stub.cut_watches(watch.path)
            stub.put(PODS, a_pod())
            await cluster.until(lambda: cluster.cache.snapshot().pods)
            await cluster.until(lambda: len(stub.watches) == len(cluster.feeds.running))
            assert stub.calls[-1].token == "second"
            reasons = {reason for _, reason in cluster.faults.counts()}
            assert Reason.UNAUTHORIZED not in reasons


async def test_pc_06_a_refusal_leads_to_one_more_try_with_another_token_only(
    tmp_path: Path,
) -> None:
    """401 triggers one re-read: a token that is the same is not tried again (PC-06)."""
    stub = StubAPI()
    clock = Clock()
    token = tmp_path / "token"
    token.write_text("old")
    stub.tokens = {"new"}
    authority = Authority.new(tmp_path)
    async with (
        running(stub, authority) as url,
        client_of(url, authority.ca_file, tmp_path, clock, tokenFile="token") as client,
    ):
        clock.now += 2
        for _ in range(3):
            assert (await client.call("GET", NODES.path)).status == 401
        assert len(stub.calls) == 3
        token.write_text("new\n")
        clock.now += 2
        assert (await client.call("GET", NODES.path)).status == 200
        assert [call.token for call in stub.calls[3:]] == ["old", "new"]


def certificates(directory: Path, name: str = "127.0.0.1") -> Authority:
    """Return an authority as old clusters have it: no key identifiers, no key usage."""
    now = datetime.now(UTC)
    ca_key, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    issuer = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "old-ca")])

    def builder(subject: x509.Name, public: ec.EllipticCurvePublicKey) -> x509.CertificateBuilder:
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(issuer)
            .public_key(public)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(days=1))
            .not_valid_after(now + timedelta(days=1))
        )

    ca = (
        builder(issuer, ca_key.public_key())
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(ca_key, hashes.SHA256())
    )
    host: x509.GeneralName = (
        x509.IPAddress(ip_address(name)) if name[0].isdigit() else x509.DNSName(name)
    )
    leaf = (
        builder(x509.Name([]), key.public_key())
        .add_extension(x509.SubjectAlternativeName([host]), critical=False)
        .sign(ca_key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    (directory / "old-ca.crt").write_bytes(ca.public_bytes(pem))
    (directory / "old.crt").write_bytes(leaf.public_bytes(pem))
    (directory / "old.key").write_bytes(
        key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(directory / "old.crt", directory / "old.key")
    return Authority(directory / "old-ca.crt", context)


async def test_pc_07_a_ca_without_key_identifiers_is_trusted(tmp_path: Path) -> None:
    """What Python would refuse for form alone is used, on every version of it (PC-07)."""
    stub = StubAPI()
    authority = certificates(tmp_path)
    async with (
        running(stub, authority) as url,
        client_of(url, authority.ca_file, tmp_path) as client,
    ):
        assert (await client.call("GET", NODES.path)).status == 200
    context = client._pool.rest.ssl_context  # noqa: SLF001 - older Pythons are lenient anyway
    assert not context.verify_flags & ssl.VERIFY_X509_STRICT
    assert context.verify_mode is ssl.CERT_REQUIRED
    assert context.check_hostname


@pytest.mark.parametrize("wrong", ["host", "ca"])
async def test_pc_07_another_host_or_ca_is_refused(tmp_path: Path, wrong: str) -> None:
    """Chain and host name are checked (PC-07)."""
    stub = StubAPI()
    (tmp_path / "other").mkdir()
    authority = certificates(tmp_path, "10.0.0.1" if wrong == "host" else "127.0.0.1")
    trusted = authority.ca_file if wrong == "host" else Authority.new(tmp_path / "other").ca_file
    async with running(stub, authority) as url, client_of(url, trusted, tmp_path) as client:
        with pytest.raises(UnreachableError):
            await client.call("GET", NODES.path)
        with pytest.raises(UnreachableError):
            async with client.stream(NODES.path, query={"watch": "true"}):
                pass
        assert not stub.calls


async def test_a_ca_file_that_changes_is_taken_over_without_cutting_a_stream(
    tmp_path: Path,
) -> None:
    """The old connections serve their requests out; a broken file changes nothing (design 7)."""
    stub = StubAPI()
    small_world(stub)
    clock = Clock()
    (tmp_path / "next").mkdir()
    first, second = Authority.new(tmp_path), Authority.new(tmp_path / "next")
    ca_file = tmp_path / "trusted.crt"
    ca_file.write_bytes(first.ca_file.read_bytes())
    async with (
        running(stub, first) as url,
        client_of(url, ca_file, tmp_path, clock) as client,
    ):
        query = {"watch": "true", "sendInitialEvents": "true"}
        async with client.stream(NODES.path, query=query) as stream:
            lines = stream.lines()
            assert await anext(lines)
            ca_file.write_text("broken")
            clock.now += 61
            assert (await client.call("GET", NODES.path)).status == 200
            ca_file.write_bytes(second.ca_file.read_bytes())
            first.context.sni_callback = lambda o, *_: setattr(o, "context", second.context)
            clock.now += 61
            assert (await client.call("GET", NODES.path)).status == 200
            stub.put(NODES, {"metadata": {"name": "late"}})
            assert b"late" in b"".join(await anext(lines))
        first.context.sni_callback = None
        stub.cut_watches(NODES.path)
        assert (await client.call("GET", NODES.path)).status == 200  # over an open connection


async def test_a_request_says_what_it_wants_and_who_we_are(tmp_path: Path) -> None:
    """Query, body, accept, agent and bounds are the caller's; no status is an error."""
    stub = StubAPI()
    seen: dict[str, str] = {}

    async def review(request: web.BaseRequest) -> web.StreamResponse:
        seen.update(request.headers)
        seen["query"] = request.query["a"]
        body = await request.read()
        return web.Response(status=429, body=body, headers={"Retry-After": "7"})

    stub.routes["POST", "/apis/x/v1/reviews"] = review
    authority = Authority.new(tmp_path)
    async with (
        running(stub, authority) as url,
        client_of(url, authority.ca_file, tmp_path) as client,
    ):
        api: API = client
        reply = await api.call(
            "POST",
            "/apis/x/v1/reviews",
            query={"a": "b=c,d!=e f+g"},
            body=b'{"spec": {"user": "x"}}',
            accept="application/json;as=Table",
        )
    assert (reply.status, reply.retry_after) == (429, 7.0)
    assert reply.body == b'{"spec": {"user": "x"}}'
    assert seen["query"] == "b=c,d!=e f+g"
    assert seen["Accept"] == "application/json;as=Table"
    assert seen["Authorization"] == "Bearer good"
    assert seen["User-Agent"] == f"gpuclass-apiserver/{apiserver.__version__}"
    assert seen["Content-Type"] == "application/json"


async def test_no_answer_is_an_error_of_its_own(tmp_path: Path) -> None:
    """Nobody listening, no answer in time, and a stream that is silent or cut, are one error."""
    stub = StubAPI()
    authority = Authority.new(tmp_path)
    async with running(stub, authority) as url:  # noqa: SIM117 - the second must end before
        async with client_of(url, authority.ca_file, tmp_path) as client:
            stub.hold(NODES.path)
            with pytest.raises(UnreachableError):
                await client.call("GET", NODES.path, seconds=0.05)
            stub.heal(NODES.path)
            query = {"watch": "true", "sendInitialEvents": "true"}
            async with client.stream(NODES.path, query=query, silence_seconds=0.05) as stream:
                with pytest.raises(UnreachableError):
                    [lines async for lines in stream.lines()]
            async with client.stream(NODES.path, query=query) as stream:
                lines = stream.lines()
                await anext(lines)
                stub.cut_watches(NODES.path)
                with pytest.raises(UnreachableError):
                    await anext(lines)
    async with client_of(url, authority.ca_file, tmp_path) as client:
        with pytest.raises(UnreachableError):
            await client.call("GET", NODES.path)


async def test_an_answer_that_breaks_off_is_none(tmp_path: Path) -> None:
    """Half a list is never taken for a whole one."""
    stub = StubAPI()

    async def half(request: web.BaseRequest) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Length": "1000"})
        await response.prepare(request)
        await response.write(b'{"items":[')
        assert request.transport is not None
        request.transport.abort()
        return response

    stub.routes["GET", NODES.path] = half
    authority = Authority.new(tmp_path)
    async with (
        running(stub, authority) as url,
        client_of(url, authority.ca_file, tmp_path) as client,
    ):
        with pytest.raises(UnreachableError):
            await client.call("GET", NODES.path)


async def test_a_credential_plugin_is_asked_for_a_token(tmp_path: Path) -> None:
    """It is run when it is needed, not for every request (runtime 8)."""
    stub = StubAPI()
    stub.tokens = {"from-plugin"}
    plugin = tmp_path / "plugin"
    plugin.write_text(
        "#!/bin/sh\n"
        f"echo run >> {tmp_path}/runs\n"
        'echo \'{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential",'
        '"status":{"token":"from-plugin"}}\'\n'
    )
    plugin.chmod(0o755)
    authority = Authority.new(tmp_path)
    async with running(stub, authority) as url:
        run = {"apiVersion": "client.authentication.k8s.io/v1", "command": str(plugin)}
        config = tmp_path / "kubeconfig"
        config.write_text(kubeconfig(url, authority.ca_file, exec=run))
        clock = Clock()
        client = KubeClient(await asyncio.to_thread(from_kubeconfig, config, clock), clock=clock)
        async with contextlib.AsyncExitStack() as stack:
            stack.push_async_callback(client.close)
            async with asyncio.TaskGroup() as tasks:
                calls = [tasks.create_task(client.call("GET", NODES.path)) for _ in range(5)]
            assert {call.result().status for call in calls} == {200}
            assert (tmp_path / "runs").read_text() == "run\n"
            stub.tokens = {"another"}
            for _ in range(3):
                assert (await client.call("GET", NODES.path)).status == 401
            assert (tmp_path / "runs").read_text() == "run\n"
            clock.now += 11
            for _ in range(3):
                assert (await client.call("GET", NODES.path)).status == 401
            assert (tmp_path / "runs").read_text() == "run\nrun\n"
