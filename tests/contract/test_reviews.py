"""Tokens and rights, asked of a kube-apiserver over real sockets: cases AU-08, AU-11, AZ, HS-02."""

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from fakes.http_client import ACME, GROUP, GV, Client, assert_status
from fakes.http_fakes import Certificates, FakeWorld, running
from fakes.stub_api import Authority, StubAPI, kubeconfig
from fakes.stub_api import running as stub_running
from fakes.stub_reviews import StubReviews

from apiserver.kube.client import load_client
from apiserver.kube.reviews import KubeAccessReviews, KubeTokenReviews, Retries
from auth.authentication.chain import AuthenticatorChain
from auth.authentication.port import Authenticator, Credentials
from auth.authentication.token_review import TokenReviewAuthenticator
from auth.authorization.access_review import AccessReviewAuthorizer
from auth.authorization.always_allow import AlwaysAllowGroups
from auth.authorization.chain import AuthorizerChain
from auth.identity import User

OPTIONS = f"{ACME}/gpuclassoptions"
MARIA: Mapping[str, Any] = {
    "username": "maria",
    "uid": "u-1",
    "groups": ["acme"],
    "extra": {"example.io/pod-uid": ["1", "2"]},
}


@dataclass
class Clock:
    """A clock that stands until it is moved."""

    now: float = 1000.0

    def __call__(self) -> float:
        """Return the time."""
        return self.now


@dataclass
class Proxied:
    """Knows users by a header, in place of the front proxy."""

    users: dict[str, User] = field(default_factory=dict)

    async def authenticate(self, credentials: Credentials) -> User | None:
        """Return the user that a line tells of."""
        told = next((value for name, value in credentials.headers if name == "As"), "")
        return self.users.get(told)


@dataclass
class Cluster:
    """A server, what it asks, and who asks it."""

    reviews: StubReviews
    client: Client
    clock: Clock
    proxied: Proxied


async def no_pause(seconds: float) -> None:
    """Let others run; retries need no more here."""
    del seconds
    await asyncio.sleep(0)


@pytest.fixture
async def cluster(
    world: FakeWorld, certificates: Certificates, tmp_path: Path
) -> AsyncIterator[Cluster]:
    """A server whose tokens and rights are a stub's."""
    stub, clock, proxied = StubAPI(), Clock(), Proxied()
    reviews = StubReviews(stub)
    async with AsyncExitStack() as stack:
        authority = Authority.new(tmp_path)
        url = await stack.enter_async_context(stub_running(stub, authority))
        config = tmp_path / "kubeconfig"
        config.write_text(kubeconfig(url, authority.ca_file))
        kube = await asyncio.to_thread(load_client, config, clock=clock)
        stack.push_async_callback(kube.close)
        retries = Retries(sleep=no_pause)
        tokens = TokenReviewAuthenticator(
            KubeTokenReviews(kube, clock, retries), audiences=("ours",), ttl=10.0, clock=clock
        )
        rights = AccessReviewAuthorizer(
            KubeAccessReviews(kube, clock, retries), allowed_ttl=10, denied_ttl=10, clock=clock
        )
        stack.push_async_callback(tokens.close)
        stack.push_async_callback(rights.close)
        authenticators: list[Authenticator] = [proxied, tokens]
        services = replace(
            world.services(),
            authenticator=AuthenticatorChain(authenticators),
            authorizer=AuthorizerChain([AlwaysAllowGroups(), rights]),
        )
        port = await stack.enter_async_context(running(world, certificates.files, services))
        connector = aiohttp.TCPConnector(ssl=certificates.trust)
        session = await stack.enter_async_context(aiohttp.ClientSession(connector=connector))
        yield Cluster(reviews, Client(session, port, certificates.trust), clock, proxied)


def hers(**changed: Any) -> Mapping[str, Any]:
    """A review that says that a token is Maria's."""
    return {"authenticated": True, "user": MARIA, "audiences": ["ours"], **changed}


async def test_au_11_a_token_for_us_is_let_in_as_its_user(cluster: Cluster) -> None:
    """AU-11, AU-08: the audience is asked for; uid, groups, extra reach the review of the right."""
    cluster.reviews.token = lambda _: hers()
    cluster.reviews.access = lambda _: {"allowed": True}
    reply = await cluster.client.get(f"{OPTIONS}?labelSelector=a=b", token="t")
    assert reply.code == 200
    assert cluster.reviews.tokens == [{"token": "t", "audiences": ["ours"]}]
    (spec,) = cluster.reviews.accesses
    assert spec == {
        "user": "maria",
        "uid": "u-1",
        "groups": ["acme", "system:authenticated"],
        "extra": {"example.io/pod-uid": ["1", "2"]},
        "resourceAttributes": {
            "verb": "list",
            "group": GROUP,
            "version": "v1alpha1",
            "resource": "gpuclassoptions",
            "namespace": "tenant-acme",
            "labelSelector": {
                "requirements": [{"key": "a", "operator": "In", "values": ["b"]}],
            },
        },
    }


@pytest.mark.parametrize(
    "status",
    [
        hers(audiences=["theirs"]),
        hers(audiences=[]),
        {"authenticated": True, "user": MARIA},
        {"authenticated": False},
        {},
    ],
)
async def test_au_11_any_other_answer_is_401(cluster: Cluster, status: Mapping[str, Any]) -> None:
    """AU-11: for others, for nobody in particular, nobody's."""
    cluster.reviews.token = lambda _: status
    cluster.reviews.access = lambda _: {"allowed": True}
    assert_status(await cluster.client.get(OPTIONS, token="t"), 401, "Unauthorized")
    assert cluster.reviews.accesses == []


