"""Programs that tests start: on loopback, logged to files, ended by their own process."""

import ctypes
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

_STOP_SECONDS: Final = 30
_LOG_TAIL: Final = 4000
_PR_SET_PDEATHSIG: Final = 1


@dataclass(slots=True)
class Program:
    """One program; it can be started again after its end."""

    name: str
    command: Sequence[str]
    log: Path
    environment: Mapping[str, str] | None = None
    _process: "subprocess.Popen[bytes] | None" = field(default=None, init=False)

    def start(self) -> None:
        """Start it, and do not wait for it."""
        assert not self.running, f"{self.name} runs already"
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                self.command,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                preexec_fn=_die_with_parent if sys.platform == "linux" else None,  # noqa: PLW1509
            )

    @property
    def running(self) -> bool:
        """Whether it was started and has not ended."""
        return self._process is not None and self._process.poll() is None

    @property
    def pid(self) -> int:
        """Its process."""
        assert self._process is not None
        return self._process.pid

    def send(self, number: int) -> None:
        """Send it a signal."""
        assert self._process is not None
        self._process.send_signal(number)

    def wait(self, seconds: float = _STOP_SECONDS) -> int:
        """Wait for its end; return its exit code."""
        assert self._process is not None
        return self._process.wait(seconds)

    def stop(self, number: int = signal.SIGTERM) -> int | None:
        """End it, by force if it takes too long; return its exit code, None if it never ran."""
        if self._process is None:
            return None
        if self.running:
            self._process.send_signal(signal.SIGCONT)
            self._process.send_signal(number)
        try:
            return self._process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            return self._process.wait()

    def log_tail(self) -> str:
        """Return the end of what it wrote."""
        return self.log.read_text(errors="replace")[-_LOG_TAIL:] if self.log.exists() else ""


def wait_until(
    what: str, true: Callable[[], bool], seconds: float = 60.0, program: Program | None = None
) -> None:
    """Ask until it is so. Fails after a time, and once the program it depends on has ended."""
    deadline = time.monotonic() + seconds
    pause = threading.Event()
    while not true():
        ended = program is not None and not program.running
        if ended or time.monotonic() > deadline:
            tail = f"\n{program.name} wrote:\n{program.log_tail()}" if program else ""
            raise AssertionError(f"not within {seconds} s: {what}{tail}")
        pause.wait(0.05)


def free_port() -> int:
    """Return a port of loopback that nobody listens on now."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


def _die_with_parent() -> None:
    """Have the kernel end the program if the tests are killed: nothing is left behind."""
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
