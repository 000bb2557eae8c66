"""What a stub of kube-apiserver says of tokens and rights, and the ways it fails to."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec
from aiohttp import web
from fakes.stub_api import StubAPI, json_answer, status_answer

TOKEN_REVIEWS: Final = "/apis/authentication.k8s.io/v1/tokenreviews"
ACCESS_REVIEWS: Final = "/apis/authorization.k8s.io/v1/subjectaccessreviews"

Spec = Mapping[str, Any]


def nobody(spec: Spec) -> Spec:
    """Know no token."""
    return {"authenticated": False, "error": f"invalid token {spec['token']}"}


def no(spec: Spec) -> Spec:
    """Allow nothing, with a reason that names what nobody may see."""
    return {"allowed": False, "reason": f'RBAC: clusterrole "secret" not found for {spec["user"]}'}


@dataclass
class StubReviews:
    """Adds reviews to a stub: what it answers is a test's, what it was asked is kept."""

    stub: StubAPI
    token: Callable[[Spec], Spec] = nobody
    access: Callable[[Spec], Spec] = no
    #: A status to fail with instead; 0 answers.
    token_failure: int = 0
    access_failure: int = 0
    #: Awaited before each answer, to hold it.
    before: Callable[[], Awaitable[None]] | None = None
    tokens: list[Spec] = field(default_factory=list)
    accesses: list[Spec] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.stub.routes["POST", TOKEN_REVIEWS] = self._token
        self.stub.routes["POST", ACCESS_REVIEWS] = self._access

    async def _token(self, request: web.BaseRequest) -> web.StreamResponse:
        review = await self._read(request, self.tokens)
        if self.token_failure:
            return status_answer(self.token_failure)
        return _answer(review, self.token(review["spec"]))

    async def _access(self, request: web.BaseRequest) -> web.StreamResponse:
        review = await self._read(request, self.accesses)
        if self.access_failure:
            return status_answer(self.access_failure)
        return _answer(review, self.access(review["spec"]))

    async def _read(self, request: web.BaseRequest, asked: list[Spec]) -> dict[str, Any]:
        review: dict[str, Any] = msgspec.json.decode(await request.read())
        asked.append(review["spec"])
        if self.before is not None:
            await self.before()
        return review


def _answer(review: Spec, status: Spec) -> web.Response:
    return json_answer(msgspec.json.encode({**review, "status": status}), status=201)
