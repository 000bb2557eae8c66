"""One request on its way through the steps."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from aiohttp import web

from apiserver.http.answers import Answer
from apiserver.http.limits import Lane
from apiserver.http.request_info import RequestInfo
from apiserver.http.services import Services
from auth.identity import ANONYMOUS, User

_NOBODY: Final = User(ANONYMOUS)


@dataclass(slots=True)
class Exchange:
    """What is known of a request so far; each step may add to it, none takes away."""

    request: web.BaseRequest
    info: RequestInfo
    user: User = _NOBODY  # until somebody is identified
    impersonation: Sequence[tuple[str, str]] = ()  # Impersonate-* lines, names lower-cased
    lane: Lane | None = None  # where it is counted as in flight, to be counted out at the end


#: One step: the answer that ends the request, or None for the next step. Errors are raised.
Step: TypeAlias = Callable[[Exchange, Services], Awaitable[Answer | None]]
