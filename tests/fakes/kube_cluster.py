"""A stub of kube-apiserver that is followed by the real thing: client, reflectors, calculation."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from fakes.objects import a_class, a_kubevirt, a_node, a_tenant
from fakes.stub_api import Authority, StubAPI, kubeconfig, running
from fakes.stub_store import CLASSES, KUBEVIRTS, NODES, TENANTS

from apiserver.cli.clocks import wall_ms
from apiserver.kube.client import KubeClient, load_client
from apiserver.kube.list_watch import KubeUpstream
from storage.cluster.cache import ClusterCache
from storage.cluster.feeds import Feeds
from storage.cluster.kinds import Kind
from storage.cluster.list_watch import Event, Feed, ListEnded
from storage.cluster.reflector import Surroundings, Waits
from storage.cluster.source_faults import SourceFaults
from storage.cluster.tenants import GPUTenantReader, TenantReader
from storage.cluster.watch_state import Reason
from storage.model.snapshot import Policy
from storage.pool.verdict import CapacityDetail
from storage.views.gpuclassoptions import GPUClassOptions
from storage.views.objects import GPUClassOption
from storage.views.recompute import Recompute
from storage.views.revisions import RevisionLine

GPU: Final = "x.com/gpu"
PERMITTED: Final = {"pciHostDevices": [{"pciVendorSelector": "10DE:26B9", "resourceName": GPU}]}

#: Long enough for a machine that does other things too, short enough for a test.
QUICK: Final = Waits(
    silence=60,
    page=60,
    first_pause=0.01,
    longest_pause=0.1,
    steady=3600,
    absent=0.02,
    watch=600,
    relist=3600,
)


class VirtualTime:
    """Time that passes by sleeping alone."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        """Let time pass."""
        self.now += seconds
        await asyncio.sleep(0)


@dataclass(kw_only=True)
class Setting:
    """What may differ from test to test."""

    waits: Waits = QUICK
    tenants: TenantReader = field(default_factory=GPUTenantReader)
    time: VirtualTime | None = None
    stale_after: float = 180.0


class NoticedFaults(SourceFaults):
    """Faults that wake whoever waits for one."""

    def __init__(self, clock: Callable[[], float], noticed: Callable[[], None]) -> None:
        super().__init__(clock)
        self._noticed = noticed

    def note(self, feed: Feed, reason: Reason, status: int | None = None) -> None:
        super().note(feed, reason, status)
        self._noticed()


class Followed:
    """A cluster that is read from a stub."""

    def __init__(self, stub: StubAPI, client: KubeClient, setting: Setting) -> None:
        self.stub = stub
        self.client = client
        clock = setting.time or time.monotonic
        self.cache = ClusterCache(
            tenants=setting.tenants, clock=clock, stale_after=setting.stale_after
        )
        self.recompute = Recompute(
            self.cache,
            Policy(),
            CapacityDetail.FULL,
            RevisionLine(wall_ms, 1),
            clock_ms=wall_ms,
            monotonic=clock,
            tick_ms=0,
        )
        self.events: list[Event] = []
        self.batches: list[int] = []
        self._happened = asyncio.Event()
        self.faults = NoticedFaults(clock, self._happened.set)
        stub.noticed = self._happened.set
        around = Surroundings(
            upstream=KubeUpstream(client),
            tell=self._take,
            faults=self.faults,
            clock=clock,
            waits=setting.waits,
            sleep=setting.time.sleep if setting.time else asyncio.sleep,
            chance=lambda: 0.5,
        )
        self.feeds = Feeds(self.cache.needed, around, self.cache.license_secrets)

    async def until(self, holds: Callable[[], object]) -> None:
        """Wait until something holds; it is looked at whenever anything happens."""
        async with asyncio.timeout(20):
            while not holds():
                self._happened.clear()
                await self._happened.wait()

    async def settled(self) -> None:
        """Wait until every feed was listed, or is known not to be there."""
        async with asyncio.timeout(20):
            await self.feeds.settled.wait()

    def lists(self, kind: Kind) -> int:
        """Return how many complete lists of a kind were told."""
        return sum(
            isinstance(event, ListEnded) and event.feed.kind is kind for event in self.events
        )

    def option(self, namespace: str = "tenant-a", name: str = "l40s") -> GPUClassOption:
        """Return an option as it would be shown."""
        options = GPUClassOptions(self.recompute.published)
        key = options.find(namespace, name)
        assert key is not None
        return options.compose(key)

    def free(self) -> int | None:
        """Return the free units of the class l40s; None: unknown."""
        return self.option().capacity.free

    def _take(self, events: Sequence[Event]) -> None:
        self.events.extend(events)
        self.batches.append(len(events))
        self.recompute.take(events)
        self._happened.set()


def small_world(stub: StubAPI) -> None:
    """Hold a class, a tenant, KubeVirt and a node with 8 units."""
    stub.put(CLASSES, a_class(resourceName=GPU))
    stub.put(TENANTS, a_tenant("tenant-a", budgets=[{"className": "l40s", "units": 8}]))
    stub.put(KUBEVIRTS, a_kubevirt(PERMITTED))
    stub.put(NODES, a_node())


@asynccontextmanager
async def followed(
    stub: StubAPI, directory: Path, setting: Setting | None = None
) -> AsyncIterator[Followed]:
    """Serve a stub and follow it while the block runs."""
    authority = Authority.new(directory)
    async with running(stub, authority) as url:
        config = directory / "kubeconfig"
        config.write_text(kubeconfig(url, authority.ca_file))
        client = await asyncio.to_thread(load_client, config)
        try:
            async with following(Followed(stub, client, setting or Setting())) as cluster:
                yield cluster
        finally:
            await client.close()


@asynccontextmanager
async def following(cluster: Followed) -> AsyncIterator[Followed]:
    """Run the feeds of a cluster while the block runs; one that ends by itself fails the test."""
    task = asyncio.create_task(cluster.feeds.run())
    try:
        yield cluster
        assert not task.done(), "following has ended"
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
