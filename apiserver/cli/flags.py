"""The command line: argparse to values by name. Nothing is read from the environment here or below.

Values are what Go's flags would take: `--flag=value`, `--flag value`, and a switch alone.
"""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from apiserver import __version__
from apiserver.cli import demo_flags, serve_flags
from apiserver.cli.flag import Flag
from apiserver.cli.reading import Flags

PROGRAM: Final = "gpuclass-apiserver"

_SERVE: Final = """\
Serve the GPU class options of a cluster, as an extension of its API: objects are read from
kube-apiserver, callers are proven by the front proxy, a client certificate or a TokenReview, and
their rights are asked of kube-apiserver."""

_DEMO: Final = """\
Serve the GPU class options of an embedded cluster: objects from the YAML files of a folder instead
of a kube-apiserver, users from its tokens.csv, rights from the RBAC objects in the same files. No
cluster, no etcd, no network: both ports listen on loopback only. Files are followed: edit one and
ask again."""

_GROUPS: Final[Mapping[str, Mapping[str, tuple[Flag, ...]]]] = {
    "serve": serve_flags.GROUPS,
    "demo": demo_flags.GROUPS,
}


@dataclass(frozen=True, slots=True)
class CommandLine:
    """What was typed: the command, its values by flag, and the folder of `demo`."""

    command: str
    values: Mapping[str, Sequence[str]]  # every flag of the command has at least its default
    unknown: tuple[str, ...]  # arguments that are no flag of the command
    directory: str | None = None

    def flags(self) -> Flags:
        """Return the values to be read."""
        return Flags(self.values, self.unknown)


def parse(arguments: Sequence[str]) -> CommandLine:
    """Return the command that was asked for, and what is no flag of it.

    Exits as argparse does: 0 after --help and --version, 2 with the usage without a command.
    """
    parsed, unknown = _parser().parse_known_args(_with_values(arguments))
    values = {
        flag.name: getattr(parsed, flag.name) or (flag.default,)
        for group in _GROUPS[parsed.command].values()
        for flag in group
    }
    directory = getattr(parsed, "directory", None)
    return CommandLine(parsed.command, values, tuple(unknown), directory)


def _with_values(arguments: Sequence[str]) -> list[str]:
    """Give switches that stand alone their value: the next argument is never one."""
    switches = {
        f"--{flag.name}"
        for groups in _GROUPS.values()
        for group in groups.values()
        for flag in group
        if flag.switch
    }
    return [f"{each}=true" if each in switches else each for each in arguments]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=PROGRAM,
        description="Tell the tenants of a Kubernetes cluster which GPU classes they can ask for.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"{PROGRAM} {__version__}")
    commands = parser.add_subparsers(
        title="commands", metavar="COMMAND", dest="command", required=True
    )
    serve = commands.add_parser(
        "serve",
        help="serve the options of a cluster, behind its kube-apiserver",
        description=_SERVE,
        epilog=serve_flags.MISSING,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    _add(serve, serve_flags.GROUPS)
    demo = commands.add_parser(
        "demo", help="serve an embedded cluster", description=_DEMO, allow_abbrev=False
    )
    demo.add_argument("directory", nargs="?", metavar="DIR", help=demo_flags.DIRECTORY_HELP)
    _add(demo, demo_flags.GROUPS)
    return parser


def _add(parser: argparse.ArgumentParser, groups: Mapping[str, tuple[Flag, ...]]) -> None:
    for title, flags in groups.items():
        group = parser.add_argument_group(title)
        for flag in flags:
            default = f" (default: {flag.default})" if flag.default else ""
            group.add_argument(
                f"--{flag.name}",
                action="append",
                dest=flag.name,
                metavar=flag.metavar,
                help=f"{flag.help}{default}".replace("%", "%%"),
            )
