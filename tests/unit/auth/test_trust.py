"""Whom certificates are believed from, and what changes it (contract 6.15, 6.20 to 6.23)."""

import json
import logging
import ssl

import pytest
from fakes.pki import a_ca
from hypothesis import given
from hypothesis import strategies as st

from auth.trust import ProxyHeaders, Trust, TrustStore, read_cas

CLIENTS, PROXIES, OTHERS = a_ca("clients"), a_ca("proxies"), a_ca("others")
HEADERS = ProxyHeaders(
    allowed_names=("Front-Proxy",),
    user=("x-remote-user",),
    uid=("x-remote-uid",),
    group=("x-remote-group", "x-team"),
    extra_prefixes=("x-remote-extra-",),
)
TRUST = Trust(client_cas=(CLIENTS.certificate,), proxy_cas=(PROXIES.certificate,), headers=HEADERS)


def data(**changed: str | None) -> dict[str, str]:
    """The ConfigMap's data; underscores are dashes, None takes a key away."""
    given = {
        "client-ca-file": CLIENTS.pem,
        "requestheader-client-ca-file": PROXIES.pem,
        "requestheader-allowed-names": '["Front-Proxy"]',
        "requestheader-username-headers": '["X-Remote-User"]',
        "requestheader-uid-headers": '["X-Remote-Uid"]',
        "requestheader-group-headers": '["X-Remote-Group", "X-Team"]',
        "requestheader-extra-headers-prefix": '["X-Remote-Extra-"]',
        **{key.replace("_", "-"): value for key, value in changed.items()},
    }
    return {key: value for key, value in given.items() if value is not None}


def loaded(**changed: str | None) -> TrustStore:
    """A store that took a ConfigMap."""
    store = TrustStore()
    store.take(data(**changed))
    return store


def test_all_of_the_config_map_is_read() -> None:
    """Contract 6.20: header names in lower case, common names as they are."""
    assert loaded().trust == TRUST


def test_a_bundle_holds_several_cas() -> None:
    """AU-05: the old and the new one, and text between them."""
    store = loaded(client_ca_file=f"# old\n{CLIENTS.pem}\n# new\n{OTHERS.pem}")
    assert store.trust.client_cas == (CLIENTS.certificate, OTHERS.certificate)


def test_what_is_absent_is_off() -> None:
    """AU-03: clusters without a client CA, without a front proxy, without either."""
    assert loaded(client_ca_file=None).trust.client_cas == ()
    assert loaded(requestheader_client_ca_file=None).trust.proxy_cas == ()
    assert loaded(requestheader_uid_headers=None).trust.headers.uid == ()
    store = TrustStore()
    store.take({})
    assert (store.trust, store.generation, store.client_cas()) == (Trust(), 0, "")


BAD_CAS = ["", "no PEM", CLIENTS.pem.replace("M", "N", 5), CLIENTS.pem[:200]]


@pytest.mark.parametrize("key", ["client-ca-file", "requestheader-client-ca-file"])
@pytest.mark.parametrize("bad", [*BAD_CAS, None])
def test_a_ca_that_cannot_be_read_leaves_the_last_good_one(
    key: str, bad: str | None, caplog: pytest.LogCaptureFixture
) -> None:
    """Contract 6.22: empty, unreadable, gone; told once, and what else has changed is taken."""
    store = loaded()
    changed = {key: bad, "requestheader-uid-headers": '["X-Uid"]'}
    with caplog.at_level(logging.ERROR):
        store.take(data(**changed))
        store.take(data(**changed))
    assert (store.trust.client_cas, store.trust.proxy_cas) == (TRUST.client_cas, TRUST.proxy_cas)
    assert store.trust.headers.uid == ("x-uid",)
    assert len(caplog.records) == (0 if bad is None else 1)


@pytest.mark.parametrize("bad", ["", "x", "{}", "null", '"x"', "[1]", '["a", null]'])
def test_names_that_cannot_be_read_leave_the_last_good_ones(bad: str) -> None:
    """Contract 6.22: above all, never any name in place of one."""
    store = loaded()
    store.take(data(requestheader_allowed_names=bad, requestheader_group_headers=bad))
    assert store.trust == TRUST


