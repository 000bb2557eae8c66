"""The manifests as an operator has them who has put what is missing beside them."""

import shutil
from pathlib import Path
from typing import Final

from fakes.demo import ROOT

MANIFESTS: Final = ROOT / "manifests"
OVERLAYS: Final = sorted(each.name for each in (MANIFESTS / "overlays").iterdir())


def with_ca(directory: Path, ca: bytes) -> Path:
    """Copy the manifests to a directory, with this CA in the overlay that asks for one."""
    copied = directory / "manifests"
    shutil.copytree(MANIFESTS, copied, dirs_exist_ok=True)
    (copied / "overlays" / "own-ca" / "ca.crt").write_bytes(ca)
    return copied
