"""All feeds of a cluster: which are needed now, each followed by a reflector of its own.

Most are needed for good. License Secrets are read by name, and which names there are is told by the
classes (design 2).
"""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import Final, NoReturn

from storage.cluster.kinds import Kind
from storage.cluster.list_watch import Event, Feed, Forgotten
from storage.cluster.reflector import Reflector, Surroundings


class Feeds:
    """Keeps the set of running reflectors equal to the set of needed feeds."""

    def __init__(
        self,
        kinds: Iterable[Kind],
        around: Surroundings,
        license_secrets: Callable[[], frozenset[str]],
    ) -> None:
        """Follow these kinds, and the Secrets of the names that `license_secrets` gives."""
        self._lasting: Final = frozenset(Feed(kind) for kind in kinds if kind is not Kind.SECRET)
        self._tell = around.tell
        self._around = replace(around, tell=self._pass_on)
        self._license_secrets = license_secrets
        self._running: dict[Feed, asyncio.Task[NoReturn]] = {}
        self._unsettled: set[Feed] = set(self._lasting)
        self._classes_told = asyncio.Event()
        #: Set once every needed feed was listed, or is known not to be there.
        self.settled: Final = asyncio.Event()

    @property
    def running(self) -> frozenset[Feed]:
        """The feeds that are followed now."""
        return frozenset(self._running)

    @property
    def unsettled(self) -> frozenset[Kind]:
        """The kinds of which nothing is known yet."""
        return frozenset(feed.kind for feed in self._unsettled)

    async def run(self) -> NoReturn:
        """Follow all feeds. Ends by being cancelled, or by an error of a reflector."""
        async with asyncio.TaskGroup() as tasks:
            while True:
                self._adjust(tasks)
                await self._classes_told.wait()
                self._classes_told.clear()

    def _adjust(self, tasks: asyncio.TaskGroup) -> None:
        """Start and stop reflectors until they are those that are needed."""
        needed = self._lasting | {Feed(Kind.SECRET, name) for name in self._license_secrets()}
        for feed in self._running.keys() - needed:
            self._running.pop(feed).cancel()
            self._unsettled.discard(feed)
            self._around.faults.forget(feed)
            self._tell([Forgotten(feed)])
        for feed in needed - self._running.keys():
            if not self.settled.is_set():
                self._unsettled.add(feed)
            name = f"follow {feed.kind.kind}" + (f" {feed.name}" if feed.name else "")
            reflector = Reflector(feed, self._around, partial(self._settle, feed))
            self._running[feed] = tasks.create_task(reflector.run(), name=name)
        self._look_settled()

    def _pass_on(self, events: Sequence[Event]) -> None:
        self._tell(events)
        if events and events[0].feed.kind is Kind.GPU_CLASS:
            self._classes_told.set()

    def _settle(self, feed: Feed) -> None:
        self._unsettled.discard(feed)
        self._look_settled()

    def _look_settled(self) -> None:
        # Classes that were told and not looked at may need more feeds.
        if not self._unsettled and not self._classes_told.is_set():
            self.settled.set()
