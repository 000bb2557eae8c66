"""The flags of `demo` (design 11)."""

from collections.abc import Mapping
from typing import Final

from apiserver.cli.flag import OPTIONS, Flag

DIRECTORY_HELP: Final = (
    "folder with *.yaml, *.yml, *.json and tokens.csv (default: a small hoster that comes with "
    "the program)"
)

GROUPS: Final[Mapping[str, tuple[Flag, ...]]] = {
    "serving": (
        Flag(
            "state-dir",
            ".demo",
            "DIR",
            "where certificates, kubeconfig and endpoints.json are written",
        ),
        Flag("secure-port", "8443", "N", "port of the API, 0 for a free one"),
        Flag(
            "admission-secure-port",
            "8444",
            "N",
            "port of the admission webhooks, 0 for a free one; this version answers its probes "
            "only",
        ),
    ),
    "what options show": OPTIONS,
}
