"""Steps before a request is answered: is the end near, who asks, may they (contract 0.1, 6, 7)."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from aiohttp import web

from apiserver.http.errors import (
    BadRequestError,
    BodyTooLargeError,
    ForbiddenError,
    ShuttingDownError,
    TurnedAwayError,
)
from apiserver.http.request import Request
from apiserver.http.request_info import RequestInfo
from apiserver.http.services import Services
from apiserver.http.status import MAX_BODY_BYTES
from auth.attributes import Attributes
from auth.authentication.port import Authenticator, Credentials
from auth.authorization.port import Authorizer, Decision
from auth.errors import UnauthenticatedError
from auth.identity import ANONYMOUS, User

#: Paths that are this server's own matter.
_STAYING: Final = ("/healthz", "/livez", "/readyz", "/metrics")
_IMPERSONATE: Final = "impersonate-"
_INITIALS: Final = ("I", "i")  # so that other lines cost nothing


class Caller(NamedTuple):
    """Who sent a request, and as whom they want to act."""

    user: User
    impersonation: Sequence[tuple[str, str]]  # Impersonate-* lines, names lower-cased


def refuse_at_the_end(request: Request, info: RequestInfo, services: Services) -> None:
    """Refuse what still comes in at the end, and before it what others can answer (contract 9.6).

    Raises ShuttingDownError and TurnedAwayError. Probes, scrapes and kube-apiserver's own requests
    are not sent elsewhere.
    """
    if services.draining():
        raise ShuttingDownError
    if services.turning_away() and not _stays(request, info):
        raise TurnedAwayError


def _stays(request: Request, info: RequestInfo) -> bool:
    agent = request.headers.get("User-Agent", "")
    return info.attributes.path.startswith(_STAYING) or agent.startswith("kube-apiserver/")


async def authenticate(request: Request, authenticator: Authenticator) -> Caller:
    """Find out who asks. Nobody in particular is 401, whatever rights that has (design 7)."""
    headers = request.headers
    impersonation = [
        (name.lower(), value)
        for name, value in headers.items()
        if name.startswith(_INITIALS) and name.lower().startswith(_IMPERSONATE)
    ]
    authorization = tuple(headers.getall("Authorization", ()))
    credentials = Credentials(authorization, headers.items(), request.peer)
    user = await authenticator.authenticate(credentials)
    if user is None or user.name == ANONYMOUS:
        raise UnauthenticatedError
    return Caller(user, impersonation)


async def authorize(user: User, attributes: Attributes, authorizer: Authorizer) -> None:
    """Ask whether the user may; only a clear yes goes on."""
    ruling = await authorizer.authorize(user, attributes)
    if ruling.decision is not Decision.ALLOW:
        raise ForbiddenError(user, attributes, ruling.reason)


async def read_body(request: Request) -> None:
    """Read a body within its bound and forget it: no method with a body is served.

    That of a GET is not looked at, and one that waits to be asked for is not asked for.
    """
    if request.method in ("GET", "HEAD") or "Expect" in request.headers:
        return
    if request.body_size > MAX_BODY_BYTES:
        raise BodyTooLargeError
    size = 0
    try:
        while not request.content.at_eof():
            size += len(await request.content.readany())
            if size > MAX_BODY_BYTES:
                raise BodyTooLargeError
    except web.RequestPayloadError:
        raise BadRequestError("the body of the request could not be read") from None
