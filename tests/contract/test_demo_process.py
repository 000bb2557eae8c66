"""The demo as a process: start, edits, faults, end."""

import json
import os
import pty
import signal
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from fakes.demo import (
    GROUP_PATH,
    ROOT,
    Demo,
    a_directory,
    demo_command,
    running_demo,
    starting_demo,
)

from storage.cluster.files import FOLLOW_INTERVAL

CORDONED = (
    "  - {key: node.kubernetes.io/unschedulable, effect: NoSchedule,"
    ' timeAdded: "2026-11-02T18:11:00Z"}\n'
)
L40S = f"{GROUP_PATH}/namespaces/tenant-acme/gpuclassoptions/l40s"


@pytest.fixture
def cluster(tmp_path: Path) -> Path:
    """A directory with the sample cluster, to be edited."""
    return a_directory(tmp_path / "cluster")


@pytest.fixture
def demo(tmp_path: Path, cluster: Path) -> Iterator[Demo]:
    """The sample cluster, served without a tick."""
    with running_demo(tmp_path / "state", str(cluster), "--capacity-tick=0s") as running:
        yield running


def replaced(path: Path, old: str, new: str) -> None:
    """Edit a file as an editor does: write beside it, rename over it."""
    text = path.read_text()
    assert old in text
    beside = path.with_name(f".{path.name}.swp")
    beside.write_text(text.replace(old, new))
    beside.replace(path)


def assert_becomes(demo: Demo, path: str, pointer: str, value: object) -> None:
    """Ask until a status field has a value; each answer waits for the server, none for a clock."""
    for _ in range(20_000):
        found = json.loads(demo.request(path).body).get("status", {})
        for part in pointer.split("."):
            found = found.get(part) if isinstance(found, dict) else None
        if found == value:
            return
    raise AssertionError(f"{pointer} never became {value}, it is {found}")


def test_an_edit_shows_in_the_answers(demo: Demo, cluster: Path) -> None:
    """GC-03: uncordoned it counts; a node that is renamed is another one; budgets too."""
    assert_becomes(demo, L40S, "capacity.free", 7)
    replaced(cluster / "10-nodes.yaml", "unschedulable: true", "unschedulable: false")
    replaced(cluster / "10-nodes.yaml", CORDONED, "")
    assert_becomes(demo, L40S, "capacity.free", 15)
    replaced(cluster / "10-nodes.yaml", "unschedulable: false", "unschedulable: true")
    assert_becomes(demo, L40S, "capacity.free", 7)
    replaced(cluster / "10-nodes.yaml", "name: zq-alder\n", "name: zq-alder-2\n")
    assert_becomes(
        demo, L40S, "capacity.free", 10
    )  # the pods of the old node hold nothing of the new one
    replaced(cluster / "40-tenants.yaml", "units: 8", "units: 7")
    assert_becomes(demo, L40S, "budget.remaining", 0)


def test_an_edit_is_looked_for_often_enough_to_show_within_a_second() -> None:
    """Design 11: what changed is believed at the second look."""
    assert 3 * FOLLOW_INTERVAL < 1


def test_kv_02_an_edit_of_the_permitted_devices_shows_live(demo: Demo, cluster: Path) -> None:
    """KV-02: the option says why a class is unusable, and that it is usable again."""
    table = cluster / "20-kubevirt.yaml"
    assert_becomes(demo, L40S, "requestableCount", 1)
    replaced(table, "nvidia.com/AD102GL_L40S", "nvidia.com/OTHER")
    assert_becomes(demo, L40S, "requestableCount", 0)
    conditions = json.loads(demo.request(L40S).body)["status"]["conditions"]
    assert conditions[0]["reason"] == "ResourceNotPermitted"
    replaced(table, "nvidia.com/OTHER", "nvidia.com/AD102GL_L40S")
    assert_becomes(demo, L40S, "requestableCount", 1)


