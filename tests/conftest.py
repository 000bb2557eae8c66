"""How all tests run."""

import os

import pytest
from hypothesis import settings

# How fast an example is says nothing about right or wrong. In CI the examples are the same each
# time, so that a failure is the change's; everywhere else each run tries others.
settings.register_profile("here", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "here")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let CI insist on the tier that needs binaries."""
    parser.addoption(
        "--require-cluster",
        action="store_true",
        help="fail, rather than skip, the tests that need a control plane when there is none",
    )
