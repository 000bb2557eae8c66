"""Collaborators of the request flow, and a server over them on a real socket with real TLS."""

import asyncio
import ssl
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import trustme

from apiserver.cli.clocks import wall_seconds
from apiserver.documents.build import build_documents
from apiserver.documents.resources import CONSOLE_OPTIONS, GPU_CLASS_OFFERS, GPU_CLASS_OPTIONS
from apiserver.http.app import build_handler
from apiserver.http.bodies import Bodies
from apiserver.http.connection import Server
from apiserver.http.encode import ResourceEncoder, console_option, offer, option
from apiserver.http.limits import InFlight
from apiserver.http.services import Served, Services
from apiserver.http.table import (
    CONSOLE_OPTION_COLUMNS,
    GPU_CLASS_OFFER_COLUMNS,
    GPU_CLASS_OPTION_COLUMNS,
)
from apiserver.ops.health import Check, Health
from apiserver.ops.logs import AccessLog
from apiserver.ops.metrics import Metrics
from apiserver.ops.serving import Ending, Lifecycle, Listening, serving
from apiserver.ops.tls import serving_context
from auth.attributes import Attributes
from auth.authentication.port import Credentials
from auth.authorization.port import Decision, Ruling
from auth.errors import UnauthenticatedError
from auth.identity import AUTHENTICATED_GROUP, MASTERS_GROUP, User
from storage.views.objects import (
    BudgetView,
    CapacityView,
    Condition,
    ConsoleItem,
    ConsoleOption,
    GPUClassOffer,
    GPUClassOption,
    Meta,
    OfferSpec,
)
from storage.views.resource import Key, NotReadyError

ADMIN = User("admin", groups=(MASTERS_GROUP, AUTHENTICATED_GROUP))
TENANT = User("maria", uid="u-1", groups=("acme", AUTHENTICATED_GROUP))

FIRST_REVISION = 700

#: The revision of lists.
CURRENT_REVISION = 1000
#: Revisions up to this one are admitted.
ADMITTED_UP_TO = 2000

SPEC = OfferSpec(
    display_name="NVIDIA L40S",
    description=None,
    vendor="nvidia",
    mode="passthrough",
    memory_per_unit="48Gi",
    max_count=4,
    allowed_counts=(1, 2, 4),
)
LABELS = {"gpu.cozystack.io/vendor": "nvidia", "gpu.cozystack.io/mode": "passthrough"}
CREATED = "2025-03-01T10:00:00Z"


def a_meta(namespace: str, name: str, revision: int = FIRST_REVISION, **labels: str) -> Meta:
    """Return metadata of an object."""
    return Meta(
        name=name,
        namespace=namespace,
        uid=f"uid-{namespace}-{name}",
        created=CREATED,
        labels=LABELS | labels,
        revision=revision,
    )


def an_option(meta: Meta) -> GPUClassOption:
    """Return an option of which up to 4 may be asked for and up to 2 can start."""
    return GPUClassOption(
        meta=meta,
        spec=SPEC,
        capacity=CapacityView("Known", 6, 2),
        budget=BudgetView("Bounded", 4),
        entitlement="NotRequired",
        requestable_count=4,
        startable_count=2,
        conditions=(
            Condition("Requestable", "True", "Allowed", "up to 4 units may be asked for in one VM"),
            Condition("Startable", "True", "Fits", "a VM with up to 2 units can start now"),
        ),
    )


def an_offer(meta: Meta) -> GPUClassOffer:
    """Return the offer of the same class."""
    return GPUClassOffer(
        meta=meta,
        spec=SPEC,
        capacity=CapacityView("Known", 6, 2),
        startable_count=2,
        conditions=(
            Condition("Startable", "True", "Fits", "a VM with up to 2 units can start now"),
        ),
    )


def a_console_option(meta: Meta) -> ConsoleOption:
    """Return the console's object with one choice."""
    item = ConsoleItem("l40s", "NVIDIA L40S (up to 2 per VM now)", "4 left in your budget, 6 free.")
    return ConsoleOption(meta=meta, items=(item,))


