"""The commands. Each imports only what it needs, when it runs."""

import sys
from collections.abc import Sequence

from apiserver.cli.config import ConfigError, demo_config
from apiserver.cli.flags import PROGRAM, parse


def run(arguments: Sequence[str]) -> int:
    """Run a command line and return its exit code: 2 for what was asked wrongly, with every
    problem.
    """
    try:
        config = demo_config(parse(arguments))
        from apiserver.cli.demo import demo

        return demo(config)
    except ConfigError as error:
        for problem in error.problems:
            sys.stderr.write(f"{PROGRAM}: {problem}\n")
        return 2
