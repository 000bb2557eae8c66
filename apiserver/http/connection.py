"""Connections: limits of what is read, and answers where there is no request yet (runtime 3)."""

import _ssl  # for a constant that `ssl` does not pass on
import asyncio
import logging
import ssl
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final, cast

from aiohttp import web
from aiohttp.http_exceptions import LineTooLong
from aiohttp.streams import EMPTY_PAYLOAD, StreamReader
from aiohttp.web_protocol import RequestHandler

from apiserver.http.answers import failure, sent
from apiserver.http.app import Handler, new_audit_id
from apiserver.http.request import Request
from apiserver.http.status import BROKEN_REQUEST, HEADERS_TOO_LARGE, UNEXPECTED
from auth.authentication.peer import NO_PEER, Peer

logger = logging.getLogger(__name__)

#: All header lines of a request together, as Go bounds them.
MAX_HEAD_BYTES: Final = 1 << 20

#: Keywords of aiohttp's request handler.
LIMITS: Final[dict[str, Any]] = {
    "max_line_size": MAX_HEAD_BYTES,
    "max_field_size": MAX_HEAD_BYTES,
    "max_headers": 8192,  # lines; a user's groups come one to a line
    "keepalive_timeout": 125.0,  # above the 90 s after which the aggregator drops idle connections
    "lingering_time": 2.0,  # for a body that nobody reads
    "auto_decompress": False,
    "access_log": None,
}

_HEAD_TOO_LARGE: Final = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\nContent-Type: application/json\r\n"
    b"Cache-Control: no-cache, private\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%b"
) % (len(HEADERS_TOO_LARGE.body()), HEADERS_TOO_LARGE.body())


class Connection(RequestHandler):
    """One connection: aiohttp's request handler, with the bounds and error bodies of ours."""

    __slots__ = ("_head_bytes", "_last_body", "_wall_clock", "peer")

    def __init__(self, server: "Server", loop: asyncio.AbstractEventLoop, **limits: Any) -> None:
        super().__init__(server, loop=loop, **limits)
        self._head_bytes = 0
        self._last_body: StreamReader = EMPTY_PAYLOAD  # of the last head that was read
        self._wall_clock = server.wall_clock
        self.peer = NO_PEER

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin; whose certificate the peer has is read when it matters (contract 14.11)."""
        super().connection_made(transport)
        self.peer = Peer(partial(peer_chain, transport.get_extra_info("ssl_object")))

    def data_received(self, data: bytes) -> None:
        """Take what was read; a head of more than MAX_HEAD_BYTES ends the connection with 431.

        The parser bounds each line only, and keeps all of them before anybody is identified. What
        comes before the end of a body is no head, whether or not the body is still wanted.
        """
        if self._last_body.is_eof():
            self._head_bytes += len(data)
            if self._head_bytes > MAX_HEAD_BYTES:
                self._refuse_head()
                return
        known = self._request_count
        super().data_received(data)
        if self._request_count > known:
            self._head_bytes = 0
            self._last_body = self._messages[-1][1]

    def _refuse_head(self) -> None:
        """End the connection; told only where no answer is due, and none was to be the last."""
        answering = self._request_in_progress or self._messages
        if self.transport is not None and self._keepalive and not answering:
            self.transport.write(_HEAD_TOO_LARGE)
        self.force_close()

    def renew(self) -> None:
        """Close, after the request if there is one: the peer is to connect anew.

        aiohttp's `close` would leave an idle connection open, and never read from it again.
        """
        if self._messages or (self._waiter is None and self._request_count):
            self.close()
        else:
            self.force_close()

    def log_exception(self, *args: Any, **details: Any) -> None:
        """Log an error of the framework's; what follows from a lost connection is none."""
        if self.transport is None:
            logger.debug("a connection was lost", exc_info=details.get("exc_info"))
        else:
            super().log_exception(*args, **details)

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        """Answer what the parser could not read, and errors after the handler, with a Status."""
        if status == 400:
            answered = HEADERS_TOO_LARGE if isinstance(exc, LineTooLong) else BROKEN_REQUEST
            logger.debug("a request could not be read", exc_info=exc)
        else:
            answered = UNEXPECTED
            logger.error("a connection failed", exc_info=exc)
        response = sent(
            failure(answered, close=True),
            cast(Request, request),
            now=self._wall_clock(),
            audit_id=new_audit_id(),
        )
        return cast(web.StreamResponse, response)  # aiohttp takes any that can be written


def peer_chain(connection: ssl.SSLObject | None) -> Sequence[bytes]:
    """Return the DER certificates that the peer of a TLS connection sent, leaf first (runtime 1).

    After a session was resumed only the leaf is known.
    """
    leaf = connection.getpeercert(binary_form=True) if connection is not None else None
    if connection is None or leaf is None:
        return ()
    public = getattr(connection, "get_unverified_chain", None)  # from Python 3.13
    if public is not None:
        return tuple(public()) or (leaf,)
    inner = getattr(connection, "_sslobj", None)  # the only way to it before
    sent = inner.get_unverified_chain() if inner is not None else None
    return tuple(each.public_bytes(_ssl.ENCODING_DER) for each in sent or ()) or (leaf,)


class Server(web.Server):
    """The protocol factory of a listening socket. To be made within the running loop."""

    def __init__(self, handler: Handler, *, wall_clock: Callable[[], float]) -> None:
        super().__init__(
            cast(Any, handler),  # as in `Connection.handle_error`
            handler_cancellation=True,
            request_factory=cast(Any, Request),  # likewise
            **LIMITS,
        )
        self.wall_clock = wall_clock

    def renew_connections(self) -> None:
        """Close all connections, each after its request: their peers are to connect anew."""
        for connection in self.connections:
            cast(Connection, connection).renew()

    async def shutdown(self, timeout: float | None = None) -> None:  # noqa: ASYNC109  # aiohttp's
        """Close all connections: idle ones at once, others after their request or the timeout."""
        self.pre_shutdown()
        await super().shutdown(timeout)

    def __call__(self) -> RequestHandler:
        """Return the handler of a new connection; a keyword that aiohttp does not know raises."""
        return Connection(self, self._loop, **self._kwargs)
