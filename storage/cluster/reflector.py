"""One feed, followed for ever: `watch_state` says what to do, this does it and tells what came.

Lists are decoded a few objects at a time, and other work gets its turn in between: nothing waits
for a long list (runtime 7). Whoever is told must not wait either.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, NoReturn, TypeAlias, TypeVar

from storage.cluster.decode import decode
from storage.cluster.decoded import Ref
from storage.cluster.kinds import Kind
from storage.cluster.list_watch import (
    Bookmark,
    Changed,
    Event,
    Feed,
    Gone,
    ListBegan,
    Listed,
    ListEnded,
)
from storage.cluster.lists import (
    Deleted,
    Erred,
    GarbageError,
    Marked,
    Put,
    read_line,
    read_page,
    version_of,
)
from storage.cluster.reading import fragment_of
from storage.cluster.source_faults import NONE_IF_ABSENT, SourceFaults
from storage.cluster.upstream import Lines, UnreachableUpstreamError, Upstream
from storage.cluster.watch_state import (
    Broken,
    Ended,
    Garbage,
    Heard,
    ListPage,
    NotOffered,
    Outcome,
    PageRead,
    Pause,
    Reason,
    Refused,
    RelistDue,
    State,
    StreamList,
    Synced,
    WatchFrom,
    advance,
    seconds,
)

T = TypeVar("T")
Tell: TypeAlias = Callable[[Sequence[Event]], None]

#: Objects of one page of a list.
PAGE_LIMIT: Final = 500
#: Objects that are decoded and told in one go.
CHUNK: Final = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Waits:
    """Seconds that a list-watch waits for something."""

    silence: float = 90.0  # for a sign of life of a watch; bookmarks come each minute (design 9)
    page: float = 60.0  # for a page
    first_pause: float = 0.8  # after the first failure
    longest_pause: float = 30.0
    steady: float = 5.0  # from when a watch is no failure
    absent: float = 30.0  # until it is looked again whether a resource is there
    watch: float = 300.0  # that a server is asked to let a watch last; up to twice, by chance
    relist: float = 6 * 3600.0  # until a list is due although nothing is wrong; up to twice


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What all reflectors of a process share."""

    upstream: Upstream
    tell: Tell
    faults: SourceFaults
    clock: Callable[[], float]  # monotonic seconds
    waits: Waits = Waits()
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    chance: Callable[[], float] = field(default=random.random)  # 0 to 1


