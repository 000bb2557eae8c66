"""The command line: argparse to Options. Nothing is read from the environment here or below."""

import argparse
from collections.abc import Sequence
from typing import Final

from apiserver import __version__
from apiserver.cli.config import CAPACITY_DETAILS, TENANT_SOURCES, DemoOptions

PROGRAM: Final = "gpuclass-apiserver"

_DEMO: Final = """\
Serve the GPU class options of an embedded cluster: objects from the YAML files of a folder instead
of a kube-apiserver, users from its tokens.csv, rights from the RBAC objects in the same files. No
cluster, no etcd, no network: both ports listen on loopback only. Files are followed: edit one and
ask again."""


def parse(arguments: Sequence[str]) -> DemoOptions:
    """Return the options of the command that was asked for, and what is no flag of it.

    Exits as argparse does: 0 after --help and --version, 2 with the usage without a command.
    """
    parsed, unknown = _parser().parse_known_args(arguments)
    return DemoOptions(
        directory=parsed.directory,
        state_dir=parsed.state_dir,
        secure_port=parsed.secure_port,
        admission_secure_port=parsed.admission_secure_port,
        capacity_tick=parsed.capacity_tick,
        capacity_detail=parsed.capacity_detail,
        tenant_source=parsed.tenant_source,
        admission_disabled=parsed.admission_disabled,
        unknown=tuple(unknown),
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=PROGRAM,
        description="Tell the tenants of a Kubernetes cluster which GPU classes they can ask for.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"{PROGRAM} {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    _add_demo(
        commands.add_parser(
            "demo", help="serve an embedded cluster", description=_DEMO, allow_abbrev=False
        )
    )
    return parser


def _add_demo(demo: argparse.ArgumentParser) -> None:
    demo.add_argument(
        "directory",
        nargs="?",
        metavar="DIR",
        help="folder with *.yaml, *.yml, *.json and tokens.csv (default: a small hoster that "
        "comes with the program)",
    )
    demo.add_argument(
        "--state-dir",
        default=".demo",
        metavar="DIR",
        help="where certificates, kubeconfig and endpoints.json are written (default: %(default)s)",
    )
    demo.add_argument(
        "--secure-port",
        default="8443",
        metavar="N",
        help="port of the API, 0 for a free one (default: %(default)s)",
    )
    demo.add_argument(
        "--admission-secure-port",
        default="8444",
        metavar="N",
        help="port of the admission webhooks, 0 for a free one (default: %(default)s); this "
        "version answers its probes only",
    )
    _add_options(demo.add_argument_group("what options show"))


def _add_options(group: argparse._ArgumentGroup) -> None:
    """Add the flags of every command that shows options."""
    group.add_argument(
        "--capacity-tick",
        default="10s",
        metavar="DURATION",
        help="free units change on this clock tick only, the same for every caller and replica; 0s "
        "publishes at once (default: %(default)s)",
    )
    group.add_argument(
        "--capacity-detail",
        default="full",
        metavar="|".join(CAPACITY_DETAILS),
        help="how much of free units tenants see: free and largest fit, free alone, or neither "
        "(default: %(default)s)",
    )
    group.add_argument(
        "--tenant-source",
        default="gputenants",
        metavar="|".join(TENANT_SOURCES),
        help="where tenants and budgets are read: GPUTenant objects, or the platform's "
        "HelmReleases and ResourceQuotas (default: %(default)s)",
    )
    group.add_argument(
        "--admission-disabled",
        action="store_true",
        help="the admission webhooks are not installed: no class can be asked for, and options "
        "say so",
    )
