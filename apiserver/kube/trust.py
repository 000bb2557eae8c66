"""Follows the ConfigMap that says whom to trust (contract 6.20 to 6.23).

By a list and a watch of the one name, which is all that the stock Role allows; listed anew each
minute besides, as upstream does. Nothing that goes wrong here ends the process: the last good
values stay.
"""

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, NoReturn

import msgspec

from apiserver.kube.api import API, UnreachableError

logger = logging.getLogger(__name__)

NAME: Final = "extension-apiserver-authentication"
PATH: Final = "/api/v1/namespaces/kube-system/configmaps"
_SELECTOR: Final = {"fieldSelector": f"metadata.name={NAME}"}
_OK: Final = 200
_FORBIDDEN: Final = 403
_LOG_EVERY: Final = 60.0
_TOLD: Final = frozenset({"ADDED", "MODIFIED"})


@dataclass(frozen=True, slots=True, kw_only=True)
class TrustWaits:
    """Seconds that following waits for something."""

    watch: int = 50  # until it is listed anew
    silence: float = 60.0
    first_pause: float = 1.0  # after the first failure
    longest_pause: float = 20.0
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    chance: Callable[[], float] = field(default=random.random)


class _ListMeta(msgspec.Struct, rename="camel"):
    resource_version: str = ""


class _ConfigMap(msgspec.Struct):
    data: dict[str, str] | None = None


class _List(msgspec.Struct):
    metadata: _ListMeta
    items: list[_ConfigMap]


class _Event(msgspec.Struct):
    type: str
    object: msgspec.Raw


_LIST: Final = msgspec.json.Decoder(_List)
_EVENT: Final = msgspec.json.Decoder(_Event)
_CONFIG_MAP: Final = msgspec.json.Decoder(_ConfigMap)


class _FailedError(Exception):
    """It could not be read; `status` None: no answer, or none that can be understood."""

    def __init__(self, status: int | None = None) -> None:
        super().__init__()
        self.status = status


class TrustFollower:
    """Keeps what is trusted current."""

    def __init__(
        self,
        api: API,
        take: Callable[[Mapping[str, str]], None],
        clock: Callable[[], float],
        waits: TrustWaits = TrustWaits(),
    ) -> None:
        """Give each state of the ConfigMap's data to `take`; the clock is monotonic."""
        self._api = api
        self._take = take
        self._clock = clock
        self._waits = waits
        self._logged: float | None = None
        self._told = False  # that it fails, and not yet that it does so no more
        #: Set once the ConfigMap was read.
        self.settled: Final = asyncio.Event()
        #: When it was last heard of, by the clock; None: never.
        self.heard: float | None = None

    async def run(self) -> NoReturn:
        """Follow for ever."""
        failures = 0
        while True:
            try:
                await self._watch(await self._list())
                failures = 0
            except (_FailedError, UnreachableError, msgspec.MsgspecError) as error:
                logger.debug("trust was not read", exc_info=error)
                self._log(error.status if isinstance(error, _FailedError) else None)
                failures += 1
            await self._pause(failures)

    async def _list(self) -> str:
        """Take the present state; return the version that a watch goes on from."""
        reply = await self._api.call("GET", PATH, query=_SELECTOR)
        if reply.status != _OK:
            raise _FailedError(reply.status)
        listed = _LIST.decode(reply.body)
        if not listed.items:
            raise _FailedError(404)
        self._heard(listed.items[0])
        return listed.metadata.resource_version

    async def _watch(self, version: str) -> None:
        """Take what changes until the server ends the watch."""
        query = {
            **_SELECTOR,
            "watch": "true",
            "resourceVersion": version,
            "timeoutSeconds": str(self._waits.watch),
        }
        opened = self._api.stream(PATH, query=query, silence_seconds=self._waits.silence)
        async with opened as stream:
            if stream.status != _OK:
                raise _FailedError(stream.status)
            if self._told:
                self._told = False
                logger.info("trust is followed again")
            async for lines in stream.lines():
                for line in lines:
                    event = _EVENT.decode(line)
                    if event.type in _TOLD:
                        self._heard(_CONFIG_MAP.decode(event.object))
                    elif event.type == "ERROR":
                        return

    def _heard(self, config_map: _ConfigMap) -> None:
        self.heard = self._clock()
        self._take(config_map.data or {})
        self.settled.set()

    async def _pause(self, failures: int) -> None:
        """Wait before the next list, also after a watch that ended well: it may end at once."""
        waits = self._waits
        pause = min(waits.first_pause * 2 ** min(max(failures - 1, 0), 10), waits.longest_pause)
        await waits.sleep(pause * (0.5 + waits.chance() / 2))

    def _log(self, status: int | None) -> None:
        """Log that it cannot be read, and what to do, once a minute."""
        now = self._clock()
        if self._logged is not None and now - self._logged < _LOG_EVERY:
            return
        self._logged, self._told = now, True
        if status == _FORBIDDEN:
            logger.error(
                "ConfigMap kube-system/%s may not be read, its last good values stay: bind Role"
                " extension-apiserver-authentication-reader in kube-system to our account",
                NAME,
            )
        else:
            logger.error(
                "ConfigMap kube-system/%s cannot be read, its last good values stay",
                NAME,
                extra={} if status is None else {"status": status},
            )
