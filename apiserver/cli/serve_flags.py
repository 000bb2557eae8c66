"""The flags of `serve`: upstream's names, formats and defaults (contract 11.1 to 11.7)."""

from collections.abc import Mapping
from typing import Final

from apiserver.cli.flag import OPTIONS, Flag, switch

_SERVING: Final = (
    Flag("secure-port", "443", "N", "port of the API, 0 for a free one"),
    Flag("bind-address", "0.0.0.0", "IP", "address to listen on"),  # noqa: S104  # upstream's
    Flag(
        "tls-cert-file",
        "",
        "FILE",
        "serving certificate, with its chain; read again when it changes",
    ),
    Flag("tls-private-key-file", "", "FILE", "key of --tls-cert-file"),
    Flag(
        "cert-dir",
        "apiserver.local.config/certificates",
        "DIR",
        "where a self-signed pair, apiserver.crt and apiserver.key, is made without files",
    ),
    Flag("external-hostname", "", "NAME", "a further name for the self-signed certificate"),
    Flag(
        "tls-sni-cert-key",
        "",
        "CRT,KEY[:NAMES]",
        "a further pair, for callers that ask for one of these names, or *.NAME, separated by "
        "commas; without names those in the certificate; may be given several times",
    ),
    Flag(
        "tls-min-version",
        "",
        "VersionTLS1x",
        "VersionTLS10, VersionTLS11, VersionTLS12 or VersionTLS13; empty: VersionTLS12",
    ),
    Flag(
        "tls-cipher-suites",
        "",
        "NAMES",
        "Go's names of the cipher suites for TLS up to 1.2, separated by commas; empty: the "
        "library's choice. Those of TLS 1.3 are fixed",
    ),
    switch("permit-port-sharing", "let other processes listen on the same port (SO_REUSEPORT)"),
)
_SOURCES: Final = (
    Flag(
        "kubeconfig", "", "FILE", "how to reach the cluster whose objects are read; empty: as a pod"
    ),
    Flag(
        "source-stale-after",
        "3m",
        "DURATION",
        "figures from a source that was not heard of for this long are unknown",
    ),
)
_AUTHENTICATION: Final = (
    Flag(
        "authentication-kubeconfig", "", "FILE", "as whom to ask for TokenReviews; empty: as a pod"
    ),
    switch("authentication-skip-lookup", "do not read extension-apiserver-authentication"),
    switch(
        "authentication-tolerate-lookup-failure",
        "without effect: not being able to read it never ends the process",
    ),
    Flag(
        "authentication-token-webhook-cache-ttl", "10s", "DURATION", "how long TokenReviews count"
    ),
    Flag(
        "api-audiences", "", "NAMES", "audiences that a token must be for; empty: the API server's"
    ),
    Flag("client-ca-file", "", "FILE", "CAs of client certificates, in place of the ConfigMap's"),
    Flag(
        "requestheader-client-ca-file",
        "",
        "FILE",
        "CAs of the front proxy; with it, these flags stand in place of the ConfigMap's keys",
    ),
    Flag("requestheader-allowed-names", "", "NAMES", "common names of the front proxy; empty: any"),
    Flag(
        "requestheader-username-headers", "x-remote-user", "NAMES", "headers with the user's name"
    ),
    Flag("requestheader-uid-headers", "", "NAMES", "headers with the user's uid"),
    Flag("requestheader-group-headers", "x-remote-group", "NAMES", "headers with groups"),
    Flag(
        "requestheader-extra-headers-prefix",
        "x-remote-extra-",
        "NAMES",
        "prefixes of extra headers",
    ),
)
_AUTHORIZATION: Final = (
    Flag(
        "authorization-kubeconfig",
        "",
        "FILE",
        "as whom to ask for SubjectAccessReviews; empty: as a pod",
    ),
    Flag("authorization-webhook-cache-authorized-ttl", "10s", "DURATION", "how long a yes counts"),
    Flag("authorization-webhook-cache-unauthorized-ttl", "10s", "DURATION", "how long a no counts"),
    Flag(
        "authorization-always-allow-paths",
        "/healthz,/readyz,/livez",
        "PATHS",
        "paths that nobody is asked about; one that ends in * is a prefix",
    ),
)
_REQUESTS: Final = (
    Flag("max-requests-inflight", "400", "N", "most get and list requests at once; 0: no bound"),
    Flag("max-mutating-requests-inflight", "200", "N", "most other requests at once; 0: no bound"),
    Flag("request-timeout", "1m", "DURATION", "how long a request may take"),
    Flag(
        "shutdown-delay-duration",
        "0s",
        "DURATION",
        "how long everything is still served, but for /readyz, after SIGTERM",
    ),
    switch(
        "shutdown-send-retry-after",
        "after that delay answer 429 until the last request is done, instead of not listening",
    ),
)
GROUPS: Final[Mapping[str, tuple[Flag, ...]]] = {
    "serving": _SERVING,
    "where objects are read": _SOURCES,
    "who is asking": _AUTHENTICATION,
    "may they": _AUTHORIZATION,
    "requests": _REQUESTS,
    "what options show": OPTIONS,
}

#: Flags of other API servers that are not here, each with the reason.
MISSING: Final = """\
Flags of other API servers that are missing here, and why:
  --disable-http2-serving, --http2-max-streams-per-connection: HTTP/1.1 is all that is served.
  --permit-address-sharing: always so, SO_REUSEADDR is set on every listening socket.
  --min-request-timeout, --shutdown-watch-termination-grace-period: watch is not served yet.
  --livez-grace-period: nothing that takes time at the start is part of /livez.
  --audit-*: kube-apiserver audits every request that passes through it; the Audit-ID is kept.
  --etcd-*: nothing is stored."""
