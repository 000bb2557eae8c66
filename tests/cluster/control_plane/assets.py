"""Where the binaries of a control plane are: what is pinned here, or what a variable names."""

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

HERE: Final = Path(__file__).parent
KUBERNETES_VERSION: Final = "v1.37.2"
BINARIES: Final = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler")

#: The variable that users of envtest know.
ASSETS_VARIABLE: Final = "KUBEBUILDER_ASSETS"


class Build(NamedTuple):
    """How one binary is built: its module's folder, its package, what the linker is told."""

    module: str
    package: str
    stamps: tuple[str, ...]


def _stamps() -> tuple[str, ...]:
    """Return the version stamps; without them the binaries call themselves v0.0.0-master."""
    major, minor, _ = KUBERNETES_VERSION.removeprefix("v").split(".")
    base, client = "k8s.io/component-base/version", "k8s.io/client-go/pkg/version"
    return (
        f"-X {base}.gitVersion={KUBERNETES_VERSION}",
        f"-X {base}.gitMajor={major}",
        f"-X {base}.gitMinor={minor}",
        f"-X {client}.gitVersion={KUBERNETES_VERSION}",
    )


BUILDS: Final[Mapping[str, Build]] = {
    "etcd": Build("etcd", "go.etcd.io/etcd/server/v3", ()),
    **{
        name: Build("kubernetes", f"k8s.io/kubernetes/cmd/{name}", _stamps())
        for name in BINARIES
        if name != "etcd"
    },
}


class MissingAssetsError(Exception):
    """There is no control plane to start; the message says what to do."""


def cache_directory() -> Path:
    """Return the folder of what is pinned here: another pin is another folder."""
    digest = hashlib.sha256(repr(BUILDS).encode())
    for file in sorted(HERE.glob("*/go.*")):
        digest.update(file.read_bytes())
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home, "gpuclass-apiserver", "control-plane", digest.hexdigest()[:16])


def assets_directory() -> Path:
    """Return the folder that has every binary. Raises MissingAssetsError."""
    given = os.environ.get(ASSETS_VARIABLE)
    directory = Path(given) if given else cache_directory()
    missing = [name for name in BINARIES if not os.access(directory / name, os.X_OK)]
    if not missing:
        return directory
    where = f"the folder that {ASSETS_VARIABLE} names" if given else "the cache"
    todo = "" if given else ": run `make control-plane`"
    raise MissingAssetsError(f"{where} lacks {', '.join(missing)}{todo}")
