"""How often each kind could not be read and why, and one log line a minute about it.

Nothing that comes from upstream is in a line: what it says is in details at debug level, of whoever
asked.
"""

import logging
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Final

from storage.cluster.kinds import Kind
from storage.cluster.watch_state import Reason

logger = logging.getLogger(__name__)

#: Seconds between two lines about the same.
LOG_EVERY: Final = 60.0

#: Kinds whose absence means that there is none of them (domain 4.5).
NONE_IF_ABSENT: Final = frozenset({Kind.KUBEVIRT, Kind.VMI})

_WORDS: Final[Mapping[Reason, str]] = {
    Reason.UNREACHABLE: "source not reached, trying again",
    Reason.UNAUTHORIZED: "source refused our credentials, trying again with what is there then",
    Reason.FORBIDDEN: "source may not be read: bind the ClusterRole that lets us list and watch it",
    Reason.ABSENT: "source is not there: install its CustomResourceDefinition",
    Reason.EXPIRED: "source is listed anew, its version was too old",
    Reason.GARBAGE: "source sent what cannot be read, it is listed anew",
    Reason.STATUS: "source refused to be read, trying again",
}
_QUIET: Final = frozenset({Reason.EXPIRED})


class SourceFaults:
    """Counts by kind and reason since the start; each kind's feeds share them."""

    def __init__(self, clock: Callable[[], float]) -> None:
        """Count from 0; the clock gives seconds and is monotonic."""
        self._clock = clock
        self._counts: Counter[tuple[Kind, Reason]] = Counter()
        self._logged: dict[tuple[Kind, Reason], float] = {}

    def counts(self) -> Mapping[tuple[Kind, Reason], int]:
        """Return how often each has happened."""
        return dict(self._counts)

    def note(self, kind: Kind, reason: Reason, status: int | None = None) -> None:
        """Count one and log it, once a minute at most."""
        self._counts[kind, reason] += 1
        now = self._clock()
        last = self._logged.get((kind, reason))
        if last is not None and now - last < LOG_EVERY:
            return
        self._logged[kind, reason] = now
        extra: dict[str, object] = {"object_kind": kind.kind, "reason": reason.value}
        if status is not None:
            extra["status"] = status
        if reason in _QUIET:
            logger.info(_WORDS[reason], extra=extra)
        elif reason is Reason.ABSENT and kind in NONE_IF_ABSENT:
            if last is None:  # a state, not an error: said once, until it is there
                logger.info("source is not installed, which counts as none", extra=extra)
        else:
            logger.warning(_WORDS[reason], extra=extra)

    def recovered(self, kind: Kind) -> None:
        """Note that a feed of a kind was listed: what was logged of it is over."""
        over = [reason for reason in Reason if self._logged.pop((kind, reason), None) is not None]
        if not _QUIET.issuperset(over):
            logger.info("source is read again", extra={"object_kind": kind.kind})
