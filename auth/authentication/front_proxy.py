"""Users that kube-apiserver's front proxy speaks for (contract 6.10 to 6.14).

The one place that believes identity headers: only over a connection whose certificate the front
proxy's own CA vouches for, and only from the names that may speak.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Final
from urllib.parse import unquote_to_bytes

from auth.authentication.peer import Role, common_name
from auth.authentication.port import Credentials
from auth.errors import UnauthenticatedError
from auth.identity import User
from auth.trust import ProxyHeaders, TrustStore

_BROKEN_ESCAPE: Final = re.compile("%(?![0-9A-Fa-f]{2})")


class FrontProxyAuthenticator:
    """Knows whom the front proxy names."""

    def __init__(self, store: TrustStore, clock: Callable[[], float]) -> None:
        """Take whom to trust, and a clock of Unix seconds."""
        self._store = store
        self._clock = clock

    async def authenticate(self, credentials: Credentials) -> User | None:
        """Return the user of the headers; None without a certificate, or without a name in them.

        Raises UnauthenticatedError for a certificate that is not the front proxy's.
        """
        trust, peer = self._store.trust, credentials.peer
        if not trust.proxy_cas or not peer.chain:
            return None
        leaf = peer.leaf(Role.PROXY, trust.proxy_cas, self._store.generation, self._clock())
        if leaf is None:
            raise UnauthenticatedError
        allowed = trust.headers.allowed_names
        if allowed and common_name(leaf) not in allowed:
            raise UnauthenticatedError
        return user_of(trust.headers, credentials.headers)


def user_of(names: ProxyHeaders, lines: Iterable[tuple[str, str]]) -> User | None:
    """Return the user that header lines tell of; None where they name none.

    Raises UnauthenticatedError for text that is not UTF-8: it could not be asked about exactly.
    """
    lower = [(name.lower(), value) for name, value in lines]
    user = _first(names.user, lower)
    if user is None:
        return None
    return User(
        name=user,
        uid=_first(names.uid, lower) or "",
        groups=tuple(
            _exact(value) for header in names.group for name, value in lower if name == header
        ),
        extra=_extra(names.extra_prefixes, lower),
    )


def _first(headers: Sequence[str], lines: Sequence[tuple[str, str]]) -> str | None:
    """Return the first value that is not empty, of the first header that has one."""
    for header in headers:
        for name, value in lines:
            if name == header and value:
                return _exact(value)
    return None


def _extra(
    prefixes: Sequence[str], lines: Sequence[tuple[str, str]]
) -> tuple[tuple[str, tuple[str, ...]], ...]:
    found: dict[str, list[str]] = {}
    for prefix in prefixes:
        for name, value in lines:
            if name.startswith(prefix):
                found.setdefault(_key(name.removeprefix(prefix)), []).append(_exact(value))
    return tuple((key, tuple(values)) for key, values in found.items())


def _key(escaped: str) -> str:
    """Return a key without its percent escapes; one that has broken ones stays as it is."""
    if _BROKEN_ESCAPE.search(escaped):
        return escaped
    try:
        return unquote_to_bytes(escaped).decode()
    except UnicodeDecodeError:
        return escaped


def _exact(value: str) -> str:
    if not value.isascii() and any("\ud800" <= each <= "\udfff" for each in value):
        raise UnauthenticatedError
    return value
