"""List and watch as the cache sees them: pure types, whoever speaks to the outside (design 3).

A feed lists once, then tells what changes; every list replaces what it told before. Objects arrive
decoded, so that a long list need not be held twice. A list comes whole (`Listed`), or in parts that
hold nothing up: `ListBegan`, `Changed` for each object, `ListEnded`.
"""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from storage.cluster.decoded import Decoded, Ref
from storage.cluster.kinds import Kind


@dataclass(frozen=True, slots=True)
class Feed:
    """One list-watch: a kind, perhaps only the objects of one name.

    License Secrets are read by name (design 2), a feed for each; a feed without a name holds them
    all.
    """

    kind: Kind
    name: str = ""


@dataclass(frozen=True, slots=True)
class Listed:
    """A complete list; what the feed held and is not in here has gone."""

    feed: Feed
    objects: tuple[Decoded, ...]


@dataclass(frozen=True, slots=True)
class ListBegan:
    """What is told until ListEnded is a complete list; one that was not ended is void."""

    feed: Feed


@dataclass(frozen=True, slots=True)
class ListEnded:
    """The list is complete; what the feed held and was not told since ListBegan has gone."""

    feed: Feed


@dataclass(frozen=True, slots=True)
class Changed:
    """One object came, or has other content."""

    feed: Feed
    object: Decoded


@dataclass(frozen=True, slots=True)
class Gone:
    """One object has gone."""

    feed: Feed
    ref: Ref


@dataclass(frozen=True, slots=True)
class Bookmark:
    """The feed was heard of; nothing has changed."""

    feed: Feed


@dataclass(frozen=True, slots=True)
class Forgotten:
    """The feed is not followed any more; nothing of it is kept."""

    feed: Feed


Event: TypeAlias = Listed | ListBegan | ListEnded | Changed | Gone | Bookmark | Forgotten


class Batch(Protocol):
    """Events that belong together, in order."""

    @property
    def events(self) -> tuple[Event, ...]:
        """What happened since the batch before."""
        ...


class ListWatch(Protocol):
    """A source of events. It never ends by itself."""

    def follow(self) -> AsyncIterator[Batch]:
        """Yield what happens; every feed's first event begins a list."""
        ...
