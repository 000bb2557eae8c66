"""`serve` in a process of its own before a stub of kube-apiserver: start, events, memory, reviews.

Objects are read as from a real one, over TLS, at the sizes of performance section 1.
"""

import asyncio
import os
import re
import ssl
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from statistics import quantiles
from time import perf_counter
from typing import Any, Final, NamedTuple

import aiohttp
from bench.figures import Figure
from bench.serve_process import Served, answer_seconds, ask, figures, serving_before
from bench.world import CLASSES, Size, a_world, class_name, resource
from cluster.control_plane.processes import Program
from fakes.http_client import GV
from fakes.stub_process import StubProcess, stub_process

from storage.model.objects import Pod
from storage.model.snapshot import ClusterSnapshot

READS: Final = 200
EQUALS: Final = 50
EVENTS: Final = 20
_NAMESPACE: Final = "tenant-root"
_LAG: Final = "gpuclass_event_loop_lag_seconds"
_ALL_SENT: Final = b"k8s.io/initial-events-end"
_ENOUGH_SECONDS: Final = 60.0
_BUSY: Final = "while True: pass"
_NO_LOG: Final = Path(os.devnull)


def measure() -> list[Figure]:
    """Return the figures of `serve`, each with its bar."""
    return asyncio.run(_measure())


async def _measure() -> list[Figure]:
    async with _served(Size.L) as (stub, served):
        large = [
            *await _start(stub, served),
            *await _reads(stub, served),
            _memory("1,000 nodes, 1,000 tenants, 10,000 VMs", served, 200),
        ]
    async with _served(Size.XL) as (stub, served):
        pods = _pods_that_count(a_world(Size.XL.value))
        return [
            *large,
            await _events(stub, served, pods),
            *await _relists(stub, served, pods),
            _memory("5,000 nodes, 5,000 tenants, 100,000 VMs", served, 600),
        ]


@asynccontextmanager
async def _served(size: Size) -> AsyncIterator[tuple[StubProcess, Served]]:
    with tempfile.TemporaryDirectory() as name, stub_process(size, Path(name)) as stub:
        async with serving_before(stub, Path(name)) as served:
            yield stub, served


async def _start(stub: StubProcess, served: Served) -> list[Figure]:
    lag = await _metric(served, _LAG)
    return [
        Figure(
            name="exec to ready at 10,000 VMs, without what the stub takes to send",
            value=served.ready_seconds - await _send_seconds(stub),
            unit="s",
            bar=2,
        ),
        Figure(name="longest stall of the loop meanwhile", value=lag * 1e3, unit="ms", bar=50),
    ]


async def _reads(stub: StubProcess, served: Served) -> list[Figure]:
    path = f"{GV}/namespaces/{_NAMESPACE}/gpuclassoptions"
    before = stub.order("status")
    for _ in range(READS):
        await ask(served.client, path)
        await ask(served.client, f"{path}/{class_name(0)}")
        await ask(served.client, f"{GV}/gpuclassoffers")
    after = stub.order("status")
    async with asyncio.TaskGroup() as tasks:
        for _ in range(EQUALS):
            tasks.create_task(ask(served.client, path, token="new"))
    equals = stub.order("status")
    return [
        Figure(
            name=f"objects read upstream for {3 * READS} reads",
            value=_grown("reads", before, after),
            unit="requests",
            bar=0.5,
        ),
        Figure(
            name="SubjectAccessReviews for them, by user, namespace and verb",
            value=_grown("accesses", before, after) / 3,
            unit="reviews",
            bar=1,
        ),
        *(
            Figure(
                name=f"{kind} for {EQUALS} equal requests at once",
                value=_grown(counter, after, equals),
                unit="reviews",
                bar=1,
            )
            for kind, counter in (("SubjectAccessReviews", "accesses"), ("TokenReviews", "tokens"))
        ),
    ]


async def _events(stub: StubProcess, served: Served, pods: Mapping[int, Pod]) -> Figure:
    """Measure from a pod's end, or its new beginning, to the first answer that shows it."""
    slowest = 0.0
    for number in list(pods)[:EVENTS]:
        path = _path(pods[number])
        old = await figures(served.client, path)
        stub.order(f"pod {number}")
        slowest = max(slowest, await _seconds_until_other(served, path, old))
    name = f"pod event at 100,000 VMs to the answer, slowest of {EVENTS}"
    return Figure(name=name, value=slowest * 1e3, unit="ms", bar=250)


async def _relists(stub: StubProcess, served: Served, pods: Mapping[int, Pod]) -> list[Figure]:
    """Ask for discovery while everything is listed anew; beside others on all cores too (HS-05)."""
    alone = await _relist(stub, served, pods, EVENTS)
    with _hogs(2):
        beside = await _relist(stub, served, pods, EVENTS + 1)
    name = "discovery and livez while 200,000 objects are listed anew"
    return [
        Figure(name=f"{name}, p99", value=_p99(alone) * 1e3, unit="ms", bar=100),
        Figure(name=f"{name} beside two CPU hogs, p99", value=_p99(beside), unit="s", bar=1),
        Figure(name=f"{name} beside two CPU hogs, slowest", value=max(beside), unit="s", bar=5),
    ]


