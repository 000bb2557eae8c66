"""TLS of the listening socket: pairs and client CAs that change while it serves (contract 10).

The listening context never changes but for whether it asks for a client certificate; what it hands
each new connection to is built anew whenever a file or the trust differs (runtime 2). Connections
that are open go on as they are.
"""

import asyncio
import logging
import os
import ssl
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from cryptography import x509
from cryptography.x509.oid import NameOID

logger = logging.getLogger(__name__)

_ALPN: Final = ("http/1.1",)


@dataclass(frozen=True, slots=True)
class PairFiles:
    """A certificate with its chain, its key, and the names that ask for it (SNI)."""

    certificate: Path
    key: Path
    names: tuple[str, ...] = ()  # lower-case; one that begins with `*.` stands for one label more


@dataclass(frozen=True, slots=True, kw_only=True)
class TLSSettings:
    """What flags say of TLS."""

    pair: PairFiles
    further: tuple[PairFiles, ...] = ()  # for names of their own, the first that fits
    minimum: ssl.TLSVersion = ssl.TLSVersion.TLSv1_2
    ciphers: str = ""  # OpenSSL's list, for TLS up to 1.2; empty: the library's


class PairError(ValueError):
    """A pair that cannot be served with; the text says which file and why."""

    def __init__(self, files: PairFiles, cause: Exception) -> None:
        super().__init__(f"the pair of {files.certificate} cannot be served with: {cause}")
        self.files = files


class _Pair:
    """One pair as it was last read whole, and the context with it."""

    def __init__(self, files: PairFiles, *, by_name: bool) -> None:
        self._files = files
        self._by_name = by_name
        self._good: tuple[bytes, bytes] | None = None
        self.names: tuple[str, ...] = files.names
        self.context: ssl.SSLContext | None = None

    def read(self) -> bool:
        """Take the files if they differ and fit each other; return whether they were taken.

        Raises PairError.
        """
        try:
            read = self._files.certificate.read_bytes(), self._files.key.read_bytes()
            if read == self._good:
                return False
            _load_pair(ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), *read)
            if self._by_name and not self._files.names:
                self.names = _names_in(read[0])
        except (OSError, ValueError) as error:  # ssl.SSLError is an OSError
            raise PairError(self._files, error) from error
        self._good = read
        return True

    def use(self, context: ssl.SSLContext) -> None:
        """Serve by this context from now on, with the last good pair."""
        assert self._good is not None, "the first read raises where there is no good pair"
        _load_pair(context, *self._good)
        self.context = context


class ServingTLS:
    """The contexts of a listening socket."""

    def __init__(self, settings: TLSSettings, client_cas: Callable[[], str]) -> None:
        """Read the files. `client_cas` gives the PEM of all CAs that a client may be of, or "".

        Raises PairError; ssl.SSLError where OpenSSL has none of the ciphers.
        """
        #: Called when callers are asked for certificates who were not asked before.
        self.on_asking: Callable[[], None] = lambda: None
        self._settings = settings
        self._client_cas = client_cas
        self._trusted: str | None = None
        self._fault = False
        self._pairs = [
            _Pair(settings.pair, by_name=False),
            *(_Pair(each, by_name=True) for each in settings.further),
        ]
        self.listening = self._empty_context()
        for pair in self._pairs:
            pair.read()
        self._pairs[0].use(self.listening)
        self.listening.sni_callback = self._choose
        self._use(self._pairs)

    def reload(self) -> None:
        """Take what has changed. Files that do not fit leave their last good pair in use."""
        changed, faults = [], []
        for pair in self._pairs:
            try:
                if pair.read():
                    changed.append(pair)
            except PairError as error:
                faults.append(error)
        self._tell(faults)
        if self._client_cas() != self._trusted:
            changed = self._pairs
        if changed:
            self._use(changed)
            logger.info("serving certificates and client CAs loaded")

    async def follow(
        self, seconds: float, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    ) -> None:
        """Reload every so many seconds; never returns."""
        while True:
            await sleep(seconds)
            self.reload()

    def _use(self, pairs: Sequence[_Pair]) -> None:
        trusted = self._client_cas()
        for pair in pairs:
            pair.use(self._context(trusted))
        self._trusted = trusted
        # Nobody's certificate could be proven without a CA, and asking for one would then end
        # every handshake of a caller that has one.
        asked = self.listening.verify_mode is ssl.CERT_OPTIONAL
        self.listening.verify_mode = ssl.CERT_OPTIONAL if trusted else ssl.CERT_NONE
        if trusted and not asked:
            self.on_asking()

    def _tell(self, faults: Sequence[Exception]) -> None:
        """Log once that files do not fit, and once that they do again."""
        if faults and not self._fault:
            logger.error("serving certificate not loaded, the last good one stays")
            logger.debug("serving certificate not loaded", exc_info=faults[0])
        self._fault = bool(faults)

    def _context(self, trusted: str) -> ssl.SSLContext:
        context = self._empty_context()
        if trusted:
            context.load_verify_locations(cadata=trusted)
            context.verify_mode = ssl.CERT_OPTIONAL
        return context

    def _empty_context(self) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = self._settings.minimum
        if self._settings.ciphers:
            context.set_ciphers(self._settings.ciphers)
        context.set_alpn_protocols(_ALPN)
        context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
        # A session from before a reload would go on with what was withdrawn.
        context.options |= ssl.OP_NO_TICKET
        context.num_tickets = 0
        return context

    def _choose(self, connection: ssl.SSLObject, name: str | None, _: ssl.SSLContext) -> None:
        """Hand a connection to the context of its name; must not raise (runtime 2)."""
        wanted = (name or "").lower().rstrip(".")
        default, *further = self._pairs
        for pair in further:
            if any(_fits(wanted, each) for each in pair.names):
                default = pair
                break
        if default.context is not None:
            connection.context = default.context


def serving_context(certificate: Path, key: Path) -> ssl.SSLContext:
    """Return the context of a server that asks nobody for a certificate, and whose own one stays.

    Raises PairError.
    """
    return ServingTLS(TLSSettings(pair=PairFiles(certificate, key)), lambda: "").listening


def _load_pair(context: ssl.SSLContext, certificate: bytes, key: bytes) -> None:
    """Load a pair from memory: `ssl` takes files only, and those on disk may be others by now."""
    with _as_file(certificate) as certificate_file, _as_file(key) as key_file:
        context.load_cert_chain(certificate_file, key_file, password=_no_password)


def _no_password() -> bytes:
    """Refuse an encrypted key, rather than ask for its password on a terminal."""
    raise ValueError("the key is encrypted")


@contextmanager
def _as_file(content: bytes) -> Iterator[str]:
    descriptor = os.memfd_create("pair")
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        yield f"/proc/self/fd/{descriptor}"


def _fits(wanted: str, pattern: str) -> bool:
    if pattern.startswith("*."):
        return wanted.partition(".")[2] == pattern[2:] != ""
    return wanted == pattern


def _names_in(certificate: bytes) -> tuple[str, ...]:
    """Return the names that a certificate is for. Raises ValueError."""
    try:
        leaf = x509.load_pem_x509_certificates(certificate)[0]
        extension = leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName)
    except x509.InvalidVersion as error:  # which OpenSSL would serve
        raise ValueError("its names cannot be read") from error
    except x509.ExtensionNotFound:
        found = leaf.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
        return tuple(str(each.value).lower() for each in found)
    return tuple(each.lower() for each in extension.value.get_values_for_type(x509.DNSName))
