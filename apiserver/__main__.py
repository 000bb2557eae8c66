"""The command `gpuclass-apiserver`."""

import sys

from apiserver.cli.commands import run


def main() -> None:
    """Run the command line of this process and exit with its code."""
    sys.exit(run(sys.argv[1:]))


if __name__ == "__main__":
    main()
