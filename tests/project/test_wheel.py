"""What is built and shipped."""

import os
import re
import subprocess
import sys
import sysconfig
import tomllib
import zipfile
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from apiserver import __version__

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built once from this checkout."""
    target = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(target)]
    subprocess.run([*command, str(ROOT)], check=True, capture_output=True)
    (built,) = target.glob("*.whl")
    return built


def test_the_wheel_holds_the_three_packages_and_nothing_else(wheel: Path) -> None:
    """A stray top-level package would be installed over somebody else's (style 2.10)."""
    checker = Path(sys.executable).with_name("check-wheel-contents")
    command = [str(checker), str(wheel), "--config", "pyproject.toml"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_the_wheel_carries_the_demo_as_the_checkout_has_it(wheel: Path) -> None:
    """`demo` without a folder works wherever the wheel is installed."""
    with zipfile.ZipFile(wheel) as archive:
        shipped = {
            name.removeprefix("apiserver/demo_data/"): archive.read(name)
            for name in archive.namelist()
            if name.startswith("apiserver/demo_data/")
        }
    folder = ROOT / "manifests" / "demo"
    kept = {
        str(file.relative_to(folder)): file.read_bytes()
        for file in folder.rglob("*")
        if file.is_file()
    }
    assert shipped == kept
    assert "tokens.csv" in shipped


def test_the_wheel_works_without_the_checkout(wheel: Path, tmp_path: Path) -> None:
    """The installed command starts from the wheel's own files."""
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path)
    # Only the dependencies of the environment are taken, not its editable install of the checkout.
    program = (
        f"import sys; sys.path[:0] = [{str(tmp_path)!r}]; sys.path.append({_dependencies()!r});"
        "import apiserver.__main__ as m; assert m.__file__.startswith(sys.path[0]);"
        "sys.argv = ['gpuclass-apiserver', '--version']; m.main()"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", program],
        check=True,
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={name: value for name, value in os.environ.items() if not name.startswith("COV")},
    )
    assert done.stdout == f"gpuclass-apiserver {__version__}\n"


def test_no_other_distribution_owns_our_package_names() -> None:
    """Three common names: whoever installs last wins without a word (style 2.10)."""
    owners = packages_distributions()
    for name in ("apiserver", "auth", "storage"):
        assert set(owners.get(name, ())) <= {"gpuclass-apiserver"}


def test_the_version_is_the_newest_of_the_changelog() -> None:
    """Operators read the changelog of what they run."""
    newest = re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert newest is not None
    assert newest[1] == __version__


def test_every_dependency_is_locked_by_hash() -> None:
    """`make` and CI install exactly what was resolved, file by file."""
    lock = (ROOT / ".ci" / "requirements.lock").read_text()
    locked = set(re.findall(r"^([a-z0-9.-]+)==", lock, re.MULTILINE))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    wanted = list(project["project"]["dependencies"])
    for group in project["dependency-groups"].values():
        wanted += [each for each in group if isinstance(each, str)]
    names = {re.split(r"[\[<>=~!;]", each)[0].lower() for each in wanted}
    assert names <= locked
    for entry in re.split(r"\n(?=\S)", lock.strip()):
        assert "--hash=sha256:" in entry
    assert "://" not in lock


def _dependencies() -> str:
    return sysconfig.get_path("purelib")
