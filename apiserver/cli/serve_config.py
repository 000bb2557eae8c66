"""What `serve` runs with: its flags in, Config or every problem out (contract 11)."""

import re
import ssl
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from apiserver.cli.config import OptionsConfig, options_config
from apiserver.cli.reading import Flags
from apiserver.cli.tls_flags import VERSIONS, openssl_ciphers, sni_pair
from apiserver.kube.reviews import Retries
from apiserver.kube.trust import TrustWaits
from apiserver.ops.tls import PairFiles
from storage.cluster.reflector import Waits as SourceWaits

_MOST_REQUESTS: Final = 1_000_000
_HOST_NAME: Final = re.compile(r"[0-9A-Za-z]([-.0-9A-Za-z]{0,251}[0-9A-Za-z])?", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServingConfig:
    """The listening socket."""

    port: int  # 0: a free one
    address: str
    pair: PairFiles | None  # None: a self-signed one in `cert_dir`
    cert_dir: Path
    external_hostname: str
    further_pairs: tuple[PairFiles, ...]
    minimum: ssl.TLSVersion
    ciphers: str  # OpenSSL's list; "": the library's
    port_sharing: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestHeaderConfig:
    """The front proxy as flags give it, in place of the ConfigMap."""

    ca_file: Path | None  # None: the ConfigMap's, with all its names
    allowed_names: tuple[str, ...]
    username_headers: tuple[str, ...]
    uid_headers: tuple[str, ...]
    group_headers: tuple[str, ...]
    extra_prefixes: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthenticationConfig:
    """How callers prove who they are."""

    kubeconfig: Path | None  # None: as a pod
    skip_lookup: bool
    token_ttl: float  # seconds
    audiences: tuple[str, ...]
    client_ca_file: Path | None  # None: the ConfigMap's
    request_header: RequestHeaderConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthorizationConfig:
    """How rights are asked for."""

    kubeconfig: Path | None  # None: as a pod
    allowed_ttl: float  # seconds
    denied_ttl: float  # seconds
    always_allow_paths: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestsConfig:
    """Bounds of requests, and how the process ends."""

    read_only: int  # at once; 0: no bound
    mutating: int
    seconds: float
    shutdown_delay: float  # seconds
    shutdown_send_retry_after: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Waits:
    """Waits that are long by nature, in seconds."""

    reload: float = 5.0  # between looks at certificate files and trust
    sync: float = 60.0  # until ready though something could not be read
    sources: SourceWaits = field(default_factory=SourceWaits)
    trust: TrustWaits = field(default_factory=TrustWaits)
    reviews: Retries = field(default_factory=Retries)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServeConfig:
    """What `serve` runs with."""

    serving: ServingConfig
    kubeconfig: Path | None  # None: as a pod
    source_stale_after: float  # seconds
    authentication: AuthenticationConfig
    authorization: AuthorizationConfig
    requests: RequestsConfig
    options: OptionsConfig
    waits: Waits = field(default_factory=Waits)


def serve_config(flags: Flags) -> ServeConfig:
    """Check the flags of `serve`. Raises ConfigError with all problems at once."""
    config = ServeConfig(
        serving=_serving(flags),
        kubeconfig=flags.file("kubeconfig"),
        source_stale_after=flags.positive_seconds("source-stale-after"),
        authentication=_authentication(flags),
        authorization=AuthorizationConfig(
            kubeconfig=flags.file("authorization-kubeconfig"),
            allowed_ttl=flags.seconds("authorization-webhook-cache-authorized-ttl"),
            denied_ttl=flags.seconds("authorization-webhook-cache-unauthorized-ttl"),
            always_allow_paths=_paths(flags, "authorization-always-allow-paths"),
        ),
        requests=RequestsConfig(
            read_only=flags.number("max-requests-inflight", _MOST_REQUESTS),
            mutating=flags.number("max-mutating-requests-inflight", _MOST_REQUESTS),
            seconds=flags.positive_seconds("request-timeout"),
            shutdown_delay=flags.seconds("shutdown-delay-duration"),
            shutdown_send_retry_after=flags.switch("shutdown-send-retry-after"),
        ),
        options=options_config(flags),
    )
    flags.require_none()
    return config


def _serving(flags: Flags) -> ServingConfig:
    certificate, key = flags.file("tls-cert-file"), flags.file("tls-private-key-file")
    if (certificate is None) != (key is None):
        flags.problem("tls-cert-file", "to be given together with --tls-private-key-file")
    return ServingConfig(
        port=flags.port("secure-port"),
        address=flags.address("bind-address"),
        pair=PairFiles(certificate, key) if certificate and key else None,
        cert_dir=Path(flags.text("cert-dir")),
        external_hostname=_host_name(flags),
        further_pairs=_further_pairs(flags),
        minimum=VERSIONS.get(flags.choice("tls-min-version", tuple(VERSIONS)), VERSIONS[""]),
        ciphers=_ciphers(flags),
        port_sharing=flags.switch("permit-port-sharing"),
    )


def _host_name(flags: Flags) -> str:
    name = flags.text("external-hostname")
    if name and not _HOST_NAME.fullmatch(name):
        flags.problem("external-hostname", f"{name!r} is not a host name")
        return ""
    return name


def _further_pairs(flags: Flags) -> tuple[PairFiles, ...]:
    pairs = []
    for text in flags.texts("tls-sni-cert-key"):
        try:
            pair = sni_pair(text)
        except ValueError as error:
            flags.problem("tls-sni-cert-key", f"{text!r} is {error}")
            continue
        for file in (pair.certificate, pair.key):
            if not file.is_file():
                flags.problem("tls-sni-cert-key", f"{file} is not a file")
        pairs.append(pair)
    return tuple(pairs)


def _ciphers(flags: Flags) -> str:
    try:
        return openssl_ciphers(flags.words("tls-cipher-suites"))
    except ValueError as error:
        flags.problem("tls-cipher-suites", f"there is no cipher suite {str(error)!r}")
        return ""


def _authentication(flags: Flags) -> AuthenticationConfig:
    return AuthenticationConfig(
        kubeconfig=flags.file("authentication-kubeconfig"),
        skip_lookup=flags.switch("authentication-skip-lookup"),
        token_ttl=flags.seconds("authentication-token-webhook-cache-ttl"),
        audiences=flags.words("api-audiences"),
        client_ca_file=flags.file("client-ca-file"),
        request_header=RequestHeaderConfig(
            ca_file=flags.file("requestheader-client-ca-file"),
            allowed_names=flags.words("requestheader-allowed-names"),
            username_headers=_names(flags, "requestheader-username-headers"),
            uid_headers=_names(flags, "requestheader-uid-headers"),
            group_headers=_names(flags, "requestheader-group-headers"),
            extra_prefixes=_names(flags, "requestheader-extra-headers-prefix"),
        ),
    )


def _names(flags: Flags, name: str) -> tuple[str, ...]:
    """Return names of headers, which compare without regard to case."""
    return tuple(each.lower() for each in flags.words(name))


def _paths(flags: Flags, name: str) -> tuple[str, ...]:
    paths = flags.words(name)
    for path in paths:
        if "*" in path[:-1]:
            flags.problem(name, f"{path!r} has a * elsewhere than at its end")
    return paths
