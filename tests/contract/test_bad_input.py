"""Requests that nobody should send: each gets its Status, and nothing of the server's inside."""

import asyncio
import logging

import pytest
from fakes.http_client import ACME, GV, TABLE, Client, Reply, assert_status, parsed
from fakes.http_fakes import FakeWorld, connection, exchange

OPTIONS = f"{ACME}/gpuclassoptions"
OPTION = f"{OPTIONS}/l40s"

HEAD = "Host: localhost\r\nAuthorization: Bearer admin\r\n"


async def raw(client: Client, request: str | bytes) -> Reply:
    """Send bytes as they are; the server must end the connection by itself."""
    data = request if isinstance(request, bytes) else request.encode()
    return parsed(await exchange(client.port, client.trust, data))


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("limit=x", 'strconv.ParseInt: parsing "x": invalid syntax'),
        ("limit=-1", "limit must not be negative: -1"),
        ("timeoutSeconds=1e3", 'strconv.ParseInt: parsing "1e3": invalid syntax'),
        ("labelSelector=a%3Db%3Dc", "found '=', expected: ',' or 'end of string'"),
        ("fieldSelector=x", "invalid selector: 'x'; can't understand 'x'"),
        (
            "fieldSelector=status.phase=x",
            '"status.phase" is not a known field selector: only "metadata.name",'
            ' "metadata.namespace"',
        ),
        (
            "resourceVersion=x",
            'invalid resource version: resourceVersion: Invalid value: "x":'
            ' strconv.ParseUint: parsing "x": invalid syntax',
        ),
        ("continue=eyJ2Ijoi", "invalid continue token: continue key is not valid"),
        (
            "continue=x&resourceVersion=5",
            "specifying resource version is not allowed when using continue",
        ),
        ("timeout=x", "invalid timeout specified in the request URL"),
        ("a=%zz", 'invalid URL escape "%zz"'),
        ("a=%ff", "the URL is not UTF-8"),
    ],
)
async def test_a_malformed_query_is_a_bad_request(client: Client, query: str, message: str) -> None:
    """WA-10 and contract 4.2 to 4.16, in upstream's words where it has any."""
    assert_status(await client.get(f"{OPTIONS}?{query}"), 400, "BadRequest", message)


async def test_options_that_do_not_go_together_are_invalid(client: Client) -> None:
    """Contract 4.11."""
    status = assert_status(
        await client.get(f"{OPTIONS}?sendInitialEvents=true"),
        422,
        "Invalid",
        'ListOptions.meta.k8s.io "" is invalid: sendInitialEvents: Forbidden:'
        " sendInitialEvents is forbidden for list",
    )
    assert status["details"]["kind"] == "ListOptions"


async def test_an_unknown_row_object_is_a_bad_request(client: Client) -> None:
    """Contract 3.21."""
    for path in (OPTIONS, OPTION):
        reply = await client.get(f"{path}?includeObject=All", Accept=TABLE)
        assert_status(reply, 400, "BadRequest")


async def test_export_is_a_bad_request(client: Client) -> None:
    """Contract 5.11."""
    assert_status(await client.get(f"{OPTION}?export=true"), 400, "BadRequest")


@pytest.mark.parametrize("accept", ["text/html", "application/vnd.kubernetes.protobuf", "x"])
async def test_an_unknown_accept_is_not_acceptable(client: Client, accept: str) -> None:
    """Contract 3.7: told as JSON, naming what can be had."""
    message = "only the following media types are accepted: application/json, application/yaml"
    for path in (OPTIONS, OPTION):
        assert_status(await client.get(path, Accept=accept), 406, "NotAcceptable", message)
    message = "only the following media types are accepted: application/json"
    for path in ("/apis", GV, "/openapi/v2", "/version"):
        assert_status(await client.get(path, Accept=accept), 406, "NotAcceptable", message)


@pytest.mark.parametrize(
    "request_text",
    [
        "nonsense\r\n\r\n",
        "GET\r\n\r\n",
        f"GET {GV} HTTP/9.9\r\nHost: x\r\n\r\n",
        f"GET {GV} HTTP/1.1\r\nno colon\r\n\r\n",
        f"GET {GV} HTTP/1.1\r\nBad Name: x\r\n\r\n",
        f"GET {GV} HTTP/1.1\r\nX: a\x00b\r\n\r\n",
        f"POST {GV} HTTP/1.1\r\nHost: x\r\nContent-Length: x\r\n\r\n",
        f"POST {GV} HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        f"POST {GV} HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
        "G\u00cbT / HTTP/1.1\r\n\r\n",
        "\x16\x03\x01\x02\x00\x01",
    ],
)
async def test_what_is_no_http_gets_a_status_and_the_end(client: Client, request_text: str) -> None:
    """Design of errors: no text of the parser, no echo of the input; the connection is over."""
    reply = await raw(client, request_text)
    assert_status(reply, 400, "BadRequest", "the request could not be read as HTTP/1.1")
    assert reply.headers["Connection"] == "close"


