"""The request flow: every step in the contract's order, called by one handler (contract 0.1)."""

import logging
import re
from collections.abc import Awaitable, Callable
from itertools import count
from typing import Final, TypeAlias
from uuid import uuid4

from aiohttp import web

from apiserver.http.answers import Answer, Sent, compressed, failure, sent
from apiserver.http.bodies import Bodies
from apiserver.http.deadline import Deadlines, seconds_allowed
from apiserver.http.errors import PathNotFoundError, ShuttingDownError
from apiserver.http.exchange import Exchange, Step
from apiserver.http.filters import (
    authenticate,
    authorize,
    impersonate,
    limit,
    read_body,
    refuse_while_draining,
)
from apiserver.http.handlers import for_everybody, for_the_allowed
from apiserver.http.request_info import request_info
from apiserver.http.resources import Objects
from apiserver.http.series import UNREADABLE
from apiserver.http.services import Services
from apiserver.http.status import UNEXPECTED, status_of

_log = logging.getLogger(__name__)

_AUDIT_ID: Final = re.compile(r"[-A-Za-z0-9_.:/]{1,64}")

#: New Audit-IDs are UUIDs whose last part counts: drawing each one would cost as much as a LIST.
_PREFIX: Final = str(uuid4())[:24]
_COUNTER: Final = count(1)

Handler: TypeAlias = Callable[[web.BaseRequest], Awaitable[Sent]]


def build_handler(services: Services, bodies: Bodies) -> Handler:
    """Return what answers every request; it needs a running loop only when called."""
    steps: tuple[Step, ...] = (
        refuse_while_draining,
        for_everybody,
        authenticate,
        impersonate,
        limit,
        authorize,
        read_body,
        for_the_allowed,
        Objects(bodies),
    )

    deadlines = Deadlines()

    async def handle(request: web.BaseRequest) -> Sent:
        started = services.monotonic()
        audit_id = _audit_id(request)
        series = UNREADABLE
        try:
            info = request_info(request.raw_path, request.method)
            series = info.series
            seconds = seconds_allowed(info.query)
            answer = await deadlines.within(
                seconds, _answer(Exchange(request, info), steps, services)
            )
        except Exception as error:  # noqa: BLE001  # whatever it is, the caller gets a Status
            answer = _failed(error, audit_id)
        answer = compressed(answer, request.headers.get("Accept-Encoding", ""))
        seconds = services.monotonic() - started
        services.metrics.observe(series, answer.code, seconds)
        services.access_log.record(
            verb=series.verb,
            path=request.raw_path.partition("?")[0],
            user_agent=request.headers.get("User-Agent", ""),
            audit_id=audit_id,
            code=answer.code,
            seconds=seconds,
        )
        return sent(answer, request, now=services.wall_clock(), audit_id=audit_id)

    return handle


async def _answer(exchange: Exchange, steps: tuple[Step, ...], services: Services) -> Answer:
    """Take the steps until one answers. Raises what they raise."""
    try:
        for step in steps:
            answer = await step(exchange, services)
            if answer is not None:
                return answer
    finally:
        if exchange.lane is not None:
            exchange.lane.leave()
    raise PathNotFoundError


def _failed(error: Exception, audit_id: str) -> Answer:
    """Return the answer for an error; one that nobody expected is logged, and named to nobody."""
    status = status_of(error)
    if status is None:
        _log.error("a request failed", exc_info=error, extra={"audit_id": audit_id})
        status = UNEXPECTED
    return failure(status, close=isinstance(error, ShuttingDownError))


def _audit_id(request: web.BaseRequest) -> str:
    """Return the caller's Audit-ID, or a new one where it is absent or no short plain word."""
    given = request.headers.get("Audit-ID", "")
    return given if _AUDIT_ID.fullmatch(given) else f"{_PREFIX}{next(_COUNTER):012x}"
