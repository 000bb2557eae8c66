"""Reads flags as they were typed, and gathers what is wrong with them."""

import ipaddress
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from apiserver.durations import parse_duration_ms

_MAX_TICK_MS: Final = 3_600_000


class ConfigError(Exception):
    """The command line cannot be followed; `problems` has one sentence each."""

    def __init__(self, problems: tuple[str, ...]) -> None:
        super().__init__("; ".join(problems))
        self.problems = problems


class Flags:
    """Values of flags by name. What cannot be read is a problem, and stands for something harmless.

    Of a flag that came several times the last value counts, as in Go.
    """

    def __init__(self, values: Mapping[str, Sequence[str]], unknown: Sequence[str] = ()) -> None:
        self._values = values
        self.problems = [f"{argument}: no such flag, --help lists them" for argument in unknown]

    def require_none(self) -> None:
        """Raise ConfigError with every problem so far."""
        if self.problems:
            raise ConfigError(tuple(self.problems))

    def problem(self, name: str, what: str) -> None:
        """Note what is wrong with a flag."""
        self.problems.append(f"--{name}: {what}")

    def text(self, name: str) -> str:
        """Return a flag's value."""
        return self._values[name][-1]

    def texts(self, name: str) -> tuple[str, ...]:
        """Return each value of a flag that may come several times, but empty ones."""
        return tuple(each for each in self._values[name] if each)

    def words(self, name: str) -> tuple[str, ...]:
        """Return the members of a comma-separated list."""
        return tuple(each.strip() for each in self.text(name).split(",") if each.strip())

    def path(self, name: str) -> Path | None:
        """Return a file or folder; None: none was given."""
        return Path(self.text(name)) if self.text(name) else None

    def file(self, name: str) -> Path | None:
        """Return a file that is there; None: none was given."""
        path = self.path(name)
        if path is not None and not path.is_file():
            self.problem(name, f"{path} is not a file")
        return path

    def switch(self, name: str) -> bool:
        """Return whether a switch is on, in Go's spellings."""
        text = self.text(name)
        if text in ("1", "t", "T", "true", "TRUE", "True"):
            return True
        if text not in ("0", "f", "F", "false", "FALSE", "False"):
            self.problem(name, f"{text!r} is not true or false")
        return False

    def number(self, name: str, largest: int) -> int:
        """Return a whole number from 0."""
        text = self.text(name)
        if text.isascii() and text.isdigit() and len(text) <= 10 and int(text) <= largest:
            return int(text)
        self.problem(name, f"{text!r} is not a whole number from 0 to {largest}")
        return 0

    def port(self, name: str) -> int:
        """Return a port, 0 among them."""
        text = self.text(name)
        if text.isascii() and text.isdigit() and len(text) <= 5 and int(text) <= 65_535:
            return int(text)
        self.problem(name, f"{text!r} is not a port from 0 to 65535")
        return 0

    def address(self, name: str) -> str:
        """Return an IP address."""
        text = self.text(name)
        try:
            ipaddress.ip_address(text)
        except ValueError:
            self.problem(name, f"{text!r} is not an IP address")
        return text

    def duration_ms(self, name: str, least: int = 0) -> int:
        """Return whole milliseconds."""
        text = self.text(name)
        try:
            duration_ms = parse_duration_ms(text)
        except ValueError as error:
            self.problem(name, f"{text!r} is {error}")
            return least
        if duration_ms < least:
            self.problem(name, f"at least {least}ms")
        return duration_ms

    def seconds(self, name: str) -> float:
        """Return a duration in seconds."""
        return self.duration_ms(name) / 1000

    def positive_seconds(self, name: str) -> float:
        """Return a duration in seconds that is more than none."""
        return self.duration_ms(name, least=1) / 1000

    def tick_ms(self, name: str) -> int:
        """Return the milliseconds of a tick, an hour at most."""
        tick_ms = self.duration_ms(name)
        if tick_ms > _MAX_TICK_MS:
            self.problem(name, "at most 1h")
        return tick_ms

    def choice(self, name: str, allowed: Sequence[str]) -> str:
        """Return one of several words."""
        text = self.text(name)
        if text not in allowed:
            self.problem(name, f"{text!r} is not one of {', '.join(filter(None, allowed))}")
        return text