@pytest.mark.parametrize("target", ["*", "localhost:443", "ftp://x/apis", "/apis/%zz"])
async def test_a_target_that_is_no_path_is_a_bad_request(client: Client, target: str) -> None:
    """Whatever the method: nothing is proxied, nothing is guessed."""
    for method in ("GET", "OPTIONS", "POST"):
        reply = await raw(client, f"{method} {target} HTTP/1.1\r\n{HEAD}Connection: close\r\n\r\n")
        assert_status(reply, 400, "BadRequest")


async def test_connect_opens_no_tunnel(client: Client) -> None:
    """What follows a refused CONNECT is never read as a request (contract 6.50)."""
    smuggled = f"GET {GV} HTTP/1.1\r\n{HEAD}\r\n"
    data = await exchange(
        client.port, client.trust, f"CONNECT x:1 HTTP/1.1\r\n{HEAD}\r\n{smuggled}".encode()
    )
    assert_status(parsed(data), 400, "BadRequest")
    assert data.count(b"HTTP/1.1 ") == 1


async def test_an_absolute_target_is_its_path(client: Client) -> None:
    """RFC 9112 demands it; the host in it means nothing here."""
    request = f"GET https://elsewhere.example{GV} HTTP/1.1\r\n{HEAD}Connection: close\r\n\r\n"
    assert (await raw(client, request)).json["kind"] == "APIResourceList"


@pytest.mark.parametrize("lines", [200, 3000])
async def test_a_user_in_many_groups_gets_in(world: FakeWorld, client: Client, lines: int) -> None:
    """Contract 14.1: one header line per group; the framework's own limit is 128."""
    groups = "".join(f"X-Remote-Group: group-{number:0190}\r\n" for number in range(lines))
    request = f"GET {OPTIONS} HTTP/1.1\r\n{HEAD}{groups}Connection: close\r\n\r\n"
    assert (await raw(client, request)).code == 200
    claimed = [line for line in world.authenticator.seen[0].headers if line[0].startswith("X-R")]
    assert claimed == [("X-Remote-Group", f"group-{number:0190}") for number in range(lines)]


async def test_a_long_query_gets_in(client: Client) -> None:
    """Contract 14.1: 64 KiB of selector are nothing unusual."""
    values = ",".join(f"value-{number}" for number in range(5000))
    selector = f"gpu.cozystack.io/vendor+in+(nvidia,{values})"
    reply = await client.get(f"{OPTIONS}?labelSelector={selector}")
    assert len(reply.json["items"]) == 2


#: What costs time to read, each under the mebibyte that a head may have.
LONG = [
    f"labelSelector={'a,' * 120_000}",
    f"labelSelector=a+in+({'-,' * 120_000})",
    f"fieldSelector={'a=b,' * 60_000}",
    f"timeout={'1s' * 120_000}",
    f"limit={'1' * 240_000}",
    f"resourceVersion={'x' * 240_000}",
    f"includeObject={'x' * 240_000}",
    "&".join(["a"] * 1000),
]


@pytest.mark.parametrize("query", LONG)
async def test_nobody_learns_nothing_of_a_long_query(
    world: FakeWorld, client: Client, query: str
) -> None:
    """Contract 0.2: what takes time to read is read when it is known who asks."""
    if not query.startswith("timeout"):
        reply = await client.get(f"{OPTIONS}?{query}", token=None)
        assert_status(reply, 401, "Unauthorized", "Unauthorized")
    assert world.authorizer.asked == []
    assert (await client.get(f"{GV}?{query}", token=None)).code == 200


@pytest.mark.parametrize(
    ("query", "message"),
    [
        (LONG[0], "the selector is longer than 65536 characters"),
        (LONG[1], "the selector is longer than 65536 characters"),
        (LONG[2], "the selector is longer than 65536 characters"),
        (f"labelSelector={'a,' * 1001}a", "the selector has more than 1000 terms"),
        (f"fieldSelector={'a=b,' * 1001}", "the selector has more than 1000 terms"),
        (LONG[3], "invalid timeout specified in the request URL"),
    ],
)
async def test_a_long_query_has_its_bounds(client: Client, query: str, message: str) -> None:
    """Each says which."""
    assert_status(await client.get(f"{OPTIONS}?{query}"), 400, "BadRequest", message)


