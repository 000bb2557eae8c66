"""Users that certificates are about, and users that the front proxy names (contract 6.10, 6.30)."""

import pytest
from cryptography.hazmat.primitives.hashes import SHA256
from fakes.pki import NOW, Issued, a_ca, a_name
from hypothesis import given
from hypothesis import strategies as st

from auth.authentication.client_certificate import ClientCertificateAuthenticator, subject_of
from auth.authentication.front_proxy import FrontProxyAuthenticator, user_of
from auth.authentication.peer import Peer
from auth.authentication.port import Credentials
from auth.errors import UnauthenticatedError
from auth.identity import User
from auth.trust import ProxyHeaders, TrustStore

CLIENTS, PROXIES = a_ca("clients"), a_ca("proxies")
NAMES = ProxyHeaders(
    user=("x-remote-user", "x-user"),
    uid=("x-remote-uid",),
    group=("x-remote-group", "x-team"),
    extra_prefixes=("x-remote-extra-", "x-more-"),
)
UID = "1_3_6_1_4_1_57683_2"
ALICE = (("X-Remote-User", "alice"),)


def a_store(*allowed: str, clients: bool = True, proxies: bool = True) -> TrustStore:
    """Trust in both CAs, or one of them."""
    store = TrustStore()
    if clients:
        store.give_client_cas(CLIENTS.pem.encode())
    if proxies:
        headers = ProxyHeaders(allowed_names=allowed, user=NAMES.user, group=NAMES.group)
        store.give_proxy(PROXIES.pem.encode(), headers)
    return store


def sent(*chain: Issued, lines: tuple[tuple[str, str], ...] = ALICE) -> Credentials:
    """What a peer with these certificates presents."""
    return Credentials(headers=lines, peer=Peer(lambda: [each.der for each in chain]))


async def proxied(store: TrustStore, credentials: Credentials) -> User | None:
    """Ask the front proxy's authenticator."""
    return await FrontProxyAuthenticator(store, lambda: NOW).authenticate(credentials)


async def certified(store: TrustStore, credentials: Credentials) -> User | None:
    """Ask the client certificates' authenticator."""
    return await ClientCertificateAuthenticator(store, lambda: NOW).authenticate(credentials)


def test_a_subject_is_a_user() -> None:
    """Contract 6.30: the common name, each organization, the credential's id, the uid."""
    certificate = CLIENTS.issue(a_name("maria", "b", "a", **{f"_{UID}": "u-1"})).certificate
    fingerprint = certificate.fingerprint(SHA256()).hex()
    extra = (("authentication.kubernetes.io/credential-id", (f"X509SHA256={fingerprint}",)),)
    assert subject_of(certificate) == User("maria", "u-1", ("b", "a"), extra)


def test_a_subject_without_a_common_name_is_nobody() -> None:
    """Contract 6.30."""
    assert subject_of(CLIENTS.issue(a_name("", "system:masters")).certificate) is None


async def test_each_ca_vouches_for_its_own_role_only() -> None:
    """Contract 6.14: never a client as the proxy, never the proxy as a client."""
    store = a_store()
    proxy, maria = PROXIES.issue(a_name("proxy")), CLIENTS.issue(a_name("maria"))
    assert await proxied(store, sent(proxy)) == User("alice")
    assert getattr(await certified(store, sent(maria)), "name", None) == "maria"
    for ask, certificate in ((proxied, maria), (certified, proxy)):
        with pytest.raises(UnauthenticatedError):
            await ask(store, sent(certificate))


async def test_without_a_certificate_headers_mean_nothing() -> None:
    """AU-01, contract 6.10: no opinion, so that a token may still prove somebody."""
    assert await proxied(a_store(), sent()) is None
    assert await certified(a_store(), sent()) is None


