"""What a list-watch does next, as a table."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

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
    Step,
    StreamList,
    Synced,
    WatchFrom,
    advance,
    seconds,
)

PAGED = State(ListPage(), streaming=False)
LATER_PAGE = State(ListPage("token"), streaming=False)
STREAM = State(StreamList())
WATCH = State(WatchFrom("7"), streaming=False)
WATCH_STREAMING = State(WatchFrom("7"))


def failed(state: State, reason: Reason | None, failures: int = 1) -> Step:
    """Return the step to a state with a pause for its failures."""
    after = State(state.action, state.streaming, failures)
    return Step(after, Pause(failures), reason)


TABLE: list[tuple[str, State, Outcome, Step]] = [
    ("a page with a token", PAGED, PageRead("5", "t"), Step(State(ListPage("t"), False))),
    ("the last page", LATER_PAGE, PageRead("5"), Step(State(WatchFrom("5"), False))),
    ("all initial events", STREAM, Synced("5"), Step(State(WatchFrom("5")))),
    ("an event", WATCH, Heard("8"), Step(State(WatchFrom("8"), False))),
    ("a list is due", WATCH, RelistDue(), Step(PAGED)),
    ("a list is due where it streams", WATCH_STREAMING, RelistDue(), Step(STREAM)),
    (
        "410 on a token",
        LATER_PAGE,
        Refused(410),
        Step(State(ListPage(), False, 1), Pause(), Reason.EXPIRED),
    ),
    (
        "410 on a watch",
        WATCH,
        Refused(410),
        Step(State(ListPage(), False, 1), Pause(), Reason.EXPIRED),
    ),
    (
        "410 as event",
        WATCH,
        Refused(410, told=True),
        Step(State(ListPage(), False, 1), Pause(), Reason.EXPIRED),
    ),
    (
        "410 again and again",
        State(WatchFrom("7"), False, 3),
        Refused(410),
        Step(State(ListPage(), False, 4), Pause(3), Reason.EXPIRED),
    ),
    (
        "410 after a watch that lasted",
        State(WatchFrom("7"), False, 3),
        Refused(410, steady=True, told=True),
        Step(State(ListPage(), False, 1), Pause(), Reason.EXPIRED),
    ),
    ("no such resource", PAGED, Refused(404), Step(PAGED, Pause(absent=True), Reason.ABSENT)),
    (
        "no such resource to stream",
        STREAM,
        Refused(404),
        Step(STREAM, Pause(absent=True), Reason.ABSENT),
    ),
    ("a resource that went", WATCH, Refused(404), failed(PAGED, Reason.STATUS)),
    ("streaming not offered", STREAM, Refused(422), Step(PAGED)),
    ("streaming not understood", STREAM, Refused(400), Step(PAGED)),
    ("streaming that is none", STREAM, NotOffered(), Step(PAGED)),
    ("streaming forbidden", STREAM, Refused(403), failed(STREAM, Reason.FORBIDDEN)),
    ("streaming unavailable", STREAM, Refused(503), failed(STREAM, Reason.STATUS)),
    (
        "streaming that breaks for the third time",
        State(StreamList(), True, 2),
        Broken(),
        Step(State(ListPage(), True, 3), Pause(3), Reason.UNREACHABLE),
    ),
    ("a list refused", PAGED, Refused(401), failed(PAGED, Reason.UNAUTHORIZED)),
    ("a page refused", LATER_PAGE, Refused(500), failed(PAGED, Reason.STATUS)),
    ("a watch forbidden", WATCH, Refused(403), failed(WATCH, Reason.FORBIDDEN)),
    ("a watch unavailable", WATCH, Refused(503), failed(WATCH, Reason.STATUS)),
    ("a watch of nonsense", WATCH, Refused(400), failed(PAGED, Reason.STATUS)),
    ("an error as event", WATCH, Refused(500, told=True), failed(PAGED, Reason.STATUS)),
    (
        "too many requests",
        WATCH,
        Refused(429, retry_after=9.0),
        Step(State(WatchFrom("7"), False, 1), Pause(1, 9.0), Reason.STATUS),
    ),
    ("a watch that lasted", State(WatchFrom("7"), False, 5), Ended(steady=True), Step(WATCH)),
    ("a short watch", WATCH, Ended(), failed(WATCH, None)),
    ("a streaming list cut short", STREAM, Ended(steady=True), failed(STREAM, None)),
    ("a watch that broke", WATCH, Broken(steady=True), failed(WATCH, Reason.UNREACHABLE)),
    ("a page without answer", LATER_PAGE, Broken(), failed(PAGED, Reason.UNREACHABLE)),
    ("garbage on a watch", WATCH, Garbage(), failed(PAGED, Reason.GARBAGE)),
    ("garbage as a page", LATER_PAGE, Garbage(), failed(PAGED, Reason.GARBAGE)),
]


@pytest.mark.parametrize(
    ("state", "outcome", "step"), [row[1:] for row in TABLE], ids=[row[0] for row in TABLE]
)
def test_each_outcome_has_its_next_step(state: State, outcome: Outcome, step: Step) -> None:
    """The whole of a list-watch's behaviour, case by case (PC-01 to PC-05)."""
    assert advance(state, outcome) == step


STATUSES = st.sampled_from([400, 401, 403, 404, 410, 422, 429, 500])
FAILURES = st.one_of(
    st.builds(Refused, STATUSES, told=st.booleans()),
    st.just(Ended()),
    st.just(Broken()),
    st.just(Garbage()),
)


@given(st.lists(st.one_of(FAILURES, st.builds(PageRead, st.just("5"))), max_size=60))
def test_only_a_watch_that_lasted_makes_a_list_watch_quick_again(outcomes: list[Outcome]) -> None:
    """Whatever goes wrong, lists that succeed in between do not shorten the pauses (PC-03)."""
    state, unpaused = State(), 0
    for outcome in outcomes:
        step = advance(state, outcome)
        assert step.state.failures >= state.failures
        unpaused += step.pause == Pause() and not isinstance(outcome, PageRead)
        state = step.state
    # At most: one version that was too old, and one streaming list that is not offered.
    assert unpaused <= 2


@pytest.mark.parametrize(
    ("pause", "chance", "length"),
    [
        (Pause(), 0.5, 0.0),
        (Pause(1), 0.0, 0.8),
        (Pause(1), 1.0, 1.6),
        (Pause(2), 0.0, 1.6),
        (Pause(6), 0.0, 25.6),
        (Pause(7), 0.0, 30.0),
        (Pause(1000), 1.0, 60.0),
        (Pause(1, at_least=7.0), 0.0, 7.0),
        (Pause(0, at_least=7.0), 0.0, 7.0),
    ],
)
def test_pauses_double_up_to_half_a_minute_and_honour_what_is_asked(
    pause: Pause, chance: float, length: float
) -> None:
    """As client-go waits, and Retry-After is never undercut (PC-03)."""
    assert seconds(pause, first=0.8, most=30.0, chance=chance) == pytest.approx(length)
