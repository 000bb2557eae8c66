"""Steps before a request is answered: who asks, may they, is there room (contract 0.1, 6, 7, 8)."""

from typing import Final

from aiohttp import web

from apiserver.http.answers import Answer
from apiserver.http.errors import (
    BadRequestError,
    BodyTooLargeError,
    ForbiddenError,
    ShuttingDownError,
)
from apiserver.http.exchange import Exchange
from apiserver.http.impersonation import impersonated
from apiserver.http.services import Services
from apiserver.http.status import MAX_BODY_BYTES
from auth.authentication.port import Credentials
from auth.authorization.port import Decision
from auth.errors import UnauthenticatedError
from auth.identity import ANONYMOUS, MASTERS_GROUP

_REMOTE: Final = "x-remote-"
_IMPERSONATE: Final = "impersonate-"
#: Initials of both, so that other lines cost nothing.
_CLAIMS: Final = ("X", "x", "I", "i")


async def refuse_while_draining(_: Exchange, services: Services) -> Answer | None:
    """Turn away what still comes in on open connections at the end (contract 9.6)."""
    if services.draining():
        raise ShuttingDownError
    return None


async def authenticate(exchange: Exchange, services: Services) -> Answer | None:
    """Find out who asks. Nobody in particular is 401, whatever rights that has (design 7)."""
    headers = exchange.request.headers
    claims = [(name.lower(), value) for name, value in headers.items() if name[:1] in "XxIi"]
    user = await services.authenticator.authenticate(
        Credentials(
            authorization=tuple(headers.getall("Authorization", ())),
            headers=tuple([line for line in claims if line[0].startswith(_REMOTE)]),
        )
    )
    if user is None or user.name == ANONYMOUS:
        raise UnauthenticatedError
    exchange.user = user
    exchange.impersonation = [line for line in claims if line[0].startswith(_IMPERSONATE)]
    return None


async def impersonate(exchange: Exchange, services: Services) -> Answer | None:
    """Become another user where that is asked for and allowed (contract 6.6)."""
    if exchange.impersonation:
        exchange.user = await impersonated(
            exchange.user, exchange.impersonation, services.authorizer
        )
    return None


async def limit(exchange: Exchange, services: Services) -> Answer | None:
    """Turn away what exceeds the requests in flight."""
    lane = services.in_flight.lane(exchange.info.attributes.verb)
    lane.enter(privileged=MASTERS_GROUP in exchange.user.groups)
    exchange.lane = lane
    return None


async def authorize(exchange: Exchange, services: Services) -> Answer | None:
    """Ask whether the user may; only a clear yes goes on."""
    attributes = exchange.info.attributes
    ruling = await services.authorizer.authorize(exchange.user, attributes)
    if ruling.decision is not Decision.ALLOW:
        raise ForbiddenError(exchange.user, attributes, ruling.reason)
    return None


async def read_body(exchange: Exchange, _: Services) -> Answer | None:
    """Read a body within its bound and forget it: no method with a body is served.

    That of a GET is not looked at, and one that waits to be asked for is not asked for.
    """
    request = exchange.request
    if request.method in ("GET", "HEAD") or "Expect" in request.headers:
        return None
    if (request.content_length or 0) > MAX_BODY_BYTES:
        raise BodyTooLargeError
    size = 0
    try:
        while not request.content.at_eof():
            size += len(await request.content.readany())
            if size > MAX_BODY_BYTES:
                raise BodyTooLargeError
    except web.RequestPayloadError:
        raise BadRequestError("the body of the request could not be read") from None
    return None
