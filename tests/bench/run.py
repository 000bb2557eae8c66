"""Every performance bar, as a figure beside what it is held to; exit code 1 where one is missed.

`make bench ARGS="pool http"` runs some of them.
"""

import importlib
import sys
from pathlib import Path
from typing import Final

BENCHES: Final = {
    "pool": "bench.pool_bench",
    "http": "bench.http_bench",
    "server": "bench.server_bench",
    "kube": "bench.kube_bench",
}


def main(names: list[str]) -> int:
    """Run the named benches, all without a name, and print their figures."""
    sys.path.insert(0, str(Path(__file__).parents[1]))
    missed = 0
    for name in names or BENCHES:
        for figure in importlib.import_module(BENCHES[name]).measure():
            print(figure)
            missed += not figure.ok
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
