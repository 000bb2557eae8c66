"""The listening socket: limits that hold, TLS, and an end that cuts nobody off (contract 9, 10)."""

import asyncio
import logging
import socket
import ssl
from dataclasses import replace

import aiohttp
import pytest
from fakes.http_client import ACME, GV, Client, assert_status, parsed
from fakes.http_fakes import Certificates, FakeWorld, a_meta, connection, exchange, running

from apiserver.http.connection import LIMITS, Connection, Server
from apiserver.ops.logs import AccessLog
from apiserver.ops.serving import TLS_SHUTDOWN_SECONDS, Ending, Listening, serving
from apiserver.ops.tls import PairError, serving_context

OPTIONS = f"{ACME}/gpuclassoptions"


async def test_the_limits_are_known_to_the_framework(
    world: FakeWorld, caplog: pytest.LogCaptureFixture
) -> None:
    """Runtime 3: with a keyword it does not know it would drop them all, and only warn."""
    services = world.services()

    async def unused(_: aiohttp.web.BaseRequest) -> None: ...

    server = Server(unused, wall_clock=services.wall_clock)  # type: ignore[arg-type]  # never called
    connection = server()
    assert isinstance(connection, Connection)
    assert connection.max_headers == LIMITS["max_headers"]
    assert connection.max_line_size == LIMITS["max_line_size"]
    assert connection.max_field_size == LIMITS["max_field_size"]
    assert connection.keepalive_timeout == LIMITS["keepalive_timeout"]
    assert connection.access_logger is None
    assert not caplog.records


async def test_idle_connections_outlive_the_aggregators() -> None:
    """Contract 1.34, HS-07: its pool gives up after 90 s; who closes later never races with it."""
    assert LIMITS["keepalive_timeout"] > 90


@pytest.mark.parametrize(
    ("version", "line"),
    [
        ("1.0", "X: y"),
        ("1.1", "Connection: close"),
        ("1.1", "Content-Length: 1000000"),
        ("1.1", "Connection: upgrade\r\nUpgrade: websocket"),
    ],
)
async def test_a_slow_reader_gets_the_last_answer_whole(
    world: FakeWorld, certificates: Certificates, version: str, line: str
) -> None:
    """Contract 6.50: whatever ends the connection ends it after the answer has been taken."""
    assert TLS_SHUTDOWN_SECONDS >= 60  # what is not yet taken then is lost
    world.options.metas = [a_meta("tenant-acme", f"c{number:04}") for number in range(4000)]
    request = f"GET {OPTIONS} HTTP/{version}\r\nHost: x\r\nAuthorization: Bearer admin\r\n{line}"
    answered = asyncio.Event()
    log = AccessLog(world.lines.append, lambda _seconds, _flush: answered.set())
    services = replace(world.services(), access_log=log)
    narrow = socket.socket()
    narrow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    narrow.setblocking(False)
    async with asyncio.timeout(60), running(world, certificates.files, services) as port:
        await asyncio.get_running_loop().sock_connect(narrow, ("127.0.0.1", port))
        reader, writer = await asyncio.open_connection(
            sock=narrow, ssl=certificates.trust, server_hostname="localhost", limit=1024
        )
        writer.write(f"{request}\r\n\r\n".encode())
        await answered.wait()
        reply = parsed(await reader.read())
        writer.close()
    assert reply.headers["Connection"] == "close"
    assert len(reply.body) == int(reply.headers["Content-Length"]) > 3_000_000
    assert len(reply.json["items"]) == 4000


async def test_tls_is_of_this_decade(certificates: Certificates) -> None:
    """Contract 10.4: 1.2 at least."""
    context = serving_context(certificates.files.certificate, certificates.files.key)
    assert context.minimum_version is ssl.TLSVersion.TLSv1_2


