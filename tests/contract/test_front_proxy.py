"""Who asks, proven by the certificate of the connection: over real TLS (contract 6.10 to 6.31)."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import trustme
from fakes.http_client import ACME, parsed
from fakes.http_fakes import Certificates, FakeWorld, connection, running

from apiserver.cli.clocks import wall_seconds
from apiserver.ops.tls import PairFiles, ServingTLS, TLSSettings
from auth.attributes import Attributes
from auth.authentication.chain import AuthenticatorChain
from auth.authentication.client_certificate import ClientCertificateAuthenticator
from auth.authentication.front_proxy import FrontProxyAuthenticator
from auth.authorization.port import Decision, Ruling
from auth.identity import User
from auth.trust import TrustStore

LIST = f"{ACME}/gpuclassoptions"
NAMES = {
    "requestheader-allowed-names": '["front-proxy-client"]',
    "requestheader-username-headers": '["X-Remote-User"]',
    "requestheader-uid-headers": '["X-Remote-Uid"]',
    "requestheader-group-headers": '["X-Remote-Group"]',
    "requestheader-extra-headers-prefix": '["X-Remote-Extra-"]',
}
ADMIN = (("X-Remote-User", "admin"), ("X-Remote-Group", "system:masters"))


@dataclass(slots=True)
class Asked:
    """Allows everything, and remembers who asked."""

    users: list[User] = field(default_factory=list)

    async def authorize(self, user: User, attributes: Attributes) -> Ruling:
        del attributes
        self.users.append(user)
        return Ruling(Decision.ALLOW)


@dataclass(slots=True)
class Door:
    """A server, whom it trusts, and whom it found asking."""

    port: int
    trust: ssl.SSLContext
    store: TrustStore
    tls: ServingTLS
    asked: Asked
    clients: trustme.CA
    proxies: trustme.CA

    def config_map(self, **changed: str | None) -> Mapping[str, str]:
        """The ConfigMap's data; None takes a key away, underscores are dashes."""
        data: dict[str, str | None] = {
            "client-ca-file": self.clients.cert_pem.bytes().decode(),
            "requestheader-client-ca-file": self.proxies.cert_pem.bytes().decode(),
            **NAMES,
            **{key.replace("_", "-"): value for key, value in changed.items()},
        }
        return {key: value for key, value in data.items() if value is not None}

    def context(self, certificate: trustme.LeafCert | None) -> ssl.SSLContext:
        """The context of a client with this certificate."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.load_verify_locations(cadata=self.trust.get_ca_certs(binary_form=True)[0])
        if certificate is not None:
            certificate.configure_cert(context)
        return context

    async def list(
        self,
        certificate: trustme.LeafCert | None,
        lines: Sequence[tuple[str, str]] = (),
    ) -> int:
        """List options over a fresh connection; return the status."""
        async with connection(self.port, self.context(certificate)) as streams:
            return await exchange(streams, lines)

    async def list_or_alert(
        self, certificate: trustme.LeafCert, lines: Sequence[tuple[str, str]] = ()
    ) -> int | None:
        """List likewise; None: TLS itself refused the certificate (contract 14.10)."""
        try:
            return await self.list(certificate, lines)
        except (OSError, asyncio.IncompleteReadError):  # ssl.SSLError is an OSError
            return None


async def exchange(
    streams: tuple[asyncio.StreamReader, asyncio.StreamWriter], lines: Sequence[tuple[str, str]]
) -> int:
    """Send one request on an open connection; return the status of the answer."""
    reader, writer = streams
    head = "".join(f"{name}: {value}\r\n" for name, value in lines)
    writer.write(f"GET {LIST} HTTP/1.1\r\nHost: x\r\n{head}\r\n".encode(errors="surrogateescape"))
    answer = await reader.readuntil(b"\r\n\r\n")
    reply = parsed(answer)
    await reader.readexactly(int(reply.headers["Content-Length"]))
    return reply.code


@asynccontextmanager
async def opened(
    world: FakeWorld, certificates: Certificates, **changed: Any
) -> AsyncIterator[Door]:
    """Serve a world to those whom the ConfigMap trusts."""
    store, asked = TrustStore(), Asked()
    files = certificates.files
    tls = ServingTLS(TLSSettings(pair=PairFiles(files.certificate, files.key)), store.client_cas)
    store.on_change = tls.reload
    chain = AuthenticatorChain(
        [
            FrontProxyAuthenticator(store, wall_seconds),
            ClientCertificateAuthenticator(store, wall_seconds),
        ]
    )
    services = replace(world.services(), authenticator=chain, authorizer=asked)
    async with running(world, files, services, context=tls.listening) as port:
        trust = certificates.trust
        door = Door(port, trust, store, tls, asked, trustme.CA(), trustme.CA())
        store.take(door.config_map(**changed))
        yield door


@pytest.fixture
async def door(world: FakeWorld, certificates: Certificates) -> AsyncIterator[Door]:
    """The cluster's usual trust."""
    async with asyncio.timeout(60), opened(world, certificates) as opening:
        yield opening


