"""Certificates and client CAs that change while connections are made (contract 10.2, 14.12)."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

import pytest
import trustme
from cryptography import x509
from cryptography.hazmat.primitives import serialization

from apiserver.ops.tls import PairError, PairFiles, ServingTLS, TLSSettings

HOST = "127.0.0.1"


@dataclass(slots=True)
class Files:
    """A CA, and the serving pairs in a folder."""

    directory: Path
    ca: trustme.CA = field(default_factory=trustme.CA)

    def pair(self, name: str, *hosts: str, names: tuple[str, ...] = ()) -> PairFiles:
        """Write a pair for some hosts, in place of an earlier one of that name."""
        files = PairFiles(self.directory / f"{name}.crt", self.directory / f"{name}.key", names)
        leaf = self.ca.issue_cert(*hosts)
        files.certificate.write_bytes(b"".join(each.bytes() for each in leaf.cert_chain_pems))
        files.key.write_bytes(leaf.private_key_pem.bytes())
        return files

    def trust(self, client: trustme.LeafCert | None = None) -> ssl.SSLContext:
        """The context of a client."""
        context = ssl.create_default_context()
        self.ca.configure_trust(context)
        if client is not None:
            client.configure_cert(context)
        return context


@pytest.fixture
def files(tmp_path: Path) -> Files:
    """An empty folder and a CA."""
    return Files(tmp_path)


class Echo(asyncio.Protocol):
    """Says back what it is told."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        self._transport.write(data)


@asynccontextmanager
async def listening(tls: ServingTLS) -> AsyncIterator[int]:
    """Listen on a free port by these contexts."""
    loop = asyncio.get_running_loop()
    server = await loop.create_server(Echo, HOST, 0, ssl=tls.listening)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()


@dataclass(slots=True)
class Peer:
    """One open connection, and the certificate that was shown to it."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    @property
    def serial(self) -> int:
        """The serial number of the server's certificate."""
        der = self.writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
        return x509.load_der_x509_certificate(der).serial_number

    async def echo(self) -> bytes:
        """Send some bytes, and return what comes back."""
        self.writer.write(b"hello")
        return await self.reader.readexactly(5)


@asynccontextmanager
async def connected(
    port: int, trust: ssl.SSLContext, name: str = "localhost"
) -> AsyncIterator[Peer]:
    """Connect, and have one answer, so that the handshake is done on both sides."""
    reader, writer = await asyncio.open_connection(HOST, port, ssl=trust, server_hostname=name)
    peer = Peer(reader, writer)
    try:
        await peer.echo()
        yield peer
    finally:
        writer.close()


def serial_of(file: Path) -> int:
    """The serial number of a certificate."""
    return x509.load_pem_x509_certificates(file.read_bytes())[0].serial_number


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
async def test_a_new_pair_is_served_and_open_connections_go_on(
    files: Files, version: ssl.TLSVersion
) -> None:
    """Contract 10.2: without a restart, and without dropping a stream."""
    pair = files.pair("tls", "localhost")
    tls = ServingTLS(TLSSettings(pair=pair), lambda: "")
    trust = files.trust()
    trust.minimum_version = trust.maximum_version = version
    async with listening(tls) as port, connected(port, trust) as before:
        files.pair("tls", "localhost")
        tls.reload()
        async with connected(port, trust) as after:
            assert after.serial == serial_of(pair.certificate) != before.serial
        assert await before.echo() == b"hello"


async def test_a_pair_that_does_not_fit_leaves_the_old_one(
    files: Files, caplog: pytest.LogCaptureFixture
) -> None:
    """Half a write, a wrong key, a file that has gone: told once, and served on."""
    pair = files.pair("tls", "localhost")
    served = serial_of(pair.certificate)
    tls = ServingTLS(TLSSettings(pair=pair), lambda: "")
    good = pair.key.read_bytes()
    async with listening(tls) as port:
        for broken in (b"", b"half", trustme.CA().issue_cert("x").private_key_pem.bytes()):
            pair.key.write_bytes(broken)
            tls.reload()
            async with connected(port, files.trust()) as peer:
                assert peer.serial == served
        pair.certificate.unlink()
        tls.reload()
        async with connected(port, files.trust()) as peer:
            assert peer.serial == served
        assert len(caplog.records) == 1
        assert str(pair.key) not in caplog.text
        pair.key.write_bytes(good)
        files.pair("tls", "localhost")
        tls.reload()
        async with connected(port, files.trust()) as peer:
            assert peer.serial != served


async def test_client_cas_change_while_the_pair_on_disk_is_broken(files: Files) -> None:
    """A broken renewal of one certificate must not hold up the trust in others."""
    pair = files.pair("tls", "localhost")
    clients = trustme.CA()
    cas = [""]
    tls = ServingTLS(TLSSettings(pair=pair), lambda: cas[0])
    pair.key.write_bytes(b"broken")
    cas[0] = clients.cert_pem.bytes().decode()
    tls.reload()
    trust = files.trust(clients.issue_cert("client"))
    async with listening(tls) as port, connected(port, trust) as peer:
        assert await peer.echo() == b"hello"
    assert tls.listening.verify_mode is ssl.CERT_OPTIONAL


async def test_nobody_is_asked_for_a_certificate_before_there_is_a_ca(files: Files) -> None:
    """Discovery is served to the front proxy before trust was read (design 7)."""
    tls = ServingTLS(TLSSettings(pair=files.pair("tls", "localhost")), lambda: "")
    trust = files.trust(trustme.CA().issue_cert("front-proxy"))
    async with listening(tls) as port, connected(port, trust) as peer:
        assert await peer.echo() == b"hello"


