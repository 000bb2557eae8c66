"""Requests to kube-apiserver over the kubernetes package's connection pool (runtime 8).

Importing this takes a quarter of a second, and loading reads files: do both in a thread. What the
package would read once only is followed here: tokens (`credentials`), and the files of the CA and
of our certificate, which a new pool takes over while the old one serves its requests out.
"""

import logging
import socket
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote, urlencode

import aiohttp
import msgspec
from kubernetes.aio.client import Configuration
from kubernetes.aio.client.rest import RESTClientObject
from yarl import URL

import apiserver
from apiserver.kube.api import CALL_SECONDS, Reply, UnreachableError
from apiserver.kube.connection import Connection, from_kubeconfig, in_cluster
from apiserver.kube.credentials import NoCredentialsError
from apiserver.kube.errors import ConfigurationError
from apiserver.kube.lines import LineSplitter

logger = logging.getLogger(__name__)

_AGENT: Final = f"gpuclass-apiserver/{apiserver.__version__}"
_CONNECT_SECONDS: Final = 10.0
_LONGEST_RETRY_AFTER: Final = 120.0
#: How old what is known of the files of certificates may be.
_REREAD_SECONDS: Final = 60.0
#: Between two readings that failed handshakes ask for.
_RENEW_SECONDS: Final = 5.0


def load_client(
    kubeconfig: Path | None, *, clock: Callable[[], float] = time.monotonic
) -> "KubeClient":
    """Return a client for a kubeconfig, or for the service account of our pod; not on a loop.

    Raises ConfigurationError.
    """
    connection = in_cluster(clock) if kubeconfig is None else from_kubeconfig(kubeconfig, clock)
    return KubeClient(connection, clock=clock)