def test_au_09_every_group_of_a_token_counts(demo: Demo, cluster: Path) -> None:
    """AU-09: a binding on the third group, and one on system:authenticated, reach their users."""
    (cluster / "tokens.csv").write_text(
        'admin-token,admin,admin,system:masters\nada-token,ada,ada,"g1,g2,g3"\n'
        'bob-token,bob,bob,"g1,g2"\neve-token,eve,eve\n'
    )
    (cluster / "rbac.yaml").write_text(
        ADA_MAY_READ.replace("kind: User, name: ada", "kind: Group, name: g3")
    )
    assert_code_becomes(demo, "ada-token", 200)
    assert_code_becomes(demo, "bob-token", 403)
    assert_code_becomes(demo, "eve-token", 403)
    replaced(cluster / "rbac.yaml", "name: g3", "name: system:authenticated")
    assert_code_becomes(demo, "eve-token", 200)


def test_a_file_that_comes_and_goes_takes_its_objects_along(demo: Demo, cluster: Path) -> None:
    """Added and removed files count like edits."""
    moved = (cluster / "50-vmis.yaml").read_bytes()
    (cluster / "50-vmis.yaml").unlink()
    # Launchers whose VMI is not there are charged as plain pods, the waiting one among them.
    assert_becomes(demo, L40S, "budget.remaining", 1)
    (cluster / "60-pods.yaml").unlink()
    assert_becomes(demo, L40S, "budget.remaining", 4)
    (cluster / "more.yml").write_bytes(moved)
    assert_becomes(demo, L40S, "budget.remaining", 1)


def test_a_broken_edit_changes_nothing_and_is_told_once(demo: Demo, cluster: Path) -> None:
    """The last good state stays; the fault is in the log with file and line (design 11)."""
    before = demo.request(L40S).body
    good = (cluster / "30-gpuclasses.yaml").read_bytes()
    (cluster / "30-gpuclasses.yaml").write_text("apiVersion: [\n")
    told = demo.log.wait_for("last good state")
    assert "30-gpuclasses.yaml" in told
    # The next edit is taken although the broken one still stands.
    replaced(cluster / "40-tenants.yaml", "units: 8", "units: 7")
    assert_becomes(demo, L40S, "budget.remaining", 0)
    replaced(cluster / "40-tenants.yaml", "units: 7", "units: 8")
    assert_becomes(demo, L40S, "budget.remaining", 1)
    after = json.loads(demo.request(L40S).body)
    assert after["status"] == json.loads(before)["status"]
    assert len([line for line in demo.log.lines if "last good state" in line]) == 1
    (cluster / "30-gpuclasses.yaml").write_bytes(good)
    demo.log.wait_for("read again")


def test_users_and_rights_follow_their_files(demo: Demo, cluster: Path) -> None:
    """A token that is added works, one taken away is 401; a broken file locks nobody out."""
    assert demo.request(L40S, token="ada-token").code == 401
    (cluster / "tokens.csv").write_text(
        "admin-token,admin,admin,system:masters\nada-token,ada,ada\n"
    )
    assert_code_becomes(demo, "ada-token", 403)
    assert "ada" in demo.kubectl("config", "get-contexts", "-o", "name").split()
    (cluster / "rbac.yaml").write_text(ADA_MAY_READ)
    assert_code_becomes(demo, "ada-token", 200)
    (cluster / "tokens.csv").write_text("only-one-column\n")
    demo.log.wait_for("token file not read, its last good users stay")
    assert demo.request(L40S, token="ada-token").code == 200
    (cluster / "rbac.yaml").unlink()
    assert_code_becomes(demo, "ada-token", 403)
    (cluster / "tokens.csv").write_text("admin-token,admin,admin,system:masters\n")
    demo.log.wait_for("token file is read again")
    assert_code_becomes(demo, "ada-token", 401)
    (cluster / "tokens.csv").unlink()
    demo.log.wait_for("no users")
    assert_code_becomes(demo, "admin-token", 401)


def assert_code_becomes(demo: Demo, token: str, code: int) -> None:
    """Ask until a user gets an answer of this code."""
    for _ in range(20_000):
        if demo.request(L40S, token=token).code == code:
            return
    raise AssertionError(f"{token} never got {code}")


