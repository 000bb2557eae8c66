"""The revision line of design section 6, as far as it mints."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.views.revisions import EPOCH_MS, MAX_AHEAD_MS, TAG_BITS, RevisionLine

NOW = EPOCH_MS + 200_000_000_000


class Clock:
    """A clock that stands until it is moved."""

    def __init__(self, now_ms: int = NOW) -> None:
        self.now_ms = now_ms

    def __call__(self) -> int:
        return self.now_ms


def a_revision(now_ms: int, tag: int) -> int:
    """Put a revision together as design section 6 says."""
    return (now_ms - EPOCH_MS) << TAG_BITS | tag


def test_a_revision_is_the_milliseconds_since_2020_and_the_tag() -> None:
    """Revisions of replicas are comparable because they share one layout."""
    line = RevisionLine(Clock(), 7)
    assert line.first == a_revision(NOW, 7)
    assert line.first < 1 << 63


def test_a_tag_that_does_not_fit_is_refused() -> None:
    """A tag that spilled into the clock's bits would make revisions of the future."""
    with pytest.raises(ValueError, match="22 bits"):
        RevisionLine(Clock(), 1 << TAG_BITS)
    with pytest.raises(ValueError, match="22 bits"):
        RevisionLine(Clock(), -1)


def test_minting_twice_in_a_millisecond_takes_the_next_step() -> None:
    """One revision never stands for two batches, however fast they follow."""
    line = RevisionLine(Clock(), 1)
    assert [line.mint(), line.mint()] == [a_revision(NOW + 1, 1), a_revision(NOW + 2, 1)]


def test_minting_follows_the_clock() -> None:
    """On an idle line the next revision is the clock's, not the next step."""
    clock = Clock()
    line = RevisionLine(clock, 1)
    clock.now_ms += 5000
    assert line.mint() == a_revision(NOW + 5000, 1)


def test_a_clock_that_jumps_back_does_not_take_the_line_back() -> None:
    """Revisions never fall, whatever the clock does."""
    clock = Clock()
    line = RevisionLine(clock, 1)
    newest = line.mint()
    clock.now_ms -= 3_600_000
    assert line.mint() > newest


def test_a_line_that_does_not_follow_the_clock_takes_steps() -> None:
    """While a deletion may be unknown here, no revision may look younger than it."""
    clock = Clock()
    line = RevisionLine(clock, 1)
    line.follows_clock = False
    clock.now_ms += 60_000
    assert line.mint() == a_revision(NOW + 1, 1)
    assert line.list_revision() == a_revision(NOW + 2, 1)
    assert line.list_revision() == a_revision(NOW + 2, 1)


def test_a_list_is_above_every_object_and_repeats_while_nothing_moves() -> None:
    """Two lists of one moment have one revision; a client may compare it with every item's."""
    line = RevisionLine(Clock(), 1)
    newest_object = line.mint()
    listed = line.list_revision()
    assert listed > newest_object
    assert line.list_revision() == listed


def test_a_list_moves_with_the_clock_and_with_objects() -> None:
    """A list stays fresh on an idle line, and a change is never hidden behind an old revision."""
    clock = Clock()
    line = RevisionLine(clock, 1)
    first = line.list_revision()
    clock.now_ms += 1000
    second = line.list_revision()
    assert second == a_revision(NOW + 1000, 1)
    line.mint()
    assert first < second < line.list_revision()


def test_own_revisions_are_those_between_the_first_and_the_present_with_the_tag() -> None:
    """What another process minted, or nobody yet, is foreign."""
    line = RevisionLine(Clock(), 1)
    newest = line.mint()
    assert line.is_own(line.first)
    assert line.is_own(newest)
    assert not line.is_own(newest + (1 << TAG_BITS))
    assert not line.is_own(line.first - (1 << TAG_BITS))
    assert not line.is_own(line.first + 1)


def test_a_foreign_revision_a_minute_ahead_is_followed() -> None:
    """A client of another replica gets an answer that is not older than what it saw."""
    line = RevisionLine(Clock(), 1)
    foreign = a_revision(NOW + MAX_AHEAD_MS, 2)
    assert line.admit(foreign)
    assert line.list_revision() > foreign
    assert line.mint() > foreign


def test_a_revision_further_ahead_is_not_followed() -> None:
    """An invented revision cannot push the line into the future."""
    line = RevisionLine(Clock(), 1)
    before = line.current
    assert not line.admit(a_revision(NOW + MAX_AHEAD_MS + 1, 2))
    assert not line.admit((1 << 64) - 1)
    assert line.current == before


def test_an_own_or_an_old_revision_is_admitted_and_moves_nothing() -> None:
    """Reading at a revision of the past costs the line nothing."""
    line = RevisionLine(Clock(), 1)
    before = line.current
    assert line.admit(before)
    assert line.admit(a_revision(NOW - 60_000, 2))
    assert line.current == before


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["mint", "list", "foreign", "clock"]), st.integers(-70_000, 70_000)
        ),
        max_size=40,
    )
)
def test_whatever_happens_revisions_only_grow(steps: list[tuple[str, int]]) -> None:
    """Objects and lists each grow, lists stay above objects, the line stays near the clock."""
    clock = Clock()
    highest_clock = clock.now_ms
    line = RevisionLine(clock, 1)
    newest_object, newest_list, mints = line.first, 0, 0
    for step, amount in steps:
        match step:
            case "clock":
                clock.now_ms += amount
                highest_clock = max(highest_clock, clock.now_ms)
            case "foreign":
                line.admit(a_revision(clock.now_ms + amount, 2))
                mints += 1
            case "mint":
                minted = line.mint()
                mints += 1
                assert minted > max(newest_object, newest_list)
                newest_object = minted
            case "list":
                listed = line.list_revision()
                mints += 1
                assert listed >= newest_list
                assert listed > newest_object
                newest_list = listed
        assert line.current <= a_revision(highest_clock + MAX_AHEAD_MS + mints + 1, 1)
