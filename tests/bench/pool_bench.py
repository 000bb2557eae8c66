"""The calculation against its bars: from scratch, by one event, and how it grows."""

import gc
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from random import Random
from time import perf_counter
from typing import Final

from bench.figures import Figure
from bench.world import CLASSES, Shape, Size, a_launcher, a_vm, a_world, class_name

from storage.model.snapshot import Change, ClusterSnapshot, Policy, Put
from storage.pool.pools import Pools
from storage.pool.usage import UsageLedger
from storage.pool.verdict import CapacityDetail, judge
from storage.pool.view import PoolView

ROUNDS: Final = 60
RUNS_IN_TURN: Final = 3
EVENTS: Final = 3_000

_POLICY: Final = Policy()
#: Five times the tenants of size L, and as many VMs to each.
_FIVE_TIMES_L: Final = Shape(1_000, 5_000, 50_000)


def measure() -> list[Figure]:
    """Return the figures of the calculation, each with its bar."""
    small, large = _pools_from_scratch(a_world(Size.L.value), a_world(_FIVE_TIMES_L))
    world = a_world(Size.XL.value)
    rebuild = _best([lambda: PoolView.of(world, _POLICY)], 1)[0]
    view = PoolView.of(world, _POLICY)
    gc.freeze()
    vmi_events = _p99(view, world, _vmi_events(world))
    pod_events = _p99(view, world, _pod_events(world))
    gc.unfreeze()
    return [
        Figure(
            name=f"pools of 1,000 tenants x {CLASSES} classes from scratch",
            value=small * 1e3,
            unit="ms",
            bar=5,
        ),
        Figure(
            name="the same at 5,000 tenants, as a multiple", value=large / small, unit="x", bar=7
        ),
        Figure(
            name="VMI event applied, told and an option read, XL, p99",
            value=vmi_events * 1e3,
            unit="ms",
            bar=1,
        ),
        Figure(
            name="pod event applied, told and an option read, XL, p99",
            value=pod_events * 1e3,
            unit="ms",
            bar=1,
        ),
        Figure(name="full rebuild, XL", value=rebuild, unit="s", bar=1),
    ]


def _pools_from_scratch(*worlds: ClusterSnapshot) -> list[float]:
    """Return the seconds from the usage of namespaces to what remains in every pool of a world."""
    builds = [_build(world) for world in worlds]
    # What lives as long as the process is no business of the garbage collector (runtime 7).
    gc.freeze()
    seconds = _best(builds, ROUNDS)
    gc.unfreeze()
    return seconds


def _build(world: ClusterSnapshot) -> Callable[[], Pools]:
    """Return what makes the pools of a world."""
    ledger = UsageLedger(world.now_ms)
    for vmi in world.vmis:
        ledger.replace_vmi(None, vmi)
    for pod in world.pods:
        ledger.replace_pod(None, pod)
    classes_on = {each.resource_name: (each.name,) for each in world.classes}

    def build() -> Pools:
        usage = ((name, ledger.usage(name, classes_on)) for name in ledger.namespaces())
        return Pools(world.tenants, usage)

    return build


def _best(works: Sequence[Callable[[], object]], rounds: int) -> list[float]:
    """Return the shortest of many runs of each, in seconds: the machine when left alone.

    They take turns, a few runs each, so that a noisy moment falls on all of them.
    """
    seconds = [float("inf")] * len(works)
    for _ in range(rounds):
        for at, work in enumerate(works):
            seconds[at] = min(seconds[at], *(_seconds(work) for _ in range(RUNS_IN_TURN)))
    return seconds


def _seconds(work: Callable[[], object]) -> float:
    begin = perf_counter()
    work()
    return perf_counter() - begin


def _p99(view: PoolView, world: ClusterSnapshot, events: Iterator[Change]) -> float:
    """Return the 99th percentile of seconds from an event to an option that knows of it."""
    random = Random(2)  # noqa: S311 - a choice of options, no secret
    namespaces = [record.namespace for record in world.tenants]
    seconds: list[float] = []
    for event in events:
        namespace, wanted = random.choice(namespaces), class_name(random.randrange(CLASSES))
        begin = perf_counter()
        view.apply(event)
        view.take_changed()
        facts = view.facts(namespace, wanted)
        if facts is not None:
            judge(facts, _POLICY, CapacityDetail.FULL)
        seconds.append(perf_counter() - begin)
    return sorted(seconds)[len(seconds) * 99 // 100]


def _vmi_events(world: ClusterSnapshot) -> Iterator[Change]:
    """Yield VMs that start, and VMs that end."""
    random = Random(3)  # noqa: S311 - a stream of events, no secret
    for number in range(EVENTS // 2):
        namespace = random.choice(world.tenants).namespace
        yield Put(a_vm(10**6 + number, namespace, random.randrange(CLASSES), 1))
        yield Put(replace(random.choice(world.vmis), final=True))


def _pod_events(world: ClusterSnapshot) -> Iterator[Change]:
    """Yield launchers that move to another node, and pods outside KubeVirt that come."""
    random = Random(4)  # noqa: S311 - a stream of events, no secret
    for number in range(EVENTS // 2):
        pod = random.choice(world.pods)
        yield Put(replace(pod, node=f"node-{random.randrange(len(world.nodes))}"))
        vmi = a_vm(2 * 10**6 + number, pod.namespace, random.randrange(CLASSES), 1)
        yield Put(replace(a_launcher(vmi, pod.node or "", 0), vmi_uid=None))