ADA_MAY_READ = """\
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: read-options, namespace: tenant-acme}
rules:
- {apiGroups: [options.gpu.cozystack.io], resources: [gpuclassoptions], verbs: [get]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: ada, namespace: tenant-acme}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: read-options}
subjects:
- {apiGroup: rbac.authorization.k8s.io, kind: User, name: ada}
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_with_code_0(demo: Demo, number: int) -> None:
    """Ctrl-C is no failure (design 11)."""
    assert demo.stop(number) == 0


def test_wa_03_a_restart_keeps_everything_but_revisions(tmp_path: Path, cluster: Path) -> None:
    """WA-03: uid and creationTimestamp are the same, the revision is a decimal and not lower."""
    seen = []
    for _ in range(2):
        with running_demo(tmp_path / "state", str(cluster)) as demo:
            seen.append(json.loads(demo.request(L40S).body)["metadata"])
    first, second = (int(each.pop("resourceVersion")) for each in seen)
    assert 0 < first < second
    assert seen[0] == seen[1]


def test_every_fault_of_the_files_is_told_with_exit_code_2(tmp_path: Path, cluster: Path) -> None:
    """File, document and line of each, all at once (design 11)."""
    (cluster / "broken.yaml").write_text("a: 1\n---\nb: [\n")
    (cluster / "worse.json").write_text("{")
    (cluster / "twice.yaml").write_bytes((cluster / "30-gpuclasses.yaml").read_bytes())
    (cluster / "tokens.csv").write_text("one-column\n")
    with starting_demo(tmp_path / "state", str(cluster)) as demo:
        assert demo.process.wait(30) == 2
        demo.log.join()
    told = "".join(demo.log.lines)
    for file in ("broken.yaml", "worse.json", "twice.yaml", "tokens.csv"):
        assert file in told
    assert "Traceback" not in told


def test_a_bad_token_file_is_told_with_exit_code_2(tmp_path: Path, cluster: Path) -> None:
    """Without a token in what is told."""
    (cluster / "tokens.csv").write_text("very-secret\n")
    with starting_demo(tmp_path / "state", str(cluster)) as demo:
        assert demo.process.wait(30) == 2
        demo.log.join()
    told = "".join(demo.log.lines)
    assert "tokens.csv" in told
    assert "very-secret" not in told


def test_a_port_that_is_taken_is_told_without_a_traceback(tmp_path: Path, demo: Demo) -> None:
    """Two demos on one port is everybody's first mistake."""
    port = demo.server.rpartition(":")[2]
    command = [*demo_command(tmp_path / "other", ()), f"--secure-port={port}"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert f"--secure-port: cannot listen on 127.0.0.1:{port}" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_second_demo_leaves_the_first_ones_state_alone(demo: Demo, cluster: Path) -> None:
    """Two servers in one state directory would overwrite each other's kubeconfig."""
    done = subprocess.run(
        demo_command(demo.state, [str(cluster)]),
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "in use by another process" in done.stderr
    assert json.loads((demo.state / "endpoints.json").read_text())["server"] == demo.server
    assert demo.rows("gco", "l40s", "-n", "tenant-acme")


def test_both_ports_listen_and_the_second_answers_its_probes_only(demo: Demo) -> None:
    """The webhooks' port is there for probes; nothing else is behind it yet."""
    api, demo.server = demo.server, demo.admission
    try:
        assert demo.request("/readyz").body == b"ok"
        assert demo.request(L40S).code == 404
        assert demo.request("/mutate-vmi", method="POST").code == 404
        assert demo.request("/mutate-vmi", method="POST", token=None).code == 401
    finally:
        demo.server = api


def test_on_a_terminal_it_says_what_to_type(tmp_path: Path, cluster: Path) -> None:
    """Three kubectl lines with --kubeconfig (design 11)."""
    ours, theirs = pty.openpty()
    command = demo_command(tmp_path / "my state", [str(cluster)])
    with subprocess.Popen(command, cwd=ROOT, stdout=theirs, stderr=subprocess.DEVNULL) as process:
        os.close(theirs)
        told = ""
        with closing(os.fdopen(ours, "rb", buffering=0)) as terminal:
            while "Ctrl-C" not in told:
                told += terminal.read(4096).decode()
            process.send_signal(signal.SIGINT)
            assert process.wait(20) == 0
    lines = [line for line in told.splitlines() if "--kubeconfig" in line]
    assert len(lines) == 3
    assert "get gpuclassoptions -n tenant-acme" in lines[0]
    assert f"'{tmp_path}/my state/kubeconfig'" in lines[0]
