"""With what we say who we are to kube-apiserver, kept current while it is rotated (case PC-06).

The kubernetes package reads most of it once only, and fails on a file caught in the middle of being
written; so it is read here: stripped, the last good value kept, and no more often than is useful.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, Protocol

logger = logging.getLogger(__name__)

_REREAD_SECONDS: Final = 60.0
#: Between two readings that a refusal asks for: many requests are refused at once.
_RENEW_SECONDS: Final = 1.0
#: Between two runs of a plugin, whatever it says of its expiry.
_PLUGIN_SECONDS: Final = 10.0
_PLUGIN_LIMIT_SECONDS: Final = 60.0
_EARLY_SECONDS: Final = 60.0  # before its expiry a token is as good as expired
_LOG_SECONDS: Final = 60.0  # between two lines about the same


class NoCredentialsError(Exception):
    """There is nothing to ask with; the text is for logs at debug level."""


class Credentials(Protocol):
    """What the Authorization header of a request says."""

    async def header(self) -> str | None:
        """Return its present value; None: none is sent. Raises NoCredentialsError."""
        ...

    async def renew(self) -> bool:
        """Take note of a refusal; return whether there is another value to try now."""
        ...


class _Complaint:
    """One sentence, logged once a minute at most."""

    def __init__(self, sentence: str, clock: Callable[[], float]) -> None:
        self._sentence = sentence
        self._clock = clock
        self._logged = float("-inf")

    def log(self) -> None:
        if self._clock() - self._logged >= _LOG_SECONDS:
            self._logged = self._clock()
            logger.warning(self._sentence)


class FixedCredentials:
    """A value that never changes; or none, where a client certificate says who we are."""

    def __init__(self, value: str | None) -> None:
        self._value = value

    async def header(self) -> str | None:
        """Return the value."""
        return self._value

    async def renew(self) -> bool:
        """Return that there is no other."""
        return False


class TokenFile:
    """A token in a file that is replaced from time to time."""

    def __init__(self, path: Path, clock: Callable[[], float]) -> None:
        """Read it when it is needed; the clock gives seconds and is monotonic."""
        self._path = path
        self._clock = clock
        self._token: str | None = None
        self._read_at = float("-inf")
        self._unusable = _Complaint("token file cannot be used, its last good token stays", clock)

    async def header(self) -> str | None:
        """Return the token as it was in the file within the last minute, or its last good one."""
        if self._clock() - self._read_at >= _REREAD_SECONDS:
            self._read()
        if self._token is None:
            raise NoCredentialsError("the token file was never readable")
        return f"Bearer {self._token}"

    async def renew(self) -> bool:
        """Read the file again, unless that was just done."""
        if self._clock() - self._read_at < _RENEW_SECONDS:
            return False
        before = self._token
        self._read()
        return self._token != before

    def _read(self) -> None:
        self._read_at = self._clock()
        try:
            text = self._path.read_text("ascii").strip()
        except (OSError, ValueError):
            text = ""
        if is_token(text):
            self._token = text
        else:
            self._unusable.log()


@dataclass(frozen=True, slots=True)
class _Issued:
    token: str
    expires: datetime | None


class PluginCredentials:
    """A token that a credential plugin gives."""

    def __init__(
        self,
        run: Callable[[], Awaitable[Mapping[str, Any]]],
        clock: Callable[[], float],
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        """Run the plugin when it is needed; `run` returns the status of its ExecCredential."""
        self._run = run
        self._clock = clock
        self._now = now
        self._issued: _Issued | None = None
        self._ran_at = float("-inf")
        self._under_way: asyncio.Task[None] | None = None
        self._failed = _Complaint("credential plugin gave no token, its last one stays", clock)

    async def header(self) -> str | None:
        """Return a token; an expired one when the plugin fails: it is refused at worst."""
        if self._expired():
            await self._run_once()
        if self._issued is None:
            raise NoCredentialsError("the credential plugin has given no token")
        return f"Bearer {self._issued.token}"

    async def renew(self) -> bool:
        """Run the plugin again, unless that was just done."""
        before = self._issued
        await self._run_once()
        return self._issued != before

    async def _run_once(self) -> None:
        """Wait for the run that is under way, or for a new one unless one has just ended.

        Whoever does not wait to its end leaves it running: the next request needs it as much.
        """
        if self._under_way is None and self._may_run():
            self._under_way = asyncio.create_task(self._issue())
        if self._under_way is not None:
            await asyncio.shield(self._under_way)

    def _expired(self) -> bool:
        issued = self._issued
        if issued is None:
            return True
        if issued.expires is None:
            return False
        return (issued.expires - self._now()).total_seconds() < _EARLY_SECONDS

    def _may_run(self) -> bool:
        return self._clock() - self._ran_at >= _PLUGIN_SECONDS

    async def _issue(self) -> None:
        self._ran_at = self._clock()
        try:
            async with asyncio.timeout(_PLUGIN_LIMIT_SECONDS):
                self._issued = _issued(await self._run())
        except Exception as error:  # noqa: BLE001 - whatever a plugin does, the next run may be better
            self._failed.log()
            logger.debug("credential plugin failed", extra={"fault": str(error)})
        finally:
            self._under_way = None


def is_token(text: str) -> bool:
    """Whether a text can be sent as a bearer token."""
    return bool(text) and text.isascii() and text.isprintable() and " " not in text


def _issued(status: Mapping[str, Any]) -> _Issued:
    """Read what a plugin gives. Raises ValueError."""
    token, expires = status.get("token"), status.get("expirationTimestamp")
    if not isinstance(token, str) or not is_token(token.strip()):
        raise ValueError("no token")
    at = datetime.fromisoformat(expires) if isinstance(expires, str) else None
    if at is not None and at.tzinfo is None:
        at = at.replace(tzinfo=UTC)
    return _Issued(token.strip(), at)