@dataclass
class FakeResource:
    """Objects in memory; `composed` counts how often one was made."""

    build: Callable[[Meta], Any]
    metas: list[Meta] = field(default_factory=list)
    ready: bool = True
    composed: int = 0

    def keys(self, namespace: str | None) -> Sequence[Key]:
        """Return the keys of a namespace, or all."""
        self._require_ready()
        return [_key(meta) for meta in self.metas if namespace in (None, meta.namespace)]

    def find(self, namespace: str, name: str) -> Key | None:
        """Return one key."""
        self._require_ready()
        wanted = (namespace, name)
        return next(
            (_key(meta) for meta in self.metas if (meta.namespace, meta.name) == wanted), None
        )

    def compose(self, key: Key) -> Any:
        """Return the object of a key."""
        self.composed += 1
        meta = next(m for m in self.metas if (m.namespace, m.name) == (key.namespace, key.name))
        return self.build(meta)

    def _require_ready(self) -> None:
        if not self.ready:
            raise NotReadyError


def _key(meta: Meta) -> Key:
    return Key(meta.namespace, meta.name, meta.revision, meta.labels)


@dataclass
class FakeFreshness:
    """A revision line that stands still until a test moves it."""

    generation: int = 1
    listed: int = CURRENT_REVISION
    admitted: list[int] = field(default_factory=list)

    def list_revision(self) -> int:
        """Return the present revision."""
        return self.listed

    def admit(self, revision: int) -> bool:
        """Admit what is not too far ahead."""
        self.admitted.append(revision)
        return revision <= ADMITTED_UP_TO


@dataclass
class FakeAuthenticator:
    """Knows users by bearer token, and keeps what it was shown."""

    users: dict[str, User]
    seen: list[Credentials] = field(default_factory=list)

    async def authenticate(self, credentials: Credentials) -> User | None:
        """Return the user of the token; none for no token."""
        self.seen.append(credentials)
        if not credentials.authorization:
            return None
        user = self.users.get(credentials.authorization[0].removeprefix("Bearer "))
        if user is None:
            raise UnauthenticatedError
        return user


@dataclass
class FakeAuthorizer:
    """Allows masters everything and others what a test says; keeps what it was asked."""

    allows: Callable[[User, Attributes], bool] = lambda _user, _attributes: False
    before: Callable[[], Awaitable[None]] | None = None  # awaited first: to hold or to fail
    asked: list[tuple[User, Attributes]] = field(default_factory=list)

    async def authorize(self, user: User, attributes: Attributes) -> Ruling:
        """Return the ruling."""
        self.asked.append((user, attributes))
        if self.before is not None:
            await self.before()
        allowed = MASTERS_GROUP in user.groups or self.allows(user, attributes)
        return Ruling(Decision.ALLOW if allowed else Decision.NO_OPINION)


