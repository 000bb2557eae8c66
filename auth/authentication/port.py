"""What every authenticator is given and gives."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from auth.authentication.peer import NO_PEER, Peer
from auth.identity import User


@dataclass(frozen=True, slots=True)
class Credentials:
    """What a caller presented, free of HTTP; nothing in here has been believed yet."""

    authorization: tuple[str, ...] = ()  # values of Authorization, in order
    headers: Iterable[tuple[str, str]] = ()  # every line, names as they were sent
    peer: Peer = NO_PEER


class Authenticator(Protocol):
    """One way to prove an identity."""

    async def authenticate(self, credentials: Credentials) -> User | None:
        """Return the user; None: nothing was presented that this one judges.

        Raises UnauthenticatedError where something was presented and is not valid.
        """
        ...
