"""Reviews at a kube-apiserver: what is sent, what is asked again (contract 6.40 to 6.43, 7.2)."""

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Any

import pytest

from apiserver.kube.api import Reply, Stream, UnreachableError
from apiserver.kube.reviews import KubeAccessReviews, KubeTokenReviews, Retries, access_spec
from auth.attributes import Attributes, SelectorRequirement
from auth.authentication.token_review import TokenReview
from auth.authorization.access_review import AccessReview
from auth.errors import ReviewUnavailableError
from auth.identity import User

MARIA = User("maria", "u-1", ("b", "a"), (("example.io/pod-uid", ("1", "2")),))
LIST = Attributes(
    verb="list",
    path="/apis/g/v1/namespaces/ns/r",
    resource_request=True,
    group="g",
    version="v1",
    resource="r",
    namespace="ns",
)
SECRET = "node-7 at 10.0.0.7 says no"


def answered(status: object, code: int = 201) -> Reply:
    """An answer of the cluster's."""
    return Reply(status=code, body=json.dumps({"kind": "K", "status": status}).encode())


def failed(code: int, retry_after: float | None = None) -> Reply:
    """A Status that names what nobody may see."""
    return Reply(
        status=code, body=json.dumps({"message": SECRET}).encode(), retry_after=retry_after
    )


@dataclass
class Asked:
    """An `API` that gives one answer after the other, the last for ever."""

    answers: list[Reply | Exception]
    bodies: list[dict[str, Any]] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    pauses: list[float] = field(default_factory=list)
    now: float = 0.0

    async def call(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: bytes | None = None,
        accept: str = "application/json",
        seconds: float = 10.0,
    ) -> Reply:
        """Answer what is next."""
        del query, accept, seconds
        assert body is not None
        self.paths.append(f"{method} {path}")
        self.bodies.append(json.loads(body))
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer

    def stream(
        self,
        path: str,
        *,
        query: Mapping[str, str],
        accept: str = "application/json",
        silence_seconds: float = 90.0,
    ) -> AbstractAsyncContextManager[Stream]:
        """Reviews are no streams."""
        raise NotImplementedError

    def retries(self, sleep: Callable[[float], Awaitable[None]] | None = None) -> Retries:
        """Waits that take no time, at half of their jitter."""

        async def remember(seconds: float) -> None:
            self.pauses.append(seconds)

        return Retries(sleep=sleep or remember, chance=lambda: 0.5)

    def tokens(self) -> KubeTokenReviews:
        """Token reviews here."""
        return KubeTokenReviews(self, lambda: self.now, self.retries())

    def rights(self) -> KubeAccessReviews:
        """Access reviews here."""
        return KubeAccessReviews(self, lambda: self.now, self.retries())


async def test_a_token_review_is_sent_and_read() -> None:
    """Contract 6.40: audiences only if there are any."""
    user = {
        "username": "maria",
        "uid": "u-1",
        "groups": ["b", "a"],
        "extra": {"example.io/pod-uid": ["1", "2"]},
    }
    api = Asked([answered({"authenticated": True, "user": user, "audiences": ["x"]})])
    assert await api.tokens().review("t", ()) == TokenReview(MARIA, ("x",))
    await api.tokens().review("t", ("x", "y"))
    kind = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview"}
    assert api.bodies == [
        {**kind, "spec": {"token": "t"}},
        {**kind, "spec": {"token": "t", "audiences": ["x", "y"]}},
    ]
    assert set(api.paths) == {"POST /apis/authentication.k8s.io/v1/tokenreviews"}


@pytest.mark.parametrize(
    "status",
    [
        {},
        {"authenticated": False},
        {"authenticated": False, "user": {"username": "maria"}},
        {"authenticated": True},
        {"authenticated": True, "user": {}},
        {"authenticated": True, "user": {"username": ""}},
        {"error": SECRET},
    ],
)
async def test_a_token_of_nobodys_is_nobodys(
    status: object, caplog: pytest.LogCaptureFixture
) -> None:
    """Contract 6.41: a user without a name is none; upstream's error goes to debug only."""
    with caplog.at_level(logging.INFO):
        assert await Asked([answered(status)]).tokens().review("t", ()) == TokenReview(None)
    assert caplog.records == []


