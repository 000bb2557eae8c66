"""Prometheus metrics: requests under upstream's names, gauges of the process (contract 9.10)."""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Final, Protocol

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from prometheus_client.registry import Collector
from prometheus_client.utils import floatToGoString

#: Seconds, as upstream has them, so that dashboards made for it fit.
_BUCKETS: Final = (
    *(0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.25, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0),
    *(10.0, 15.0, 20.0, 30.0, 45.0, 60.0),
)
_LABELS: Final = (
    *("verb", "dry_run", "group", "version", "resource", "subresource", "scope", "component"),
)
_COMPONENT: Final = "apiserver"


class Series(Protocol):
    """The labels of one request."""

    @property
    def verb(self) -> str: ...
    @property
    def group(self) -> str: ...
    @property
    def version(self) -> str: ...
    @property
    def resource(self) -> str: ...
    @property
    def subresource(self) -> str: ...
    @property
    def scope(self) -> str: ...


@dataclass(frozen=True, slots=True)
class Gauge:
    """One value of the moment: of a source's state or of the world's size."""

    name: str
    help: str
    value: float
    labels: Mapping[str, str]  # the same keys in all gauges of a name


@dataclass(frozen=True, slots=True)
class Count:
    """How often something has happened since the start."""

    name: str  # without the `_total` that is added
    help: str
    value: int
    labels: Mapping[str, str]  # the same keys in all counts of a name


@dataclass(slots=True)
class _Tally:
    """The requests of one series and code."""

    count: int = 0
    seconds: float = 0.0
    # By upper bound, each without those below it; the last one has no bound.
    buckets: list[int] = field(default_factory=lambda: [0] * (len(_BUCKETS) + 1))


class Metrics:
    """Counts requests, and shows them beside gauges of the moment, in a registry of its own.

    Counting is a few additions; families are made of the tallies when they are read. A child of
    prometheus_client's own for each would cost as much per request as finding out who asks.
    """

    def __init__(
        self,
        *,
        in_flight: Callable[[], Mapping[str, int]],
        gauges: Callable[[], Iterable[Gauge | Count]] = tuple,
    ) -> None:
        """Take what tells the most requests in flight by kind, and what tells all the rest."""
        self._in_flight = in_flight
        self._gauges = gauges
        self._tallies: dict[tuple[Series, int], _Tally] = defaultdict(_Tally)
        self.registry = CollectorRegistry()
        self.registry.register(_Families(self._families))

    def observe(self, series: Series, code: int, seconds: float) -> None:
        """Count one finished request; the number of different series must have a bound."""
        tally = self._tallies[series, code]
        tally.count += 1
        tally.seconds += seconds
        tally.buckets[bisect_left(_BUCKETS, seconds)] += 1

    def exposition(self) -> tuple[str, bytes]:
        """Return content type and body of all metrics."""
        return CONTENT_TYPE_LATEST, generate_latest(self.registry)

    def _families(self) -> Iterator[Metric]:
        yield self._counts()
        yield self._durations()
        running = GaugeMetricFamily(
            "apiserver_current_inflight_requests",
            "Most requests in flight at once since the last scrape, per request kind.",
            labels=["request_kind"],
        )
        for kind, peak in self._in_flight().items():
            running.add_metric([kind], peak)
        yield running
        yield from _other_families(self._gauges())

    def _counts(self) -> Metric:
        counts = CounterMetricFamily(
            "apiserver_request", "Requests answered.", labels=(*_LABELS, "code")
        )
        for (series, code), tally in self._tallies.items():
            counts.add_metric((*_values(series), str(code)), tally.count)
        return counts

    def _durations(self) -> Metric:
        durations = HistogramMetricFamily(
            "apiserver_request_duration_seconds",
            "Time from a request's last header to its answer.",
            labels=_LABELS,
        )
        of_series: dict[Series, list[_Tally]] = defaultdict(list)
        for (series, _), tally in self._tallies.items():
            of_series[series].append(tally)
        for series, tallies in of_series.items():
            each = (sum(found) for found in zip(*(t.buckets for t in tallies), strict=True))
            bounds = (*map(floatToGoString, _BUCKETS), "+Inf")
            buckets = list(zip(bounds, accumulate(each), strict=True))
            durations.add_metric(_values(series), buckets, sum(t.seconds for t in tallies))
        return durations


class _Families(Collector):
    """What the registry asks; it must not ask at registration, before there is a world."""

    def __init__(self, families: Callable[[], Iterable[Metric]]) -> None:
        self._of_the_moment = families

    def describe(self) -> Iterable[Metric]:
        return ()

    def collect(self) -> Iterable[Metric]:
        return self._of_the_moment()


def _values(series: Series) -> tuple[str, ...]:
    """Return the values of _LABELS; nothing is written here, so there is no dry run."""
    return (
        series.verb,
        "",
        series.group,
        series.version,
        series.resource,
        series.subresource,
        series.scope,
        _COMPONENT,
    )


def _other_families(values: Iterable[Gauge | Count]) -> Iterable[Metric]:
    families: dict[str, GaugeMetricFamily | CounterMetricFamily] = {}
    for each in values:
        if each.name not in families:
            family = GaugeMetricFamily if isinstance(each, Gauge) else CounterMetricFamily
            families[each.name] = family(each.name, each.help, labels=list(each.labels))
        families[each.name].add_metric(list(each.labels.values()), each.value)
    return families.values()