async def test_a_ca_that_is_dropped_is_not_trusted_by_new_connections(files: Files) -> None:
    """AU-05: contexts only ever add CAs, so they are made anew (contract 14.12)."""
    old, new = trustme.CA(), trustme.CA()
    cas = [old.cert_pem.bytes() + new.cert_pem.bytes()]
    tls = ServingTLS(TLSSettings(pair=files.pair("tls", "localhost")), lambda: bytes.decode(cas[0]))
    async with listening(tls) as port:
        for client in (old, new):
            async with connected(port, files.trust(client.issue_cert("x"))) as peer:
                assert await peer.echo() == b"hello"
        cas[0] = new.cert_pem.bytes()
        tls.reload()
        async with connected(port, files.trust(new.issue_cert("x"))) as peer:
            assert await peer.echo() == b"hello"
        with pytest.raises((ssl.SSLError, OSError, asyncio.IncompleteReadError)):
            async with connected(port, files.trust(old.issue_cert("x"))):
                pytest.fail("it was let in")


@pytest.mark.parametrize(
    ("asked", "served"),
    [
        ("localhost", "default"),
        ("a.example", "one"),
        ("A.EXAMPLE", "one"),
        ("x.b.example", "one"),
        ("x.y.b.example", "default"),
        ("b.example", "default"),
        ("c.example", "two"),
    ],
)
async def test_callers_get_the_pair_of_the_name_that_they_ask_for(
    files: Files, asked: str, served: str
) -> None:
    """SNI: names by flag, with one label for a star, else those in the certificate."""
    pairs = {
        "default": files.pair("default", "localhost"),
        "one": files.pair("one", "one.example", names=("a.example", "*.b.example")),
        "two": files.pair("two", "c.example"),
    }
    settings = TLSSettings(pair=pairs["default"], further=(pairs["one"], pairs["two"]))
    trust = files.trust()
    trust.check_hostname = False
    tls = ServingTLS(settings, lambda: "")
    async with listening(tls) as port, connected(port, trust, asked) as peer:
        assert peer.serial == serial_of(pairs[served].certificate)


async def test_versions_and_suites_are_those_of_the_flags(files: Files) -> None:
    """Contract 10.4."""
    pair = files.pair("tls", "localhost")
    cipher = "ECDHE-ECDSA-AES256-GCM-SHA384"
    tls = ServingTLS(TLSSettings(pair=pair, ciphers=cipher), lambda: "")
    old = files.trust()
    old.maximum_version = ssl.TLSVersion.TLSv1_2
    async with listening(tls) as port, connected(port, old) as peer:
        assert peer.writer.get_extra_info("cipher")[0] == cipher
    strict = ServingTLS(TLSSettings(pair=pair, minimum=ssl.TLSVersion.TLSv1_3), lambda: "")
    async with listening(strict) as port:
        with pytest.raises((ssl.SSLError, OSError)):
            async with connected(port, old):
                pytest.fail("it was served")


async def test_no_session_goes_on_from_before_a_reload(files: Files) -> None:
    """Runtime 2: a resumed session would show the withdrawn certificate."""
    tls = ServingTLS(TLSSettings(pair=files.pair("tls", "localhost")), lambda: "")
    assert tls.listening.num_tickets == 0
    trust = files.trust()
    async with listening(tls) as port, connected(port, trust) as peer:
        session = peer.writer.get_extra_info("ssl_object").session
        assert session is None or not session.has_ticket


async def test_an_encrypted_key_is_refused_rather_than_asked_about(files: Files) -> None:
    """Nobody sits at the terminal of a pod."""
    pair = files.pair("tls", "localhost")
    key = serialization.load_pem_private_key(pair.key.read_bytes(), password=None)
    pair.key.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.BestAvailableEncryption(b"secret"),
        )
    )
    with pytest.raises(PairError):
        ServingTLS(TLSSettings(pair=pair), lambda: "")


async def test_a_certificate_whose_names_cannot_be_read_ends_nothing(files: Files) -> None:
    """Names matter where pairs are chosen by them; there the last good pair stays."""
    default, further = files.pair("tls", "localhost"), files.pair("other", "other.example")
    spoil_names(default.certificate)
    tls = ServingTLS(TLSSettings(pair=default, further=(further,)), lambda: "")
    served = serial_of(further.certificate)
    spoil_names(further.certificate)
    tls.reload()
    trust = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    trust.check_hostname, trust.verify_mode = False, ssl.CERT_NONE
    async with listening(tls) as port, connected(port, trust, "other.example") as peer:
        assert peer.serial == served
    with pytest.raises(PairError, match="names"):
        ServingTLS(TLSSettings(pair=default, further=(further,)), lambda: "")


def spoil_names(certificate: Path) -> None:
    """Give a certificate a version that there is not, which OpenSSL serves all the same."""
    leaf, *_ = x509.load_pem_x509_certificates(certificate.read_bytes())
    der = leaf.public_bytes(serialization.Encoding.DER)
    version = b"\xa0\x03\x02\x01\x02"
    assert version in der
    certificate.write_text(ssl.DER_cert_to_PEM_cert(der.replace(version, version[:-1] + b"\x07")))


async def test_following_looks_again_and_again(files: Files) -> None:
    """What changes on disk is taken at the next look."""
    pair = files.pair("tls", "localhost")
    tls = ServingTLS(TLSSettings(pair=pair), lambda: "")
    looks: list[float] = []

    async def sleep(seconds: float) -> None:
        looks.append(seconds)
        if len(looks) == 2:
            files.pair("tls", "localhost")
        if len(looks) == 4:
            raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        await tls.follow(5, sleep)
    assert looks == [5, 5, 5, 5]
    async with listening(tls) as port, connected(port, files.trust()) as peer:
        assert peer.serial == serial_of(pair.certificate)
