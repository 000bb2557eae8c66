"""Start-up, and what a tenant's LIST costs as everything around that tenant grows."""

import gc
import statistics
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import Final

from bench.figures import Figure
from bench.world import Shape, a_world, resource
from fakes.demo import running_demo

from apiserver.cli.api import resources
from apiserver.http.bodies import Bodies
from apiserver.http.forms import Form
from storage.model.objects import TenantRecord
from storage.model.snapshot import ClusterSnapshot, Policy
from storage.pool.verdict import CapacityDetail
from storage.pool.view import PoolView
from storage.views.published import Published
from storage.views.revisions import EPOCH_MS, RevisionLine

STARTS: Final = 7
LISTS: Final = 200

#: The tenant that asks: the same records, VMs and budget in every world.
ASKING: Final = TenantRecord(
    key="tenant-asking", namespace="tenant-asking", parent="tenant-root", budgets=(("class0", 5),)
)


def measure() -> list[Figure]:
    """Return the figures of the server, each with its bar."""
    few_nodes, many_nodes = _costs(Shape(10, 100, 0)), _costs(Shape(5_000, 100, 0))
    few_tenants, many_tenants = _costs(Shape(100, 10, 0)), _costs(Shape(100, 1_000, 0))
    return [
        Figure(
            name="exec to the first answered discovery request, median",
            value=statistics.median(_start() for _ in range(STARTS)) * 1e3,
            unit="ms",
            bar=800,
        ),
        *_flat("LIST at 5,000 nodes, as a multiple of 10", few_nodes, many_nodes),
        *_flat("LIST beside 1,000 tenants, as a multiple of 10", few_tenants, many_tenants),
    ]


def _flat(name: str, small: tuple[float, int], large: tuple[float, int]) -> list[Figure]:
    return [
        Figure(name=f"{name}, time", value=large[0] / small[0], unit="x", bar=1.5),
        Figure(name=f"{name}, bytes", value=large[1] / small[1], unit="x", bar=1.01),
    ]


def _costs(shape: Shape) -> tuple[float, int]:
    """Return seconds and bytes of a LIST that finds nothing kept: composed and encoded anew."""
    published = Published(
        PoolView.of(_world(shape), Policy()),
        RevisionLine(lambda: EPOCH_MS + 200_000_000_000, 1),
        CapacityDetail.FULL,
    )
    options = resources(published)["gpuclassoptions"]

    def listed() -> bytes:
        whole = Bodies().whole(options, ASKING.namespace, published, Form.OBJECT, "v1")
        return b"".join(whole)

    return _median(listed, LISTS), len(listed())


def _world(shape: Shape) -> ClusterSnapshot:
    """Return a world in which every class has the same free units, however many nodes there are."""
    world = a_world(shape)
    per_node = 5_000 // shape.nodes
    return replace(
        world,
        tenants=(*world.tenants, ASKING),
        nodes=tuple(
            replace(
                node,
                unschedulable=False,
                ready=True,
                allocatable=tuple((resource(number), per_node) for number in range(20)),
            )
            for node in world.nodes
        ),
    )


def _median(work: Callable[[], object], rounds: int) -> float:
    gc.collect()
    gc.freeze()
    seconds = []
    for _ in range(rounds):
        begin = perf_counter()
        work()
        seconds.append(perf_counter() - begin)
    gc.unfreeze()
    return statistics.median(seconds)


def _start() -> float:
    """Return the seconds from exec to the first answer of `/apis`."""
    with tempfile.TemporaryDirectory() as directory:
        begin = perf_counter()
        with running_demo(Path(directory)) as demo:
            answer = demo.request("/apis", token=None)
            seconds = perf_counter() - begin
        if answer.code != 200:
            raise RuntimeError("discovery is not answered")
        return seconds
