"""Metrics under upstream's names."""

from prometheus_client.parser import text_string_to_metric_families

from apiserver.http.series import Series
from apiserver.ops.metrics import Count, Gauge, Metrics

LIST = Series("LIST", "options.gpu.cozystack.io", "v1alpha1", "gpuclassoptions", "", "namespace")
LABELS = {
    "verb": "LIST",
    "dry_run": "",
    "group": "options.gpu.cozystack.io",
    "version": "v1alpha1",
    "resource": "gpuclassoptions",
    "subresource": "",
    "scope": "namespace",
    "component": "apiserver",
}

Samples = dict[tuple[str, frozenset[tuple[str, str]]], float]


def samples(metrics: Metrics) -> Samples:
    """Return every sample of an exposition, as Prometheus reads it."""
    content_type, body = metrics.exposition()
    assert content_type.startswith("text/plain")
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(body.decode())
        for sample in family.samples
    }


def value(found: Samples, name: str, **labels: str) -> float | None:
    """Return one sample's value, None where there is none."""
    return found.get((name, frozenset(labels.items())))


def test_requests_are_counted_by_series_and_code() -> None:
    """Contract 9.10: apiserver_request_total with upstream's labels."""
    metrics = Metrics(in_flight=dict)
    for code in (200, 200, 403):
        metrics.observe(LIST, code, 0.01)
    found = samples(metrics)
    assert value(found, "apiserver_request_total", **LABELS, code="200") == 2
    assert value(found, "apiserver_request_total", **LABELS, code="403") == 1


def test_durations_are_a_histogram_over_all_codes() -> None:
    """Contract 9.10: upstream's bounds, each bucket with those below it."""
    metrics = Metrics(in_flight=dict)
    for code, seconds in ((200, 0.004), (200, 0.005), (404, 0.03), (200, 61.0)):
        metrics.observe(LIST, code, seconds)
    found = samples(metrics)
    name = "apiserver_request_duration_seconds"
    buckets = {
        bound: value(found, f"{name}_bucket", **LABELS, le=bound)
        for bound in ("0.005", "0.025", "0.05", "60.0", "+Inf")
    }
    assert buckets == {"0.005": 2, "0.025": 2, "0.05": 3, "60.0": 3, "+Inf": 4}
    assert value(found, f"{name}_count", **LABELS) == 4
    total = value(found, f"{name}_sum", **LABELS)
    assert total is not None
    assert abs(total - 61.039) < 1e-9


def test_gauges_are_asked_when_they_are_read() -> None:
    """A gauge cannot be out of date; nothing is asked before somebody reads."""
    asked: list[int] = []
    world = {"classes": 4.0}

    def gauges() -> list[Gauge]:
        asked.append(1)
        return [
            Gauge("gpuclass_world_objects", "Objects by source.", count, {"source": source})
            for source, count in world.items()
        ] + [Gauge("gpuclass_ready", "Whether classes were read.", 1, {})]

    metrics = Metrics(in_flight=lambda: {"readOnly": 3, "mutating": 0}, gauges=gauges)
    assert not asked
    found = samples(metrics)
    assert value(found, "gpuclass_world_objects", source="classes") == 4
    assert value(found, "gpuclass_ready") == 1
    name = "apiserver_current_inflight_requests"
    assert value(found, name, request_kind="readOnly") == 3
    world["nodes"] = 2.0
    assert value(samples(metrics), "gpuclass_world_objects", source="nodes") == 2


def test_what_only_grows_is_a_counter() -> None:
    """So that Prometheus takes a fall for a restart; its name ends as counters' names do."""
    faults = [
        Count("gpuclass_source_faults", "Faults.", 2, {"kind": "Pod", "reason": "status"}),
        Count("gpuclass_source_faults", "Faults.", 1, {"kind": "Node", "reason": "status"}),
    ]
    metrics = Metrics(in_flight=dict, gauges=lambda: faults)
    found = samples(metrics)
    assert value(found, "gpuclass_source_faults_total", kind="Pod", reason="status") == 2
    assert value(found, "gpuclass_source_faults_total", kind="Node", reason="status") == 1
    assert b"# TYPE gpuclass_source_faults_total counter" in metrics.exposition()[1]


def test_two_servers_in_a_process_do_not_share_anything() -> None:
    """Each has a registry of its own."""
    one, other = Metrics(in_flight=dict), Metrics(in_flight=dict)
    one.observe(LIST, 200, 0.01)
    assert value(samples(other), "apiserver_request_total", **LABELS, code="200") is None