@pytest.mark.parametrize("body", [b"", b"{}", b"[]", b'{"status": 1}', b"\xff", b'{"status": {'])
async def test_an_answer_that_cannot_be_read_is_none(body: bytes) -> None:
    """Errors never grant access."""
    api = Asked([Reply(status=201, body=body)])
    with pytest.raises(ReviewUnavailableError):
        await api.tokens().review("t", ())
    with pytest.raises(ReviewUnavailableError):
        await api.rights().review(MARIA, LIST)


def test_a_review_asks_for_a_resource_with_all_that_is_known() -> None:
    """Contract 7.2, 7.4, 7.5, AU-08: user, uid, groups, extra; name and selectors."""
    asked = Attributes(
        verb="watch",
        path="/x",
        resource_request=True,
        group="g",
        version="v1",
        resource="r",
        subresource="s",
        namespace="ns",
        name="a100",
        field_selector=(SelectorRequirement("metadata.name", "In", ("a100",)),),
        label_selector=(
            SelectorRequirement("a", "NotIn", ("b", "c")),
            SelectorRequirement("d", "Exists"),
        ),
    )
    assert access_spec(MARIA, asked) == {
        "user": "maria",
        "uid": "u-1",
        "groups": ["b", "a"],
        "extra": {"example.io/pod-uid": ["1", "2"]},
        "resourceAttributes": {
            "verb": "watch",
            "group": "g",
            "version": "v1",
            "resource": "r",
            "subresource": "s",
            "namespace": "ns",
            "name": "a100",
            "fieldSelector": {
                "requirements": [{"key": "metadata.name", "operator": "In", "values": ["a100"]}]
            },
            "labelSelector": {
                "requirements": [
                    {"key": "a", "operator": "NotIn", "values": ["b", "c"]},
                    {"key": "d", "operator": "Exists"},
                ]
            },
        },
    }


def test_a_review_asks_for_a_path_and_nothing_else() -> None:
    """Contract 7.2: exactly one kind of attributes."""
    assert access_spec(User("m"), Attributes(verb="get", path="/metrics")) == {
        "user": "m",
        "nonResourceAttributes": {"path": "/metrics", "verb": "get"},
    }


@pytest.mark.parametrize(
    ("status", "review"),
    [
        ({"allowed": True}, AccessReview(allowed=True)),
        ({"allowed": False}, AccessReview(allowed=False)),
        ({}, AccessReview(allowed=False)),
        ({"denied": True}, AccessReview(allowed=False, denied=True)),
        ({"allowed": True, "denied": True}, AccessReview(allowed=True, denied=True)),
        ({"reason": SECRET, "evaluationError": SECRET}, AccessReview(allowed=False)),
    ],
)
async def test_an_access_review_is_sent_and_read(
    status: object, review: AccessReview, caplog: pytest.LogCaptureFixture
) -> None:
    """Contract 7.6: both flags; neither reason nor error goes anywhere but to debug."""
    api = Asked([answered(status)])
    with caplog.at_level(logging.INFO):
        assert await api.rights().review(MARIA, LIST) == review
    (body,) = api.bodies
    assert (body["apiVersion"], body["kind"]) == ("authorization.k8s.io/v1", "SubjectAccessReview")
    assert api.paths == ["POST /apis/authorization.k8s.io/v1/subjectaccessreviews"]
    assert caplog.records == []


PASSING = [
    *(failed(429), failed(500), failed(504), failed(503, 0.1), UnreachableError(SECRET)),
    failed(403, 0.1),
]


@pytest.mark.parametrize("passing", PASSING)
async def test_what_may_pass_is_asked_again(passing: Reply | Exception) -> None:
    """Contract 6.43: after 500 ms and half as much again each time, with jitter."""
    yes = answered({"allowed": True})
    api = Asked([passing, passing, passing, passing, yes])
    assert await api.rights().review(MARIA, LIST) == AccessReview(allowed=True)
    assert api.pauses == pytest.approx([0.55, 0.825, 1.2375, 1.85625])


async def test_five_times_is_enough() -> None:
    """Contract 6.43."""
    api = Asked([failed(500)])
    rights = api.rights()
    with pytest.raises(ReviewUnavailableError):
        await rights.review(MARIA, LIST)
    assert len(api.bodies) == 5
    assert rights.counts == {"500": 5}