def proxy(door: Door, name: str = "front-proxy-client", **options: Any) -> trustme.LeafCert:
    """A certificate of the front proxy's CA."""
    return door.proxies.issue_cert("proxy", common_name=name, **options)


async def test_the_front_proxy_speaks_for_users(door: Door) -> None:
    """Contract 6.10: name, uid, groups in their order, one to a line."""
    lines = (*ADMIN, ("X-Remote-Uid", "u-1"), ("X-Remote-Group", "b"), ("X-Remote-Group", "a,c"))
    assert await door.list(proxy(door), lines) == 200
    (user,) = door.asked.users
    assert user == User(
        "admin", uid="u-1", groups=("system:masters", "b", "a,c", "system:authenticated")
    )


async def test_au_01_headers_without_a_proven_front_proxy_are_not_believed(door: Door) -> None:
    """AU-01: no certificate, a made-up one, the client CA's, an expired one."""
    assert await door.list(None, ADMIN) == 401
    past = datetime.now(UTC) - timedelta(days=1)
    for certificate in (
        trustme.CA().issue_cert("proxy", common_name="front-proxy-client"),
        proxy(door, not_before=past - timedelta(days=1), not_after=past),
    ):
        assert await door.list_or_alert(certificate, ADMIN) in (401, None)
    assert door.asked.users == []


@pytest.mark.parametrize("allowed", ["[]", '["front-proxy-client"]'])
async def test_au_01_a_client_of_the_cluster_is_only_ever_itself(
    world: FakeWorld, certificates: Certificates, allowed: str
) -> None:
    """AU-01 (c), contract 6.14: with an empty list of names too."""
    async with opened(world, certificates, requestheader_allowed_names=allowed) as door:
        certificate = door.clients.issue_cert(
            "client", common_name="front-proxy-client", organization_name="team"
        )
        assert await door.list(certificate, ADMIN) == 200
        (user,) = door.asked.users
        assert (user.name, user.groups) == ("front-proxy-client", ("team", "system:authenticated"))
        ((key, (value,)),) = user.extra
        assert key == "authentication.kubernetes.io/credential-id"
        assert value.startswith("X509SHA256=")


@pytest.mark.parametrize(
    ("allowed", "name", "code"),
    [
        ('["other"]', "front-proxy-client", 401),
        ("[]", "anything", 200),
        ('["one", "front-proxy-client", "two"]', "front-proxy-client", 200),
        ('["proxy"]', "front-proxy-client", 401),  # that is its SAN
    ],
)
async def test_au_02_the_names_that_may_speak_are_common_names(
    world: FakeWorld, certificates: Certificates, allowed: str, name: str, code: int
) -> None:
    """AU-02: another one, any, one of several, and never a SAN."""
    async with opened(world, certificates, requestheader_allowed_names=allowed) as door:
        assert await door.list(proxy(door, name), ADMIN) == code


async def test_au_03_a_cluster_without_a_client_ca_serves_its_front_proxy(
    world: FakeWorld, certificates: Certificates
) -> None:
    """AU-03: the key is optional, and no client can prove itself then."""
    async with opened(world, certificates, client_ca_file=None) as door:
        assert await door.list(proxy(door), ADMIN) == 200
        client = door.clients.issue_cert("client", common_name="maria")
        assert await door.list_or_alert(client) in (401, None)


async def test_au_05_the_front_proxys_ca_is_replaced_while_requests_run(door: Door) -> None:
    """AU-05: old and new together, then the new one alone; open connections are judged anew."""
    old = proxy(door)
    both = door.proxies.cert_pem.bytes().decode()
    async with connection(door.port, door.context(old)) as streams:
        assert await exchange(streams, ADMIN) == 200
        door.proxies = trustme.CA()
        both += door.proxies.cert_pem.bytes().decode()
        door.store.take(door.config_map(requestheader_client_ca_file=both))
        assert await exchange(streams, ADMIN) == 200
        assert await door.list(proxy(door), ADMIN) == 200
        assert await door.list(old, ADMIN) == 200
        door.store.take(door.config_map())
        assert await exchange(streams, ADMIN) == 401
        # That was its last answer: whoever is nobody connects anew.
        assert not await streams[0].read()
        assert await door.list(proxy(door), ADMIN) == 200


