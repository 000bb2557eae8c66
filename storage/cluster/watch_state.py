"""What one list-watch does next, given what has just happened: no I/O, no clock, no chance.

A watch resumes only from the version of a list, of an event or of a bookmark. A version that is too
old means one list anew, each time it is due. Every path that fails pauses, longer each time, until
a watch has lasted for a while: a list that succeeds is no cure for a watch that does not (cases
PC-01 to PC-05).
"""

from dataclasses import dataclass, replace
from enum import Enum
from typing import Final, TypeAlias, assert_never

#: After so many failures in a row a streaming list gives way to pages, until a watch lasts.
STREAMS_TRIED: Final = 3

_EXPIRED: Final = 410
_ABSENT: Final = 404
#: Refusals that say nothing about what was asked: the same may be asked again later.
_PASSING: Final = frozenset({401, 403, 429})


class Reason(Enum):
    """Why a source could not be read, or had to be read anew."""

    UNREACHABLE = "unreachable"
    UNAUTHORIZED = "unauthorized"
    FORBIDDEN = "forbidden"
    ABSENT = "absent"  # there is no such resource
    EXPIRED = "expired"  # a version was too old to go on from
    GARBAGE = "garbage"  # what came is not what was asked for
    STATUS = "status"  # any other refusal


@dataclass(frozen=True, slots=True)
class ListPage:
    """Ask for a page of the list; the first has no token."""

    token: str = ""


@dataclass(frozen=True, slots=True)
class StreamList:
    """Ask for a watch that begins with all objects."""


@dataclass(frozen=True, slots=True)
class WatchFrom:
    """Ask for what happened after a version."""

    version: str


Action: TypeAlias = ListPage | StreamList | WatchFrom


@dataclass(frozen=True, slots=True)
class PageRead:
    """A page came; without a token it was the last."""

    version: str
    token: str = ""


@dataclass(frozen=True, slots=True)
class Synced:
    """A streaming list has told all objects."""

    version: str


@dataclass(frozen=True, slots=True)
class Heard:
    """An event or a bookmark came over a watch."""

    version: str


@dataclass(frozen=True, slots=True)
class Refused:
    """The answer to a request, or an ERROR event, is a status."""

    status: int
    retry_after: float | None = None
    steady: bool = False  # the watch that told it had lasted
    told: bool = False  # over a stream, not as its answer


@dataclass(frozen=True, slots=True)
class Ended:
    """A stream was ended by the server."""

    steady: bool = False


@dataclass(frozen=True, slots=True)
class Broken:
    """There was no answer, or a stream broke off or fell silent."""

    steady: bool = False


@dataclass(frozen=True, slots=True)
class Garbage:
    """What came cannot be read, or is not what was asked for."""

    steady: bool = False


@dataclass(frozen=True, slots=True)
class NotOffered:
    """A stream that should begin with all objects goes on without having told them all."""


@dataclass(frozen=True, slots=True)
class RelistDue:
    """A list is due although nothing is wrong."""


Outcome: TypeAlias = (
    PageRead | Synced | Heard | Refused | Ended | Broken | Garbage | NotOffered | RelistDue
)


@dataclass(frozen=True, slots=True)
class Pause:
    """Wait before the next request."""

    failures: int = 0  # in a row: what the length grows with; 0: not at all
    at_least: float = 0.0  # seconds
    absent: bool = False  # until it is looked again whether the resource is there


@dataclass(frozen=True, slots=True)
class State:
    """Where a list-watch stands."""

    action: Action = StreamList()
    streaming: bool = True  # streaming lists are not known to be refused
    failures: int = 0


@dataclass(frozen=True, slots=True)
class Step:
    """Where it goes on, how long to wait before, and what was wrong."""

    state: State
    pause: Pause = Pause()
    reason: Reason | None = None


def advance(state: State, outcome: Outcome) -> Step:
    """Return what follows from an outcome of the state's action."""
    match outcome:
        case PageRead(version, token):
            action = ListPage(token) if token else WatchFrom(version)
            return Step(replace(state, action=action))
        case Synced(version) | Heard(version):
            return Step(replace(state, action=WatchFrom(version)))
        case RelistDue():
            return Step(_relist(state))
        case NotOffered():
            return Step(replace(state, action=ListPage(), streaming=False))
        case Ended(steady):
            return _ended(_settled(state, steady), steady)
        case Broken(steady):
            return _failed(_restart(_settled(state, steady)), Reason.UNREACHABLE)
        case Garbage(steady):
            return _failed(_relist(_settled(state, steady)), Reason.GARBAGE)
        case Refused():
            return _refused(_settled(state, outcome.steady), outcome)
        case _:
            assert_never(outcome)


def seconds(pause: Pause, *, first: float, most: float, chance: float) -> float:
    """Return the length of a pause: it doubles from `first` to `most`, by `chance` up to twice.

    `chance` is 0 to 1. client-go waits the same: from 0.8 s to 30 s.
    """
    if pause.failures == 0:
        return pause.at_least
    doubled = first * 2.0 ** min(pause.failures - 1, 32)
    return max(min(doubled, most) * (1.0 + chance), pause.at_least)


def _refused(state: State, refused: Refused) -> Step:
    status = refused.status
    at_least = refused.retry_after or 0.0
    if status == _EXPIRED:
        # The first list after a watch that lasted is due at once.
        step = _failed(_relist(state), Reason.EXPIRED, at_least)
        return replace(step, pause=Pause(state.failures, at_least))
    if status == _ABSENT and not isinstance(state.action, WatchFrom):
        pause = Pause(absent=True, at_least=at_least)
        return Step(_relist(state), pause, Reason.ABSENT)
    if isinstance(state.action, StreamList) and 400 <= status < 500 and status not in _PASSING:
        return Step(replace(state, action=ListPage(), streaming=False))
    if isinstance(state.action, WatchFrom) and not refused.told and _may_pass(status):
        return _failed(state, _reason(status), at_least)
    return _failed(_relist(state), _reason(status), at_least)


def _ended(state: State, steady: bool) -> Step:
    if isinstance(state.action, WatchFrom) and steady:
        return Step(state)
    return _failed(_restart(state), None)


def _failed(state: State, reason: Reason | None, at_least: float = 0.0) -> Step:
    """Count one more failure and wait for it; a streaming list that fails gives way to pages."""
    failures = state.failures + 1
    action = state.action
    if isinstance(action, StreamList) and failures >= STREAMS_TRIED:
        action = ListPage()
    after = replace(state, action=action, failures=failures)
    return Step(after, Pause(failures, at_least), reason)


def _settled(state: State, steady: bool) -> State:
    return replace(state, failures=0) if steady else state


def _restart(state: State) -> State:
    """Return what a request that came to nothing is replaced by: lists are not resumed."""
    return state if isinstance(state.action, WatchFrom) else _relist(state)


def _relist(state: State) -> State:
    return replace(state, action=_first(state))


def _first(state: State) -> Action:
    return StreamList() if state.streaming else ListPage()


def _may_pass(status: int) -> bool:
    return status in _PASSING or status >= 500


def _reason(status: int) -> Reason:
    match status:
        case 401:
            return Reason.UNAUTHORIZED
        case 403:
            return Reason.FORBIDDEN
        case _:
            return Reason.STATUS
