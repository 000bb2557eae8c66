"""The request flow: every step in the contract's order, called by one handler (contract 0.1)."""

import logging
import os
import re
from collections.abc import Awaitable, Callable
from typing import Final, TypeAlias

from apiserver.http.answers import Answer, Sent, compressed, failure, sent
from apiserver.http.bodies import Bodies
from apiserver.http.deadline import Deadlines, seconds_allowed
from apiserver.http.errors import ShuttingDownError, TurnedAwayError
from apiserver.http.filters import authenticate, authorize, read_body, refuse_at_the_end
from apiserver.http.handlers import for_everybody, for_the_allowed
from apiserver.http.impersonation import impersonated
from apiserver.http.request import Request
from apiserver.http.request_info import RequestInfo, request_info, with_selectors
from apiserver.http.resources import Resources
from apiserver.http.series import UNREADABLE
from apiserver.http.services import Services
from apiserver.http.status import UNEXPECTED, status_of
from auth.errors import UnauthenticatedError
from auth.identity import MASTERS_GROUP

logger = logging.getLogger(__name__)

_AUDIT_ID: Final = re.compile(r"[-A-Za-z0-9_.:/]{1,64}")

#: After these the connection is closed. A caller who is nobody may have connected before there was
#: a CA, was asked for no certificate then, and is known over the next connection.
_LAST: Final = (ShuttingDownError, TurnedAwayError, UnauthenticatedError)

Handler: TypeAlias = Callable[[Request], Awaitable[Sent]]


def build_handler(services: Services, bodies: Bodies) -> Handler:
    """Return what answers every request; it needs a running loop only when called."""
    flow = _Flow(services, bodies)

    async def handle(request: Request) -> Sent:
        started = services.monotonic()
        audit_id = _audit_id(request)
        series = UNREADABLE
        try:
            info = request_info(request.target, request.method)
            series = info.series
            answer = await flow.answer(request, info)
        except Exception as error:  # noqa: BLE001  # whatever it is, the caller gets a Status
            answer = _failed(error, audit_id)
        if services.leaving():
            # Kept open, it would be cut off at the end, perhaps just as it is used again.
            answer = answer._replace(close=True)
        answer = compressed(answer, request.headers.get("Accept-Encoding", ""))
        seconds = services.monotonic() - started
        services.metrics.observe(series, answer.code, seconds)
        services.access_log.record(
            verb=series.verb,
            path=request.target.partition("?")[0],
            user_agent=request.headers.get("User-Agent", ""),
            audit_id=audit_id,
            code=answer.code,
            seconds=seconds,
        )
        return sent(answer, request, now=services.wall_clock(), audit_id=audit_id)

    return handle


class _Flow:
    """The steps of a request. Whatever keeps one from its answer is raised."""

    def __init__(self, services: Services, bodies: Bodies) -> None:
        self._services = services
        self._resources = Resources(services, bodies)
        self._deadlines = Deadlines()

    async def answer(self, request: Request, info: RequestInfo) -> Answer:
        """Answer what is everybody's at once, and everything else after the questions."""
        refuse_at_the_end(request, info, self._services)
        answer = for_everybody(request, info, self._services)
        if answer is None:
            seconds = seconds_allowed(info.query, self._services.request_seconds)
            answer = await self._deadlines.within(seconds, self._for_somebody(request, info))
        return answer

    async def _for_somebody(self, request: Request, info: RequestInfo) -> Answer:
        """Ask who it is, whether there is room, and whether they may; only then look."""
        services = self._services
        user, impersonation = await authenticate(request, services.authenticator)
        info = with_selectors(info)
        attributes = info.attributes
        if impersonation:
            user = await impersonated(user, impersonation, services.authorizer)
        lane = services.in_flight.lane(attributes.verb)
        lane.enter(privileged=MASTERS_GROUP in user.groups)
        try:
            await authorize(user, attributes, services.authorizer)
            await read_body(request)
            if attributes.resource_request:
                return self._resources.answer(request, info)
            return for_the_allowed(info, services)
        finally:
            lane.leave()


def _failed(error: Exception, audit_id: str) -> Answer:
    """Return the answer for an error; one that nobody expected is logged, and named to nobody."""
    status = status_of(error)
    if status is None:
        logger.error("a request failed", exc_info=error, extra={"audit_id": audit_id})
        status = UNEXPECTED
    return failure(status, close=isinstance(error, _LAST))


def _audit_id(request: Request) -> str:
    """Return the caller's Audit-ID, or a new one where it is absent or no short plain word."""
    given = request.headers.get("Audit-ID")
    if given is not None and _AUDIT_ID.fullmatch(given):
        return given
    return new_audit_id()


def new_audit_id() -> str:
    """Return a random UUID (version 4), in a third of the time that `uuid4` takes.

    Nothing that counts, or that could be continued from what was seen: an ID must not tell how many
    requests others send.
    """
    drawn = os.urandom(16).hex()
    return f"{drawn[:8]}-{drawn[8:12]}-4{drawn[13:16]}-a{drawn[17:20]}-{drawn[20:]}"
