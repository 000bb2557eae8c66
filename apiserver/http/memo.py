"""Memory for pure functions of what callers send, with a bound that callers cannot move."""

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import Final, TypeVar, TypeVarTuple, cast

Ts = TypeVarTuple("Ts")
T = TypeVar("T")

_ENTRIES: Final = 512
_MAX_LENGTH: Final = 1024


def memoised(function: Callable[[str, *Ts], T]) -> Callable[[str, *Ts], T]:
    """Remember results by the arguments, the first of which is what a caller sent.

    Long texts, and those that raise, are worked out anew each time.
    """
    # The type of lru_cache forgets the parameters.
    remembered = cast(Callable[[str, *Ts], T], lru_cache(maxsize=_ENTRIES)(function))

    @wraps(function)
    def bounded(text: str, *rest: *Ts) -> T:
        return (function if len(text) > _MAX_LENGTH else remembered)(text, *rest)

    return bounded
