"""What else an upstream does: garbage, refusals, absence, and what is never asked of it."""

import asyncio
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from fakes.kube_cluster import (
    GPU,
    QUICK,
    Followed,
    Setting,
    VirtualTime,
    followed,
    following,
    small_world,
)
from fakes.objects import a_class, a_pod, in_json
from fakes.stub_api import Authority, StubAPI, kubeconfig, line, running
from fakes.stub_store import CLASSES, NODES, PODS, SECRETS

from apiserver.kube.client import load_client
from storage.cluster.kinds import Kind
from storage.cluster.list_watch import ListBegan
from storage.cluster.reflector import Waits
from storage.cluster.watch_state import Reason
from storage.model.snapshot import Source

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


async def test_a_token_that_expired_lets_the_list_begin_again(
    stub: StubAPI, tmp_path: Path
) -> None:
    """Pages of two lists never make one: what was told of the first is void (design 9)."""
    stub.streaming_lists = False
    stub.load(PODS, (pod(f"p{number}", 0) for number in range(1200)))
    stub.continue_expires = 1
    async with followed(stub, tmp_path) as cluster:
        await cluster.settled()
        began = [event for event in cluster.events if isinstance(event, ListBegan)]
        assert sum(event.feed.kind is Kind.POD for event in began) == 2
        limits = {call.query["limit"] for call in stub.requests(PODS_PATH, watches=False)}
        assert limits == {"500"}
        assert all(
            "resourceVersion" not in call.query for call in stub.requests(PODS_PATH, watches=False)
        )


@pytest.mark.parametrize(
    "raw",
    [
        b"{not json}\n",
        b'{"type":"ADDED"}\n',
        b'{"type":"PURGED","object":{}}\n',
        b'{"type":"ADDED","object":{"metadata":{"name":"zq"}}}\n',
        b"\xff\xfe\n",
        b"[]\n",
    ],
    ids=["no json", "no object", "no such type", "no version", "no text", "a list"],
)
async def test_garbage_on_a_watch_is_a_reason_to_list_anew(
    stub: StubAPI, tmp_path: Path, raw: bytes
) -> None:
    """Nothing is lost and nothing ends, whatever comes over the line (issue: bad input)."""
    async with followed(stub, tmp_path) as cluster:
        await cluster.settled()
        await cluster.until(lambda: stub.open_watches(PODS_PATH))
        before = len(stub.requests(PODS_PATH))
        stub.send_raw(PODS_PATH, raw)
        stub.store.put(PODS, pod("unheard"))
        await cluster.until(lambda: cluster.free() == 6)
        assert len(stub.requests(PODS_PATH)) == before + 1
        assert cluster.faults.counts() == {(Kind.POD, Reason.GARBAGE): 1}
        assert cluster.cache.undecodable()[Kind.POD] == 0


@pytest.mark.parametrize("body", [b"", b"zq", b"{}", b'{"kind":"Status"}'])
async def test_a_page_that_is_none_is_asked_for_again(
    stub: StubAPI, tmp_path: Path, body: bytes
) -> None:
    """Whatever came is no list, and takes nothing away that was known (issue: bad input)."""
    stub.streaming_lists = False
    stub.put(PODS, pod("a"))
    bodies = [body]

    async def answer(request: web.BaseRequest) -> web.StreamResponse:
        del stub.routes["GET", PODS_PATH]
        return web.Response(body=bodies.pop(), content_type="application/json")

    async with followed(stub, tmp_path) as cluster:
        await cluster.settled()
        await cluster.until(lambda: stub.open_watches(PODS_PATH))
        stub.expire_watches(PODS)
        stub.routes["GET", PODS_PATH] = answer
        await cluster.until(lambda: cluster.lists(Kind.POD) == 2)
        assert cluster.faults.counts()[Kind.POD, Reason.GARBAGE] == 1
        assert cluster.free() == 6


async def test_a_stream_that_does_not_begin_with_all_objects_is_no_list(
    stub: StubAPI, tmp_path: Path
) -> None:
    """A server that passes over what was asked for is read in pages (issue: streaming lists)."""
    stub.put(PODS, pod("a"))

    async def answer(request: web.BaseRequest) -> web.StreamResponse:
        del stub.routes["GET", PODS_PATH]
        mark = line("BOOKMARK", in_json({"metadata": {"resourceVersion": "9"}}))
        empty = line("BOOKMARK", in_json({"kind": "Pod"}))
        return web.Response(body=empty + mark, content_type="application/json")

    stub.routes["GET", PODS_PATH] = answer
    async with followed(stub, tmp_path) as cluster:
        await cluster.settled()
        assert cluster.free() == 6
        assert len(stub.requests(PODS_PATH, watches=False)) == 1
        assert cluster.faults.counts() == {}


