"""Lists and watches that go wrong, over real sockets: cases PC-01 to PC-05."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fakes.kube_cluster import (
    GPU,
    QUICK,
    Setting,
    VirtualTime,
    followed,
    small_world,
)
from fakes.objects import a_pod, in_json
from fakes.stub_api import StubAPI, line
from fakes.stub_store import CLASSES, PODS

from storage.cluster.kinds import Kind
from storage.cluster.list_watch import Changed, Gone
from storage.cluster.reflector import Waits
from storage.cluster.watch_state import Reason

PODS_PATH = PODS.path


def pod(name: str, units: int = 2, uid: str = "") -> dict[str, Any]:
    """Return a running pod that holds units of the class."""
    containers = [{"name": "main", "resources": {"requests": {GPU: str(units)}}}]
    return a_pod(
        metadata={"name": name, "uid": uid or f"uid-{name}"}, spec={"containers": containers}
    )


@pytest.fixture
def stub() -> StubAPI:
    """A stub that holds a small world."""
    stub = StubAPI()
    small_world(stub)
    return stub


async def test_pc_01_a_watch_that_went_deaf_is_opened_anew(stub: StubAPI, tmp_path: Path) -> None:
    """No error and no events: what happened meanwhile shows after the bound, and once (PC-01)."""
    setting = Setting(waits=replace(QUICK, silence=0.5))
    stub.bookmark_seconds = 0.1
    async with followed(stub, tmp_path, setting) as cluster:
        await cluster.settled()
        await cluster.until(lambda: stub.open_watches(PODS_PATH))
        stub.silence(PODS_PATH)
        heard = cluster.cache.ages(0.0)[Kind.POD]
        stub.put(PODS, pod("a"))
        assert cluster.free() == 8
        await cluster.until(lambda: cluster.free() == 6)
        now = cluster.cache.ages(0.0)[Kind.POD]
        assert now is not None
        assert heard is not None
        assert now < heard  # heard of since
        told = [e for e in cluster.events if isinstance(e, Changed) and e.feed.kind is Kind.POD]
        assert len(told) == 1
        # The deaf stream was closed on our side: as many connections as there are feeds.
        await cluster.until(lambda: not any(watch.deaf for watch in stub.watches))
        await cluster.until(lambda: stub.connections() <= len(cluster.feeds.running))


async def test_pc_02_a_watch_resumes_from_versions_of_lists_events_and_bookmarks(
    stub: StubAPI, tmp_path: Path
) -> None:
    """Items of a list come in no order of versions, and none is ever resumed from (PC-02)."""
    stub.streaming_lists = False
    for name in ("z", "m", "a"):
        stub.put(PODS, pod(name))
    elsewhere = {"metadata": {"name": "other"}, "spec": {}}
    stub.put(CLASSES, elsewhere)
    listed_at = stub.store.version
    async with followed(stub, tmp_path) as cluster:
        await cluster.settled()
        await cluster.until(lambda: stub.open_watches(PODS_PATH))
        stub.end_watches(PODS_PATH)
        await cluster.until(lambda: len(resumed(stub)) == 2)
        stub.put(PODS, pod("m", 1))
        await cluster.until(lambda: cluster.free() == 3)
        moved_at = stub.store.version
        stub.end_watches(PODS_PATH)
        await cluster.until(lambda: len(resumed(stub)) == 3)
        stub.put(CLASSES, elsewhere)
        stub.bookmark(PODS_PATH)
        marked_at = stub.store.version
        stub.end_watches(PODS_PATH)
        await cluster.until(lambda: len(resumed(stub)) == 4)
        assert resumed(stub) == [listed_at, listed_at, moved_at, marked_at]
        assert cluster.free() == 3


def resumed(stub: StubAPI) -> list[int]:
    """Return the versions that watches of pods were resumed from."""
    calls = stub.requests(PODS_PATH, watches=True)
    return [int(call.query["resourceVersion"]) for call in calls if "resourceVersion" in call.query]


async def test_pc_03_each_expired_version_costs_one_list_and_short_watches_no_storm(
    stub: StubAPI, tmp_path: Path
) -> None:
    """410 as event and as status, then fifty watches that end at once (PC-03)."""
    stub.streaming_lists = False
    time = VirtualTime()
    stub.clock = time
    stub.put(PODS, pod("goes"), pod("stays"))
    setting = Setting(waits=Waits(relist=1e9), time=time, stale_after=1e9)
    async with followed(stub, tmp_path, setting) as cluster:
        await cluster.settled()
        await cluster.until(lambda: stub.open_watches(PODS_PATH))
        for watch in stub.open_watches(PODS_PATH):
            watch.deaf = True  # the deletion is not told
        stub.delete(PODS, "goes", "tenant-a")
        for watch in stub.watches:
            watch.deaf = False
        stub.expire_watches(PODS)  # 410 as event
        stub.fail(PODS_PATH, 410, 1, watch=True)  # and, of the watch after the list, as status
        lists_before = len(stub.requests(PODS_PATH, watches=False))
        stub.short_watches[PODS_PATH] = 50
        await cluster.until(lambda: cluster.free() == 6)
        await cluster.until(lambda: not stub.short_watches[PODS_PATH])
        await cluster.until(lambda: stub.open_watches(PODS_PATH))
        assert len(stub.requests(PODS_PATH, watches=False)) - lists_before == 2
        assert cluster.faults.counts()[Kind.POD, Reason.EXPIRED] == 2
        watches = len(stub.requests(PODS_PATH, watches=True))
        assert watches >= 50
        # In the time that passed by pausing, which grows to half a minute.
        assert time.now - 1000 > 45 * 30
        assert busiest_second([call.at for call in stub.requests(PODS_PATH)][2:]) <= 4
        stub.put(PODS, pod("late", 3))
        await cluster.until(lambda: cluster.free() == 3)


def busiest_second(moments: list[float]) -> int:
    """Return the most requests that came within one second."""
    return max(sum(0 <= other - at < 1 for other in moments) for at in moments)


async def test_pc_03_pauses_grow_on_every_path(stub: StubAPI, tmp_path: Path) -> None:
    """Refusals, broken connections and garbage alike wait longer each time (PC-03)."""
    time = VirtualTime()
    stub.fail(PODS_PATH, 500, 3)
    stub.fail(PODS_PATH, 403, 3)
    async with followed(stub, tmp_path, Setting(waits=Waits(), time=time)) as cluster:
        await cluster.until(lambda: stub.open_watches(PODS_PATH))
        assert cluster.faults.counts()[Kind.POD, Reason.STATUS] == 3
        assert cluster.faults.counts()[Kind.POD, Reason.FORBIDDEN] == 3
        # 0.8, 1.6, 3.2, 6.4, 12.8 and 25.6 seconds, each by half longer
        assert time.now - 1000 == pytest.approx(1.5 * 0.8 * 63)


@pytest.mark.parametrize(
    "object_",
    [
        {"kind": "Pod", "metadata": {"resourceVersion": "4000"}},
        {"metadata": {"resourceVersion": "4000"}, "spec": {"containers": None}},
        {"kind": "Pod", "metadata": {"resourceVersion": "4000", "name": ""}, "status": None},
    ],
    ids=["version only", "null containers", "no name"],
)
async def test_pc_04_a_bookmark_is_no_object(
    stub: StubAPI, tmp_path: Path, object_: dict[str, Any]
) -> None:
    """It moves the version on and is nothing else, whatever is in it (PC-04)."""
    async with followed(stub, tmp_path) as cluster:
        await cluster.settled()
        await cluster.until(lambda: stub.open_watches(PODS_PATH))
        stub.store.version = 4000
        stub.send_raw(PODS_PATH, line("BOOKMARK", in_json(object_)))
        stub.end_watches(PODS_PATH)
        await cluster.until(lambda: resumed(stub) == [4000])
        assert cluster.cache.objects()[Kind.POD] == 0
        assert cluster.cache.undecodable()[Kind.POD] == 0
        assert cluster.faults.counts() == {}


@pytest.mark.parametrize("streaming", [True, False], ids=["streaming list", "pages"])
async def test_pc_05_what_went_during_a_gap_is_gone_after_the_relist(
    stub: StubAPI, tmp_path: Path, streaming: bool
) -> None:
    """Deleted while the watch was down, or between list and watch, or made anew (PC-05)."""
    stub.streaming_lists = streaming
    stub.put(PODS, pod("down", 1), pod("anew", 2), pod("stays", 1))
    async with followed(stub, tmp_path) as cluster:
        await cluster.settled()
        assert cluster.free() == 4
        await cluster.until(lambda: stub.open_watches(PODS_PATH))
        stub.hold(PODS_PATH)
        stub.cut_watches(PODS_PATH)
        await cluster.until(lambda: not stub.open_watches(PODS_PATH))
        stub.delete(PODS, "down", "tenant-a")
        stub.delete(PODS, "anew", "tenant-a")
        stub.put(PODS, pod("anew", 3, uid="another"))
        stub.store.forget_history(PODS)
        stub.heal(PODS_PATH)
        await cluster.until(lambda: cluster.lists(Kind.POD) == 2)
        assert cluster.free() == 4
        pods = cluster.cache.snapshot().pods
        assert sorted((each.name, each.uid) for each in pods) == [
            ("anew", "another"),
            ("stays", "uid-stays"),
        ]


async def test_pc_05_what_goes_between_list_and_watch_is_told_by_the_watch(
    stub: StubAPI, tmp_path: Path
) -> None:
    """A watch begins where the list ended, not at the present (PC-05 b)."""
    stub.streaming_lists = False
    stub.put(PODS, pod("goes", 4))

    async with followed(stub, tmp_path) as cluster:
        await cluster.until(lambda: _delete_after_list(stub))
        await cluster.settled()
        await cluster.until(lambda: cluster.free() == 8)
        gone = [event for event in cluster.events if isinstance(event, Gone)]
        assert [event.ref.name for event in gone] == ["goes"]


def _delete_after_list(stub: StubAPI) -> bool:
    if ("tenant-a", "goes") in stub.store.shelves[PODS].objects:
        if not stub.requests(PODS_PATH, watches=False):
            return False
        stub.delete(PODS, "goes", "tenant-a")
    return True