async def _relist(
    stub: StubProcess, served: Served, pods: Mapping[int, Pod], which: int
) -> list[float]:
    """Let everything be listed anew; return how long discovery and livez take meanwhile.

    A change that comes after the stub began to send is behind the list in the same stream: with it
    the relist is over.
    """
    number = list(pods)[which]
    path = _path(pods[number])
    old = await figures(served.client, path)
    before = stub.order("status")
    stub.order("expire")
    seconds: list[float] = []
    async with asyncio.timeout(_ENOUGH_SECONDS):
        while True:
            seconds += await answer_seconds(served.client)
            now = await asyncio.to_thread(stub.order, "status")
            if now["reads"] >= before["reads"] + 2 and now["watches"] >= before["watches"]:
                break
        await asyncio.to_thread(stub.order, f"pod {number}")
        while await figures(served.client, path) == old:
            seconds += await answer_seconds(served.client)
    return seconds


@contextmanager
def _hogs(count: int) -> Iterator[None]:
    """Keep so many cores busy while the block runs."""
    hogs = [Program(f"hog {n}", [sys.executable, "-c", _BUSY], _NO_LOG) for n in range(count)]
    for hog in hogs:
        hog.start()
    try:
        yield
    finally:
        for hog in hogs:
            hog.stop()


def _p99(seconds: list[float]) -> float:
    return quantiles(seconds, n=100)[-1]


def _memory(size: str, served: Served, bar_mb: float) -> Figure:
    return Figure(name=f"most memory at {size}", value=served.memory_mb(), unit="MB", bar=bar_mb)


def _pods_that_count(world: ClusterSnapshot) -> Mapping[int, Pod]:
    """Return pods by their numbers that hold free units of a passthrough class on a whole node."""
    whole = {node.name for node in world.nodes if node.ready and not node.unschedulable}
    offered = {node.name: dict(node.allocatable) for node in world.nodes}
    even = {resource(number) for number in range(0, CLASSES, 2)}
    return {
        number: pod
        for number, pod in enumerate(world.pods)
        for wanted, _ in pod.requests
        if pod.node in whole and wanted in even and wanted in offered[pod.node]
    }


def _path(pod: Pod) -> str:
    ((wanted, _),) = pod.requests
    number = next(each for each in range(CLASSES) if resource(each) == wanted)
    return f"{GV}/namespaces/{_NAMESPACE}/gpuclassoptions/{class_name(number)}"


async def _seconds_until_other(served: Served, path: str, old: Mapping[str, Any]) -> float:
    began = perf_counter()
    async with asyncio.timeout(_ENOUGH_SECONDS):
        while await figures(served.client, path) == old:
            pass
    return perf_counter() - began


async def _metric(served: Served, name: str) -> float:
    text = (await ask(served.client, "/metrics")).body.decode()
    found = re.search(rf"^{name} (\S+)$", text, re.MULTILINE)
    if found is None:
        raise RuntimeError(f"there is no metric {name}")
    return float(found[1])


class _List(NamedTuple):
    path: str
    query: dict[str, str]
    accept: str


async def _send_seconds(stub: StubProcess) -> float:
    """Return how long the stub needs to send what `serve` has read to whom keeps nothing."""
    server = re.search(r'"server":"([^"]+)"', stub.kubeconfig.read_text())
    if server is None:
        raise RuntimeError("the kubeconfig names no server")
    lists = [
        _List(each["path"], each["query"], each["accept"])
        for each in stub.order("requests")["requests"]
        if "sendInitialEvents" in each["query"]
    ]
    connector = aiohttp.TCPConnector(ssl=ssl.create_default_context(cafile=stub.ca_file), limit=0)
    headers = {"Authorization": "Bearer good"}
    async with aiohttp.ClientSession(server[1], connector=connector, headers=headers) as session:
        began = perf_counter()
        async with asyncio.TaskGroup() as tasks:
            for each in lists:
                tasks.create_task(_received(session, each))
        return perf_counter() - began


async def _received(session: aiohttp.ClientSession, each: _List) -> None:
    """Read a streaming list to its end."""
    headers, tail = {"Accept": each.accept}, b""
    async with session.get(each.path, params=each.query, headers=headers) as response:
        async for data in response.content.iter_any():
            tail = tail[-len(_ALL_SENT) :] + data
            if _ALL_SENT in tail:
                return


def _grown(counter: str, before: Mapping[str, int], after: Mapping[str, int]) -> int:
    return after[counter] - before[counter]
