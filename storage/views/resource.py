"""What a read-only computed resource offers to whoever serves it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

T_co = TypeVar("T_co", covariant=True)


class NotReadyError(Exception):
    """Classes were never read: nothing can be told yet, not even that there is nothing."""


@dataclass(frozen=True, slots=True)
class Key:
    """One object without its content: enough to select, to order and to find its bytes again."""

    namespace: str  # "" for cluster-scoped objects
    name: str
    revision: (
        int  # changes whenever the content does, so (namespace, name, revision) names the content
    )
    labels: Mapping[str, str]


class Resource(Protocol, Generic[T_co]):
    """A resource: its keys in a scope, and the object of a key. Nothing here waits."""

    def keys(self, namespace: str | None) -> Sequence[Key]:
        """Return the keys by namespace and name; None: of all recorded tenants, or cluster-scoped.

        Raises NotReadyError.
        """
        ...

    def find(self, namespace: str, name: str) -> Key | None:
        """Return the key of one object, None where there is none. Raises NotReadyError."""
        ...

    def compose(self, key: Key) -> T_co:
        """Return the object of a key that was just obtained, at the key's revision."""
        ...


class Freshness(Protocol):
    """The revision line as readers use it (design 6)."""

    @property
    def generation(self) -> int:
        """A number that changes with anything published; for caches within a process."""
        ...

    def list_revision(self) -> int:
        """Return the revision of a list made now: above every object's, never falling."""
        ...

    def admit(self, revision: int) -> bool:
        """Whether an answer at or after this revision can be given now.

        A revision of another replica at most a minute ahead moves the line past it; one further
        ahead changes nothing and is not admitted.
        """
        ...
