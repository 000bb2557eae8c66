"""A request as aiohttp's request handler makes it, reduced to what is looked at here.

aiohttp's own class fills fifteen attributes, each of which costs as much as a step of the flow.
"""

import asyncio
from typing import Any

from aiohttp import HttpVersion
from aiohttp.abc import AbstractStreamWriter
from aiohttp.http_parser import RawRequestMessage
from aiohttp.streams import StreamReader
from aiohttp.web_protocol import RequestHandler
from multidict import CIMultiDictProxy

from auth.authentication.peer import NO_PEER, Peer


class Request:
    """One request; the body has not been read, and may still be on its way."""

    __slots__ = (
        *("_task", "content", "headers", "keep_alive"),
        *("method", "protocol", "target", "upgrade", "version"),
    )

    def __init__(
        self,
        message: RawRequestMessage,
        content: StreamReader,
        protocol: RequestHandler,
        writer: AbstractStreamWriter,
        task: asyncio.Task[Any],
    ) -> None:
        """Take what aiohttp gives to a request factory."""
        del writer  # answers write to the transport themselves
        self.method: str = message.method
        self.target: str = message.path  # raw, with the query
        self.version: HttpVersion = message.version
        self.headers: CIMultiDictProxy[str] = message.headers
        self.keep_alive = not message.should_close
        self.upgrade: bool = message.upgrade  # the parser takes what follows for another protocol
        self.content = content
        self.protocol = protocol
        self._task: asyncio.Task[Any] | None = task  # aiohttp drops it at the end

    @property
    def peer(self) -> Peer:
        """Who is at the other end of the connection, and what is known about them."""
        peer: Peer = getattr(self.protocol, "peer", NO_PEER)
        return peer

    @property
    def body_size(self) -> int:
        """Bytes of the body as announced; 0 where there is none, or no announcement."""
        return int(self.headers.get("Content-Length", "0"))

    def _finish(self) -> None:
        """Do nothing: aiohttp asks that a request give up what it holds, and this holds nothing."""

    def _cancel(self, error: BaseException) -> None:
        """Wake whoever reads the body: the connection has gone."""
        self.content.set_exception(error)
