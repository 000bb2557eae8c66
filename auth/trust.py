"""Whom certificates are believed from: the cluster's client CA and its front proxy (contract 6.20).

Both are read while running, from the ConfigMap extension-apiserver-authentication or from files.
A part that cannot be read leaves the last good one in use; a part that was never there is a
mechanism that is off. So is a front proxy of whose names and headers some were never readable.
"""

import json
import logging
import ssl
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding

logger = logging.getLogger(__name__)

CLIENT_CA_KEY: Final = "client-ca-file"
PROXY_CA_KEY: Final = "requestheader-client-ca-file"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProxyHeaders:
    """What the front proxy says in which headers; all names are lower-case (contract 6.13)."""

    allowed_names: tuple[str, ...] = ()  # common names of its certificate; none: any
    user: tuple[str, ...] = ()
    uid: tuple[str, ...] = ()
    group: tuple[str, ...] = ()
    extra_prefixes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Trust:
    """What is believed now; without CAs a mechanism is off."""

    client_cas: tuple[x509.Certificate, ...] = ()
    proxy_cas: tuple[x509.Certificate, ...] = ()
    headers: ProxyHeaders = ProxyHeaders()

    @property
    def anyone_may_be_anyone(self) -> bool:
        """Whether each client's certificate could speak as the front proxy (contract 6.15)."""
        shared = set(self.client_cas) & set(self.proxy_cas)
        return bool(shared) and not self.headers.allowed_names


#: The keys of the ConfigMap with names, and what each says of `ProxyHeaders`.
_NAMES: Final[Mapping[str, str]] = {
    "requestheader-allowed-names": "allowed_names",
    "requestheader-username-headers": "user",
    "requestheader-uid-headers": "uid",
    "requestheader-group-headers": "group",
    "requestheader-extra-headers-prefix": "extra_prefixes",
}


class TrustStore:
    """The present trust. A part that flags give is not changed by anything else (contract 6.23)."""

    def __init__(self) -> None:
        self.trust = Trust()
        #: Changes with every change of the trust.
        self.generation = 0
        #: Called after every change.
        self.on_change: Callable[[], None] = lambda: None
        self._given: dict[str, object] = {}
        self._faulty: frozenset[str] = frozenset()

    @property
    def client_ca_given(self) -> bool:
        """Whether flags say who signs clients."""
        return "client_cas" in self._given

    @property
    def proxy_given(self) -> bool:
        """Whether flags say who the front proxy is."""
        return "proxy_cas" in self._given

    def give_client_cas(self, pem: bytes) -> None:
        """Take the content of --client-ca-file. Raises ValueError; then the last good one stays."""
        self._given["client_cas"] = read_cas(pem)
        self._use(self.trust)

    def give_proxy(self, pem: bytes, headers: ProxyHeaders) -> None:
        """Take the front proxy as flags describe it. Raises ValueError, likewise."""
        self._given |= {"proxy_cas": read_cas(pem), "headers": headers}
        self._use(self.trust)

    def take(self, data: Mapping[str, str]) -> None:
        """Take the ConfigMap's data, each key by itself; absent and faulty ones change nothing."""
        faulty: set[str] = set()
        cas: dict[str, tuple[x509.Certificate, ...]] = {}
        for key, part in ((CLIENT_CA_KEY, "client_cas"), (PROXY_CA_KEY, "proxy_cas")):
            try:
                if key in data:
                    cas[part] = read_cas(data[key].encode())
            except ValueError:
                faulty.add(key)
        names: dict[str, tuple[str, ...]] = {}
        for key, part in _NAMES.items():
            try:
                if key in data:
                    names[part] = _names(data[key], lower=part != "allowed_names")
            except ValueError:
                faulty.add(key)
        if not self.trust.proxy_cas and not faulty.isdisjoint(_NAMES):
            # There are no last good names: whoever the CA signs would be the front proxy.
            cas.pop("proxy_cas", None)
        headers = replace(self.trust.headers, **names)
        self._tell(frozenset(faulty))
        self._use(replace(self.trust, headers=headers, **cas))

    def client_cas(self) -> str:
        """Return all CAs that a peer's certificate may be of, as PEM; "" for none."""
        return _pem(dict.fromkeys((*self.trust.client_cas, *self.trust.proxy_cas)))

    def _use(self, trust: Trust) -> None:
        trust = replace(trust, **self._given)  # type: ignore[arg-type]  # by the setters' types
        if trust == self.trust:
            return
        self.trust = trust
        self.generation += 1
        logger.info(
            "trust loaded",
            extra={"client_cas": len(trust.client_cas), "proxy_cas": len(trust.proxy_cas)},
        )
        if trust.anyone_may_be_anyone:
            logger.warning(
                "the front proxy's CA signs clients too, and every name is allowed: each client"
                " can speak for anybody; set --requestheader-allowed-names on kube-apiserver"
            )
        self.on_change()

    def _tell(self, faulty: frozenset[str]) -> None:
        for key in sorted(faulty - self._faulty):
            logger.error("trust not read, its last good value stays", extra={"key": key})
        self._faulty = faulty


def read_cas(pem: bytes) -> tuple[x509.Certificate, ...]:
    """Return the certificates of a PEM bundle. Raises ValueError, also where there are none.

    What the TLS library would not load is refused here, where there is a last good value.
    """
    try:
        cas = tuple(x509.load_pem_x509_certificates(pem))
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_verify_locations(cadata=_pem(cas))
    except (ssl.SSLError, x509.InvalidVersion) as error:
        raise ValueError("not certificates") from error
    return cas


def _pem(cas: Iterable[x509.Certificate]) -> str:
    return "".join(ca.public_bytes(Encoding.PEM).decode() for ca in cas)


def _names(text: str, *, lower: bool) -> tuple[str, ...]:
    names = json.loads(text)
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise ValueError("not a list of strings")
    return tuple(name.lower() if lower else name for name in names)