async def test_a_server_that_is_not_there_yet_is_waited_for(tmp_path: Path) -> None:
    """Failures are told, nothing ends, and all is read once it is there (design 9)."""
    stub = StubAPI()
    small_world(stub)
    authority = Authority.new(tmp_path)
    async with running(stub, authority) as url:
        port = int(url.rpartition(":")[2])
    config = tmp_path / "kubeconfig"
    config.write_text(kubeconfig(url, authority.ca_file))
    async with AsyncExitStack() as stack:
        client = await asyncio.to_thread(load_client, config)
        stack.push_async_callback(client.close)
        cluster = await stack.enter_async_context(following(Followed(stub, client, Setting())))
        lasting = cluster.cache.needed - {Kind.SECRET}
        await cluster.until(lambda: {kind for kind, _ in cluster.faults.counts()} >= lasting)
        assert not cluster.feeds.settled.is_set()
        assert not cluster.cache.snapshot().known
        assert {reason for _, reason in cluster.faults.counts()} == {Reason.UNREACHABLE}
        await stack.enter_async_context(running(stub, authority, port))
        await cluster.until(lambda: cluster.cache.snapshot().known == frozenset(Source))
        await cluster.settled()
        assert cluster.free() == 8


async def test_a_server_without_streaming_lists_is_asked_for_one_once(
    stub: StubAPI, tmp_path: Path
) -> None:
    """A refusal is remembered: later lists come in pages at once (issue: streaming lists)."""
    stub.streaming_lists = False
    async with followed(stub, tmp_path) as cluster:
        await cluster.settled()
        await cluster.until(lambda: stub.open_watches(NODES.path))
        stub.expire_watches(NODES)
        await cluster.until(lambda: len(stub.requests(NODES.path, watches=False)) == 2)
        initial = [c for c in stub.requests(NODES.path) if "sendInitialEvents" in c.query]
        assert len(initial) == 1


async def test_a_list_is_due_from_time_to_time_although_nothing_is_wrong(
    stub: StubAPI, tmp_path: Path
) -> None:
    """What a server failed to tell does not stay for ever (cases: forced relist)."""
    async with followed(stub, tmp_path, Setting(waits=replace(QUICK, relist=0.0))) as cluster:
        await cluster.settled()
        await cluster.until(lambda: stub.open_watches(PODS_PATH))
        stub.store.put(PODS, pod("untold"))
        stub.end_watches(PODS_PATH)
        await cluster.until(lambda: cluster.free() == 6)
        assert cluster.faults.counts() == {}


async def test_ten_minutes_without_a_server_make_figures_unknown_until_it_is_back(
    stub: StubAPI, tmp_path: Path
) -> None:
    """What was told stays, then is Unknown, then is known again without a restart (design 9)."""
    time = VirtualTime()
    paths = [each.path for each in stub.store.shelves]
    stub.put(PODS, pod("a"))
    async with followed(stub, tmp_path, Setting(waits=Waits(), time=time)) as cluster:
        await cluster.settled()
        await cluster.until(lambda: len(stub.watches) == len(cluster.feeds.running))
        assert cluster.free() == 6
        for path in paths:
            stub.fail(path, 503)
            stub.cut_watches(path)
        began = time.now
        await cluster.until(lambda: len(stub.requests(PODS_PATH)) > 3)
        if time.now - began < 180:
            assert cluster.free() == 6
        await cluster.until(lambda: time.now - began > 600)
        cluster.recompute.wake()
        assert cluster.free() is None
        stub.store.put(PODS, pod("b"))
        for path in paths:
            stub.heal(path)
        await cluster.until(lambda: len(stub.watches) == len(cluster.feeds.running))
        for path in paths:
            stub.bookmark(path)
        await cluster.until(lambda: cluster.free() == 4)


async def test_a_secret_is_known_by_its_metadata_alone(stub: StubAPI, tmp_path: Path) -> None:
    """Asked for by name and as metadata; a whole one is thrown away unread (design 2)."""
    value = {"metadata": {"name": "license", "namespace": "tenant-a"}, "data": {"zq-secret": "x"}}
    stub.put(SECRETS, value)
    stub.put(SECRETS, {"metadata": {"name": "other", "namespace": "tenant-a"}})
    stub.put(CLASSES, a_class(resourceName=GPU, license={"secretName": "license"}))
    async with followed(stub, tmp_path) as cluster:
        await cluster.settled()
        known = {"license": frozenset({"tenant-a"})}
        assert cluster.cache.snapshot().licenses == known
        for call in stub.requests(SECRETS.path):
            assert call.query["fieldSelector"] == "metadata.name=license"
            assert "as=PartialObjectMetadata" in call.accept
            assert "," not in call.accept
        await cluster.until(lambda: stub.open_watches(SECRETS.path))
        whole = in_json(value | {"kind": "Secret"})
        stub.send_raw(SECRETS.path, line("ADDED", whole))
        await cluster.until(cluster.faults.counts)
        assert cluster.faults.counts() == {(Kind.SECRET, Reason.GARBAGE): 1}
        assert cluster.cache.snapshot().licenses == known
        stub.put(CLASSES, a_class(resourceName=GPU))
        await cluster.until(lambda: cluster.cache.ages(0.0)[Kind.SECRET] is None)
        assert {feed.kind for feed in cluster.feeds.running}.isdisjoint({Kind.SECRET})
