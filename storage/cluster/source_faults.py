"""How often each kind could not be read and why, and one log line a minute about it.

Nothing that comes from upstream is in a line: what it says is in details at debug level, of whoever
asked.
"""

import logging
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Final

from storage.cluster.kinds import Kind
from storage.cluster.list_watch import Feed
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
    """Counts by kind and reason since the start; lines by feed, since Secrets have one each."""

    def __init__(self, clock: Callable[[], float]) -> None:
        """Count from 0; the clock gives seconds and is monotonic."""
        self._clock = clock
        self._counts: Counter[tuple[Kind, Reason]] = Counter()
        self._logged: dict[Feed, dict[Reason, float]] = {}

    def counts(self) -> Mapping[tuple[Kind, Reason], int]:
        """Return how often each has happened."""
        return dict(self._counts)

    def note(self, feed: Feed, reason: Reason, status: int | None = None) -> None:
        """Count one and log it, once a minute at most until it is over."""
        self._counts[feed.kind, reason] += 1
        now = self._clock()
        logged = self._logged.setdefault(feed, {})
        last = logged.get(reason)
        if last is not None and now - last < LOG_EVERY:
            return
        logged[reason] = now
        extra = _named(feed) | {"reason": reason.value}
        if status is not None:
            extra["status"] = status
        if reason in _QUIET:
            logger.info(_WORDS[reason], extra=extra)
        elif reason is Reason.ABSENT and feed.kind in NONE_IF_ABSENT:
            if last is None:  # a state, not an error: said once, until it is there
                logger.info("source is not installed, which counts as none", extra=extra)
        else:
            logger.warning(_WORDS[reason], extra=extra)

    def recovered(self, feed: Feed) -> None:
        """Note that something came of a feed: what was logged of it is over."""
        over = self._logged.pop(feed, ())
        if not _QUIET.issuperset(over):
            logger.info("source is read again", extra=_named(feed))

    def forget(self, feed: Feed) -> None:
        """Note that a feed is not followed any more."""
        self._logged.pop(feed, None)


def _named(feed: Feed) -> dict[str, object]:
    """Return what a line says of a feed; only license Secrets, which classes name, have names."""
    named: dict[str, object] = {"object_kind": feed.kind.kind}
    return named | {"object_name": feed.name} if feed.name else named
