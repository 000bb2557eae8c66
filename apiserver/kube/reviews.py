"""TokenReviews and SubjectAccessReviews at a kube-apiserver (contract 6.40 to 6.43, 7.2).

What is asked again, and when, is upstream's; what upstream says goes to nobody.
"""

import asyncio
import logging
import random
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

import msgspec

from apiserver.kube.api import API, Reply, UnreachableError
from auth.attributes import Attributes, SelectorRequirement
from auth.authentication.token_review import TokenReview
from auth.authorization.access_review import AccessReview
from auth.errors import ReviewUnavailableError
from auth.identity import User

logger = logging.getLogger(__name__)

T = TypeVar("T")

_TOKEN_REVIEWS: Final = "/apis/authentication.k8s.io/v1/tokenreviews"  # noqa: S105  # a path
_ACCESS_REVIEWS: Final = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
_LOG_EVERY: Final = 60.0
#: Statuses after which the same may be asked again.
_PASSING: Final = frozenset({429, 500, 504})
_DONE: Final = frozenset({200, 201})
#: In place of a status, as upstream's metrics have it.
_NO_ANSWER: Final = "<error>"


@dataclass(frozen=True, slots=True, kw_only=True)
class Retries:
    """How often, and after how many seconds, the same is asked again."""

    steps: int = 5
    first: float = 0.5
    factor: float = 1.5
    jitter: float = 0.2
    all: float = 9.0  # everything together: callers wait for ten
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    chance: Callable[[], float] = field(default=random.random)


class _Extra(msgspec.Struct):
    username: str = ""
    uid: str = ""
    groups: list[str] | None = None
    extra: dict[str, list[str]] | None = None


class _TokenStatus(msgspec.Struct):
    authenticated: bool = False
    user: _Extra | None = None
    audiences: list[str] | None = None
    error: str = ""


class _TokenAnswer(msgspec.Struct):
    status: _TokenStatus


class _AccessStatus(msgspec.Struct, rename="camel"):
    allowed: bool = False
    denied: bool = False
    evaluation_error: str = ""


class _AccessAnswer(msgspec.Struct):
    status: _AccessStatus


_TOKEN: Final = msgspec.json.Decoder(_TokenAnswer)
_ACCESS: Final = msgspec.json.Decoder(_AccessAnswer)


class KubeReviews:
    """Sends reviews of one kind, and counts what comes of them."""

    def __init__(
        self,
        api: API,
        path: str,
        clock: Callable[[], float],
        retries: Retries = Retries(),
    ) -> None:
        """Take where to ask, and a monotonic clock of seconds."""
        self._api = api
        self._path = path
        self._kind: Final = path.rpartition("/")[2]
        self._clock = clock
        self._retries = retries
        self._logged: float | None = None
        self._told = False  # that reviews fail, and not yet that they do so no more
        #: How often each status came; `<error>` where no answer came.
        self.counts: Counter[str] = Counter()

    async def send(
        self, kind: str, group: str, spec: Mapping[str, Any], read: Callable[[bytes], T]
    ) -> T:
        """Send a review and return the answer; `read` raises MsgspecError for what is none.

        Raises ReviewUnavailableError.
        """
        review = {"apiVersion": f"{group}/v1", "kind": kind, "spec": spec}
        try:
            body = msgspec.json.encode(review)
        except UnicodeEncodeError:
            # Text that is no UTF-8 cannot be asked about exactly.
            raise ReviewUnavailableError from None
        try:
            async with asyncio.timeout(self._retries.all):
                reply = await self._sent(body)
        except TimeoutError:
            reply = None
        if reply is None or reply.status not in _DONE:
            self._log(reply)
            raise ReviewUnavailableError
        try:
            answer = read(reply.body)
        except msgspec.MsgspecError:
            self._log(reply)
            raise ReviewUnavailableError from None
        if self._told:
            self._told = False
            logger.info("reviews are answered again", extra={"resource": self._kind})
        return answer

    async def _sent(self, body: bytes) -> Reply | None:
        """Return the last answer; None where there was none."""
        retries = self._retries
        pause = retries.first
        reply = await self._once(body)
        for _ in range(retries.steps - 1):
            if reply is not None and not _may_pass(reply):
                return reply
            wait = pause * (1 + retries.jitter * retries.chance())
            await retries.sleep(max(wait, (reply and reply.retry_after) or 0.0))
            pause *= retries.factor
            reply = await self._once(body)
        return reply

    async def _once(self, body: bytes) -> Reply | None:
        try:
            reply = await self._api.call("POST", self._path, body=body)
        except UnreachableError as error:
            logger.debug("a review was not answered", exc_info=error)
            self.counts[_NO_ANSWER] += 1
            return None
        self.counts[str(reply.status)] += 1
        return reply

    def _log(self, reply: Reply | None) -> None:
        """Log that reviews fail, once a minute."""
        now = self._clock()
        if self._logged is not None and now - self._logged < _LOG_EVERY:
            return
        self._logged, self._told = now, True
        kind = self._kind
        if reply is None:
            logger.error("reviews are not answered", extra={"resource": kind})
        elif reply.status == 403:
            logger.error(
                "reviews are refused: bind ClusterRole system:auth-delegator to our account",
                extra={"resource": kind},
            )
        else:
            logger.error("reviews fail", extra={"resource": kind, "status": reply.status})