@pytest.mark.parametrize(
    "query",
    [
        f"labelSelector=a+in+({','.join(f'-{number}' for number in range(9000))})",
        f"labelSelector=a={'-' * 60_000}",
        f"labelSelector={'-' * 60_000}",
        f"labelSelector=a+{'b' * 60_000}",
        f"labelSelector=a>{'b' * 60_000}",
        f"fieldSelector={'b' * 60_000}",
        f"fieldSelector={'b' * 60_000}=c",
        f"resourceVersionMatch={'x' * 60_000}&resourceVersion=1",
        *LONG[4:7],
    ],
)
async def test_a_refusal_is_short_however_long_the_request(client: Client, query: str) -> None:
    """What is repeated is cut, and of many faults the first few are told."""
    reply = await client.get(f"{OPTIONS}?{query}", Accept=TABLE)
    assert reply.code in (400, 422)
    assert len(reply.body) < 8192


@pytest.mark.parametrize(
    "headers",
    [
        {"Accept": "a/b," * 200_000},
        {"Accept": "application/json" + ";a=b" * 200_000},
        {"If-None-Match": "," * 900_000},
        {"Accept-Encoding": "," * 900_000},
        {"User-Agent": "y" * 900_000},
    ],
)
async def test_discovery_reads_no_more_of_a_header_than_it_needs(
    world: FakeWorld, client: Client, headers: dict[str, str]
) -> None:
    """Design 7: whatever a peer sends, constants are told at once, and the log stays short."""
    expected = 406 if "a/b" in headers.get("Accept", "") else 200
    assert (await client.send("GET", GV, token=None, headers=headers)).code == expected
    world.access_log.flush()
    assert len("".join(world.lines)) < 8192


@pytest.mark.parametrize("size", [1 << 20, 3 << 20])
@pytest.mark.parametrize("shape", ["X: {}", "{}: x", "GET"])
async def test_oversized_headers_are_refused(client: Client, size: int, shape: str) -> None:
    """Runtime 3: a mebibyte of them all together, for whoever; then 431 and the end."""
    filler = "a" * size
    if shape == "GET":
        request = f"GET /{filler} HTTP/1.1\r\n{HEAD}\r\n"
    else:
        request = f"GET {GV} HTTP/1.1\r\n{HEAD}{shape.format(filler)}\r\n\r\n"
    reply = await raw(client, request)
    assert reply.code == 431
    assert reply.json["code"] == 431
    assert reply.json["kind"] == "Status"


async def test_many_large_header_lines_are_refused_together(client: Client) -> None:
    """Runtime 3: the parser bounds each line only; 200 lines of 100 KB are 20 MB of memory."""
    lines = "".join(f"X-{number}: {'a' * 100_000}\r\n" for number in range(200))
    reply = await raw(client, f"GET {GV} HTTP/1.1\r\n{HEAD}{lines}\r\n")
    assert reply.code == 431


async def test_an_oversized_line_behind_another_request_is_refused(
    world: FakeWorld, client: Client
) -> None:
    """While one request is answered the parser's own bound holds for the next one."""
    entered, leave = asyncio.Event(), asyncio.Event()

    async def hold() -> None:
        entered.set()
        await leave.wait()

    world.authorizer.before = hold
    async with asyncio.timeout(30), connection(client.port, client.trust) as (reader, writer):
        writer.write(f"GET {OPTIONS} HTTP/1.1\r\n{HEAD}\r\n".encode())
        await entered.wait()
        writer.write(f"GET /version HTTP/1.1\r\n{HEAD}X: {'a' * (2 << 20)}\r\n\r\n".encode())
        await writer.drain()
        leave.set()
        answers = await reader.read()
    assert answers.startswith(b"HTTP/1.1 200 OK\r\n")
    assert b"\r\n\r\n" in answers
    assert answers.count(b"HTTP/1.1 ") == 2
    assert b"HTTP/1.1 431 " in answers


