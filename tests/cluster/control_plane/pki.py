"""Certificates of a cluster: a CA for everybody, one for the front proxy, keys for tokens."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import trustme
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec


@dataclass(frozen=True, slots=True)
class Pair:
    """A certificate with its chain, and its key, as files."""

    certificate: Path
    key: Path


@dataclass(slots=True)
class Authority:
    """A CA that can be replaced, and the file of what is trusted: one CA, or old and new."""

    name: str
    directory: Path
    ca: trustme.CA = field(init=False)
    file: Path = field(init=False)

    def __post_init__(self) -> None:
        self.file = self.directory / f"{self.name}-ca.crt"
        self.replace()
        self.trust_only_present()

    def replace(self) -> None:
        """Sign with a new CA from now on; it is trusted once it is in the file."""
        self.ca = trustme.CA(organization_name=f"{self.name} of the tests")

    def trust_present_too(self) -> None:
        """Trust the present CA besides what is trusted already."""
        _write(self.file, self.file.read_bytes() + self.ca.cert_pem.bytes())

    def trust_only_present(self) -> None:
        """Trust no other CA than the present one."""
        _write(self.file, self.ca.cert_pem.bytes())

    def serving(self, name: str, *hosts: str) -> Pair:
        """Make, or replace, the pair of a server."""
        return self._pair(name, self.ca.issue_cert(*hosts))

    def client(self, name: str, *, user: str, group: str | None = None) -> Pair:
        """Make, or replace, the pair of a client; a certificate's organization is a group."""
        # With a name of some host: Go refuses the list of names that would be left empty.
        made = self.ca.issue_cert("client", common_name=user, organization_name=group)
        return self._pair(name, made)

    def _pair(self, name: str, made: trustme.LeafCert) -> Pair:
        pair = Pair(self.directory / f"{name}.crt", self.directory / f"{name}.key")
        chain = b"".join(each.bytes() for each in made.cert_chain_pems)
        # One right after the other: whoever finds a pair that does not fit looks again.
        _write(pair.key, made.private_key_pem.bytes())
        _write(pair.certificate, chain)
        return pair


def token_keys(directory: Path) -> Pair:
    """Make the keys that sign and prove the tokens of service accounts."""
    key = ec.generate_private_key(ec.SECP256R1())
    pair = Pair(directory / "service-accounts.pub", directory / "service-accounts.key")
    pem = serialization.Encoding.PEM
    public = key.public_key().public_bytes(pem, serialization.PublicFormat.SubjectPublicKeyInfo)
    _write(pair.certificate, public)
    _write(
        pair.key,
        key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()),
    )
    return pair


def bundle(files: Sequence[Path]) -> bytes:
    """Return what several files trust, as one."""
    return b"".join(file.read_bytes() for file in files)


def _write(file: Path, content: bytes) -> None:
    """Replace a file whole: a reader never sees half of it."""
    unfinished = file.with_name(f".{file.name}")
    unfinished.write_bytes(content)
    unfinished.chmod(0o600)
    unfinished.rename(file)