class KubeClient:
    """A kube-apiserver, asked as one identity: an `api.API`."""

    def __init__(
        self, connection: Connection, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Make the TLS context. Raises ConfigurationError for certificates that do not fit."""
        self._configuration = _adjusted(connection.configuration)
        self._credentials = connection.credentials
        self._host: Final = str(self._configuration.host).rstrip("/")
        self._clock = clock
        try:
            self._pool = _Pool.of(self._configuration)
        except (OSError, ValueError) as error:
            text = f"the certificates for kube-apiserver cannot be used: {error}"
            raise ConfigurationError(text) from error
        self._looked = clock()
        self._retired: set[_Pool] = set()

    async def close(self) -> None:
        """Close all connections."""
        for pool in (self._pool, *self._retired):
            await pool.rest.close()

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
        """Send one request; a body is JSON. Raises UnreachableError."""
        request = _Request(
            method=method,
            url=self._url(path, query or {}),
            accept=accept,
            limits=aiohttp.ClientTimeout(total=seconds, sock_connect=_CONNECT_SECONDS),
            body=None if body is None else msgspec.json.decode(body),
        )
        async with self._answer(request) as response:
            try:
                content = await response.read()
            except (aiohttp.ClientError, TimeoutError, OSError) as error:
                raise _unreachable(error) from error
            return Reply(status=response.status, body=content, retry_after=_retry_after(response))

    @asynccontextmanager
    async def stream(
        self,
        path: str,
        *,
        query: Mapping[str, str],
        accept: str = "application/json",
        silence_seconds: float = 90.0,
    ) -> AsyncIterator["KubeStream"]:
        """Open a stream that may go on for ever. Entering raises UnreachableError."""
        request = _Request(
            url=self._url(path, query),
            accept=accept,
            limits=aiohttp.ClientTimeout(
                total=None, sock_connect=_CONNECT_SECONDS, sock_read=silence_seconds
            ),
        )
        async with self._answer(request) as response:
            yield KubeStream(response)

    def _url(self, path: str, query: Mapping[str, str]) -> URL:
        question = "?" + urlencode(query, quote_via=quote) if query else ""
        return URL(self._host + path + question, encoded=True)

    @asynccontextmanager
    async def _answer(self, request: "_Request") -> AsyncIterator[aiohttp.ClientResponse]:
        """Ask; after a refusal once more, if there are other credentials by then."""
        async with self._pooled() as pool:
            response = await self._ask(pool, request)
            try:
                if response.status == 401 and await self._credentials.renew():
                    response.close()
                    response = await self._ask(pool, request)
                yield response
            finally:
                # Read to its end, its connection is in the pool again; else it is of no use.
                response.close()

    async def _ask(self, pool: "_Pool", request: "_Request") -> aiohttp.ClientResponse:
        # Over fast networks packing pages costs both sides more than sending them as they are.
        headers = {"Accept": request.accept, "User-Agent": _AGENT, "Accept-Encoding": "identity"}
        try:
            value = await self._credentials.header()
            if value is not None:
                headers["Authorization"] = value
            answer = await pool.rest.request(
                request.method,
                request.url,
                headers=headers,
                body=request.body,
                _request_timeout=request.limits,
            )
        except aiohttp.ClientConnectorCertificateError as error:
            self._look_again()
            raise _unreachable(error) from error
        except (aiohttp.ClientError, TimeoutError, OSError, NoCredentialsError) as error:
            raise _unreachable(error) from error
        response: aiohttp.ClientResponse = answer.response
        return response

    @asynccontextmanager
    async def _pooled(self) -> AsyncIterator["_Pool"]:
        """Give the present pool, and close one that is not any more with its last request."""
        self._follow_files()
        pool = self._pool
        pool.users += 1
        try:
            yield pool
        finally:
            pool.users -= 1
            for old in [each for each in self._retired if each.users == 0]:
                self._retired.discard(old)
                await old.rest.close()

    def _look_again(self) -> None:
        """Let the next request read the files of certificates, unless that was just done."""
        if self._clock() - self._looked >= _RENEW_SECONDS:
            self._looked = float("-inf")

    def _follow_files(self) -> None:
        """Take over certificates that have changed; files that do not fit change nothing."""
        if self._clock() - self._looked < _REREAD_SECONDS:
            return
        self._looked = self._clock()
        if _digest(self._configuration) in (self._pool.digest, None):
            return
        try:
            pool = _Pool.of(self._configuration)
        except (OSError, ValueError):  # of which ssl.SSLError is one
            logger.warning("certificate files cannot be used, the last good ones stay")
            return
        self._retired.add(self._pool)
        self._pool = pool
        logger.info("certificates for kube-apiserver are read anew")


class KubeStream:
    """A response that goes on: an `api.Stream`."""

    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self._response = response

    @property
    def status(self) -> int:
        """The HTTP status."""
        return self._response.status

    @property
    def retry_after(self) -> float | None:
        """Seconds to wait before the next request, where the answer says so."""
        return _retry_after(self._response)

    async def lines(self) -> AsyncIterator[Sequence[bytes]]:
        """Yield complete lines, all that have come at once. Raises UnreachableError."""
        splitter = LineSplitter()
        try:
            async for data in self._response.content.iter_any():
                if lines := splitter.feed(data):
                    yield lines
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise _unreachable(error) from error


class _RESTClient(RESTClientObject):
    """The package's pool, over sockets that notice a peer that has gone."""

    def _create_connector(self) -> aiohttp.TCPConnector:
        return aiohttp.TCPConnector(limit=0, ssl=self.ssl_context, socket_factory=_socket)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Request:
    """One request; the body is not yet JSON, since the package makes it that."""

    method: str = "GET"
    url: URL
    accept: str
    limits: aiohttp.ClientTimeout
    body: object = None


@dataclass(slots=True, eq=False)
class _Pool:
    """Connections that trust and prove the same."""

    rest: RESTClientObject
    digest: bytes | None  # of the files
    users: int = field(default=0)

    @classmethod
    def of(cls, configuration: Configuration) -> "_Pool":
        """Read the files. Raises OSError and ValueError."""
        digest = _digest(configuration)
        return cls(_RESTClient(configuration), digest)


def _adjusted(configuration: Configuration) -> Configuration:
    # CAs without key identifiers are common; chain and host name are checked all the same (PC-07).
    configuration.disable_strict_ssl_verification = True
    return configuration


def _digest(configuration: Configuration) -> bytes | None:
    """Return what tells one state of the files of certificates from another; None: unreadable."""
    digest = sha256()
    for name in (configuration.ssl_ca_cert, configuration.cert_file, configuration.key_file):
        try:
            digest.update(sha256(Path(name).read_bytes() if name else b"").digest())
        except OSError:
            return None
    return digest.digest()


def _socket(info: tuple[Any, ...]) -> socket.socket:
    """Return a socket that finds out within a minute that nobody is there any more."""
    family, kind, protocol, *_ = info
    made = socket.socket(family, kind, protocol)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in (("TCP_KEEPIDLE", 30), ("TCP_KEEPINTVL", 10), ("TCP_KEEPCNT", 3)):
        if hasattr(socket, option):
            made.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)
    return made


def _retry_after(response: aiohttp.ClientResponse) -> float | None:
    text = response.headers.get("Retry-After", "")
    return min(float(text), _LONGEST_RETRY_AFTER) if text.isdecimal() else None


def _unreachable(error: Exception) -> UnreachableError:
    logger.debug("no answer from kube-apiserver", extra={"fault": str(error) or repr(error)})
    return UnreachableError(str(error) or type(error).__name__)
