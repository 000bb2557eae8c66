"""How many requests may be in flight at once (contract 8.1)."""

import asyncio
from collections.abc import Mapping
from typing import Final

from apiserver.http.errors import TooManyRequestsError

MAX_READ_ONLY: Final = 400
MAX_MUTATING: Final = 200

_READ_ONLY_VERBS: Final = frozenset(("get", "list", "watch"))


class Lane:
    """The requests in flight of one kind."""

    __slots__ = ("_nobody", "limit", "peak", "running")

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._nobody = asyncio.Event()
        self._nobody.set()
        self.running = 0
        self.peak = 0  # most at once since it was last reset

    def enter(self, *, privileged: bool) -> None:
        """Count one in. Raises TooManyRequestsError where all are taken, but for the privileged."""
        if self.running >= self.limit > 0 and not privileged:
            raise TooManyRequestsError
        if not self.running:
            self._nobody.clear()
        self.running += 1
        if self.running > self.peak:
            self.peak = self.running

    def leave(self) -> None:
        """Count one out."""
        self.running -= 1
        if not self.running:
            self._nobody.set()

    async def idle(self) -> None:
        """Wait until none is in flight."""
        await self._nobody.wait()


class InFlight:
    """Counts requests from authentication to answer. 0 for a limit: none."""

    def __init__(self, *, read_only: int = MAX_READ_ONLY, mutating: int = MAX_MUTATING) -> None:
        self._read_only = Lane(read_only)
        self._mutating = Lane(mutating)

    def lane(self, verb: str) -> Lane:
        """Return what a verb's requests count in."""
        return self._read_only if verb in _READ_ONLY_VERBS else self._mutating

    async def idle(self) -> None:
        """Wait until none is in flight."""
        await self._read_only.idle()
        await self._mutating.idle()

    def peaks(self) -> Mapping[str, int]:
        """Return the most there were at once since this was last asked, by request_kind."""
        lanes = {"readOnly": self._read_only, "mutating": self._mutating}
        peaks = {kind: lane.peak for kind, lane in lanes.items()}
        for lane in lanes.values():
            lane.peak = lane.running
        return peaks