async def test_the_bound_is_of_each_request_not_of_the_connection(client: Client) -> None:
    """A connection may carry any number of requests with large headers."""
    request = f"GET /version HTTP/1.1\r\n{HEAD}X: {'a' * 400_000}\r\n\r\n".encode()
    async with asyncio.timeout(30), connection(client.port, client.trust) as (reader, writer):
        for _ in range(4):
            writer.write(request)
            assert await reader.readline() == b"HTTP/1.1 200 OK\r\n"
            await reader.readuntil(b"}")


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
async def test_an_oversized_body_is_refused(client: Client, method: str) -> None:
    """Contract 5.8: whether its length is told or not."""
    message = "Request entity too large: limit is 3145728"
    told = f"{method} {OPTION} HTTP/1.1\r\n{HEAD}Content-Length: 3145729\r\n\r\n"
    reply = await raw(client, told.encode() + b"x" * 3145729)
    assert_status(reply, 413, "RequestEntityTooLarge", message)
    untold = f"{method} {OPTION} HTTP/1.1\r\n{HEAD}Transfer-Encoding: chunked\r\n\r\n"
    chunks = (b"100000\r\n" + b"x" * 0x100000 + b"\r\n") * 4
    reply = await raw(client, untold.encode() + chunks + b"0\r\n\r\n")
    assert_status(reply, 413, "RequestEntityTooLarge", message)


@pytest.mark.parametrize("length", [2 << 20, 20 << 20])
@pytest.mark.parametrize("token", ["", "Authorization: Bearer maria\r\n"])
async def test_a_body_that_nobody_reads_is_no_head(
    client: Client, caplog: pytest.LogCaptureFixture, length: int, token: str
) -> None:
    """One answer for one request, however much follows it; nothing failed, so nothing is logged."""
    head = f"POST {OPTION} HTTP/1.1\r\nHost: x\r\n{token}"
    chunk = b"10000\r\n" + b"x" * 0x10000 + b"\r\n"
    for request in (
        f"{head}Content-Length: {length}\r\n\r\n".encode() + b"x" * length,
        f"{head}Transfer-Encoding: chunked\r\n\r\n".encode()
        + chunk * (length >> 16)
        + b"0\r\n\r\n",
    ):
        data = await exchange(client.port, client.trust, request)
        assert data.count(b"HTTP/1.1 ") == 1
        assert_status(parsed(data), 403 if token else 401, "Forbidden" if token else "Unauthorized")
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]


async def test_heads_in_a_row_are_each_within_the_bound(client: Client) -> None:
    """Runtime 3: what is pipelined is many heads, and one too large among them ends it."""
    one = f"GET /version HTTP/1.1\r\n{HEAD}X: {'a' * 200_000}\r\n\r\n"
    last = f"GET /version HTTP/1.1\r\n{HEAD}Connection: close\r\n\r\n"
    answers = await exchange(client.port, client.trust, (one * 20 + last).encode())
    assert answers.count(b"HTTP/1.1 200 OK") == 21
    large = f"GET /version HTTP/1.1\r\n{HEAD}X: {'a' * (1 << 20)}\r\n\r\n"
    async with asyncio.timeout(30), connection(client.port, client.trust) as (reader, writer):
        writer.write(one.encode())
        await reader.readuntil(b"}")
        writer.write(large.encode())
        assert b"HTTP/1.1 431 " in await reader.read()


async def test_nothing_is_told_after_the_last_answer(client: Client) -> None:
    """An answer that ends the connection is the last, whatever follows the request."""
    request = f"GET /version HTTP/1.1\r\n{HEAD}Connection: close\r\n\r\n"
    garbage = f"GET /version HTTP/1.1\r\n{'X: y' * (1 << 19)}"
    async with asyncio.timeout(30), connection(client.port, client.trust) as (reader, writer):
        writer.write(request.encode())
        await reader.readuntil(b"\r\n\r\n")
        writer.write(garbage.encode())
        assert b"HTTP/1.1 " not in await reader.read()


async def test_a_body_is_not_read_for_nobody(world: FakeWorld, client: Client) -> None:
    """Contract 6.52: 401 comes before the body does, and ends the connection."""
    request = f"POST {OPTION} HTTP/1.1\r\nHost: x\r\nContent-Length: 3000000\r\n\r\n"
    reply = await raw(client, request)
    assert_status(reply, 401, "Unauthorized", "Unauthorized")
    assert reply.headers["Connection"] == "close"
    assert world.authorizer.asked == []


async def test_a_body_is_not_read_for_who_may_not(client: Client) -> None:
    """Contract 0.1: the right is asked for before the body is."""
    reply = await raw(
        client,
        f"POST {OPTION} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer maria\r\n"
        "Content-Length: 3145729\r\n\r\n",
    )
    assert_status(reply, 403, "Forbidden")


