"""A kube-apiserver that is asked before there is a client for it: it is not reached yet."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

from apiserver.kube.api import API, CALL_SECONDS, Reply, Stream, UnreachableError


class LateAPI:
    """Stands for a client that is still being made, then for that client: an `api.API`."""

    def __init__(self) -> None:
        self._api: API | None = None
        self._there = asyncio.Event()

    def use(self, api: API) -> None:
        """Ask through this one from now on."""
        self._api = api
        self._there.set()

    async def there(self) -> None:
        """Wait for the client."""
        await self._there.wait()

    async def call(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: bytes | None = None,
        accept: str = "application/json",
        seconds: float = CALL_SECONDS,
    ) -> Reply:
        """Send one request. Raises UnreachableError."""
        return await self._present().call(
            method, path, query=query, body=body, accept=accept, seconds=seconds
        )

    @asynccontextmanager
    async def stream(
        self,
        path: str,
        *,
        query: Mapping[str, str],
        accept: str = "application/json",
        silence_seconds: float = 90.0,
    ) -> AsyncIterator[Stream]:
        """Open a stream. Entering raises UnreachableError."""
        opened = self._present().stream(
            path, query=query, accept=accept, silence_seconds=silence_seconds
        )
        async with opened as stream:
            yield stream

    def _present(self) -> API:
        if self._api is None:
            raise UnreachableError("there is no client yet")
        return self._api
