"""The API server put together: from a published state and the ports of auth to a request flow."""

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Final, Protocol

from apiserver.cli.clocks import wall_seconds
from apiserver.documents.build import build_documents
from apiserver.documents.document import NO_DOCUMENTS, Documents
from apiserver.documents.resources import CONSOLE_OPTIONS, GPU_CLASS_OFFERS, GPU_CLASS_OPTIONS
from apiserver.http.encode import ResourceEncoder, console_option, offer, option
from apiserver.http.limits import InFlight
from apiserver.http.services import AccessLog, Served, Services
from apiserver.http.table import (
    CONSOLE_OPTION_COLUMNS,
    GPU_CLASS_OFFER_COLUMNS,
    GPU_CLASS_OPTION_COLUMNS,
)
from apiserver.ops.health import Check, Health
from apiserver.ops.metrics import Count, Gauge, Metrics
from apiserver.ops.serving import Lifecycle
from auth.authentication.port import Authenticator
from auth.authorization.port import Authorizer
from storage.cluster.cache import ClusterCache
from storage.views.gpuclassoffers import GPUClassOffers
from storage.views.gpuclassoptions import GPUClassOptions
from storage.views.options import ConsoleOptions
from storage.views.published import Published

_GAUGES: Final = (
    ("gpuclass_source_objects", "Objects of a kind that are kept.", ClusterCache.objects),
    (
        "gpuclass_source_undecodable_objects",
        "Objects of a kind that could not be understood, wholly or in part.",
        ClusterCache.undecodable,
    ),
)


class Cluster(Protocol):
    """What a cluster, embedded or real, offers to the request flow."""

    cache: ClusterCache
    published: Published

    def unsynced(self) -> str | None:
        """Return what was never read, for the log only; None: nothing stands against readiness."""
        ...

    def gauges(self) -> Iterable[Gauge | Count]:
        """Yield what a scrape is told of this cluster besides its sources."""
        ...

    @property
    def authenticator(self) -> Authenticator: ...
    @property
    def authorizer(self) -> Authorizer: ...


def resources(published: Published) -> dict[str, Served]:
    """Return the three resources by their plural names."""
    return {
        served.info.plural: served
        for served in (
            Served(
                info=GPU_CLASS_OFFERS,
                resource=GPUClassOffers(published),
                encoder=ResourceEncoder(
                    GPU_CLASS_OFFERS, offer, GPU_CLASS_OFFER_COLUMNS, wall_seconds
                ),
            ),
            Served(
                info=GPU_CLASS_OPTIONS,
                resource=GPUClassOptions(published),
                encoder=ResourceEncoder(
                    GPU_CLASS_OPTIONS, option, GPU_CLASS_OPTION_COLUMNS, wall_seconds
                ),
            ),
            Served(
                info=CONSOLE_OPTIONS,
                resource=ConsoleOptions(published),
                encoder=ResourceEncoder(
                    CONSOLE_OPTIONS, console_option, CONSOLE_OPTION_COLUMNS, wall_seconds
                ),
            ),
        )
    }


def source_gauges(cache: ClusterCache, monotonic: Callable[[], float]) -> Iterable[Gauge]:
    """Yield what a scrape is told of the sources: sizes and ages, no name of anything in them."""
    for kind, age in cache.ages(monotonic()).items():
        if age is not None:
            yield Gauge(
                "gpuclass_source_age_seconds",
                "Time since anything was heard of a kind.",
                age,
                {"kind": kind.kind},
            )
    for name, text, read in _GAUGES:
        for kind, value in read(cache).items():
            yield Gauge(name, text, value, {"kind": kind.kind})


def api_services(
    cluster: Cluster,
    access_log: AccessLog,
    lifecycle: Lifecycle,
    *,
    in_flight: InFlight | None = None,
    request_seconds: float = 60.0,
) -> Services:
    """Return what the API's request flow is built from. To be called within the running loop."""
    services = _services(
        cluster,
        access_log,
        lifecycle,
        in_flight=in_flight or InFlight(),
        resources=resources(cluster.published),
        documents=build_documents(),
        checks=(Check("informer-sync", cluster.unsynced),),
    )
    return replace(services, request_seconds=request_seconds)


def probe_services(cluster: Cluster, access_log: AccessLog, lifecycle: Lifecycle) -> Services:
    """Return the same for a port that answers its probes and nothing else."""
    return _services(
        cluster,
        access_log,
        lifecycle,
        in_flight=InFlight(),
        resources={},
        documents=NO_DOCUMENTS,
        checks=(),
    )


def _services(
    cluster: Cluster,
    access_log: AccessLog,
    lifecycle: Lifecycle,
    *,
    in_flight: InFlight,
    resources: Mapping[str, Served],
    documents: Documents,
    checks: tuple[Check, ...],
) -> Services:
    return Services(
        authenticator=cluster.authenticator,
        authorizer=cluster.authorizer,
        resources=resources,
        freshness=cluster.published,
        documents=documents,
        health=Health(live=(), ready=(*checks, lifecycle.shutdown_check())),
        metrics=Metrics(
            in_flight=in_flight.peaks,
            gauges=lambda: (*source_gauges(cluster.cache, time.monotonic), *cluster.gauges()),
        ),
        access_log=access_log,
        in_flight=in_flight,
        leaving=lambda: lifecycle.stopping,
        draining=lambda: lifecycle.draining,
        turning_away=lambda: lifecycle.turning_away,
        wall_clock=wall_seconds,
        monotonic=time.monotonic,
    )
