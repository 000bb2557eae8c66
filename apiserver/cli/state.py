"""The state directory of `demo`: certificates that are kept, kubeconfig and endpoints once it
serves (design 11).
"""

import base64
import fcntl
import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final

import yaml

from apiserver.cli.certificates import new_pair, still_serves
from apiserver.cli.reading import ConfigError

_CLUSTER: Final = "gpuclass-demo"


@dataclass(frozen=True, slots=True)
class Credential:
    """A user of the token file as a kubeconfig names it."""

    user: str
    token: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoints:
    """Where both ports listen."""

    server: str
    admission: str


class StateDirectory:
    """One state directory. All files are written by rename, so a reader never sees half of one."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock: int | None = None  # a descriptor; the lock goes with it

    @property
    def ca_file(self) -> Path:
        """The CA that signed the serving certificate."""
        return self._path / "ca.crt"

    @property
    def certificate_file(self) -> Path:
        """The serving certificate."""
        return self._path / "serving.crt"

    @property
    def key_file(self) -> Path:
        """The serving certificate's key."""
        return self._path / "serving.key"

    @property
    def kubeconfig_file(self) -> Path:
        """One context per user; the first user is current."""
        return self._path / "kubeconfig"

    def prepare(self, now: datetime) -> None:
        """Take the directory, make it and its certificates; keep those that can still be used.

        What an earlier run wrote of its ports is taken away: whoever waits for it must not read
        it. Raises ConfigError where the directory cannot be written, or another process has it.
        """
        with self._as_problem():
            self._path.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._take_lock()
            if not self._keeps_usable_pair(now):
                self._make_pair(now)
            (self._path / "endpoints.json").unlink(missing_ok=True)

    def close(self) -> None:
        """Let another process have the directory."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def write_kubeconfig(self, server: str, credentials: Sequence[Credential]) -> None:
        """Write a kubeconfig for these users. Raises ConfigError."""
        with self._as_problem():
            self._write("kubeconfig", self._kubeconfig(server, credentials))

    def write_endpoints(self, endpoints: Endpoints) -> None:
        """Write endpoints.json; called once both ports serve. Raises ConfigError."""
        with self._as_problem():
            document = {"server": endpoints.server, "admission": endpoints.admission}
            self._write("endpoints.json", json.dumps(document).encode() + b"\n")

    @contextmanager
    def _as_problem(self) -> Iterator[None]:
        """Turn what the operating system says into a problem of the flag."""
        try:
            yield
        except FileExistsError as error:
            problem = f"--state-dir: {self._path} is not a directory"
            raise ConfigError((problem,)) from error
        except OSError as error:
            problem = f"--state-dir: {self._path} cannot be used: {error.strerror}"
            raise ConfigError((problem,)) from error

    def _take_lock(self) -> None:
        """Keep out a second process, which would overwrite what this one tells of its ports."""
        if self._lock is not None:
            return
        lock = os.open(self._path / ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self._lock = lock
        except BlockingIOError as error:
            os.close(lock)
            problem = f"--state-dir: {self._path} is in use by another process"
            raise ConfigError((problem,)) from error

    def _keeps_usable_pair(self, now: datetime) -> bool:
        files = (self.ca_file, self.certificate_file, self.key_file)
        if not all(file.is_file() for file in files):
            return False
        ca, certificate, key = (file.read_bytes() for file in files)
        return still_serves(ca, certificate, key, now)

    def _make_pair(self, now: datetime) -> None:
        ca, certificate, key = new_pair(now)
        self._write("serving.key", key)
        self._write("serving.crt", certificate)
        self._write("ca.crt", ca)

    def _kubeconfig(self, server: str, credentials: Sequence[Credential]) -> bytes:
        ca = base64.b64encode(self.ca_file.read_bytes()).decode()
        document = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [
                {
                    "name": _CLUSTER,
                    "cluster": {"server": server, "certificate-authority-data": ca},
                }
            ],
            "users": [{"name": each.user, "user": {"token": each.token}} for each in credentials],
            "contexts": [
                {"name": each.user, "context": {"cluster": _CLUSTER, "user": each.user}}
                for each in credentials
            ],
            "current-context": credentials[0].user if credentials else "",
        }
        return yaml.safe_dump(document, sort_keys=False).encode()

    def _write(self, name: str, content: bytes) -> None:
        temporary = self._path / f".{name}.{os.getpid()}"
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        temporary.replace(self._path / name)
