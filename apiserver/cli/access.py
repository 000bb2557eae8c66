"""Who is asking, and may they: auth's authenticators and authorizers over a real cluster."""

import asyncio
import logging
import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Final, NoReturn

from apiserver.cli.clients import Clients
from apiserver.cli.clocks import wall_seconds
from apiserver.cli.reading import ConfigError
from apiserver.cli.serve_config import AuthenticationConfig, AuthorizationConfig, ServeConfig
from apiserver.kube.reviews import KubeAccessReviews, KubeTokenReviews
from apiserver.kube.trust import TrustFollower
from apiserver.ops.metrics import Count, Gauge
from auth.authentication.chain import AuthenticatorChain
from auth.authentication.client_certificate import ClientCertificateAuthenticator
from auth.authentication.front_proxy import FrontProxyAuthenticator
from auth.authentication.token_review import TokenReviewAuthenticator
from auth.authorization.access_review import AccessReviewAuthorizer
from auth.authorization.always_allow import AlwaysAllowGroups, AlwaysAllowPaths
from auth.authorization.chain import AuthorizerChain
from auth.trust import ProxyHeaders, TrustStore

logger = logging.getLogger(__name__)

_COUNTS: Final = (
    ("apiserver_delegated_authn_request", "TokenReviews sent, by status."),
    ("apiserver_delegated_authz_request", "SubjectAccessReviews sent, by status."),
)


class Access:
    """The order of proofs (contract 6.1) and of questions (7.1), and what they rest on."""

    def __init__(self, config: ServeConfig, clients: Clients) -> None:
        """Read the CA files of flags. Raises ConfigError."""
        self._config: Final[AuthenticationConfig] = config.authentication
        self._reload_seconds = config.waits.reload
        self._store = TrustStore()
        self._files = _files(self._config, self._store)
        problems = [problem for file in self._files if (problem := file.read())]
        if problems:
            raise ConfigError(tuple(problems))
        waits = config.waits
        tokens = KubeTokenReviews(clients.authentication, time.monotonic, waits.reviews)
        rights = KubeAccessReviews(clients.authorization, time.monotonic, waits.reviews)
        self._counts = (tokens.counts, rights.counts)
        self._tokens = TokenReviewAuthenticator(
            tokens,
            audiences=self._config.audiences,
            ttl=self._config.token_ttl,
            clock=time.monotonic,
        )
        self._rights = _rights(rights, config.authorization)
        self._follower = TrustFollower(
            clients.authentication, self._store.take, time.monotonic, waits.trust
        )
        self.authenticator = AuthenticatorChain(
            [
                FrontProxyAuthenticator(self._store, wall_seconds),
                ClientCertificateAuthenticator(self._store, wall_seconds),
                self._tokens,
            ]
        )
        self.authorizer = AuthorizerChain(
            [
                AlwaysAllowGroups(),
                AlwaysAllowPaths(config.authorization.always_allow_paths),
                self._rights,
            ]
        )

    def client_cas(self) -> str:
        """Return the PEM of all CAs that a client's certificate may be of; "" for none."""
        return self._store.client_cas()

    def on_trust(self, changed: Callable[[], None]) -> None:
        """Have something called whenever other CAs are trusted."""
        self._store.on_change = changed

    async def follow_files(self) -> NoReturn:
        """Read the CA files of flags again and again; never returns."""
        while True:
            await asyncio.sleep(self._reload_seconds)
            for file in self._files:
                file.follow()

    def gauges(self) -> Iterable[Gauge | Count]:
        """Yield what reviews came to, and how old the trust is."""
        for (name, text), counts in zip(_COUNTS, self._counts, strict=True):
            for code, count in counts.items():
                yield Count(name, text, count, {"code": code})
        if self._follower.heard is not None:
            yield Gauge(
                "gpuclass_trust_age_seconds",
                "Time since the ConfigMap with whom to trust was read.",
                time.monotonic() - self._follower.heard,
                {},
            )

    async def follow(self) -> None:
        """Follow the ConfigMap, unless flags say that nothing is looked up there."""
        if self._is_looked_up():
            await self._follower.run()

    async def settled(self) -> None:
        """Wait until it is known whom to trust."""
        if self._is_looked_up():
            await self._follower.settled.wait()

    async def close(self) -> None:
        """End all reviews."""
        await self._tokens.close()
        await self._rights.close()

    def _is_looked_up(self) -> bool:
        given = self._store.client_ca_given and self._store.proxy_given
        return not (self._config.skip_lookup or given)


def _rights(reviews: KubeAccessReviews, config: AuthorizationConfig) -> AccessReviewAuthorizer:
    return AccessReviewAuthorizer(
        reviews,
        allowed_ttl=config.allowed_ttl,
        denied_ttl=config.denied_ttl,
        clock=time.monotonic,
    )


class _CAFile:
    """A file of CAs that a flag names; it is taken whenever it is another one."""

    def __init__(self, flag: str, file: Path, give: Callable[[bytes], None]) -> None:
        """Give the content to `give`, which raises ValueError for what it cannot use."""
        self._flag = flag
        self._file = file
        self._give = give
        self._good: bytes | None = None
        self._faulty = False

    def read(self) -> str | None:
        """Take the file; return what is wrong with it, and then nothing has changed."""
        try:
            content = self._file.read_bytes()
            if content != self._good:
                self._give(content)
        except (OSError, ValueError) as error:
            logger.debug("a CA file was not read", exc_info=error)
            return f"--{self._flag}: {self._file} has no CA certificates that can be read"
        self._good = content
        return None

    def follow(self) -> None:
        """Take the file; log once that it cannot be read, and once that it can again."""
        faulty = self.read() is not None
        if faulty and not self._faulty:
            logger.error("CA file not read, its last good CAs stay", extra={"flag": self._flag})
        elif self._faulty and not faulty:
            logger.info("CA file is read again", extra={"flag": self._flag})
        self._faulty = faulty


def _files(config: AuthenticationConfig, store: TrustStore) -> Sequence[_CAFile]:
    """Return the files that flags name."""
    files, proxy = [], config.request_header
    if config.client_ca_file is not None:
        files.append(_CAFile("client-ca-file", config.client_ca_file, store.give_client_cas))
    if proxy.ca_file is not None:
        headers = ProxyHeaders(
            allowed_names=proxy.allowed_names,
            user=proxy.username_headers,
            uid=proxy.uid_headers,
            group=proxy.group_headers,
            extra_prefixes=proxy.extra_prefixes,
        )
        give = partial(store.give_proxy, headers=headers)
        files.append(_CAFile("requestheader-client-ca-file", proxy.ca_file, give))
    return files
