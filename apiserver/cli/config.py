"""What commands run with: flags as they were typed in, Config or every problem out."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from apiserver.cli.reading import Flags

CAPACITY_DETAILS: Final = ("full", "free", "none")
TENANT_SOURCES: Final = ("gputenants", "cozystack")


@dataclass(frozen=True, slots=True, kw_only=True)
class OptionsConfig:
    """What every command runs with that shows options."""

    capacity_tick_ms: int  # 0: free units are published at once
    capacity_detail: str  # one of CAPACITY_DETAILS
    tenant_source: str  # one of TENANT_SOURCES
    admission_disabled: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoConfig:
    """What `demo` runs with."""

    directory: Path | None  # None: the data shipped with the package
    state_dir: Path
    secure_port: int  # 0: a free one
    admission_secure_port: int
    options: OptionsConfig


def demo_config(directory: str | None, flags: Flags) -> DemoConfig:
    """Check the flags of `demo`. Raises ConfigError with all problems at once."""
    folder = None if directory is None else Path(directory)
    if folder is not None and not folder.is_dir():
        flags.problems.append(f"DIR: {directory} is not a directory")
    config = DemoConfig(
        directory=folder,
        state_dir=Path(flags.text("state-dir")),
        secure_port=flags.port("secure-port"),
        admission_secure_port=flags.port("admission-secure-port"),
        options=options_config(flags),
    )
    if config.secure_port and config.secure_port == config.admission_secure_port:
        flags.problems.append("--secure-port and --admission-secure-port are the same")
    flags.require_none()
    return config


def options_config(flags: Flags) -> OptionsConfig:
    """Read what options show; problems are left to the caller."""
    return OptionsConfig(
        capacity_tick_ms=flags.tick_ms("capacity-tick"),
        capacity_detail=flags.choice("capacity-detail", CAPACITY_DETAILS),
        tenant_source=flags.choice("tenant-source", TENANT_SOURCES),
        admission_disabled=flags.switch("admission-disabled"),
    )
