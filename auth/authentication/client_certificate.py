"""Users who prove themselves by a client certificate of the cluster (contract 6.30, 6.31)."""

from collections.abc import Callable
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.x509.oid import NameOID

from auth.authentication.peer import Role, common_name
from auth.authentication.port import Credentials
from auth.errors import UnauthenticatedError
from auth.identity import User
from auth.trust import TrustStore

CREDENTIAL_ID: Final = "authentication.kubernetes.io/credential-id"
_UID: Final = x509.ObjectIdentifier("1.3.6.1.4.1.57683.2")


class ClientCertificateAuthenticator:
    """Knows the subjects of certificates that the cluster's client CA vouches for."""

    def __init__(self, store: TrustStore, clock: Callable[[], float]) -> None:
        """Take whom to trust, and a clock of Unix seconds."""
        self._store = store
        self._clock = clock

    async def authenticate(self, credentials: Credentials) -> User | None:
        """Return the subject; None without a certificate, or where it has no common name.

        Raises UnauthenticatedError for a certificate that is nobody's here.
        """
        trust, peer = self._store.trust, credentials.peer
        if not trust.client_cas or not peer.chain:
            return None
        leaf = peer.leaf(Role.CLIENT, trust.client_cas, self._store.generation, self._clock())
        if leaf is None:
            raise UnauthenticatedError
        return subject_of(leaf)


def subject_of(certificate: x509.Certificate) -> User | None:
    """Return the user that a certificate is about; None: it has no common name."""
    name = common_name(certificate)
    if not name:
        return None
    organizations = certificate.subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)
    uids = certificate.subject.get_attributes_for_oid(_UID)
    fingerprint = certificate.fingerprint(SHA256()).hex()
    return User(
        name=name,
        uid=str(uids[0].value) if len(uids) == 1 else "",
        groups=tuple(str(each.value) for each in organizations),
        extra=((CREDENTIAL_ID, (f"X509SHA256={fingerprint}",)),),
    )