@pytest.mark.parametrize("code", [403, 404, 500])
async def test_au_11_a_review_that_fails_is_401_and_never_anonymous(
    cluster: Cluster, code: int, caplog: pytest.LogCaptureFixture
) -> None:
    """AU-11, contract 6.41: and the next one that succeeds counts at once."""
    cluster.reviews.access = lambda _: {"allowed": True}
    cluster.reviews.token_failure = code
    with caplog.at_level(logging.INFO):
        assert_status(await cluster.client.get(OPTIONS, token="t"), 401, "Unauthorized")
    assert "zq-" not in caplog.text
    assert cluster.reviews.accesses == []
    cluster.reviews.token_failure, cluster.reviews.token = 0, lambda _: hers()
    assert (await cluster.client.get(OPTIONS, token="t")).code == 200


async def test_az_01_without_the_right_to_ask_lists_are_unavailable(
    cluster: Cluster, caplog: pytest.LogCaptureFixture
) -> None:
    """AZ-01: a fixed sentence, discovery stays, and it works as soon as the right is back."""
    cluster.reviews.token = lambda _: hers()
    cluster.reviews.access_failure = 403
    with caplog.at_level(logging.INFO):
        for path in (OPTIONS, f"{OPTIONS}?watch=true"):
            reply = await cluster.client.get(path, token="t")
            status = assert_status(reply, 503, "ServiceUnavailable")
            assert status["details"] == {"retryAfterSeconds": 1}
            assert reply.headers["Retry-After"] == "1"
            for secret in (b"zq-", b"system:", b"maria", b"auth"):
                assert secret not in reply.body
    assert (await cluster.client.get(GV, token=None)).code == 200
    (record,) = [each for each in caplog.records if each.levelno >= logging.WARNING]
    assert "system:auth-delegator" in record.getMessage()
    cluster.reviews.access_failure, cluster.reviews.access = 0, lambda _: {"allowed": True}
    assert (await cluster.client.get(OPTIONS, token="t")).code == 200


async def test_az_02_a_list_is_one_review_and_allowed_as_a_whole(cluster: Cluster) -> None:
    """AZ-02: over all namespaces, in one, and again within ten seconds."""
    cluster.reviews.token = lambda _: hers()
    cluster.reviews.access = lambda spec: {
        "allowed": spec["resourceAttributes"].get("namespace") == "tenant-acme"
    }
    for _ in range(3):
        assert (await cluster.client.get(OPTIONS, token="t")).code == 200
    assert len(cluster.reviews.accesses) == 1
    reply = await cluster.client.get(f"{GV}/gpuclassoptions", token="t")
    assert_status(reply, 403, "Forbidden")
    assert "namespace" not in cluster.reviews.accesses[-1]["resourceAttributes"]
    assert len(cluster.reviews.accesses) == 2
    cluster.clock.now += 11
    assert (await cluster.client.get(OPTIONS, token="t")).code == 200
    assert len(cluster.reviews.accesses) == 3


async def test_az_04_a_right_to_one_name_is_enough_to_list_it(cluster: Cluster) -> None:
    """AZ-04: the name of the field selector is the review's, and the verb stays list."""
    cluster.reviews.token = lambda _: hers()
    cluster.reviews.access = lambda spec: {
        "allowed": spec["resourceAttributes"].get("name") == "l40s"
    }
    selected = f"{OPTIONS}?fieldSelector=metadata.name="
    assert (await cluster.client.get(f"{selected}l40s", token="t")).code == 200
    assert cluster.reviews.accesses[0]["resourceAttributes"]["verb"] == "list"
    assert_status(await cluster.client.get(f"{selected}h200", token="t"), 403, "Forbidden")
    assert_status(await cluster.client.get(OPTIONS, token="t"), 403, "Forbidden")


async def test_reasons_of_the_cluster_are_shown_to_nobody(cluster: Cluster) -> None:
    """No upstream text in any answer: reasons name roles and bindings."""
    cluster.reviews.token = lambda _: hers()
    reply = await cluster.client.get(OPTIONS, token="t")
    assert_status(reply, 403, "Forbidden")
    for secret in (b"RBAC", b"clusterrole", b"secret"):
        assert secret not in reply.body


async def test_hs_02_a_shared_review_outlives_who_asked_first(cluster: Cluster) -> None:
    """HS-02: one of many goes away in the middle, the others get their answer from one review."""
    entered, leave = asyncio.Event(), asyncio.Event()

    async def hold() -> None:
        entered.set()
        await leave.wait()

    cluster.proxied.users["maria"] = User("maria")
    cluster.reviews.access = lambda _: {"allowed": True}
    cluster.reviews.before = hold

    async def ask() -> int:
        reply = await cluster.client.get(OPTIONS, token=None, As="maria")
        return reply.code

    async with asyncio.TaskGroup() as group:
        first = group.create_task(ask())
        await entered.wait()
        others = [group.create_task(ask()) for _ in range(10)]
        first.cancel()
        await asyncio.wait([first])
        leave.set()
    assert {each.result() for each in others} == {200}
    assert len(cluster.reviews.accesses) == 1
