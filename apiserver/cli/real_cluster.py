"""A real cluster: objects, users and rights by way of its kube-apiserver (design 3, 7, 9)."""

import asyncio
import gc
import logging
import secrets
import time
from collections.abc import Callable, Iterable
from typing import Final, NoReturn

from apiserver.cli.access import Access
from apiserver.cli.clients import Clients
from apiserver.cli.clocks import wall_ms
from apiserver.cli.serve_config import ServeConfig
from apiserver.kube.list_watch import KubeUpstream
from apiserver.ops.loop_lag import LoopLag
from apiserver.ops.metrics import Count, Gauge
from storage.cluster.cache import ClusterCache
from storage.cluster.feeds import Feeds
from storage.cluster.kinds import DIRECT_SOURCES
from storage.cluster.reflector import Surroundings
from storage.cluster.source_faults import SourceFaults
from storage.cluster.tenants import READERS
from storage.model.snapshot import Policy
from storage.pool.verdict import CapacityDetail
from storage.views.recompute import Recompute
from storage.views.revisions import TAG_BITS, RevisionLine

logger = logging.getLogger(__name__)

#: Objects made before the next young collection, and collections before the next older one.
_GC_THRESHOLDS: Final = (50_000, 50, 100)


class RealCluster:
    """Everything that is asked of a kube-apiserver, and what is made of the answers."""

    def __init__(self, config: ServeConfig) -> None:
        """Begin with nothing known. Raises ConfigError for CA files that cannot be used."""
        options = config.options
        self._waits = config.waits
        reader = READERS[options.tenant_source]()
        self._kinds = {*DIRECT_SOURCES, *reader.kinds}
        self.cache = ClusterCache(
            tenants=reader, clock=time.monotonic, stale_after=config.source_stale_after
        )
        self._recompute = Recompute(
            self.cache,
            Policy(admission_disabled=options.admission_disabled),
            CapacityDetail(options.capacity_detail),
            RevisionLine(wall_ms, secrets.randbits(TAG_BITS)),
            clock_ms=wall_ms,
            monotonic=time.monotonic,
            tick_ms=options.capacity_tick_ms,
        )
        self.published = self._recompute.published
        self._faults = SourceFaults(time.monotonic)
        self._lag = LoopLag(time.monotonic)
        self._clients = Clients(config)
        self._access = Access(config, self._clients)
        self.authenticator = self._access.authenticator
        self.authorizer = self._access.authorizer
        self._ready = False

    def client_cas(self) -> str:
        """Return the PEM of all CAs that a client's certificate may be of; "" for none."""
        return self._access.client_cas()

    def on_trust(self, changed: Callable[[], None]) -> None:
        """Have something called whenever other CAs are trusted."""
        self._access.on_trust(changed)

    def unsynced(self) -> str | None:
        """Return what was never read, for the log only; once ready, always None (contract 9.4)."""
        return None if self._ready else "sources or trust were never read"

    def gauges(self) -> Iterable[Gauge | Count]:
        """Yield the faults of sources, what the access to this server costs, and the loop's lag."""
        for (kind, reason), count in self._faults.counts().items():
            yield Count(
                "gpuclass_source_faults",
                "How often a kind could not be read, or had to be read anew, since the start.",
                count,
                {"kind": kind.kind, "reason": reason.value},
            )
        yield from self._access.gauges()
        yield from self._lag.gauges()

    async def follow(self) -> NoReturn:
        """Connect, and keep everything current. Raises ConfigurationError."""
        feeds = self._feeds()
        # While the first lists come in, collections would find nothing and stop the loop each time.
        gc.disable()
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._lag.follow(), name="measure loop")
            tasks.create_task(self._follow_clock(), name="follow clock")
            tasks.create_task(self._become_ready(feeds), name="become ready")
            tasks.create_task(self._access.follow_files(), name="follow CA files")
            await self._clients.connect()
            tasks.create_task(self._access.follow(), name="follow trust")
            await feeds.run()

    async def close(self) -> None:
        """Close all connections."""
        await self._access.close()
        await self._clients.close()

    def _feeds(self) -> Feeds:
        around = Surroundings(
            upstream=KubeUpstream(self._clients.sources),
            tell=self._recompute.take,
            faults=self._faults,
            clock=time.monotonic,
            waits=self._waits.sources,
        )
        return Feeds(self._kinds, around, self.cache.license_secrets)

    async def _follow_clock(self) -> NoReturn:
        """Publish at each tick."""
        while True:
            await asyncio.sleep(self._recompute.sleep_ms() / 1000)
            self._recompute.wake()

    async def _become_ready(self, feeds: Feeds) -> None:
        """Wait for what is to be read at the start, but not for ever.

        A server that is never ready has no endpoint, and without one no namespace of the cluster
        can be deleted (contract 1.14): what is missing by then is told request by request.
        """
        try:
            async with asyncio.timeout(self._waits.sync):
                await feeds.settled.wait()
                await self._access.settled()
        except TimeoutError:
            unread = ",".join(sorted(kind.kind for kind in feeds.unsettled))
            logger.warning("ready though not everything was read", extra={"unread": unread})
        self._ready = True
        _keep_out_of_collections()
        logger.info("ready")


def _keep_out_of_collections() -> None:
    """Let no collection look at what was read: it stays for long (runtime 7)."""
    gc.freeze()
    gc.set_threshold(*_GC_THRESHOLDS)
    gc.enable()
