"""What every authenticator is given and gives."""

from dataclasses import dataclass
from typing import Protocol

from auth.identity import User


@dataclass(frozen=True, slots=True)
class Credentials:
    """What a caller presented, free of HTTP: header values and the certificates of its peer.

    Later authenticators (front proxy, client certificates) read `headers` and `peer`; nothing in
    here has been believed yet.
    """

    authorization: tuple[str, ...] = ()  # values of Authorization, in order
    headers: tuple[tuple[str, str], ...] = ()  # every X-Remote-* line, name lower-cased
    peer: tuple[bytes, ...] = ()  # DER certificates that the TLS peer sent, leaf first


class Authenticator(Protocol):
    """One way to prove an identity."""

    async def authenticate(self, credentials: Credentials) -> User | None:
        """Return the user; None: nothing was presented that this one judges.

        Raises UnauthenticatedError where something was presented and is not valid.
        """
        ...
