"""One flag of a command line, and those that every command has which shows options."""

from dataclasses import dataclass
from typing import Final

from apiserver.cli.config import CAPACITY_DETAILS, TENANT_SOURCES


@dataclass(frozen=True, slots=True)
class Flag:
    """One flag. A switch may come without a value."""

    name: str
    default: str
    metavar: str
    help: str
    switch: bool = False


def switch(name: str, text: str) -> Flag:
    """Return a flag that is off unless it is given."""
    return Flag(name, "false", "true|false", text, switch=True)


OPTIONS: Final = (
    Flag(
        "capacity-tick",
        "10s",
        "DURATION",
        "free units change on this clock tick only, the same for every caller and replica; 0s "
        "publishes at once",
    ),
    Flag(
        "capacity-detail",
        "full",
        "|".join(CAPACITY_DETAILS),
        "how much of free units tenants see: free and largest fit, free alone, or neither",
    ),
    Flag(
        "tenant-source",
        "gputenants",
        "|".join(TENANT_SOURCES),
        "where tenants and budgets are read: GPUTenant objects, or the platform's HelmReleases "
        "and ResourceQuotas",
    ),
    switch(
        "admission-disabled",
        "the admission webhooks are not installed: no class can be asked for, and options say so",
    ),
)