NAME_KEYS = [key for key in data() if key.startswith("requestheader") and "ca-file" not in key]


@pytest.mark.parametrize("key", NAME_KEYS)
def test_a_front_proxy_whose_names_were_never_readable_is_off(key: str) -> None:
    """Contract 6.22: no last good names is not any name; it is on once they can be read."""
    store = loaded(**{key: "no JSON"})
    assert (store.trust.proxy_cas, store.trust.client_cas) == ((), TRUST.client_cas)
    store.take(data())
    assert store.trust == TRUST


def test_a_config_map_that_has_gone_leaves_everything() -> None:
    """Contract 6.22."""
    store = loaded()
    store.take({})
    assert store.trust == TRUST


@pytest.mark.filterwarnings("ignore::cryptography.utils.CryptographyDeprecationWarning")
@given(st.integers(0, len(CLIENTS.der) - 1), st.integers(0, 255))
def test_no_ca_is_taken_that_tls_would_not_load(where: int, byte: int) -> None:
    """Contract 6.22: the listener loads what is trusted, and an error there would end us."""
    spoilt = bytearray(CLIENTS.der)
    spoilt[where] = byte
    pem = ssl.DER_cert_to_PEM_cert(bytes(spoilt))
    try:
        read_cas(pem.encode())
    except ValueError:
        return
    ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_verify_locations(cadata=pem)


def test_changes_are_counted_and_told_and_others_are_not() -> None:
    """Contract 6.22: verdicts are kept by the number; a state taken twice is no change."""
    store, told = TrustStore(), []
    store.on_change = lambda: told.append(store.generation)
    for state in (data(), data(), data(client_ca_file=OTHERS.pem), data(client_ca_file="bad")):
        store.take(state)
    assert (store.generation, told) == (2, [1, 2])


def test_what_flags_give_is_not_looked_up() -> None:
    """Contract 6.23: each part by itself, whichever comes first."""
    store = TrustStore()
    store.give_client_cas(OTHERS.pem.encode())
    store.take(data())
    assert store.trust.client_cas == (OTHERS.certificate,)
    assert store.trust.proxy_cas == TRUST.proxy_cas
    mine = ProxyHeaders(allowed_names=("mine",), user=("x-me",))
    store.give_proxy(OTHERS.pem.encode(), mine)
    store.take(data())
    assert (store.trust.proxy_cas, store.trust.headers) == ((OTHERS.certificate,), mine)
    assert store.client_ca_given
    assert store.proxy_given


def test_a_flag_file_that_turns_bad_leaves_the_last_good_one() -> None:
    """Contract 6.22: files are read again like the ConfigMap."""
    store = TrustStore()
    store.give_client_cas(OTHERS.pem.encode())
    with pytest.raises(ValueError):  # noqa: PT011  # any: what is wrong is told by the flag
        store.give_client_cas(b"")
    assert store.trust.client_cas == (OTHERS.certificate,)


@pytest.mark.parametrize(
    ("shared", "allowed", "warnings"),
    [(True, "[]", 1), (True, '["proxy"]', 0), (False, "[]", 0)],
)
def test_one_ca_for_clients_and_proxies_is_warned_of(
    shared: bool, allowed: str, warnings: int, caplog: pytest.LogCaptureFixture
) -> None:
    """Contract 6.15: any client could be anybody; once for each change."""
    ca = CLIENTS if shared else PROXIES
    store = TrustStore()
    with caplog.at_level(logging.WARNING):
        for _ in range(2):
            changed = {
                "requestheader-client-ca-file": ca.pem,
                "requestheader-allowed-names": allowed,
            }
            store.take(data(**changed))
    assert len(caplog.records) == warnings


def test_a_listener_asks_for_all_cas_once() -> None:
    """Runtime 2: one PEM text, whatever is in both sets only once."""
    both = f"{PROXIES.pem}{CLIENTS.pem}"
    assert loaded(requestheader_client_ca_file=both).client_cas() == CLIENTS.pem + PROXIES.pem


def test_names_are_json() -> None:
    """Contract 6.20: a name with a comma is one name."""
    store = loaded(requestheader_allowed_names=json.dumps(["a,b", "Ü"]))
    assert store.trust.headers.allowed_names == ("a,b", "Ü")
