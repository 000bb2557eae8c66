"""Frozen domain types: what the calculation reads. Pure; the standard library only."""