@pytest.mark.parametrize("offered", [["h2", "http/1.1"], ["http/1.1"], ["h2"], []])
async def test_any_offer_of_protocols_is_served(
    client: Client, certificates: Certificates, offered: list[str]
) -> None:
    """Contract 10.6: HTTP/1.1 is chosen, and an offer without it is no failure."""
    trust = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    trust.load_verify_locations(cafile=str(certificates.files.certificate))
    trust.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    if offered:
        trust.set_alpn_protocols(offered)
    async with asyncio.timeout(30), connection(client.port, trust) as (reader, writer):
        chosen = writer.get_extra_info("ssl_object").selected_alpn_protocol()
        assert chosen == ("http/1.1" if "http/1.1" in offered else None)
        writer.write(f"GET {GV} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
        assert parsed(await reader.read()).code == 200


async def test_plain_http_gets_no_answer(client: Client) -> None:
    """Contract 6.16: there is no door without TLS."""
    reader, writer = await asyncio.open_connection("127.0.0.1", client.port)
    writer.write(b"GET /apis HTTP/1.1\r\nHost: x\r\n\r\n")
    assert b"HTTP/1.1 200" not in await reader.read()
    writer.close()


async def test_files_that_do_not_fit_raise(certificates: Certificates) -> None:
    """A bad pair is told at start, before anything listens."""
    with pytest.raises(PairError, match=r"cannot be served with: .*SSL"):
        serving_context(certificates.files.certificate, certificates.files.certificate)
    with pytest.raises(PairError, match=r"none.*No such file"):
        serving_context(certificates.files.certificate.with_name("none"), certificates.files.key)


async def test_a_port_that_is_taken_raises(
    world: FakeWorld, client: Client, certificates: Certificates
) -> None:
    """Starting fails at once, with nothing half open."""
    services = world.services()

    async def unused(_: aiohttp.web.BaseRequest) -> None: ...

    server = Server(unused, wall_clock=services.wall_clock)  # type: ignore[arg-type]  # never called
    context = serving_context(certificates.files.certificate, certificates.files.key)
    ending = Ending(lifecycle=world.lifecycle, idle=world.in_flight.idle)
    with pytest.raises(OSError, match="in use"):
        async with serving(
            server, Listening(host="127.0.0.1", port=client.port, context=context), ending
        ):
            pytest.fail("it listens")


async def test_health_tells_what_is_not_ready(world: FakeWorld, client: Client) -> None:
    """Contract 9.1, 9.4: over the wire, in plain text, 500 for a failure."""
    reply = await client.get("/readyz", token=None)
    assert (reply.code, reply.body) == (200, b"ok")
    assert reply.headers["Content-Type"] == "text/plain; charset=utf-8"
    assert reply.headers["X-Content-Type-Options"] == "nosniff"
    world.faults["informer-sync"] = "nodes of zq-node"
    reply = await client.get("/readyz", token=None)
    assert reply.code == 500
    assert b"[-]informer-sync failed: reason withheld\n" in reply.body
    assert b"zq-node" not in reply.body
    excluding = await client.get("/readyz?exclude=informer-sync&exclude=x&verbose", token=None)
    assert excluding.code == 200
    assert b"[+]informer-sync excluded: ok\n" in excluding.body
    assert b'no matches for "x"\n' in excluding.body
    assert (await client.get("/livez", token=None)).code == 200
    assert (await client.get("/readyz/informer-sync")).code == 500
    assert_status(await client.get("/readyz/informer-sync", token=None), 401, "Unauthorized")


async def test_metrics_count_what_was_answered(client: Client) -> None:
    """Contract 9.9, 9.10: behind authorization, with upstream's names."""
    assert_status(await client.get("/metrics", token=None), 401, "Unauthorized")
    assert_status(await client.get("/metrics", token="maria"), 403, "Forbidden")
    await client.get(OPTIONS)
    for name in ("a", "b"):
        await client.get(f"/apis/{name}/v1/{name}")
    body = (await client.get("/metrics")).body.decode()
    counted = [line for line in body.splitlines() if line.startswith("apiserver_request_total{")]
    assert any('resource="gpuclassoptions"' in line and 'verb="LIST"' in line for line in counted)
    (unknown,) = [line for line in counted if 'code="404"' in line]
    assert 'resource=""' in unknown
    assert unknown.endswith(" 2.0")
    assert 'apiserver_current_inflight_requests{request_kind="readOnly"} 1.0' in body


async def test_the_end_begins_with_not_ready(world: FakeWorld, certificates: Certificates) -> None:
    """Contract 9.6 (a), (b): while endpoints follow, everything is still answered."""
    connector = aiohttp.TCPConnector(ssl=certificates.trust)
    codes: dict[str, int] = {}

    async with aiohttp.ClientSession(connector=connector) as session:

        async def grace(_: float) -> None:
            for path in ("/readyz", "/livez", GV, OPTIONS):
                codes[path] = (await client.get(path)).code

        async with running(world, certificates.files, sleep=grace) as port:
            client = Client(session, port, certificates.trust)
            assert (await client.get("/readyz")).code == 200
    assert codes == {"/readyz": 500, "/livez": 200, GV: 200, OPTIONS: 200}


async def test_a_request_in_flight_gets_its_answer(
    world: FakeWorld, certificates: Certificates
) -> None:
    """Contract 9.6 (c), (d): new connections and requests are refused, old ones finish."""
    entered, leave = asyncio.Event(), asyncio.Event()

    async def hold() -> None:
        entered.set()
        await leave.wait()

    world.authorizer.before = hold
    started = asyncio.Event()
    stop = asyncio.Event()

    async def serve() -> None:
        async with running(world, certificates.files) as port:
            ports.append(port)
            started.set()
            await stop.wait()

    ports: list[int] = []
    async with asyncio.timeout(30), asyncio.TaskGroup() as group:
        server = group.create_task(serve())
        await started.wait()
        request = f"GET {OPTIONS} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer admin\r\n\r\n"
        held = group.create_task(exchange(ports[0], certificates.trust, request.encode()))
        async with connection(ports[0], certificates.trust) as (reader, writer):
            await entered.wait()
            stop.set()
            await world.draining.wait()
            writer.write(f"GET {GV} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
            refused = parsed(await reader.read())
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection("127.0.0.1", ports[0])
        assert not server.done()
        leave.set()
    assert_status(refused, 503, "ServiceUnavailable", "apiserver is shutting down")
    assert refused.headers["Connection"] == "close"
    assert parsed(held.result()).code == 200


async def test_a_request_that_never_ends_does_not_hold_up_the_end(
    world: FakeWorld, certificates: Certificates
) -> None:
    """Contract 9.6 (d): up to a bound, then the connection is closed."""
    entered = asyncio.Event()

    async def hang() -> None:
        entered.set()
        await asyncio.Event().wait()

    world.authorizer.before = hang
    request = f"GET {OPTIONS} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer admin\r\n\r\n"
    async with running(world, certificates.files, finish_seconds=0.01) as port:
        held = asyncio.ensure_future(exchange(port, certificates.trust, request.encode()))
        await entered.wait()
    assert b"200 OK" not in await held


async def test_idle_connections_do_not_hold_up_the_end(
    world: FakeWorld, certificates: Certificates, caplog: pytest.LogCaptureFixture
) -> None:
    """HS-03: fifty of them are closed, and nothing is logged about it."""
    with caplog.at_level(logging.INFO):
        async with running(world, certificates.files) as port:
            idle = [
                await asyncio.open_connection(
                    "127.0.0.1", port, ssl=certificates.trust, server_hostname="localhost"
                )
                for _ in range(50)
            ]
        for reader, writer in idle:
            assert await reader.read() == b""
            writer.close()
    assert not [record for record in caplog.records if record.name.startswith("apiserver")]


async def test_answers_before_the_end_send_their_connections_elsewhere(
    world: FakeWorld, client: Client
) -> None:
    """AD-04: a connection that is kept open would be cut off just as it is used again."""
    assert "Connection" not in (await client.get(GV)).headers
    world.lifecycle.stopping = True
    reply = await client.get(GV)
    assert reply.code == 200
    assert reply.headers["Connection"] == "close"
