"""How all tests run."""

import os

from hypothesis import settings

# How fast an example is says nothing about right or wrong. In CI the examples are the same each
# time, so that a failure is the change's; everywhere else each run tries others.
settings.register_profile("here", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "here")