class KubeTokenReviews:
    """A `TokenReviews` of auth."""

    def __init__(self, api: API, clock: Callable[[], float], retries: Retries = Retries()) -> None:
        self._reviews = KubeReviews(api, _TOKEN_REVIEWS, clock, retries)

    @property
    def counts(self) -> Mapping[str, int]:
        """How often each status came; `<error>` where no answer came."""
        return self._reviews.counts

    async def review(self, token: str, audiences: Sequence[str]) -> TokenReview:
        """Review a token. Raises ReviewUnavailableError."""
        spec: dict[str, Any] = {"token": token}
        if audiences:
            spec["audiences"] = list(audiences)
        answer = await self._reviews.send(
            "TokenReview", "authentication.k8s.io", spec, _TOKEN.decode
        )
        status = answer.status
        if status.error:
            logger.debug("a token was not reviewed", extra={"error": status.error})
        if not status.authenticated or status.user is None or not status.user.username:
            return TokenReview(None)
        user = status.user
        return TokenReview(
            User(
                name=user.username,
                uid=user.uid,
                groups=tuple(user.groups or ()),
                extra=tuple((key, tuple(values)) for key, values in (user.extra or {}).items()),
            ),
            tuple(status.audiences or ()),
        )


class KubeAccessReviews:
    """An `AccessReviews` of auth."""

    def __init__(self, api: API, clock: Callable[[], float], retries: Retries = Retries()) -> None:
        self._reviews = KubeReviews(api, _ACCESS_REVIEWS, clock, retries)

    @property
    def counts(self) -> Mapping[str, int]:
        """How often each status came; `<error>` where no answer came."""
        return self._reviews.counts

    async def review(self, user: User, attributes: Attributes) -> AccessReview:
        """Review one request. Raises ReviewUnavailableError."""
        spec = access_spec(user, attributes)
        answer = await self._reviews.send(
            "SubjectAccessReview", "authorization.k8s.io", spec, _ACCESS.decode
        )
        status = answer.status
        if status.evaluation_error:
            logger.debug("a review has errors", extra={"error": status.evaluation_error})
        return AccessReview(status.allowed, status.denied)


def access_spec(user: User, attributes: Attributes) -> dict[str, Any]:
    """Return the spec of a SubjectAccessReview (contract 7.2)."""
    spec: dict[str, Any] = {"user": user.name}
    if user.uid:
        spec["uid"] = user.uid
    if user.groups:
        spec["groups"] = list(user.groups)
    if user.extra:
        spec["extra"] = {key: list(values) for key, values in user.extra}
    if not attributes.resource_request:
        path = {"path": attributes.path, "verb": attributes.verb}
        return spec | {"nonResourceAttributes": path}
    names = ("namespace", "verb", "group", "version", "resource", "subresource", "name")
    asked: dict[str, Any] = {
        name: getattr(attributes, name) for name in names if getattr(attributes, name)
    }
    if attributes.field_selector:
        asked["fieldSelector"] = {"requirements": _requirements(attributes.field_selector)}
    if attributes.label_selector:
        asked["labelSelector"] = {"requirements": _requirements(attributes.label_selector)}
    return spec | {"resourceAttributes": asked}


def _requirements(selector: Sequence[SelectorRequirement]) -> list[dict[str, Any]]:
    return [
        {"key": each.key, "operator": each.operator}
        | ({"values": list(each.values)} if each.values else {})
        for each in selector
    ]


def _may_pass(reply: Reply) -> bool:
    return reply.status in _PASSING or (reply.status not in _DONE and reply.retry_after is not None)