class FakeWorld:
    """All collaborators of one server, for a test to change."""

    def __init__(self) -> None:
        options = [
            a_meta(namespace, name)
            for namespace in ("tenant-acme", "tenant-beta")
            for name in ("h200", "l40s")
        ]
        self.options = FakeResource(an_option, options)
        self.offers = FakeResource(an_offer, [a_meta("", "l40s")])
        self.console = FakeResource(a_console_option, [a_meta("tenant-acme", "gpuclass")])
        self.freshness = FakeFreshness()
        self.authenticator = FakeAuthenticator({"admin": ADMIN, "maria": TENANT})
        self.authorizer = FakeAuthorizer()
        self.lifecycle = Lifecycle()
        self.in_flight = InFlight()
        self.draining = asyncio.Event()
        self.metrics = Metrics(in_flight=self.in_flight.peaks)
        self.faults: dict[str, str | None] = {"informer-sync": None}
        self.lines: list[str] = []
        self.access_log = AccessLog(
            self.lines.append,
            lambda seconds, flush: asyncio.get_running_loop().call_later(seconds, flush),
        )
        self.health = Health(
            live=(),
            ready=(
                Check("informer-sync", lambda: self.faults["informer-sync"]),
                self.lifecycle.shutdown_check(),
            ),
        )

    async def idle(self) -> None:
        """Wait until no request is in flight; who stops does so once nothing new is taken."""
        self.draining.set()
        await self.in_flight.idle()

    def services(self) -> Services:
        """Return the collaborators as the request flow takes them."""
        return Services(
            authenticator=self.authenticator,
            authorizer=self.authorizer,
            resources={
                GPU_CLASS_OPTIONS.plural: Served(
                    info=GPU_CLASS_OPTIONS,
                    resource=self.options,
                    encoder=ResourceEncoder(
                        GPU_CLASS_OPTIONS, option, GPU_CLASS_OPTION_COLUMNS, wall_seconds
                    ),
                ),
                GPU_CLASS_OFFERS.plural: Served(
                    info=GPU_CLASS_OFFERS,
                    resource=self.offers,
                    encoder=ResourceEncoder(
                        GPU_CLASS_OFFERS, offer, GPU_CLASS_OFFER_COLUMNS, wall_seconds
                    ),
                ),
                CONSOLE_OPTIONS.plural: Served(
                    info=CONSOLE_OPTIONS,
                    resource=self.console,
                    encoder=ResourceEncoder(
                        CONSOLE_OPTIONS, console_option, CONSOLE_OPTION_COLUMNS, wall_seconds
                    ),
                ),
            },
            freshness=self.freshness,
            documents=build_documents(),
            health=self.health,
            metrics=self.metrics,
            access_log=self.access_log,
            in_flight=self.in_flight,
            leaving=lambda: self.lifecycle.stopping,
            draining=lambda: self.lifecycle.draining,
            turning_away=lambda: self.lifecycle.turning_away,
            wall_clock=wall_seconds,
            monotonic=time.perf_counter,
        )


@dataclass(frozen=True)
class ServingFiles:
    """A serving certificate for localhost, and its key."""

    certificate: Path
    key: Path


@dataclass(frozen=True)
class Certificates:
    """A serving certificate, and a client's context that trusts it."""

    files: ServingFiles
    trust: ssl.SSLContext


def new_certificates(directory: Path) -> Certificates:
    """Make a CA and a serving certificate."""
    authority = trustme.CA(key_type=trustme.KeyType.ECDSA)
    leaf = authority.issue_cert("localhost", "127.0.0.1", key_type=trustme.KeyType.ECDSA)
    certificate, key = directory / "tls.crt", directory / "tls.key"
    certificate.write_bytes(b"".join(blob.bytes() for blob in leaf.cert_chain_pems))
    key.write_bytes(leaf.private_key_pem.bytes())
    trust = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    authority.configure_trust(trust)
    return Certificates(ServingFiles(certificate, key), trust)


@asynccontextmanager
async def running(
    world: FakeWorld,
    files: ServingFiles,
    services: Services | None = None,
    *,
    context: ssl.SSLContext | None = None,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    finish_seconds: float = 60.0,
) -> AsyncIterator[int]:
    """Serve a world on a free port of loopback; `services` are its own unless given.

    Without a context nobody is asked for a certificate.
    """
    services = services or world.services()
    server = Server(build_handler(services, Bodies()), wall_clock=services.wall_clock)
    end = Ending(
        lifecycle=world.lifecycle, idle=world.idle, finish_seconds=finish_seconds, sleep=sleep
    )
    context = context or serving_context(files.certificate, files.key)
    async with serving(server, Listening(host="127.0.0.1", port=0, context=context), end) as port:
        yield port


@asynccontextmanager
async def connection(
    port: int, trust: ssl.SSLContext
) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """Connect over TLS."""
    reader, writer = await asyncio.open_connection(
        "127.0.0.1", port, ssl=trust, server_hostname="localhost"
    )
    try:
        yield reader, writer
    finally:
        writer.close()


async def exchange(port: int, trust: ssl.SSLContext, request: bytes) -> bytes:
    """Send bytes over TLS and return all that comes until the server closes."""
    async with asyncio.timeout(30), connection(port, trust) as (reader, writer):
        writer.write(request)
        return await reader.read()
