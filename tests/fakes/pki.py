"""Certificates as clusters have them, and as they should not be: nothing is added unasked."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID

#: What tests call now, in Unix seconds.
NOW = 1_800_000_000.0
DAY = timedelta(days=1)

Key = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey | ed25519.Ed25519PrivateKey


def at(seconds: float) -> datetime:
    """Return a time of Unix seconds."""
    return datetime.fromtimestamp(seconds, UTC)


YESTERDAY, TOMORROW = at(NOW) - DAY, at(NOW) + DAY


def a_name(common_name: str, *organizations: str, **others: str) -> x509.Name:
    """Return a subject; keywords are further attributes by dotted number, `_` for `.`."""
    return x509.Name(
        [
            *(x509.NameAttribute(NameOID.ORGANIZATION_NAME, each) for each in organizations),
            *([x509.NameAttribute(NameOID.COMMON_NAME, common_name)] if common_name else ()),
            *(
                x509.NameAttribute(x509.ObjectIdentifier(oid.strip("_").replace("_", ".")), value)
                for oid, value in others.items()
            ),
        ]
    )


@dataclass(frozen=True, slots=True)
class Issued:
    """A certificate and its key."""

    certificate: x509.Certificate
    key: Key

    @property
    def der(self) -> bytes:
        """The certificate as a peer sends it."""
        return self.certificate.public_bytes(Encoding.DER)

    @property
    def pem(self) -> str:
        """The certificate as a ConfigMap holds it."""
        return self.certificate.public_bytes(Encoding.PEM).decode()

    def issue(
        self,
        subject: x509.Name,
        *extensions: tuple[x509.ExtensionType, bool],
        key: Key | None = None,
        begins: datetime = YESTERDAY,
        ends: datetime = TOMORROW,
    ) -> "Issued":
        """Issue a certificate with these extensions (each with whether it is critical)."""
        return _signed(self, subject, extensions, key, begins, ends)


def a_ca(name: str = "ca", *, key: Key | None = None) -> Issued:
    """Return a CA without key identifiers, as some clusters have (PC-07)."""
    extensions = [(x509.BasicConstraints(ca=True, path_length=None), True)]
    return _signed(None, a_name(name), extensions, key, YESTERDAY, TOMORROW + DAY)


def _signed(
    issuer: Issued | None,
    subject: x509.Name,
    extensions: Any,
    key: Key | None,
    begins: datetime,
    ends: datetime,
) -> Issued:
    key = key or ec.generate_private_key(ec.SECP256R1())
    signer = issuer.key if issuer is not None else key
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer.certificate.subject if issuer is not None else subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(begins)
        .not_valid_after(ends)
    )
    for extension, critical in extensions:
        builder = builder.add_extension(extension, critical)
    algorithm = None if isinstance(signer, ed25519.Ed25519PrivateKey) else SHA256()
    return Issued(builder.sign(signer, algorithm), key)
