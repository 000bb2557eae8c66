"""Identity and right come before everything else (contract 0.2, 6, 7)."""

import asyncio
import logging

import pytest
from fakes.http_client import ACME, GROUP, GV, TABLE, Client, Reply, assert_status
from fakes.http_fakes import ADMIN, FakeWorld

from apiserver.http.limits import InFlight
from auth.attributes import Attributes, SelectorRequirement
from auth.errors import ReviewUnavailableError
from auth.identity import ANONYMOUS, User

OPTIONS = f"{ACME}/gpuclassoptions"

GUARDED = [
    *("/", "/metrics", "/nope", "/api", "/readyz/ping", f"{GV}/nope", OPTIONS, f"{OPTIONS}/l40s"),
    *(f"{OPTIONS}?limit=x", f"{OPTIONS}?watch=true", f"{GV}/gpuclassoffers"),
]


@pytest.mark.parametrize("path", GUARDED)
@pytest.mark.parametrize("method", ["GET", "DELETE"])
async def test_nobody_gets_401_for_everything_that_is_not_constant(
    world: FakeWorld, client: Client, path: str, method: str
) -> None:
    """Contract 0.2, 6.3: before routing, so that a path tells nothing; no credentials, bad ones."""
    for token in (None, "forged"):
        reply = await client.send(method, path, token=token)
        assert_status(reply, 401, "Unauthorized", "Unauthorized")
        assert "WWW-Authenticate" not in reply.headers
        assert "details" not in reply.json
    assert world.authorizer.asked == []


async def test_the_anonymous_user_is_nobody(world: FakeWorld, client: Client) -> None:
    """Design 7: an authenticator that knows an anonymous user does not let it in."""
    world.authenticator.users["anonymous"] = User(ANONYMOUS, groups=("system:unauthenticated",))
    world.authorizer.allows = lambda _user, _attributes: True
    assert_status(await client.get(OPTIONS, token="anonymous"), 401, "Unauthorized")


@pytest.mark.parametrize("path", GUARDED)
async def test_without_a_right_everything_is_403(client: Client, path: str) -> None:
    """Contract 0.2: not found, not allowed and malformed are told to the allowed only."""
    assert_status(await client.get(path, token="maria"), 403, "Forbidden")


async def test_a_foreign_namespace_tells_nothing(client: Client) -> None:
    """Design 7: existing and missing namespaces and names answer alike, in every form."""

    async def ask(namespace: str, path: str, accept: str) -> Reply:
        return await client.get(f"{GV}/namespaces/{namespace}/{path}", token="maria", Accept=accept)

    for path in ("gpuclassoptions", "gpuclassoptions/l40s", "gpuclassoptions/none", "options"):
        for accept in ("application/json", TABLE, "text/html"):
            existing = await ask("tenant-beta", path, accept)
            missing = await ask("tenant-none", path, accept)
            assert_status(existing, 403, "Forbidden")
            assert existing.body == missing.body.replace(b"tenant-none", b"tenant-beta")


async def test_a_refusal_is_worded_as_upstream_words_it(client: Client) -> None:
    """Contract 7.9."""
    message = (
        f'gpuclassoptions.{GROUP} "l40s" is forbidden: User "maria" cannot get resource'
        f' "gpuclassoptions" in API group "{GROUP}" in the namespace "tenant-acme"'
    )
    details = {"name": "l40s", "group": GROUP, "kind": "gpuclassoptions"}
    reply = await client.get(f"{OPTIONS}/l40s", token="maria")
    assert_status(reply, 403, "Forbidden", message, details)


async def test_the_authorizer_is_asked_for_what_is_done(world: FakeWorld, client: Client) -> None:
    """Contract 7.4, 7.5: once per request, with name and selectors."""
    await client.get(f"{OPTIONS}?fieldSelector=metadata.name=l40s&labelSelector=a=b")
    await client.get("/metrics")
    assert world.authorizer.asked == [
        (
            ADMIN,
            Attributes(
                verb="list",
                resource_request=True,
                group=GROUP,
                version="v1alpha1",
                resource="gpuclassoptions",
                namespace="tenant-acme",
                name="l40s",
                field_selector=(SelectorRequirement("metadata.name", "In", ("l40s",)),),
                label_selector=(SelectorRequirement("a", "In", ("b",)),),
            ),
        ),
        (ADMIN, Attributes(verb="get", path="/metrics")),
    ]


