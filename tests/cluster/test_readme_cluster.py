"""What the README says to type where there is a cluster, typed."""

import os
import re
import shlex
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from cluster.conftest import running_control_plane
from cluster.control_plane.cluster import KUBECTL, ControlPlane
from cluster.registered import OTHER_CRDS, ROOT
from fakes.matrix import printed_rows
from fakes.readme import INSTALL, REMOVE, REMOVE_CRDS

pytestmark = pytest.mark.timeout(300)


@pytest.fixture
def empty(assets: Path, tmp_path: Path) -> Iterator[ControlPlane]:
    """A control plane with nothing of ours in it."""
    del assets
    with running_control_plane(tmp_path / "control-plane") as running:
        running.kubectl("apply", "-f", str(OTHER_CRDS), "--server-side")
        yield running


def typed(control_plane: ControlPlane, block: str) -> None:
    """Type each line of a block in the work tree."""
    for line in block.splitlines():
        arguments = [each.replace("manifests/", f"{ROOT}/manifests/") for each in shlex.split(line)]
        assert arguments.pop(0) == "kubectl"
        control_plane.kubectl(*arguments)


def test_what_is_installed_is_removed_whole(empty: ControlPlane) -> None:
    """One command in; out with the APIService first, and no namespace hangs for want of one."""
    empty.kubectl("wait", "--for=condition=Established", "crd", "--all", "--timeout=30s")
    typed(empty, INSTALL)
    assert "gpuclass-apiserver" in empty.kubectl("get", "deployments", "-n", "gpuclass-system")
    typed(empty, REMOVE)
    typed(empty, REMOVE_CRDS)
    kinds = "apiservice,crd,clusterrole,clusterrolebinding,rolebinding,namespace"
    left = empty.kubectl("get", kinds, "-A", "-o", "name")
    assert [line for line in left.splitlines() if "gpuclass" in line] == []


def test_make_cluster_prints_lines_that_work(assets: Path, tmp_path: Path) -> None:
    """The three lines that it says to type, and Ctrl-C leaves no process behind."""
    del assets
    code = (
        "import sys; from pathlib import Path; from cluster.playground import main;"
        " sys.exit(main([], Path(sys.argv[1])))"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path / "state")],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": "tests"},
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        killer = threading.Timer(120, process.kill)
        killer.start()
        try:
            printed = _until_ctrl_c(process)
            lines = re.findall(r"^  (\S*kubectl .*)$", printed, re.MULTILINE)
            answers = [_run(line) for line in lines]
            process.send_signal(signal.SIGINT)
            assert process.wait(60) == 0
        finally:
            killer.cancel()
    everything, own, offers = (sorted(line.split() for line in each[1:]) for each in answers)
    assert everything == printed_rows()
    assert own == [row[1:] for row in printed_rows() if row[0] == "tenant-acme"]
    assert [row[0] for row in offers] == ["h200", "l40s", "l40s-24q"]
    running = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True)
    assert str(tmp_path) not in running.stdout


def _until_ctrl_c(process: "subprocess.Popen[str]") -> str:
    assert process.stdout is not None
    printed = ""
    for line in process.stdout:
        printed += line
        if "Ctrl-C" in line:
            return printed
    raise AssertionError(f"it ended: {printed}")


def _run(line: str) -> list[str]:
    command = [str(KUBECTL), *shlex.split(line)[1:]]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()
