"""Memory for pure functions of what callers send, with a bound that callers cannot move."""

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import Final, TypeVar, TypeVarTuple, cast

Ts = TypeVarTuple("Ts")
T = TypeVar("T")

_ENTRIES: Final = 512
_MAX_LENGTH: Final = 1024


def memoised(function: Callable[[str, *Ts], T]) -> Callable[[str, *Ts], T]:
    """Remember results by the arguments.

    Only the first two may be texts that a caller sent; what follows must be bounded by these. Where
    one of them is long, or the function raises, it is worked out anew each time.
    """
    # The type of lru_cache forgets the parameters.
    remembered = cast(Callable[[str, *Ts], T], lru_cache(maxsize=_ENTRIES)(function))

    @wraps(function)
    def bounded(text: str, *rest: *Ts) -> T:
        second = rest[0] if rest else None
        if len(text) > _MAX_LENGTH or (isinstance(second, str) and len(second) > _MAX_LENGTH):
            return function(text, *rest)
        return remembered(text, *rest)

    return bounded