async def test_au_08_extra_keys_arrive_as_they_were_meant(door: Door) -> None:
    """AU-08: lower-cased, decoded, all values; a broken escape stays as it is."""
    lines = (
        *ADMIN,
        ("X-REMOTE-EXTRA-Example.io%2FPod-UID", "one"),
        ("x-remote-extra-example.io%2fpod-uid", "two"),
        ("X-Remote-Extra-broken%2", "three"),
        ("X-Remote-Extra-not-utf8%ff", "four"),
    )
    assert await door.list(proxy(door), lines) == 200
    (user,) = door.asked.users
    assert user.extra == (
        ("example.io/pod-uid", ("one", "two")),
        ("broken%2", ("three",)),
        ("not-utf8%ff", ("four",)),
    )


async def test_au_09_every_group_line_counts(door: Door) -> None:
    """AU-09: several, 300 of them, none; everybody who is somebody is authenticated."""
    groups = [f"group-{number}" for number in range(300)]
    lines = [("X-Remote-User", "maria"), *(("X-Remote-Group", group) for group in groups)]
    assert await door.list(proxy(door), lines) == 200
    assert door.asked.users[-1].groups == (*groups, "system:authenticated")
    assert await door.list(proxy(door), lines[:1]) == 200
    assert door.asked.users[-1].groups == ("system:authenticated",)


async def test_the_anonymous_user_is_nobody_also_through_the_front_proxy(door: Door) -> None:
    """Design 7: whoever kube-apiserver let in without an identity has none here."""
    lines = (("X-Remote-User", "system:anonymous"), ("X-Remote-Group", "system:unauthenticated"))
    assert await door.list(proxy(door), lines) == 401


async def test_a_name_that_is_no_utf_8_is_refused(door: Door) -> None:
    """Contract 14.8: it could not be asked about exactly."""
    assert await door.list(proxy(door), (("X-Remote-User", "ma\udcffria"),)) == 401


async def test_the_front_proxy_without_a_user_is_nobody(door: Door) -> None:
    """Contract 6.11: the proxy's own name is never the user."""
    assert await door.list(proxy(door)) == 401
    assert await door.list(proxy(door), (("X-Remote-User", ""),)) == 401


async def test_hs_01_an_identity_belongs_to_its_connection(door: Door) -> None:
    """HS-01: fresh, used again, half closed; one connection's certificate is never another's."""
    async with connection(door.port, door.context(proxy(door))) as proven:
        for _ in range(3):
            assert await exchange(proven, ADMIN) == 200
            assert await door.list(None, ADMIN) == 401
    assert await door.list(proxy(door), ADMIN) == 200
    assert await door.list(None, ADMIN) == 401


async def test_hs_01_a_peer_that_hangs_up_in_the_middle_is_no_error(
    door: Door, caplog: pytest.LogCaptureFixture
) -> None:
    """HS-01: half a request, then nothing."""
    async with connection(door.port, door.context(proxy(door))) as (_, writer):
        writer.write(f"GET {LIST} HTTP/1.1\r\nHost: x\r\nX-Remote-User: a".encode())
        await writer.drain()
        writer.transport.abort()
    assert await door.list(proxy(door), ADMIN) == 200
    assert [record for record in caplog.records if record.levelname == "ERROR"] == []


async def test_an_intermediate_that_the_peer_sends_is_used(door: Door) -> None:
    """Contract 6.10: all certificates of the handshake count, on every Python."""
    between = door.proxies.create_child_ca()
    certificate = between.issue_cert("proxy", common_name="front-proxy-client")
    assert len(certificate.cert_chain_pems) == 2
    assert await door.list(certificate, ADMIN) == 200


async def test_a_resumed_session_is_proven_or_nobody(door: Door) -> None:
    """Runtime 1: after a resumption only the leaf is known."""
    context = door.context(proxy(door))
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    async with connection(door.port, context) as streams:
        assert await exchange(streams, ADMIN) == 200
    async with connection(door.port, context) as streams:
        assert await exchange(streams, ADMIN) in (200, 401)


async def test_a_connection_from_before_the_trust_is_made_anew(
    world: FakeWorld, certificates: Certificates
) -> None:
    """Whoever connected before there was a CA was asked for nothing, and cannot be known by it."""
    renewed = asyncio.Event()
    files = certificates.files
    store = TrustStore()
    tls = ServingTLS(TLSSettings(pair=PairFiles(files.certificate, files.key)), store.client_cas)
    tls.on_asking = renewed.set
    store.on_change = tls.reload
    async with opened(world, certificates) as door:
        store.take(door.config_map())
        assert renewed.is_set()
        renewed.clear()
        door.proxies = trustme.CA()
        store.take(door.config_map())
        assert not renewed.is_set()
