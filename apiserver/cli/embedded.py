"""The embedded cluster: a directory's objects, users and rights, kept current (design 11)."""

import asyncio
import contextlib
import logging
import secrets
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from apiserver.cli.clocks import wall_ms
from apiserver.cli.config import DemoConfig
from apiserver.cli.reading import ConfigError
from apiserver.ops.metrics import Count, Gauge
from auth.authentication.chain import AuthenticatorChain
from auth.authentication.static_tokens import (
    StaticToken,
    StaticTokenAuthenticator,
    TokenFileError,
    read_token_file,
)
from auth.authorization.always_allow import AlwaysAllowGroups, AlwaysAllowPaths
from auth.authorization.chain import AuthorizerChain
from auth.authorization.rbac import RBACAuthorizer
from storage.cluster.cache import ClusterCache
from storage.cluster.files import TOKENS_FILE, FilesError, FileSource, Update
from storage.cluster.tenants import READERS
from storage.model.snapshot import Policy
from storage.pool.verdict import CapacityDetail
from storage.views.recompute import Recompute
from storage.views.revisions import TAG_BITS, RevisionLine

logger = logging.getLogger(__name__)


class EmbeddedCluster:
    """Everything that a kube-apiserver would otherwise be asked for."""

    def __init__(self, directory: Path, config: DemoConfig) -> None:
        """Read the directory. Raises ConfigError with every fault in it."""
        self._source = FileSource(directory)
        self.cache = ClusterCache(
            tenants=READERS[config.options.tenant_source](), clock=time.monotonic
        )
        self._tokens = StaticTokenAuthenticator()
        self._rbac = RBACAuthorizer()
        self.users: Sequence[StaticToken] = ()
        self._tokens_fault: str | None = None
        self.authenticator = AuthenticatorChain([self._tokens])
        self.authorizer = AuthorizerChain([AlwaysAllowGroups(), AlwaysAllowPaths(), self._rbac])
        update = self._load(directory)
        self._rbac.replace(update.rbac or ())
        for event in update.events:
            self.cache.apply(event)
        self._recompute = Recompute(
            self.cache,
            Policy(admission_disabled=config.options.admission_disabled),
            CapacityDetail(config.options.capacity_detail),
            RevisionLine(wall_ms, secrets.randbits(TAG_BITS)),
            clock_ms=wall_ms,
            monotonic=time.monotonic,
            tick_ms=config.options.capacity_tick_ms,
        )
        self.published = self._recompute.published

    def unsynced(self) -> str | None:
        """Return what was never read, for the log only."""
        return None if self.published.ready else "classes were never read"

    def gauges(self) -> Iterable[Gauge | Count]:
        """Yield nothing: all that there is to tell is told of the sources."""
        return ()

    async def follow_files(self, on_users: Callable[[], None]) -> None:
        """Take every edit, and say when the users are others; never returns."""
        async for update in self._source.follow():
            users = self.users
            self._take(update)
            if self.users != users:
                on_users()

    async def follow_clock(self) -> None:
        """Publish at each tick; never returns."""
        while True:
            await asyncio.sleep(self._recompute.sleep_ms() / 1000)
            self._recompute.wake()

    def _load(self, directory: Path) -> Update:
        """Read objects and users. Raises ConfigError with the faults of both."""
        problems: list[str] = []
        update = Update()
        tokens = b""
        try:
            update = self._source.load()
            tokens = update.tokens or b""
        except FilesError as error:
            problems += [str(fault) for fault in error.faults]
            with contextlib.suppress(OSError):  # told as a fault of the file by then
                tokens = (directory / TOKENS_FILE).read_bytes()
        try:
            self._use(read_token_file(tokens))
        except TokenFileError as error:
            problems += [f"{TOKENS_FILE}: {problem}" for problem in error.problems]
        if problems:
            raise ConfigError(tuple(problems))
        return update

    def _take(self, update: Update) -> None:
        if update.rbac is not None:
            self._rbac.replace(update.rbac)
        if update.tokens is not None:
            self._take_tokens(update.tokens)
        self._recompute.take(update.events)

    def _take_tokens(self, content: bytes) -> None:
        """Take the users of a file; a broken edit locks nobody out and lets nobody in."""
        try:
            users = read_token_file(content)
        except TokenFileError as error:
            fault = "; ".join(error.problems)
            if fault != self._tokens_fault:
                logger.error(
                    "token file not read, its last good users stay", extra={"fault": fault}
                )
            self._tokens_fault = fault
            return
        if self._tokens_fault is not None:
            logger.info("token file is read again")
            self._tokens_fault = None
        self._use(users)

    def _use(self, users: Sequence[StaticToken]) -> None:
        self.users = users
        self._tokens.replace(users)
        if not users:
            logger.warning("no users, every request is 401: tokens.csv is missing or empty")
