"""Which CA vouches for the certificate of a connection, and until when (contract 6.10, 6.31)."""

from datetime import timedelta

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, ObjectIdentifier
from fakes.pki import DAY, NOW, Issued, Key, a_ca, a_name, at
from hypothesis import given
from hypothesis import strategies as st

from auth.authentication.peer import NO_PEER, Peer, Role, common_name

CA = (x509.BasicConstraints(ca=True, path_length=None), True)
NO_FURTHER_CA = (x509.BasicConstraints(ca=True, path_length=0), True)
CLIENT = (x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CLIENT_AUTH]), False)
SERVER = (x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), False)
ANY = (x509.ExtendedKeyUsage([ExtendedKeyUsageOID.ANY_EXTENDED_KEY_USAGE]), False)
UNKNOWN = (x509.UnrecognizedExtension(ObjectIdentifier("1.2.3.4.5"), b"\x05\x00"), True)
#: One key for all tests: making it is slow.
RSA = rsa.generate_private_key(65537, 2048)

ROOT = a_ca()
MARIA = a_name("maria")
LEAF = ROOT.issue(MARIA, CLIENT)


def believed(peer: Peer, ca: Issued | None = ROOT, now: float = NOW, generation: int = 1) -> bool:
    """Whether a CA vouches for a peer now."""
    cas = () if ca is None else (ca.certificate,)
    return peer.leaf(Role.CLIENT, cas, generation, now) is not None


def a_peer(*chain: Issued) -> Peer:
    """A peer that sent these certificates."""
    return Peer(lambda: [each.der for each in chain])


@pytest.mark.parametrize("extensions", [(), (CLIENT,), (ANY,)])
@pytest.mark.parametrize(
    "key", [RSA, ec.generate_private_key(ec.SECP384R1()), ed25519.Ed25519PrivateKey.generate()]
)
def test_certificates_as_clusters_sign_them_are_believed(
    extensions: tuple[tuple[x509.ExtensionType, bool], ...], key: Key
) -> None:
    """PC-07, runtime 1: no names but the subject's, no key identifiers; for clients or anything."""
    assert believed(a_peer(ROOT.issue(MARIA, *extensions, key=key)))


def test_a_ca_with_an_rsa_key_vouches() -> None:
    """Runtime 1: what kubeadm makes."""
    root = a_ca(key=RSA)
    assert believed(a_peer(root.issue(MARIA, CLIENT)), root)


def test_a_usage_for_servers_beside_one_for_clients_does_no_harm() -> None:
    """Contract 6.30: kubelets' certificates have both."""
    both = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH])
    assert believed(a_peer(ROOT.issue(MARIA, (both, False))))


def test_an_intermediate_that_was_sent_is_used() -> None:
    """Contract 6.10; without it, as after a resumption, nobody vouches."""
    between = ROOT.issue(a_name("between"), CA)
    leaf = between.issue(MARIA, CLIENT)
    assert believed(a_peer(leaf, between))
    assert not believed(a_peer(leaf))


def refused() -> dict[str, tuple[Issued, ...]]:
    """Chains that prove nothing, by what is wrong with them."""
    impostor, narrow = a_ca(), ROOT.issue(a_name("narrow"), NO_FURTHER_CA)
    no_ca = ROOT.issue(a_name("no ca"), (x509.BasicConstraints(ca=False, path_length=None), True))
    silent = ROOT.issue(a_name("silent"))
    deep = narrow.issue(a_name("deep"), CA)
    no_signer = ROOT.issue(a_name("no signer"), CA, (_usage(sign=False), True))
    return {
        "no certificate": (),
        "another CA of the same name": (impostor.issue(MARIA, CLIENT),),
        "signed by itself": (a_ca("maria"),),
        "for servers only": (ROOT.issue(MARIA, SERVER),),
        "expired": (ROOT.issue(MARIA, CLIENT, begins=at(NOW) - 2 * DAY, ends=at(NOW) - DAY),),
        "not yet valid": (ROOT.issue(MARIA, CLIENT, begins=at(NOW) + DAY, ends=at(NOW) + 2 * DAY),),
        "unknown and critical": (ROOT.issue(MARIA, CLIENT, UNKNOWN),),
        "issuer is no CA": (no_ca.issue(MARIA, CLIENT), no_ca),
        "issuer does not say that it is a CA": (silent.issue(MARIA, CLIENT), silent),
        "issuer may not sign": (no_signer.issue(MARIA, CLIENT), no_signer),
        "path too long": (deep.issue(MARIA, CLIENT), deep, narrow),
    }


