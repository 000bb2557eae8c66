"""Who is asking, and may they: auth's authenticators and authorizers over a real cluster."""

import asyncio
import logging
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NoReturn

from apiserver.cli.clients import Clients
from apiserver.cli.clocks import wall_seconds
from apiserver.cli.reading import ConfigError
from apiserver.cli.serve_config import AuthenticationConfig, AuthorizationConfig, ServeConfig
from apiserver.kube.reviews import KubeAccessReviews, KubeTokenReviews
from apiserver.kube.trust import TrustFollower
from apiserver.ops.metrics import Gauge
from auth.authentication.chain import AuthenticatorChain
from auth.authentication.client_certificate import ClientCertificateAuthenticator
from auth.authentication.front_proxy import FrontProxyAuthenticator
from auth.authentication.token_review import TokenReviewAuthenticator
from auth.authorization.access_review import AccessReviewAuthorizer
from auth.authorization.always_allow import AlwaysAllowGroups, AlwaysAllowPaths
from auth.authorization.chain import AuthorizerChain
from auth.trust import ProxyHeaders, TrustStore

logger = logging.getLogger(__name__)

_GAUGES: Final = (
    ("apiserver_delegated_authn_requests", "TokenReviews sent since the start, by status."),
    ("apiserver_delegated_authz_requests", "SubjectAccessReviews sent since the start, by status."),
)


class Access:
    """The order of proofs (contract 6.1) and of questions (7.1), and what they rest on."""

    def __init__(self, config: ServeConfig, clients: Clients) -> None:
        """Read the CA files of flags. Raises ConfigError."""
        self._config: Final[AuthenticationConfig] = config.authentication
        self._reload_seconds = config.waits.reload
        self._store = TrustStore()
        self._read_files(self._config)
        tokens = KubeTokenReviews(clients.authentication, time.monotonic)
        rights = KubeAccessReviews(clients.authorization, time.monotonic)
        self._counts = (tokens.counts, rights.counts)
        self._tokens = TokenReviewAuthenticator(
            tokens,
            audiences=self._config.audiences,
            ttl=self._config.token_ttl,
            clock=time.monotonic,
        )
        self._rights = _rights(rights, config.authorization)
        self._follower = TrustFollower(clients.authentication, self._store.take, time.monotonic)
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
        """Read the CA files of flags again and again; the last good ones stay."""
        while True:
            await asyncio.sleep(self._reload_seconds)
            try:
                self._read_files(self._config)
            except ConfigError as error:
                logger.debug("a CA file was not read", exc_info=error)

    def gauges(self) -> Iterable[Gauge]:
        """Yield what reviews came to, and how old the trust is."""
        for (name, text), counts in zip(_GAUGES, self._counts, strict=True):
            for code, count in counts.items():
                yield Gauge(name, text, count, {"code": code})
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
        """Wait until it is known whom to trust, or that it cannot be known now."""
        if self._is_looked_up():
            await self._follower.settled.wait()

    async def close(self) -> None:
        """End all reviews."""
        await self._tokens.close()
        await self._rights.close()

    def _is_looked_up(self) -> bool:
        given = self._store.client_ca_given and self._store.proxy_given
        return not (self._config.skip_lookup or given)

    def _read_files(self, config: AuthenticationConfig) -> None:
        proxy = config.request_header
        if config.client_ca_file is not None:
            with _problems_of("client-ca-file", config.client_ca_file):
                self._store.give_client_cas(config.client_ca_file.read_bytes())
        if proxy.ca_file is not None:
            headers = ProxyHeaders(
                allowed_names=proxy.allowed_names,
                user=proxy.username_headers,
                uid=proxy.uid_headers,
                group=proxy.group_headers,
                extra_prefixes=proxy.extra_prefixes,
            )
            with _problems_of("requestheader-client-ca-file", proxy.ca_file):
                self._store.give_proxy(proxy.ca_file.read_bytes(), headers)


def _rights(reviews: KubeAccessReviews, config: AuthorizationConfig) -> AccessReviewAuthorizer:
    return AccessReviewAuthorizer(
        reviews,
        allowed_ttl=config.allowed_ttl,
        denied_ttl=config.denied_ttl,
        clock=time.monotonic,
    )


@contextmanager
def _problems_of(flag: str, file: Path) -> Iterator[None]:
    """Turn what a file has wrong into a problem of its flag."""
    try:
        yield
    except (OSError, ValueError) as error:
        raise ConfigError((f"--{flag}: {file} has no CA certificates that can be read",)) from error