async def test_a_review_that_fails_is_unavailable(world: FakeWorld, client: Client) -> None:
    """Design 7: never allowed, never forbidden; a fixed sentence without what failed."""

    async def fail() -> None:
        raise ReviewUnavailableError("dial tcp 10.0.0.1:443: refused")

    world.authorizer.before = fail
    reply = await client.get(OPTIONS)
    status = assert_status(reply, 503, "ServiceUnavailable")
    assert status["details"] == {"retryAfterSeconds": 1}
    assert b"10.0.0.1" not in reply.body


async def test_impersonation_takes_a_right_and_changes_who_asks(
    world: FakeWorld, client: Client
) -> None:
    """Contract 6.6: checked for a direct caller, never ignored."""
    headers = {"Impersonate-User": "jane", "Impersonate-Group": "dev"}
    reply = await client.send("GET", OPTIONS, token="maria", headers=headers)
    message = (
        'users "jane" is forbidden: User "maria" cannot impersonate resource "users" in API'
        ' group "" at the cluster scope'
    )
    assert_status(reply, 403, "Forbidden", message)
    reply = await client.send("GET", OPTIONS, headers=headers)
    assert_status(reply, 403, "Forbidden")
    assert 'User "jane" cannot list' in reply.json["message"]
    jane = User("jane", groups=("dev", "system:authenticated"))
    assert world.authorizer.asked[-1][0] == jane
    world.authorizer.allows = lambda user, _: user == jane
    assert (await client.send("GET", OPTIONS, headers=headers)).code == 200


async def test_impersonating_nobody_in_particular_is_a_bad_request(client: Client) -> None:
    """Contract 6.6: headers that cannot be honoured are refused."""
    for name in ("Impersonate-Group", "impersonate-uid", "IMPERSONATE-EXTRA-scopes"):
        reply = await client.send("GET", OPTIONS, headers={name: "x"})
        assert_status(reply, 400, "BadRequest")


async def test_too_many_requests_are_told_to_come_again(world: FakeWorld, client: Client) -> None:
    """Contract 8.1: masters and constant paths get through; a slot is free again after."""
    world.in_flight.lane("get").limit = 1
    world.authorizer.allows = lambda _user, _attributes: True
    entered, leave = asyncio.Event(), asyncio.Event()

    async def hold() -> None:
        entered.set()
        await leave.wait()

    world.authorizer.before = hold
    async with asyncio.TaskGroup() as group:
        held = group.create_task(client.get(OPTIONS, token="maria"))
        await entered.wait()
        reply = await client.get(OPTIONS, token="maria")
        message = "Too many requests, please try again later."
        assert_status(reply, 429, "TooManyRequests", message, {"retryAfterSeconds": 1})
        assert (await client.get(GV, token=None)).code == 200
        privileged = group.create_task(client.get(OPTIONS, token="admin"))
        posted = group.create_task(client.send("POST", OPTIONS, token="maria"))
        leave.set()
    assert held.result().code == 200
    assert privileged.result().code == 200
    assert posted.result().code == 405
    assert (await client.get(OPTIONS, token="maria")).code == 200


async def test_a_request_that_takes_too_long_is_a_timeout(world: FakeWorld, client: Client) -> None:
    """Contract 8.4: the caller's own bound; the slot in flight is free again."""
    never = asyncio.Event()

    async def hang() -> None:
        await never.wait()

    world.authorizer.before = hang
    message = "Timeout: request did not complete within the allotted timeout"
    reply = await client.get(f"{OPTIONS}?timeout=1ms")
    assert_status(reply, 504, "Timeout", message, {})
    await world.in_flight.idle()


async def test_a_request_is_logged_without_what_could_be_secret(
    world: FakeWorld, client: Client
) -> None:
    """Contract 8.10: no query, no token, no address."""
    log = world.access_log
    reply = await client.get(f"{OPTIONS}?labelSelector=secret", token="maria", Audit_ID="id-1")
    assert reply.code == 403
    log.flush()
    (line,) = "".join(world.lines).splitlines()
    assert line.startswith(f'HTTP verb="LIST" path="{OPTIONS}" latency="')
    assert line.endswith('ms" userAgent="test/1.0" audit-ID="id-1" resp=403')
    for secret in ("secret", "maria", "127.0.0.1"):
        assert secret not in line


async def test_nothing_is_logged_for_an_ordinary_request(
    client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    """Info is for changes of state; a caller cannot fill the log."""
    with caplog.at_level(logging.INFO):
        for path in (OPTIONS, "/nope", f"{OPTIONS}?limit=x"):
            await client.get(path)
            await client.get(path, token="forged")
    assert not [record for record in caplog.records if record.levelno >= logging.INFO]


def test_the_limits_are_upstreams() -> None:
    """Contract 8.1: 400 that read, 200 that do not."""
    in_flight = InFlight()
    assert (in_flight.lane("list").limit, in_flight.lane("create").limit) == (400, 200)
