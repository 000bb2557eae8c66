"""The flags of `serve`."""

import ssl
from pathlib import Path

import pytest

from apiserver.cli import serve_flags
from apiserver.cli.flags import parse
from apiserver.cli.reading import ConfigError
from apiserver.cli.serve_config import ServeConfig, serve_config
from apiserver.ops.tls import PairFiles

UPSTREAM = {
    "secure-port": "443",
    "bind-address": "0.0.0.0",  # noqa: S104
    "tls-cert-file": "",
    "tls-private-key-file": "",
    "cert-dir": "apiserver.local.config/certificates",
    "kubeconfig": "",
    "authentication-kubeconfig": "",
    "authorization-kubeconfig": "",
    "client-ca-file": "",
    "requestheader-client-ca-file": "",
    "requestheader-username-headers": "x-remote-user",
    "requestheader-uid-headers": "",
    "requestheader-group-headers": "x-remote-group",
    "requestheader-extra-headers-prefix": "x-remote-extra-",
    "requestheader-allowed-names": "",
    "authentication-skip-lookup": "false",
    "authentication-tolerate-lookup-failure": "false",
    "authentication-token-webhook-cache-ttl": "10s",
    "authorization-webhook-cache-authorized-ttl": "10s",
    "authorization-webhook-cache-unauthorized-ttl": "10s",
    "authorization-always-allow-paths": "/healthz,/readyz,/livez",
    "tls-min-version": "",
    "tls-cipher-suites": "",
    "tls-sni-cert-key": "",
    "disable-http2-serving": None,
    "http2-max-streams-per-connection": None,
    "permit-port-sharing": "false",
    "permit-address-sharing": None,
    "max-requests-inflight": "400",
    "max-mutating-requests-inflight": "200",
    "request-timeout": "1m",
    "min-request-timeout": None,
    "shutdown-delay-duration": "0s",
    "shutdown-send-retry-after": "false",
    "shutdown-watch-termination-grace-period": None,
    "livez-grace-period": None,
    "external-hostname": "",
}


def config_of(*arguments: str) -> ServeConfig:
    """What `serve` would run with."""
    return serve_config(parse(["serve", *arguments]).flags())


def problems_of(*arguments: str) -> list[str]:
    """What is wrong with a command line."""
    with pytest.raises(ConfigError) as caught:
        config_of(*arguments)
    return list(caught.value.problems)


@pytest.mark.parametrize(("name", "default"), UPSTREAM.items(), ids=str)
def test_flags_have_upstreams_names_and_defaults_or_a_sentence_in_the_help(
    name: str, default: str | None
) -> None:
    """Manifests of other API servers fit, or say why not (contract 11.1 to 11.6)."""
    flags = {flag.name: flag for group in serve_flags.GROUPS.values() for flag in group}
    if default is None:
        assert name not in flags
        assert f"--{name}" in serve_flags.MISSING
    else:
        assert flags[name].default == default


def test_the_defaults_can_be_served_with() -> None:
    """Nothing but a cluster is needed."""
    config = config_of()
    assert (config.serving.port, config.serving.pair) == (443, None)
    assert config.serving.minimum is ssl.TLSVersion.TLSv1_2
    assert config.source_stale_after == 180
    assert config.authentication.token_ttl == 10
    assert (config.authorization.allowed_ttl, config.authorization.denied_ttl) == (10, 10)
    assert config.authorization.always_allow_paths == ("/healthz", "/readyz", "/livez")
    assert (config.requests.read_only, config.requests.mutating) == (400, 200)
    assert (config.requests.seconds, config.requests.shutdown_delay) == (60, 0)
    assert not config.requests.shutdown_send_retry_after


def test_go_spellings_are_taken(tmp_path: Path) -> None:
    """Lists by comma, durations as Go's, switches with or without a value (contract 11.9)."""
    pair = _a_pair(tmp_path)
    config = config_of(
        *("--secure-port", "0", "--bind-address=127.0.0.1", "--shutdown-delay-duration=1m2.5s"),
        *("--requestheader-username-headers=X-Remote-User,X-Other", "--api-audiences=a, b"),
        *("--shutdown-send-retry-after", "--permit-port-sharing=false"),
        f"--tls-cert-file={pair.certificate}",
        f"--tls-private-key-file={pair.key}",
        f"--tls-sni-cert-key={pair.certificate},{pair.key}:A.example,*.b.example",
        f"--tls-sni-cert-key={pair.certificate},{pair.key}",
        "--tls-min-version=VersionTLS13",
        "--tls-cipher-suites=TLS_AES_128_GCM_SHA256,TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
    )
    assert config.requests.shutdown_delay == 62.5
    assert config.authentication.request_header.username_headers == ("x-remote-user", "x-other")
    assert config.authentication.audiences == ("a", "b")
    assert config.requests.shutdown_send_retry_after
    assert not config.serving.port_sharing
    assert config.serving.pair == pair
    assert [each.names for each in config.serving.further_pairs] == [
        ("a.example", "*.b.example"),
        (),
    ]
    assert config.serving.minimum is ssl.TLSVersion.TLSv1_3
    assert config.serving.ciphers == "ECDHE-RSA-AES128-GCM-SHA256"


@pytest.mark.parametrize(
    ("argument", "said"),
    [
        ("--secure-port=65536", "not a port"),
        ("--bind-address=localhost", "not an IP address"),
        ("--tls-cert-file=/does/not/exist", "is not a file"),
        ("--tls-min-version=1.2", "not one of VersionTLS10"),
        ("--tls-cipher-suites=RC4", "no cipher suite 'RC4'"),
        ("--tls-sni-cert-key=a", "not CRT,KEY"),
        ("--tls-sni-cert-key=/a,/b", "/a is not a file"),
        ("--kubeconfig=/does/not/exist", "is not a file"),
        ("--source-stale-after=0m", "at least 1ms"),
        ("--source-stale-after=0.9ms", "at least 1ms"),
        ("--max-requests-inflight=-1", "not a whole number"),
        ("--request-timeout=0", "at least 1ms"),
        ("--request-timeout=soon", "not a duration"),
        ("--shutdown-send-retry-after=perhaps", "not true or false"),
        ("--authorization-always-allow-paths=/a*b", "a * elsewhere"),
        ("--authentication-token-webhook-cache-ttl=soon", "not a duration"),
        ("--external-hostname=bücher.example", "not a host name"),
        ("--external-hostname=a_b", "not a host name"),
        ("--etcd-servers=http://x", "no such flag"),
    ],
)
def test_what_cannot_be_followed_is_told_by_its_flag(argument: str, said: str) -> None:
    """One sentence, which begins with the flag."""
    problems = problems_of(argument)
    assert any(
        problem.startswith(argument.partition("=")[0]) and said in problem for problem in problems
    )


def test_a_certificate_needs_its_key(tmp_path: Path) -> None:
    """Half a pair is a mistake, not a wish for a self-signed one."""
    pair = _a_pair(tmp_path)
    (problem,) = problems_of(f"--tls-cert-file={pair.certificate}")
    assert "--tls-private-key-file" in problem


def _a_pair(directory: Path) -> PairFiles:
    pair = PairFiles(directory / "tls.crt", directory / "tls.key")
    for file in (pair.certificate, pair.key):
        file.touch()
    return pair