@pytest.mark.parametrize("code", [400, 401, 403, 404, 409, 422, 503])
async def test_what_will_not_pass_is_asked_once(code: int) -> None:
    """Contract 6.43."""
    api = Asked([failed(code)])
    with pytest.raises(ReviewUnavailableError):
        await api.rights().review(MARIA, LIST)
    assert len(api.bodies) == 1


@pytest.mark.parametrize("body", [b"no JSON", b"{}", b'{"status":{"allowed":"yes"}}', b""])
async def test_an_answer_that_is_none_is_told_and_grants_nothing(
    body: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    """A proxy's page with status 201 is as much of a fault as a 500, and its words stay out."""
    yes = answered({"allowed": True})
    api = Asked([Reply(status=201, body=body), Reply(status=201, body=body), yes])
    rights = api.rights()
    with caplog.at_level(logging.INFO):
        for _ in range(2):
            with pytest.raises(ReviewUnavailableError):
                await rights.review(MARIA, LIST)
        assert await rights.review(MARIA, LIST) == AccessReview(allowed=True)
    told = [(each.levelname, each.message) for each in caplog.records]
    assert told == [("ERROR", "reviews fail"), ("INFO", "reviews are answered again")]


async def test_retry_after_is_kept_to() -> None:
    """Contract 6.43: no earlier than the server asks."""
    api = Asked([failed(429, 2.0), answered({"allowed": True})])
    await api.rights().review(MARIA, LIST)
    assert api.pauses == [2.0]


async def test_au_11_everything_together_has_an_end() -> None:
    """AU-11: a caller's answer comes within ten seconds."""
    assert Retries().all < 10
    api = Asked([failed(429, 3600.0)])

    async def never(seconds: float) -> None:
        await asyncio.Event().wait()

    retries = Retries(all=0.0, sleep=never)
    with pytest.raises(ReviewUnavailableError):
        await KubeAccessReviews(api, lambda: 0.0, retries).review(MARIA, LIST)


async def test_text_that_is_no_utf_8_is_not_asked_about() -> None:
    """Contract 14.8: it could not be asked about exactly."""
    api = Asked([answered({"allowed": True})])
    with pytest.raises(ReviewUnavailableError):
        await api.tokens().review("t\udcff", ())
    assert api.bodies == []


async def test_az_01_a_missing_right_is_logged_once_a_minute(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """AZ-01: with the role to bind, without what upstream says; also if some are answered."""
    api = Asked([failed(403)])
    rights = api.rights()
    with caplog.at_level(logging.INFO):
        for api.now in (0.0, 30.0, 59.0, 61.0):
            with pytest.raises(ReviewUnavailableError):
                await rights.review(MARIA, LIST)
        api.answers = [answered({"allowed": True}), failed(403)]
        await rights.review(MARIA, LIST)
        with pytest.raises(ReviewUnavailableError):
            await rights.review(MARIA, LIST)
    errors = [each for each in caplog.records if each.levelno == logging.ERROR]
    assert len(errors) == 2
    assert "system:auth-delegator" in errors[0].getMessage()
    assert [each.levelname for each in caplog.records] == ["ERROR", "ERROR", "INFO"]
    assert SECRET not in caplog.text


@pytest.mark.parametrize("failure", [failed(500), UnreachableError(SECRET), failed(404)])
async def test_no_failure_says_what_upstream_says(
    failure: Reply | Exception, caplog: pytest.LogCaptureFixture
) -> None:
    """No upstream text in an error or a line of the log."""
    with caplog.at_level(logging.INFO), pytest.raises(ReviewUnavailableError) as raised:
        await Asked([failure]).tokens().review("very-secret", ())
    assert str(raised.value) == ""
    assert len(caplog.records) == 1
    for secret in (SECRET, "very-secret"):
        assert secret not in "".join(repr(vars(each)) for each in caplog.records)


def test_sequences_of_selectors_may_be_empty() -> None:
    """Contract 7.4: an empty selector restricts nothing, and is left out."""
    empty: Sequence[SelectorRequirement] = ()
    asked = Attributes(
        verb="list", resource_request=True, resource="r", field_selector=tuple(empty)
    )
    assert access_spec(User("m"), asked)["resourceAttributes"] == {"verb": "list", "resource": "r"}