async def test_without_cas_nobody_is_judged() -> None:
    """AU-03: a mechanism that is off has no opinion."""
    proxy, maria = PROXIES.issue(a_name("proxy")), CLIENTS.issue(a_name("maria"))
    assert await proxied(a_store(proxies=False), sent(proxy)) is None
    assert await certified(a_store(clients=False), sent(maria)) is None


@pytest.mark.parametrize(
    ("allowed", "known"), [((), True), (("proxy",), True), (("a", "proxy"), True), (("a",), False)]
)
async def test_only_names_that_may_speak_speak(allowed: tuple[str, ...], known: bool) -> None:
    """AU-02."""
    credentials = sent(PROXIES.issue(a_name("proxy", "a")))
    if known:
        assert await proxied(a_store(*allowed), credentials) == User("alice")
    else:
        with pytest.raises(UnauthenticatedError):
            await proxied(a_store(*allowed), credentials)


@pytest.mark.parametrize(
    ("lines", "user"),
    [
        ([], None),
        ([("X-Remote-User", "")], None),
        ([("X-Remote-Group", "a")], None),
        ([("x-REMOTE-user", "a")], User("a")),
        ([("X-User", "b"), ("X-Remote-User", "a")], User("a")),
        ([("X-User", "b"), ("X-Remote-User", "")], User("b")),
        ([("X-Remote-User", "a"), ("X-Remote-User", "b")], User("a")),
        ([("X-Remote-User", " a ")], User(" a ")),
        ([*ALICE, ("X-Remote-Uid", "1"), ("X-Remote-Uid", "2")], User("alice", "1")),
        (
            [*ALICE, ("X-Team", "t"), ("x-remote-group", "b"), ("X-Remote-Group", "a,c")],
            User("alice", groups=("b", "a,c", "t")),
        ),
        ([*ALICE, ("X-Remote-Groups", "a"), ("Remote-Group", "a")], User("alice")),
        (
            [*ALICE, ("X-Remote-Extra-Scopes", "1"), ("X-More-SCOPES", "2")],
            User("alice", extra=(("scopes", ("1", "2")),)),
        ),
    ],
)
def test_headers_name_a_user(lines: list[tuple[str, str]], user: User | None) -> None:
    """Contract 6.11, 6.12, AU-09: names in any case, every group line, in order."""
    assert user_of(NAMES, lines) == user


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ("Example.io%2FPod-UID", "example.io/pod-uid"),
        ("a%C3%A4", "aä"),
        ("a+b", "a+b"),
        ("100%", "100%"),
        ("a%2", "a%2"),
        ("a%zz%2f", "a%zz%2f"),
        ("a%ff", "a%ff"),
        ("a%252f", "a%2f"),
    ],
)
def test_extra_keys_are_unescaped_once(key: str, expected: str) -> None:
    """AU-08: lower-cased, decoded; what cannot be decoded stays as it is."""
    user = user_of(NAMES, [*ALICE, (f"X-Remote-Extra-{key}", "v")])
    assert user == User("alice", extra=((expected, ("v",)),))


@pytest.mark.parametrize("header", ["X-Remote-User", "X-Remote-Group", "X-Remote-Extra-a"])
def test_text_that_is_no_utf_8_is_refused(header: str) -> None:
    """Contract 14.8: it could not be asked about exactly."""
    with pytest.raises(UnauthenticatedError):
        user_of(NAMES, [(header, "a\udcff"), *ALICE])


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["X-Remote-Group", "x-remote-extra-%", "X-Team", "Accept", "x-more-"]),
            st.text(st.characters(exclude_categories=["Cs"]), max_size=5),
        )
    )
)
def test_no_group_is_lost_or_made_up(lines: list[tuple[str, str]]) -> None:
    """AU-09: all lines of the configured headers, and nothing else."""
    user = user_of(NAMES, [*ALICE, *lines])
    assert user is not None
    told = [value for name, value in lines if name in ("X-Remote-Group", "X-Team")]
    assert sorted(user.groups) == sorted(told)
