"""Rights and kinds that are not there yet, or are taken away, while the server runs."""

import json
import re
from collections.abc import Iterator

import pytest
from cluster.conftest import create_sample_world, running_control_plane
from cluster.control_plane.cluster import ControlPlane
from cluster.control_plane.processes import wait_until
from cluster.registered import GROUP_VERSION, OTHER_CRDS, Registration, Replica
from fakes.matrix import printed_rows

OPTIONS = "gpuclassoptions.options.gpu.cozystack.io"
DELEGATOR = ("clusterrolebinding", "gpuclass-apiserver-auth-delegator")
READER = ("rolebinding", "gpuclass-apiserver-auth-reader", "-n", "kube-system")

pytestmark = pytest.mark.timeout(400)


@pytest.fixture(scope="module")
def plane(assets: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """A control plane without KubeVirt."""
    del assets
    with running_control_plane(tmp_path_factory.mktemp("control-plane")) as running:
        yield running


@pytest.fixture(scope="module")
def served(
    plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Registration, Replica]]:
    """Our manifests and one process, over an empty cluster."""
    registration = Registration(plane, tmp_path_factory.mktemp("registered"))
    registration.install(others=False)
    replica = registration.add_replica()
    registration.wait_until_ready(replica)
    registration.register(replica.port)
    registration.wait_until_available(10)
    yield registration, replica
    registration.stop()


def rows(plane: ControlPlane) -> list[list[str]]:
    """The cells of all options, as admin sees them."""
    printed = plane.kubectl("get", "--no-headers", OPTIONS, "-A")
    return sorted(line.split() for line in printed.splitlines())


def saved(plane: ControlPlane, *binding: str) -> str:
    """A binding as it can be created again."""
    found = json.loads(plane.kubectl("get", *binding, "-o", "json"))
    found["metadata"] = {
        key: value for key, value in found["metadata"].items() if key in ("name", "namespace")
    }
    return json.dumps(found)


def lines_of(replica: Replica, pattern: str) -> list[str]:
    """The lines of the log in which a pattern is found."""
    log = replica.program.log.read_text()
    return [line for line in log.splitlines() if re.search(pattern, line)]


def test_a_cluster_that_begins_empty_is_served_from_its_first_objects_on(
    plane: ControlPlane, served: tuple[Registration, Replica]
) -> None:
    """AD-02, KV-02: no classes, no KubeVirt; then its CRDs and a world, found within a minute."""
    _, replica = served
    discovered = json.loads(plane.kubectl("get", "--raw", GROUP_VERSION))
    assert [each["name"] for each in discovered["resources"]] == [
        "gpuclassoffers",
        "gpuclassoptions",
        "options",
    ]
    shown = plane.try_kubectl("get", OPTIONS, "-n", "default")
    assert (shown.returncode, shown.stdout) == (0, "")
    assert shown.stderr == "No resources found in default namespace.\n"
    assert lines_of(replica, "source is not installed, which counts as none")
    plane.kubectl("apply", "-f", str(OTHER_CRDS), "--server-side")
    plane.kubectl("wait", "--for=condition=Established", "crd", "--all", "--timeout=30s")
    create_sample_world(plane)
    wait_until("the world is served", lambda: rows(plane) == printed_rows(), 60)
    assert replica.program.running
    _rights_are_taken_and_given_back(plane, replica)


def _rights_are_taken_and_given_back(plane: ControlPlane, replica: Replica) -> None:
    """AZ-01: no review, no data, and no word of who we are; AU-04: trust that was read stays."""
    path = f"{GROUP_VERSION}/namespaces/tenant-acme/gpuclassoptions"
    plane.kubeconfig("maria")
    role = ("--clusterrole=gpuclass-options-view", "--user=maria", "-n", "tenant-acme")
    plane.kubectl("create", "rolebinding", "maria-views", *role)
    # kube-apiserver asks itself before it asks us: only who may can see that we cannot tell.
    wait_until("maria may", lambda: plane.request("GET", path, user="maria")[0] == 200)
    bindings = [(each, saved(plane, *each)) for each in (DELEGATOR, READER)]
    for binding, _ in bindings:
        plane.kubectl("delete", *binding)

    def refused() -> tuple[int, str]:
        code, body = plane.request("GET", path, user="maria")
        return code, body.decode()

    wait_until("reviews fail", lambda: refused()[0] == 503, 30)
    code, said = refused()
    assert code == 503
    assert "cannot be found out at the moment" in said
    for word in ("gpuclass-system", "serviceaccount", "Traceback", "tokenreviews"):
        assert word not in said
    for document in ("/apis", "/openapi/v2", "/openapi/v3", GROUP_VERSION):
        plane.kubectl("get", "--raw", document)
    assert rows(plane) == printed_rows(), "the masters need no review"
    for _, document in bindings:
        plane.kubectl("apply", "-f", "-", stdin=document)
    wait_until("reviews are answered", lambda: refused()[0] == 200, 30)
    assert len(lines_of(replica, "system:auth-delegator")) == 1
    assert replica.program.running
