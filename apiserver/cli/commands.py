"""The commands. Each imports only what it needs, when it runs."""

import sys
from collections.abc import Sequence

from apiserver.cli.config import demo_config
from apiserver.cli.flags import PROGRAM, CommandLine, parse
from apiserver.cli.reading import ConfigError


def run(arguments: Sequence[str]) -> int:
    """Run a command line and return its exit code: 2 for what was asked wrongly, with every
    problem.
    """
    line = parse(arguments)
    try:
        return _demo(line) if line.command == "demo" else _serve(line)
    except ConfigError as error:
        for problem in error.problems:
            sys.stderr.write(f"{PROGRAM}: {problem}\n")
        return 2


def _demo(line: CommandLine) -> int:
    config = demo_config(line.directory, line.flags())
    from apiserver.cli.demo import demo

    return demo(config)


def _serve(line: CommandLine) -> int:
    from apiserver.cli.serve_config import serve_config

    config = serve_config(line.flags())
    from apiserver.cli.serve import serve

    return serve(config, line.values)
