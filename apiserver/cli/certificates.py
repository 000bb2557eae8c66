"""Certificates where none are given: a CA of their own and a serving pair, ECDSA since handshakes
are cheaper.
"""

import ipaddress
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

_CA_LIFETIME: Final = timedelta(days=3650)
_SERVING_LIFETIME: Final = timedelta(days=3650)
#: Clocks of the machines that talk to each other may be apart.
_BACKDATED: Final = timedelta(minutes=5)


def new_pair(now: datetime, *names: str) -> tuple[bytes, bytes, bytes]:
    """Make a CA and a serving certificate for loopback and some DNS names; return CA, certificate
    and key as PEM.

    The CA's key is not kept: nothing else is ever signed with it.
    """
    ca_key = ec.generate_private_key(ec.SECP256R1())
    ca_name = _name("gpuclass-apiserver CA")
    ca = (
        _builder(ca_name, ca_name, ca_key.public_key(), now, _CA_LIFETIME)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_key_usage(signs_certificates=True), critical=True)
        .add_extension(
            x509.SubjectKeyIdentifier.from_public_key(ca_key.public_key()), critical=False
        )
        .sign(ca_key, hashes.SHA256())
    )
    key = ec.generate_private_key(ec.SECP256R1())
    serving = (
        _builder(_name("localhost"), ca_name, key.public_key(), now, _SERVING_LIFETIME)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_key_usage(signs_certificates=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.SubjectAlternativeName(_served_names(names)), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(ca_key.public_key()), critical=False
        )
        .sign(ca_key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    private = key.private_bytes(
        pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return ca.public_bytes(pem), serving.public_bytes(pem), private


def still_serves(
    ca_pem: bytes, certificate_pem: bytes, key_pem: bytes, now: datetime, *names: str
) -> bool:
    """Whether a kept pair can be used at this time: readable, signed by the CA, its own key, not
    expired, and for these names.
    """
    try:
        ca = x509.load_pem_x509_certificate(ca_pem)
        certificate = x509.load_pem_x509_certificate(certificate_pem)
        key = serialization.load_pem_private_key(key_pem, password=None)
        certificate.verify_directly_issued_by(ca)
        extension = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName)
    except (ValueError, TypeError, InvalidSignature, x509.ExtensionNotFound):
        return False
    return (
        certificate.public_key() == key.public_key()
        and set(extension.value).issuperset(_served_names(names))
        and certificate.not_valid_before_utc <= now < certificate.not_valid_after_utc
    )


def _builder(
    subject: x509.Name,
    issuer: x509.Name,
    public_key: ec.EllipticCurvePublicKey,
    now: datetime,
    lifetime: timedelta,
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(public_key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _BACKDATED)
        .not_valid_after(now + lifetime)
    )


def _name(common_name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


def _served_names(names: Sequence[str]) -> list[x509.GeneralName]:
    addresses = ("127.0.0.1", "::1")
    return [
        *(x509.DNSName(name) for name in dict.fromkeys(("localhost", *names))),
        *(x509.IPAddress(ipaddress.ip_address(address)) for address in addresses),
    ]


def _key_usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        encipher_only=False,
        decipher_only=False,
    )