class Reflector:
    """One list-watch."""

    def __init__(self, feed: Feed, around: Surroundings, settled: Callable[[], None]) -> None:
        """Follow a feed; `settled` is called each time that it was listed, or is not there."""
        self._feed = feed
        self._kind: Final[Kind] = feed.kind
        self._around = around
        self._settled = settled
        self._state = State()
        self._list_due = 0.0  # by the clock; set by each list

    async def run(self) -> NoReturn:
        """Follow the feed. Ends by being cancelled only."""
        while True:
            outcome = await self._do()
            step = advance(self._state, outcome)
            self._state = step.state
            if step.reason is not None:
                self._note(step.reason, outcome)
            await self._pause(step.pause)

    async def _do(self) -> Outcome:
        action = self._state.action
        try:
            match action:
                case ListPage(token):
                    return await self._page(token)
                case StreamList():
                    return await self._stream(None)
                case WatchFrom(version):
                    if self._around.clock() >= self._list_due:
                        return RelistDue()
                    return await self._stream(version)
        except UnreachableUpstreamError:
            return Broken()

    async def _page(self, token: str) -> Outcome:
        waits = self._around.waits
        page = await self._around.upstream.page(
            self._feed, token, limit=PAGE_LIMIT, seconds=waits.page
        )
        if page.status != 200:
            return Refused(page.status, page.retry_after)
        try:
            wire = read_page(self._kind, page.body)
        except GarbageError:
            return Garbage()
        if not token:
            self._tell([ListBegan(self._feed)])
        for chunk in _chunks(wire.items or ()):
            self._tell([Changed(self._feed, decode(self._kind, bytes(raw))) for raw in chunk])
            await asyncio.sleep(0)
        if not wire.metadata.next:
            self._end_list()
        return PageRead(wire.metadata.resource_version, wire.metadata.next)

    async def _stream(self, version: str | None) -> Outcome:
        around = self._around
        async with around.upstream.watch(
            self._feed,
            version,
            silence_seconds=around.waits.silence,
            seconds=around.waits.watch * (1.0 + around.chance()),
        ) as lines:
            if lines.status != 200:
                return Refused(lines.status, lines.retry_after)
            return await self._follow(lines)

    async def _follow(self, lines: Lines) -> Outcome:
        """Tell what comes until it ends; while a streaming list is not complete it is a list."""
        opened = self._around.clock()
        if isinstance(self._state.action, StreamList):
            self._tell([ListBegan(self._feed)])
        try:
            async for batch in lines.lines():
                for chunk in _chunks(batch):
                    end = self._take(chunk, opened)
                    if end is not None:
                        return end
                    await asyncio.sleep(0)
        except UnreachableUpstreamError:
            return Broken(self._steady(opened))
        except GarbageError:
            return Garbage(self._steady(opened))
        return Ended(self._steady(opened))

    def _take(self, raw_lines: Sequence[bytes], opened: float) -> Outcome | None:
        """Take some lines; return what ends the watch. Raises GarbageError, all before it taken."""
        events: list[Event] = []
        last: Put | Deleted | None = None
        try:
            for raw in raw_lines:
                told = read_line(self._kind, raw)
                match told:
                    case Put() | Deleted():
                        events.append(self._event(told))
                        last = told
                    case Marked():
                        if not told.version:
                            continue
                        self._tell_up_to(events, last)
                        events, last = [], None
                        if not self._mark(told):
                            return NotOffered()
                    case Erred(status):
                        return Refused(status, steady=self._steady(opened), told=True)
        finally:
            self._tell_up_to(events, last)
        return None

    def _tell_up_to(self, events: Sequence[Event], last: Put | Deleted | None) -> None:
        """Tell events, and go on from the version of the last one."""
        if last is None:
            return
        version = version_of(last.payload)
        self._tell(events)
        if isinstance(self._state.action, WatchFrom):
            self._state = advance(self._state, Heard(version)).state
            self._around.faults.recovered(self._feed)

    def _mark(self, mark: Marked) -> bool:
        """Take a bookmark; return whether the stream is what was asked for."""
        if isinstance(self._state.action, StreamList):
            if not mark.initial_end:
                return False
            self._state = advance(self._state, Synced(mark.version)).state
            self._end_list()
            return True
        self._state = advance(self._state, Heard(mark.version)).state
        self._tell([Bookmark(self._feed)])
        self._around.faults.recovered(self._feed)
        return True

    def _event(self, told: Put | Deleted) -> Event:
        if isinstance(told, Put):
            return Changed(self._feed, decode(self._kind, bytes(told.payload)))
        ref = fragment_of(bytes(told.payload)).ref
        return Gone(self._feed, ref if self._kind.namespaced else Ref("", ref.name))

    def _end_list(self) -> None:
        waits = self._around.waits
        self._list_due = self._around.clock() + waits.relist * (1.0 + self._around.chance())
        self._tell([ListEnded(self._feed)])
        self._around.faults.recovered(self._feed)
        self._settled()

    def _note(self, reason: Reason, outcome: Outcome) -> None:
        """Count a failure. What was told stays until it is too old (design 9)."""
        status = outcome.status if isinstance(outcome, Refused) else None
        self._around.faults.note(self._feed, reason, status)
        if reason is not Reason.ABSENT:
            return
        if self._kind in NONE_IF_ABSENT:
            self._tell([Listed(self._feed, ())])
        self._settled()  # it is an answer; what else goes wrong may pass

    async def _pause(self, pause: Pause) -> None:
        around = self._around
        if pause.absent:
            length = max(around.waits.absent, pause.at_least)
        else:
            length = seconds(
                pause,
                first=around.waits.first_pause,
                most=around.waits.longest_pause,
                chance=around.chance(),
            )
        if length > 0:
            await around.sleep(length)

    def _steady(self, opened: float) -> bool:
        return self._around.clock() - opened >= self._around.waits.steady

    def _tell(self, events: Sequence[Event]) -> None:
        self._around.tell(events)


def _chunks(values: Sequence[T]) -> Iterator[Sequence[T]]:
    return (values[at : at + CHUNK] for at in range(0, len(values), CHUNK))
