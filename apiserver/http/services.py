"""What the request flow is built from: its collaborators, as it sees them."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from apiserver.documents.document import Documents
from apiserver.documents.resources import ResourceInfo
from apiserver.http.forms import Encoder
from apiserver.http.limits import InFlight
from apiserver.http.series import Series
from auth.authentication.port import Authenticator
from auth.authorization.port import Authorizer
from storage.views.resource import Freshness, Resource


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """One resource: its names, its objects, their bytes. Resource and encoder share a type."""

    info: ResourceInfo
    resource: Resource[Any]
    encoder: Encoder[Any]


class Health(Protocol):
    """The health checks behind /healthz, /livez and /readyz."""

    @property
    def paths(self) -> Collection[str]:
        """All paths that are answered, those of single checks included."""
        ...

    def report(self, path: str, *, excluded: Sequence[str], verbose: bool) -> tuple[bool, str]:
        """Return whether all is well at one of `paths`, and the text that says so."""
        ...


class Metrics(Protocol):
    """Where requests are counted, and the metrics as text."""

    def observe(self, series: Series, code: int, seconds: float) -> None:
        """Count one finished request."""
        ...

    def exposition(self) -> tuple[str, bytes]:
        """Return all metrics: content type and body."""
        ...


class AccessLog(Protocol):
    """Where each request leaves a line (contract 8.10, without an address)."""

    def record(
        self, *, verb: str, path: str, user_agent: str, audit_id: str, code: int, seconds: float
    ) -> None:
        """Note one finished request; the path as it was sent, without its query."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """Everything that a request can meet."""

    authenticator: Authenticator
    authorizer: Authorizer
    resources: Mapping[str, Served]  # by plural
    freshness: Freshness
    documents: Documents
    health: Health
    metrics: Metrics
    access_log: AccessLog
    in_flight: InFlight
    leaving: Callable[[], bool]  # True: callers are to find another server by the next request
    draining: Callable[[], bool]  # True: no request is taken any more
    turning_away: Callable[[], bool]  # True: requests are sent to another server
    wall_clock: Callable[[], float]  # Unix time in seconds
    monotonic: Callable[[], float]  # seconds
    request_seconds: float = 60.0  # that a request may take
