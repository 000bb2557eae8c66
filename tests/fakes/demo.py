"""The command `demo` as a process of its own, and kubectl against it."""

import json
import os
import re
import signal
import ssl
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

PYTHON: Final = Path(sys.executable)
KUBECTL: Final = PYTHON.with_name("kubectl")
ROOT: Final = Path(__file__).parents[2]
SAMPLES: Final = ROOT / "tests" / "data" / "samples"
GROUP_PATH: Final = "/apis/options.gpu.cozystack.io/v1alpha1"

_START_SECONDS: Final = 30
_STOP_SECONDS: Final = 20


@dataclass(frozen=True, slots=True)
class Response:
    """An HTTP answer."""

    code: int
    headers: Mapping[str, str]
    body: bytes


class LogLines:
    """What a process writes to stderr, line by line, to be waited for."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self.lines: list[str] = []
        self._process = process
        self._grown = threading.Condition()
        self._ended = False
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def wait_for(self, pattern: str, start: int = 0) -> str:
        """Return the first line at or after `start` in which the pattern is found."""

        def found() -> str | None:
            return next((line for line in self.lines[start:] if re.search(pattern, line)), None)

        with self._grown:
            self._grown.wait_for(lambda: found() is not None or self._ended, _START_SECONDS)
            line = found()
        if line is None:
            raise AssertionError(f"never logged: {pattern}\n{''.join(self.lines)}")
        return line

    def join(self) -> None:
        """Wait until the process has closed its end."""
        self._reader.join(_STOP_SECONDS)

    def _read(self) -> None:
        assert self._process.stderr is not None
        for line in self._process.stderr:
            with self._grown:
                self.lines.append(line)
                self._grown.notify_all()
        with self._grown:
            self._ended = True
            self._grown.notify_all()


@dataclass(slots=True)
class Demo:
    """A running demo."""

    state: Path
    process: "subprocess.Popen[str]"
    log: LogLines
    server: str = ""
    admission: str = ""
    _context: ssl.SSLContext = field(init=False)

    def wait_until_serving(self) -> None:
        """Wait for the line that says so, then read the endpoints as any user of them would."""
        self.log.wait_for("serving")
        endpoints = json.loads((self.state / "endpoints.json").read_text())
        self.server, self.admission = endpoints["server"], endpoints["admission"]
        self._context = ssl.create_default_context(cafile=str(self.state / "ca.crt"))

    def kubectl(self, *arguments: str, context: str | None = None) -> str:
        """Run kubectl; return what it printed. Fails where it fails."""
        done = self.run_kubectl(*arguments, context=context)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def run_kubectl(
        self, *arguments: str, context: str | None = None
    ) -> "subprocess.CompletedProcess[str]":
        """Run kubectl, whatever comes of it."""
        who = ["--context", context] if context else []
        return subprocess.run(
            [KUBECTL, *who, *arguments],
            env=os.environ | {"KUBECONFIG": str(self.state / "kubeconfig")},
            cwd=self.state,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )

    def rows(self, *arguments: str, context: str | None = None) -> list[list[str]]:
        """Return the cells of what `kubectl get` prints, without the header."""
        lines = self.kubectl("get", "--no-headers", *arguments, context=context).splitlines()
        return [line.split() for line in lines]

    def request(
        self,
        path: str,
        *,
        token: str | None = "admin-token",
        method: str = "GET",
        headers: Mapping[str, str] | None = None,
    ) -> Response:
        """Send one request over TLS, without following anything."""
        sent = urllib.request.Request(  # noqa: S310  # our own address
            self.server + path, method=method, headers=dict(headers or {})
        )
        if token is not None:
            sent.add_header("Authorization", f"Bearer {token}")
        try:
            with urllib.request.urlopen(sent, context=self._context, timeout=30) as answer:  # noqa: S310
                return Response(answer.status, dict(answer.headers), answer.read())
        except urllib.error.HTTPError as error:
            with error:
                return Response(error.code, dict(error.headers), error.read())

    def stop(self, number: int = signal.SIGINT) -> int:
        """Send a signal and return the exit code."""
        self.process.send_signal(number)
        code = self.process.wait(_STOP_SECONDS)
        self.log.join()
        return code


@contextmanager
def running_demo(state: Path, *arguments: str) -> Iterator[Demo]:
    """Start the demo on free ports; it ends with the block."""
    with starting_demo(state, *arguments) as demo:
        demo.wait_until_serving()
        yield demo


@contextmanager
def starting_demo(state: Path, *arguments: str) -> Iterator[Demo]:
    """Start the demo and do not wait for it."""
    command = demo_command(state, arguments)
    with subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        demo = Demo(state, process, LogLines(process))
        try:
            yield demo
        finally:
            if process.poll() is None:
                demo.stop()


def demo_command(state: Path, arguments: Sequence[str]) -> list[str]:
    """Return the command line of a demo on free ports."""
    ports = ["--secure-port=0", "--admission-secure-port=0"]
    command = [str(PYTHON), "-m", "apiserver", "demo", *arguments]
    return [*command, f"--state-dir={state}", *ports]


def a_directory(path: Path, *samples: str) -> Path:
    """Make a directory of samples by their numbers, and one user in system:masters."""
    path.mkdir()
    for number in samples or ("10", "20", "30", "40", "50", "60", "70"):
        (found,) = SAMPLES.glob(f"{number}-*.yaml")
        (path / found.name).write_bytes(found.read_bytes())
    (path / "tokens.csv").write_text("admin-token,admin,admin,system:masters\n")
    return path
