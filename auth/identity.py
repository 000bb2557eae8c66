"""Who is asking."""

from dataclasses import dataclass
from typing import Final

ANONYMOUS: Final = "system:anonymous"
AUTHENTICATED_GROUP: Final = "system:authenticated"
UNAUTHENTICATED_GROUP: Final = "system:unauthenticated"
MASTERS_GROUP: Final = "system:masters"


@dataclass(frozen=True, slots=True)
class User:
    """An identity as Kubernetes knows it; hashable, so that decisions can be kept by it."""

    name: str
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: tuple[tuple[str, tuple[str, ...]], ...] = ()  # keys lower-cased, in order of appearance
