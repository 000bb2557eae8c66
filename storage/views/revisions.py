"""The revision line of one process (design 6): hybrid logical, one line for everything it
publishes.

A revision is `(milliseconds since 2020-01-01 UTC << 22) | tag`: decimal on the wire, comparable
between replicas, below 2^63 until the year 2089. The tag, drawn at start, keeps two processes from
ever giving one revision to two contents.
"""

from collections.abc import Callable
from typing import Final

EPOCH_MS: Final = 1_577_836_800_000  # 2020-01-01T00:00:00Z in Unix milliseconds
TAG_BITS: Final = 22

#: How far ahead of the clock a revision of another replica may be and still be followed.
MAX_AHEAD_MS: Final = 60_000

_TAG_MASK: Final = (1 << TAG_BITS) - 1


class RevisionLine:
    """Mints revisions: each is above all before it, and at or above the clock's while it follows
    that.

    `clock_ms` gives Unix milliseconds; `tag` has 22 bits. Not for use by two threads.
    """

    def __init__(self, clock_ms: Callable[[], int], tag: int) -> None:
        if not 0 <= tag <= _TAG_MASK:
            raise ValueError(f"the tag has {TAG_BITS} bits")
        self._clock_ms = clock_ms
        self._tag = tag
        #: False while classes or tenants are stale: a deletion may be unknown here, so no revision
        #: may look younger than it.
        self.follows_clock = True
        self._step = self._now()  # the line's position, without the tag
        self._first = self.current
        self._newest_object = self._first
        self._newest_list = 0

    @property
    def first(self) -> int:
        """The process's first revision: that of everything that has not changed since."""
        return self._first

    @property
    def current(self) -> int:
        """The newest revision of the line."""
        return self._step << TAG_BITS | self._tag

    def mint(self) -> int:
        """Return a new revision for one published batch."""
        self._advance()
        self._newest_object = self.current
        return self._newest_object

    def list_revision(self) -> int:
        """Return the revision of a list made now: above every object's, never falling.

        The previous one again if neither the clock nor an object has moved. It follows the clock,
        so it tells nothing about changes that the caller may not see.
        """
        moved = self._newest_list <= self._newest_object
        ticked = self.follows_clock and self._now() > self._step
        if moved or ticked or self._newest_list < self.current:
            self._advance()
            self._newest_list = self.current
        return self._newest_list

    def is_own(self, revision: int) -> bool:
        """Whether this process minted the revision, or may have passed it on its line."""
        return revision & _TAG_MASK == self._tag and self._first <= revision <= self.current

    def admit(self, revision: int) -> bool:
        """Whether an answer at or after this revision can be given now; moves the line past it.

        A revision more than a minute ahead of the clock changes nothing and is not admitted.
        """
        if self.is_own(revision):
            return True
        step = revision >> TAG_BITS
        if step > self._now() + MAX_AHEAD_MS:
            return False
        if step >= self._step:
            self._step = step + 1
        return True

    def _advance(self) -> None:
        self._step = max(self._step + 1, self._now() if self.follows_clock else 0)

    def _now(self) -> int:
        return self._clock_ms() - EPOCH_MS
