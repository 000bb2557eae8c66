"""Flags to Options to Config, the commands, and the composition root: the only place that builds
things.
"""
