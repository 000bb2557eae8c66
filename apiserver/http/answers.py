"""One answer: status, headers and body, and how its bytes go out (contract 3.30 to 3.32, 8.5, 8.6).

`Sent` is all that aiohttp needs of a response: `web.Response` costs a quarter of the requests per
second (runtime 6).
"""

import asyncio
import zlib
from email.utils import formatdate
from functools import lru_cache
from http import HTTPStatus
from typing import Final, NamedTuple

import msgspec
import yaml
from aiohttp import HttpVersion11
from aiohttp.web_protocol import RequestHandler

from apiserver.http.errors import NotAcceptableError
from apiserver.http.negotiation import Encoding
from apiserver.http.request import Request
from apiserver.http.status import Status

NO_CACHE: Final = "Cache-Control: no-cache, private\r\n"
_NOSNIFF: Final = "X-Content-Type-Options: nosniff\r\n"

#: Smaller bodies are not worth the time that compressing takes.
_GZIP_MIN_BYTES: Final = 128 * 1024
_GZIP_WINDOW: Final = 16 + zlib.MAX_WBITS
_MAX_TOKENS: Final = 64  # of an Accept-Encoding header

#: Larger bodies take too long to turn into YAML.
_YAML_MAX_BYTES: Final = 64 * 1024

#: How long a reader may take to let the server write on.
_WRITE_SECONDS: Final = 60


class Answer(NamedTuple):
    """What is to be sent; Content-Length, Date and the headers of every answer are added."""

    content_type: str  # "": there is no body
    body: tuple[bytes, ...]  # in pieces, so that what is kept is copied once only
    code: int = HTTPStatus.OK
    headers: str = NO_CACHE  # whole lines
    close: bool = False  # the connection ends with this answer

    @property
    def size(self) -> int:
        """Bytes of the body."""
        return sum(map(len, self.body))


def failure(status: Status, *, close: bool = False) -> Answer:
    """Return the answer that carries a Status; always JSON, which every client reads."""
    headers = NO_CACHE + _NOSNIFF
    if status.retry_after:
        headers += f"Retry-After: {status.retry_after}\r\n"
    return Answer(
        code=status.code,
        content_type=Encoding.JSON,
        body=(status.body(),),
        headers=headers,
        close=close,
    )


def plain_text(body: str, code: int) -> Answer:
    """Return an answer in plain text."""
    return Answer(
        code=code,
        content_type="text/plain; charset=utf-8",
        body=(body.encode(),),
        headers=NO_CACHE + _NOSNIFF,
    )


def rendered(body: tuple[bytes, ...], encoding: Encoding, *, pretty: bool) -> tuple[bytes, ...]:
    """Turn compact JSON on a line into what was negotiated.

    Raises NotAcceptableError for YAML of a large body: nobody else is answered meanwhile, and JSON
    can be had.
    """
    if encoding is Encoding.YAML:
        return (_yaml(b"".join(body)),)
    if pretty:
        return msgspec.json.format(b"".join(body).rstrip(), indent=2), b"\n"
    return body


def _yaml(body: bytes) -> bytes:
    if len(body) > _YAML_MAX_BYTES:
        raise NotAcceptableError(
            f"the answer is too large for {Encoding.YAML.value}, ask for {Encoding.JSON.value}"
        )
    document: str = yaml.dump(
        msgspec.json.decode(body),
        Dumper=getattr(yaml, "CSafeDumper", yaml.SafeDumper),  # there only where libyaml is
        allow_unicode=True,
        default_flow_style=False,
    )
    return document.encode()


def compressed(answer: Answer, accept_encoding: str) -> Answer:
    """Return a large answer compressed where the caller takes gzip, any other one as it is."""
    if answer.size <= _GZIP_MIN_BYTES or "gzip" not in _tokens(accept_encoding):
        return answer
    squeeze = zlib.compressobj(1, zlib.DEFLATED, _GZIP_WINDOW)
    return answer._replace(
        body=(squeeze.compress(b"".join(answer.body)), squeeze.flush()),
        headers=f"{answer.headers}Content-Encoding: gzip\r\nVary: Accept-Encoding\r\n",
    )


def _tokens(header: str) -> set[str]:
    return {part.partition(";")[0].strip() for part in header.split(",", _MAX_TOKENS)[:_MAX_TOKENS]}


@lru_cache(maxsize=256)
def _head(code: int, content_type: str, headers: str) -> str:
    of_type = f"Content-Type: {content_type}\r\n" if content_type else ""
    return f"HTTP/1.1 {code} {HTTPStatus(code).phrase}\r\n{of_type}{headers}"


@lru_cache(maxsize=2)
def _date(seconds: int) -> str:
    return formatdate(seconds, usegmt=True)


class Sent:
    """An answer on its way out, as aiohttp's request handler takes a response."""

    __slots__ = ("_bytes", "keep_alive")

    def __init__(self, everything: bytes, *, keep_alive: bool) -> None:
        self._bytes = everything
        self.keep_alive = keep_alive

    async def prepare(self, request: Request) -> None:
        """Write everything. Raises ConnectionResetError where the caller has gone."""
        transport = request.protocol.transport
        if transport is None or transport.is_closing():
            raise ConnectionResetError
        transport.write(self._bytes)
        if request.protocol.writing_paused:
            await _drained(request.protocol, transport)

    async def write_eof(self) -> None:
        """Do nothing: `prepare` has written the body."""


async def _drained(protocol: RequestHandler, transport: asyncio.Transport) -> None:
    """Wait until the caller has read; cut off one who does not."""
    try:
        async with asyncio.timeout(_WRITE_SECONDS):
            await protocol._drain_helper()  # noqa: SLF001  # aiohttp has no public way to wait
    except TimeoutError:
        transport.abort()
        raise ConnectionResetError from None


def sent(answer: Answer, request: Request, *, now: float, audit_id: str) -> Sent:
    """Return what goes out for an answer; `now` is Unix time.

    The connection ends where the caller wants it to, where the request was an upgrade (what follows
    it on the connection is not ours to read, contract 6.50), and where a body was left unread.
    """
    keep_alive = (
        request.keep_alive and not answer.close and not request.upgrade and request.content.is_eof()
    )
    lines = _head(answer.code, answer.content_type, answer.headers)
    if answer.code != HTTPStatus.NOT_MODIFIED:
        lines += f"Content-Length: {answer.size}\r\n"
    if not keep_alive:
        lines += "Connection: close\r\n"
    elif request.version < HttpVersion11:
        lines += "Connection: keep-alive\r\n"
    head = f"{lines}Audit-Id: {audit_id}\r\nDate: {_date(int(now))}\r\n\r\n".encode()
    everything = head if request.method == "HEAD" else b"".join((head, *answer.body))
    return Sent(everything, keep_alive=keep_alive)