def _usage(*, sign: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=sign,
        crl_sign=False,
        encipher_only=False,
        decipher_only=False,
    )


REFUSED = refused()


@pytest.mark.parametrize("wrong", REFUSED)
def test_other_certificates_prove_nothing(wrong: str) -> None:
    """AU-01: each of them is refused, and none is an error."""
    assert not believed(a_peer(*REFUSED[wrong]))


def test_no_ca_vouches_for_nobody() -> None:
    """AU-03: the mechanism is off."""
    assert not believed(a_peer(LEAF), None)


@pytest.mark.filterwarnings("ignore::cryptography.utils.CryptographyDeprecationWarning")
@given(st.integers(0, len(LEAF.der) - 1), st.integers(0, 255))
def test_a_certificate_that_was_changed_is_refused(where: int, byte: int) -> None:
    """Contract 6.2: whatever byte is another, nobody else is believed, and nothing breaks."""
    changed = bytearray(LEAF.der)
    changed[where] = byte
    leaf = Peer(lambda: [bytes(changed)]).leaf(Role.CLIENT, (ROOT.certificate,), 1, NOW)
    signed = LEAF.certificate.tbs_certificate_bytes
    assert leaf is None or leaf.tbs_certificate_bytes == signed
    assert leaf is not None or bytes(changed) != LEAF.der


@given(st.lists(st.binary(max_size=50), max_size=4))
def test_rubbish_is_refused(chain: list[bytes]) -> None:
    """Contract 6.2: never an error."""
    assert not believed(Peer(lambda: chain))


def test_expiry_counts_on_open_connections() -> None:
    """Contract 6.31: TLS looks at the time once, we at each request."""
    peer = a_peer(ROOT.issue(MARIA, CLIENT, ends=at(NOW + 60)))
    assert believed(peer, now=NOW)
    assert believed(peer, now=NOW + 59)
    assert not believed(peer, now=NOW + 61)
    assert not believed(peer, now=NOW + 100)


def test_the_end_of_a_ca_counts_too() -> None:
    """Contract 6.31: a verdict lasts no longer than the whole chain."""
    between = ROOT.issue(a_name("between"), CA, ends=at(NOW + 60))
    peer = a_peer(between.issue(MARIA, CLIENT), between)
    assert believed(peer)
    assert not believed(peer, now=NOW + 61)


def test_a_certificate_becomes_valid_on_an_open_connection() -> None:
    """A refusal is looked at again after ten seconds: clocks differ."""
    peer = a_peer(ROOT.issue(MARIA, CLIENT, begins=at(NOW) + timedelta(seconds=5)))
    assert not believed(peer)
    assert believed(peer, now=NOW + 11)


def test_a_verdict_counts_for_its_trust_only() -> None:
    """Contract 14.13: open connections are judged anew when CAs change, in both directions."""
    other, peer = a_ca("other"), a_peer(LEAF)
    assert believed(peer, ROOT, generation=1)
    assert not believed(peer, other, generation=2)
    assert believed(peer, ROOT, generation=3)


def test_roles_are_judged_by_their_own_cas() -> None:
    """Contract 6.14: a verdict for one role says nothing about another."""
    peer = a_peer(LEAF)
    assert believed(peer)
    assert peer.leaf(Role.PROXY, (a_ca().certificate,), 1, NOW) is None
    assert believed(peer)


def test_a_connection_is_asked_and_judged_once() -> None:
    """Runtime 1: a verification costs as much as a request."""
    reads = 0

    def read() -> list[bytes]:
        nonlocal reads
        reads += 1
        return [LEAF.der]

    peer = Peer(read)
    first = peer.leaf(Role.CLIENT, (ROOT.certificate,), 1, NOW)
    assert first is not None
    assert peer.leaf(Role.CLIENT, (ROOT.certificate,), 1, NOW + 1) is first
    assert reads == 1


def test_nobody_is_at_the_other_end_without_tls() -> None:
    """Contract 6.16."""
    assert NO_PEER.chain == ()
    assert not believed(NO_PEER)


def test_the_last_common_name_counts() -> None:
    """Contract 6.30: as Go reads subjects."""
    two = x509.Name([*a_name("first"), *a_name("last")])
    assert common_name(ROOT.issue(two).certificate) == "last"
    assert common_name(ROOT.issue(a_name("", "team")).certificate) == ""