async def test_a_broken_body_is_a_bad_request(client: Client) -> None:
    """A chunk that is none."""
    request = f"POST {OPTION} HTTP/1.1\r\n{HEAD}Transfer-Encoding: chunked\r\n\r\nzz\r\n"
    assert_status(await raw(client, request), 400, "BadRequest")


async def test_the_body_of_a_get_does_not_matter(client: Client) -> None:
    """It is neither read nor taken for a request."""
    body = f"GET {GV} HTTP/1.1\r\n\r\n"
    request = f"GET {OPTION} HTTP/1.1\r\n{HEAD}Content-Length: {len(body)}\r\n\r\n{body}"
    closing = f"GET /version HTTP/1.1\r\n{HEAD}Connection: close\r\n\r\n"
    answers = await exchange(client.port, client.trust, (request + closing).encode())
    assert answers.count(b"HTTP/1.1 200 OK") == 2
    assert b"APIResourceList" not in answers


async def test_who_waits_to_be_asked_for_a_body_is_answered(client: Client) -> None:
    """`Expect: 100-continue`: the answer is final, and is not the framework's own page."""
    request = f"POST {OPTION} HTTP/1.1\r\n{HEAD}Expect: 100-continue\r\nContent-Length: 9\r\n\r\n"
    assert_status(await raw(client, request), 405, "MethodNotAllowed")


@pytest.mark.parametrize("target", [f"{OPTIONS}?watch=true", OPTIONS])
async def test_an_upgrade_is_declined_and_the_connection_closed(
    client: Client, target: str
) -> None:
    """Contract 6.50: nothing that follows a declined upgrade is read as a request."""
    upgrade = (
        f"GET {target} HTTP/1.1\r\n{HEAD}Connection: Upgrade\r\nUpgrade: websocket\r\n"
        "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    )
    smuggled = f"GET {GV} HTTP/1.1\r\n{HEAD}\r\n"
    answers = await exchange(client.port, client.trust, (upgrade + smuggled).encode())
    reply = parsed(answers)
    assert reply.headers["Connection"] == "close"
    assert answers.count(b"HTTP/1.1 ") == 1
    if "watch" in target:
        message = (
            'watch is not supported on resources of kind "gpuclassoptions.options.gpu.cozystack.io"'
        )
        assert_status(reply, 405, "MethodNotAllowed", message)
    else:
        assert reply.code == 200


async def test_forged_identity_headers_make_nobody(world: FakeWorld, client: Client) -> None:
    """AU-01 in part: headers are claims for an authenticator to judge, never an identity."""
    forged = {
        "X-Remote-User": "admin",
        "X-Remote-Group": "system:masters",
        "X-Remote-Extra-Scopes": "x",
        "X-Forwarded-User": "admin",
    }
    reply = await client.send("GET", OPTIONS, token=None, headers=forged)
    assert_status(reply, 401, "Unauthorized", "Unauthorized")
    reply = await client.send("GET", OPTIONS, token="maria", headers=forged)
    assert_status(reply, 403, "Forbidden")
    assert world.authorizer.asked[0][0].groups == ("acme", "system:authenticated")
    assert ("x-remote-user", "admin") in world.authenticator.seen[0].headers


async def test_an_error_that_nobody_expected_tells_nothing(
    world: FakeWorld, client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    """Contract 5.9: a fixed sentence for the caller, the traceback for the log."""

    async def fail() -> None:
        raise ZeroDivisionError("zq-node at 10.0.0.1")

    world.authorizer.before = fail
    reply = await client.get(OPTIONS)
    assert_status(
        reply,
        500,
        "InternalError",
        "This request caused apiserver to panic. Look in the logs for details.",
    )
    assert b"zq-node" not in reply.body
    (record,) = [record for record in caplog.records if record.name.startswith("apiserver")]
    assert record.exc_info is not None
    assert vars(record)["audit_id"] == reply.headers["Audit-Id"]


async def test_a_caller_that_leaves_early_harms_nobody(
    client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    """Half a request, then nothing: others are served, and no failure is logged."""
    body = "Content-Length: 2000000\r\n\r\n" + "x" * 1_000_000
    for part in (
        *("GET", f"GET {OPTIONS} HTTP/1.1\r\n", f"POST {OPTION} HTTP/1.1\r\n{HEAD}"),
        f"POST {OPTION} HTTP/1.1\r\n{HEAD}{body}",
        f"POST {OPTION} HTTP/1.1\r\nHost: x\r\n{body}",
    ):
        async with connection(client.port, client.trust) as (_, writer):
            writer.write(part.encode())
            await writer.drain()
            writer.transport.abort()
    assert (await client.get(OPTIONS)).code == 200
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]
