"""The flow of events, step by step: what was told -> cache -> calculation -> published state.

Nothing in here waits: whoever follows the sources calls `take`, whoever has a clock calls `wake`.
"""

from collections.abc import Callable, Iterable
from typing import Final

from storage.cluster.cache import ClusterCache
from storage.cluster.list_watch import Event
from storage.model.snapshot import Policy, Tick
from storage.pool.verdict import CapacityDetail
from storage.pool.view import PoolView
from storage.views.published import Published
from storage.views.revisions import RevisionLine

#: Longest time between two calls of `wake`: a clock that was set is noticed within it.
_MAX_SLEEP_MS: Final = 1000


class Recompute:
    """One cluster's cache, calculation and published state, kept in step."""

    def __init__(
        self,
        cache: ClusterCache,
        policy: Policy,
        detail: CapacityDetail,
        line: RevisionLine,
        *,
        clock_ms: Callable[[], int],
        monotonic: Callable[[], float],
        tick_ms: int,
    ) -> None:
        """Begin with what the cache holds.

        `clock_ms` gives Unix milliseconds, `monotonic` the seconds of the cache's clock; with a
        `tick_ms` of 0 free units are published at once.
        """
        self._cache = cache
        self._clock_ms = clock_ms
        self._monotonic = monotonic
        self._tick_ms = tick_ms
        self._ticked = self._tick_now()
        self._view = PoolView.of(cache.snapshot(clock_ms()), policy)
        self.published = Published(self._view, line, detail)

    def take(self, events: Iterable[Event]) -> None:
        """Take what a source told, as one batch: it is published at once, under one revision.

        Not so parts of a first list: nobody may see them, and each would cost a publication.
        """
        visible = False
        for event in events:
            for change in self._cache.apply(event):
                self._view.apply(change)
            visible = visible or self._cache.was_listed(event.feed)
        if visible:
            self.wake()

    def wake(self) -> None:
        """Let the clock count: what is stale, charged no longer, or due at the tick."""
        for change in self._cache.expire(self._monotonic()):
            self._view.apply(change)
        self._view.apply(Tick(self._clock_ms()))
        tick = self._tick_now()
        self.published.publish(tick=self._tick_ms == 0 or tick != self._ticked)
        self._ticked = tick

    def sleep_ms(self) -> int:
        """Return how long to wait before the next `wake`: for the tick, or a pod's deadline."""
        now_ms = self._clock_ms()
        wait = _MAX_SLEEP_MS
        if self._tick_ms:
            wait = min(wait, self._tick_ms - now_ms % self._tick_ms)
        expiry_ms = self._view.next_expiry_ms()
        return wait if expiry_ms is None else min(wait, max(expiry_ms - now_ms, 1))

    def _tick_now(self) -> int:
        return self._clock_ms() // self._tick_ms if self._tick_ms else 0
