"""Every command of the README, run; every output in it, compared."""

import os
import re
import shlex
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from fakes.demo import PYTHON, ROOT, Demo, LogLines, running_demo
from fakes.readme import CLUSTER_BLOCKS, README, blocks


def sessions() -> list[tuple[str, str]]:
    """Each command of the console blocks with the output that follows it."""
    return [
        (command.removeprefix("$ "), output)
        for block in blocks("console")
        for command, output in re.findall(r"^(\$ .*)\n((?:(?!\$ ).*\n)*)", block, re.MULTILINE)
    ]


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Demo]:
    """The demo that comes with the program, as `make run` starts it but for the ports."""
    with running_demo(tmp_path_factory.mktemp("readme") / "state") as running:
        yield running


@pytest.mark.parametrize(("command", "output"), sessions(), ids=lambda text: text[:60])
def test_every_command_prints_what_the_readme_says(demo: Demo, command: str, output: str) -> None:
    """A README whose outputs are another version's costs the reader an hour."""
    done = subprocess.run(
        shlex.split(command),
        env=os.environ
        | {
            "KUBECONFIG": str(demo.state / "kubeconfig"),
            "PATH": f"{PYTHON.parent}:{os.environ['PATH']}",
            "COLUMNS": "80",
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if output:
        assert done.stdout.splitlines() == output.splitlines()
    else:
        assert done.returncode == 0, done.stdout


def test_the_blocks_for_a_shell_are_the_ones_that_are_tested() -> None:
    """`make test` runs this; `make run` is tested below, what needs a cluster in its tier."""
    assert blocks("sh") == [
        "make run\nmake test\n",
        "export KUBECONFIG=$PWD/.demo/kubeconfig PATH=$PWD/.venv/bin:$PATH\n",
        *CLUSTER_BLOCKS,
    ]


def test_make_run_starts_the_demo(tmp_path: Path) -> None:
    """The first command that anybody types."""
    flags = f"--secure-port=0 --admission-secure-port=0 --state-dir={tmp_path}/state"
    with subprocess.Popen(
        ["make", "run", f"VENV={PYTHON.parents[1]}", f"ARGS={flags}"],
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        log = LogLines(process)
        log.wait_for("serving")
        os.killpg(process.pid, signal.SIGINT)
        process.wait(20)
        log.join()
    assert (tmp_path / "state" / "kubeconfig").is_file()


@pytest.mark.parametrize("target", ["run", "test", "control-plane", "cluster", "check", "bench"])
def test_every_make_target_that_is_named_exists(target: str) -> None:
    """Named in the README, so it is there."""
    assert f"make {target}" in README
    assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(), re.MULTILINE)


def test_every_reason_of_a_condition_is_explained() -> None:
    """A tenant who sees a reason finds out here what to do."""
    from storage.pool.answers import Requestable, Startable

    for reason in (*Requestable, *Startable):
        if reason not in (Requestable.ALLOWED, Startable.NOT_REQUESTABLE):
            assert f"`{reason.value}`" in README
