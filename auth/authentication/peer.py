"""Whose certificate a connection was opened with, and what was found out about it.

TLS hands over a peer whose chain ends in any CA that was trusted at the handshake; which one, and
whether it still is, is found out here: once for each connection and trust, and by the clock again.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum
from typing import Final

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID
from cryptography.x509.verification import (
    Criticality,
    ExtensionPolicy,
    Policy,
    PolicyBuilder,
    Store,
    VerificationError,
)

#: How long a refusal counts: a certificate that is not valid yet may become so.
_REFUSED_SECONDS: Final = 10.0

#: What parsing and verifying raise for certificates that somebody made up.
_INVALID: Final = (
    VerificationError,
    ValueError,
    TypeError,
    UnsupportedAlgorithm,
    x509.InvalidVersion,
    x509.DuplicateExtension,
    x509.UnsupportedGeneralNameType,
)


class Role(Enum):
    """As what a peer may be known: each role has CAs of its own."""

    PROXY = "proxy"
    CLIENT = "client"


@dataclass(frozen=True, slots=True)
class _Verdict:
    generation: int  # of the trust
    leaf: x509.Certificate | None  # None: refused
    begins: float  # Unix seconds
    ends: float


class Peer:
    """The other end of one connection."""

    __slots__ = ("_chain", "_read", "_verdicts")

    def __init__(self, read: Callable[[], Sequence[bytes]] = tuple) -> None:
        """Take what gives the DER certificates that the peer sent, leaf first; asked once."""
        self._read = read
        self._chain: tuple[bytes, ...] | None = None
        self._verdicts: dict[Role, _Verdict] = {}

    @property
    def chain(self) -> tuple[bytes, ...]:
        """The DER certificates that the peer sent, leaf first; empty without one."""
        if self._chain is None:
            self._chain = tuple(self._read())
        return self._chain

    def leaf(
        self, role: Role, cas: Sequence[x509.Certificate], generation: int, now: float
    ) -> x509.Certificate | None:
        """Return the peer's certificate if these CAs vouch for it now; None: they do not.

        `generation` names the trust that the CAs are of, `now` is Unix time in seconds.
        """
        verdict = self._verdicts.get(role)
        if (
            verdict is None
            or verdict.generation != generation
            or not verdict.begins <= now < verdict.ends
        ):
            verdict = self._verdicts[role] = _judge(self.chain, cas, generation, now)
        return verdict.leaf


NO_PEER: Final = Peer()


def common_name(certificate: x509.Certificate) -> str:
    """Return the common name of the subject, the last if it has several; "" without one."""
    names = certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
    return str(names[-1].value) if names else ""


def _judge(
    chain: Sequence[bytes], cas: Sequence[x509.Certificate], generation: int, now: float
) -> _Verdict:
    try:
        leaf, *others = (x509.load_der_x509_certificate(each) for each in chain)
        verified = _verify(leaf, others, cas, now)
        begins = max(each.not_valid_before_utc for each in verified).timestamp()
        ends = min(each.not_valid_after_utc for each in verified).timestamp()
        common_name(leaf)  # names are parsed when they are looked at; broken ones raise
    except _INVALID:
        return _Verdict(generation, None, now, now + _REFUSED_SECONDS)
    return _Verdict(generation, leaf, begins, ends)


def _verify(
    leaf: x509.Certificate,
    intermediates: list[x509.Certificate],
    cas: Sequence[x509.Certificate],
    now: float,
) -> Sequence[x509.Certificate]:
    """Return the chain from the leaf to a CA. Raises one of _INVALID."""
    verifier = (
        PolicyBuilder()
        .store(Store(list(cas)))
        .time(datetime.fromtimestamp(now, UTC).replace(tzinfo=None))
        .extension_policies(ca_policy=_CA_POLICY, ee_policy=_CLIENT_POLICY)
        .build_client_verifier()
    )
    return verifier.verify(leaf, intermediates).chain


def _require_ca(
    policy: Policy, certificate: x509.Certificate, extension: x509.BasicConstraints
) -> None:
    del policy, certificate
    if not extension.ca:
        raise ValueError("not a CA")


def _allow_signing(
    policy: Policy, certificate: x509.Certificate, extension: x509.KeyUsage | None
) -> None:
    del policy, certificate
    if extension is not None and not extension.key_cert_sign:
        raise ValueError("may not sign certificates")


def _allow_clients(
    policy: Policy, certificate: x509.Certificate, extension: x509.ExtendedKeyUsage | None
) -> None:
    """Allow what Go allows: no usage is named, or that of a client, or any."""
    del policy, certificate
    if extension is None:
        return
    if not {
        ExtendedKeyUsageOID.CLIENT_AUTH,
        ExtendedKeyUsageOID.ANY_EXTENDED_KEY_USAGE,
    }.intersection(extension):
        raise ValueError("not for clients")


# The library's own policies refuse what clusters sign: no names, no key identifiers (runtime 1).
_CA_POLICY: Final = (
    ExtensionPolicy.permit_all()
    .require_present(x509.BasicConstraints, Criticality.AGNOSTIC, _require_ca)
    .may_be_present(x509.KeyUsage, Criticality.AGNOSTIC, _allow_signing)
)
_CLIENT_POLICY: Final = ExtensionPolicy.permit_all().may_be_present(
    x509.ExtendedKeyUsage, Criticality.AGNOSTIC, _allow_clients
)
