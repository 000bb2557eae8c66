"""What was asked on the command line, checked: Options in, Config or every problem out."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from apiserver.durations import parse_duration_ms

CAPACITY_DETAILS: Final = ("full", "free", "none")
TENANT_SOURCES: Final = ("gputenants", "cozystack")
_MAX_TICK_MS: Final = 3_600_000


class ConfigError(Exception):
    """The command line cannot be followed; `problems` has one sentence each."""

    def __init__(self, problems: tuple[str, ...]) -> None:
        super().__init__("; ".join(problems))
        self.problems = problems


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoOptions:
    """The flags of `demo` as they were typed."""

    directory: str | None
    state_dir: str
    secure_port: str
    admission_secure_port: str
    capacity_tick: str
    capacity_detail: str
    tenant_source: str
    admission_disabled: bool
    unknown: tuple[str, ...]  # arguments that are no flag of the command


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoConfig:
    """What `demo` runs with."""

    directory: Path | None  # None: the data shipped with the package
    state_dir: Path
    secure_port: int  # 0: a free one
    admission_secure_port: int
    capacity_tick_ms: int  # 0: free units are published at once
    capacity_detail: str  # one of CAPACITY_DETAILS
    tenant_source: str  # one of TENANT_SOURCES
    admission_disabled: bool


def demo_config(options: DemoOptions) -> DemoConfig:
    """Check the options. Raises ConfigError with all problems at once."""
    problems = [f"{argument}: no such flag, --help lists them" for argument in options.unknown]
    directory = None if options.directory is None else Path(options.directory)
    if directory is not None and not directory.is_dir():
        problems.append(f"DIR: {options.directory} is not a directory")
    config = DemoConfig(
        directory=directory,
        state_dir=Path(options.state_dir),
        secure_port=_port("--secure-port", options.secure_port, problems),
        admission_secure_port=_port(
            "--admission-secure-port", options.admission_secure_port, problems
        ),
        capacity_tick_ms=_tick("--capacity-tick", options.capacity_tick, problems),
        capacity_detail=_choice(
            "--capacity-detail", options.capacity_detail, CAPACITY_DETAILS, problems
        ),
        tenant_source=_choice("--tenant-source", options.tenant_source, TENANT_SOURCES, problems),
        admission_disabled=options.admission_disabled,
    )
    if config.secure_port and config.secure_port == config.admission_secure_port:
        problems.append("--secure-port and --admission-secure-port are the same")
    if problems:
        raise ConfigError(tuple(problems))
    return config


def _port(flag: str, text: str, problems: list[str]) -> int:
    if text.isascii() and text.isdigit() and len(text) <= 5 and int(text) <= 65_535:
        return int(text)
    problems.append(f"{flag}: {text!r} is not a port from 0 to 65535")
    return 0


def _tick(flag: str, text: str, problems: list[str]) -> int:
    try:
        tick_ms = parse_duration_ms(text)
    except ValueError as error:
        problems.append(f"{flag}: {text!r} is {error}")
        return 0
    if tick_ms > _MAX_TICK_MS:
        problems.append(f"{flag}: at most 1h")
    return tick_ms


def _choice(flag: str, text: str, allowed: tuple[str, ...], problems: list[str]) -> str:
    if text not in allowed:
        problems.append(f"{flag}: {text!r} is not one of {', '.join(allowed)}")
    return text
