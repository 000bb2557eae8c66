"""The flow of events, step by step."""

from typing import Any

import pytest
from fakes.objects import a_class, a_kubevirt, a_node, a_pod, a_tenant, in_json

from storage.cluster.cache import ClusterCache
from storage.cluster.decode import decode
from storage.cluster.kinds import Kind
from storage.cluster.list_watch import Bookmark, Changed, Feed, Listed
from storage.cluster.tenants import GPUTenantReader
from storage.model.snapshot import Policy
from storage.pool.verdict import CapacityDetail
from storage.views.gpuclassoptions import GPUClassOptions
from storage.views.objects import GPUClassOption
from storage.views.recompute import Recompute
from storage.views.revisions import EPOCH_MS, RevisionLine

GPU = "x.com/gpu"
NOON_MS = 1_793_707_200_000  # 2026-11-03T12:00:00Z
PERMITTED = {"pciHostDevices": [{"pciVendorSelector": "10DE:26B9", "resourceName": GPU}]}
WORLD: dict[Kind, list[dict[str, Any]]] = {
    Kind.GPU_CLASS: [a_class(resourceName=GPU)],
    Kind.GPU_TENANT: [a_tenant("tenant-a", budgets=[{"className": "l40s", "units": 4}])],
    Kind.KUBEVIRT: [a_kubevirt(PERMITTED)],
    Kind.NODE: [a_node()],
    Kind.POD: [],
    Kind.VMI: [],
    Kind.SECRET: [],
}


class Runtime:
    """A cluster that was listed, with clocks that stand until they are moved."""

    def __init__(self, tick_ms: int = 10_000) -> None:
        self.now_ms = NOON_MS
        self.seconds = 0.0
        cache = ClusterCache(tenants=GPUTenantReader(), clock=lambda: self.seconds)
        for kind, objects in WORLD.items():
            decoded = tuple(decode(kind, in_json(each)) for each in objects)
            cache.apply(Listed(Feed(kind), decoded))
        self.recompute = Recompute(
            cache,
            Policy(),
            CapacityDetail.FULL,
            RevisionLine(lambda: self.now_ms, 1),
            clock_ms=lambda: self.now_ms,
            monotonic=lambda: self.seconds,
            tick_ms=tick_ms,
        )

    def pod(self, **changes: Any) -> None:
        """Let a pod come, or be other than before."""
        decoded = decode(Kind.POD, in_json(a_pod(**changes)))
        self.recompute.take([Changed(Feed(Kind.POD), decoded)])

    def option(self) -> GPUClassOption:
        """The option of tenant-a."""
        options = GPUClassOptions(self.recompute.published)
        key = options.find("tenant-a", "l40s")
        assert key is not None
        return options.compose(key)


def test_free_units_wait_for_the_next_multiple_of_the_tick() -> None:
    """The tick is aligned to the epoch: the same moment on every replica (domain 3.6)."""
    runtime = Runtime()
    runtime.now_ms += 3000
    runtime.pod()
    assert (runtime.option().capacity.free, runtime.option().budget.remaining) == (8, 3)
    runtime.now_ms = NOON_MS + 9999
    runtime.recompute.wake()
    assert runtime.option().capacity.free == 8
    runtime.now_ms = NOON_MS + 10_000
    runtime.recompute.wake()
    assert runtime.option().capacity.free == 7


def test_without_a_tick_free_units_show_at_once() -> None:
    """--capacity-tick=0s, for trying things."""
    runtime = Runtime(tick_ms=0)
    runtime.pod()
    assert runtime.option().capacity.free == 7


def test_a_clock_that_jumps_back_over_a_tick_publishes_too() -> None:
    """Figures must not stand still until the clock has caught up."""
    runtime = Runtime()
    runtime.pod()
    runtime.now_ms -= 3_600_000
    runtime.recompute.wake()
    assert runtime.option().capacity.free == 7


@pytest.mark.parametrize(
    ("tick_ms", "past_ms", "sleep_ms"),
    [(10_000, 0, 1000), (10_000, 9_500, 500), (10_000, 9_999, 1), (400, 100, 300), (0, 7, 1000)],
)
def test_it_wakes_for_the_tick_and_at_least_every_second(
    tick_ms: int, past_ms: int, sleep_ms: int
) -> None:
    """No tick is late, and what the clock alone changes shows within a second."""
    runtime = Runtime(tick_ms)
    runtime.now_ms += past_ms
    assert runtime.recompute.sleep_ms() == sleep_ms


def test_e25_a_pod_past_its_grace_is_charged_no_longer_by_the_clock_alone() -> None:
    """E25: charged until the grace has passed; it holds its device until it is gone."""
    runtime = Runtime(tick_ms=0)
    deletion = {"deletionTimestamp": "2026-11-03T12:00:05Z", "deletionGracePeriodSeconds": 30}
    runtime.pod(metadata=deletion)
    assert runtime.option().budget.remaining == 3
    runtime.now_ms = NOON_MS + 34_900
    assert runtime.recompute.sleep_ms() == 101
    runtime.now_ms = NOON_MS + 35_000
    runtime.recompute.wake()
    assert runtime.option().budget.remaining == 3
    runtime.now_ms = NOON_MS + 35_001
    runtime.recompute.wake()
    assert (runtime.option().budget.remaining, runtime.option().capacity.free) == (4, 7)


def test_what_was_not_heard_of_for_three_minutes_is_unknown_until_it_is() -> None:
    """Zero and unknown are different, and all recovers by itself (design 9)."""
    runtime = Runtime(tick_ms=0)
    runtime.seconds = 180.0
    runtime.recompute.wake()
    assert runtime.option().budget.state == "Bounded"
    runtime.seconds = 180.1
    runtime.recompute.wake()
    option = runtime.option()
    assert (option.budget.state, option.capacity.state) == ("Unknown", "Unknown")
    assert (option.requestable_count, option.startable_count) == (None, None)
    runtime.recompute.take([Bookmark(Feed(kind)) for kind in WORLD])
    assert (runtime.option().budget.remaining, runtime.option().capacity.free) == (4, 8)


def test_the_clock_of_the_tests_is_after_the_epoch_of_revisions() -> None:
    """Guards the tests above: a revision before 2020 would be negative."""
    assert NOON_MS > EPOCH_MS
