"""What happens to the cluster, and to our figures, when something of it fails (design 9)."""

import json
import signal
import time
from collections.abc import Iterator

import pytest
from cluster.balancer import Balancer
from cluster.control_plane.cluster import MASTERS, ControlPlane
from cluster.control_plane.processes import wait_until
from cluster.load import (
    Load,
    must_be_ok,
    must_not_be_wrong,
    straight,
    through_kube_apiserver,
)
from cluster.registered import GROUP_VERSION, Registration, Replica
from fakes.matrix import printed_rows

OPTIONS = "gpuclassoptions.options.gpu.cozystack.io"
ACME = f"{GROUP_VERSION}/namespaces/tenant-acme/gpuclassoptions"
#: Longer than everybody takes to read a file that has changed.
_FOLLOWED_SECONDS = 10.0

pytestmark = pytest.mark.timeout(600)


@pytest.fixture
def replicas(own_registration: Registration) -> Iterator[tuple[Replica, Replica]]:
    """Two processes of ours, which a test may break."""
    # As in the manifests, but shorter: longer than the balancer takes to notice.
    delay = "--shutdown-delay-duration=3s"
    pair = own_registration.add_replica(delay), own_registration.add_replica(delay)
    yield pair
    for replica in pair:
        replica.stop()
        own_registration.replicas.remove(replica)


@pytest.fixture
def balancer(
    own_registration: Registration, replicas: tuple[Replica, Replica]
) -> Iterator[Balancer]:
    """Both behind one Service, as kubelets and kube-proxy would have it."""
    running = Balancer([replica.port for replica in replicas])
    running.start()
    wait_until("both replicas are ready", lambda: len(running.ready) == 2)
    own_registration.register(running.port)
    own_registration.wait_until_available()
    yield running
    own_registration.remove()
    running.stop()


def rows(control_plane: ControlPlane) -> list[list[str]]:
    """The cells of all options, as admin sees them."""
    printed = control_plane.kubectl("get", "--no-headers", OPTIONS, "-A")
    return sorted(line.split() for line in printed.splitlines())


def delete_a_namespace(control_plane: ControlPlane, seconds: int) -> None:
    """Create and delete a namespace; fail where that takes longer."""
    control_plane.kubectl("create", "namespace", "brief")
    control_plane.kubectl("delete", "namespace", "brief", f"--timeout={seconds}s")


@pytest.mark.parametrize("number", [signal.SIGSTOP, signal.SIGKILL], ids=["frozen", "gone"])
def test_a_namespace_is_deleted_while_one_of_two_replicas_is_frozen_or_gone(
    own_control_plane: ControlPlane,
    replicas: tuple[Replica, Replica],
    balancer: Balancer,
    number: int,
) -> None:
    """AD-01, AD-04: one replica that does not answer is nobody's trouble."""
    broken, whole = replicas
    broken.program.send(number)
    wait_until("it is taken out", lambda: balancer.ready == {whole.port})
    delete_a_namespace(own_control_plane, 30)
    assert rows(own_control_plane) == printed_rows()


def test_while_none_serves_other_groups_are_discovered_at_once_and_all_recovers(
    own_control_plane: ControlPlane,
    own_registration: Registration,
    replicas: tuple[Replica, Replica],
    balancer: Balancer,
) -> None:
    """The worst case: all of ours frozen for longer than kube-apiserver's own memory of us."""
    for replica in replicas:
        replica.program.send(signal.SIGSTOP)
    wait_until("unavailable", lambda: not own_registration.available(), 120)
    for path in ("/apis/apps/v1", "/api/v1", "/apis/gpu.cozystack.io/v1alpha1", "/apis"):
        started = time.monotonic()
        code, _ = own_control_plane.request("GET", path)
        assert code == 200
        assert time.monotonic() - started < 1, path
    for replica in replicas:
        replica.program.send(signal.SIGCONT)
    wait_until("both replicas are ready", lambda: len(balancer.ready) == 2)
    delete_a_namespace(own_control_plane, 60)
    own_registration.wait_until_available()
    assert rows(own_control_plane) == printed_rows()


def test_namespaces_are_deleted_once_the_apiservice_of_a_dead_server_is_removed(
    own_control_plane: ControlPlane,
    own_registration: Registration,
    replicas: tuple[Replica, Replica],
    balancer: Balancer,
) -> None:
    """The way out for an operator, as the README has it: APIService first."""
    for replica in replicas:
        replica.program.send(signal.SIGKILL)
    wait_until("none is ready", lambda: not balancer.ready)
    wait_until("unavailable", lambda: not own_registration.available(), 120)
    own_registration.remove()
    delete_a_namespace(own_control_plane, 60)


def test_ad_04_nobody_notices_a_rolling_restart(
    own_control_plane: ControlPlane,
    own_registration: Registration,
    replicas: tuple[Replica, Replica],
    balancer: Balancer,
) -> None:
    """AD-04: each replica in turn is ended and started; no answer is other than 200."""
    with Load(through_kube_apiserver(own_control_plane, ACME), must_be_ok) as load:
        for replica in replicas:
            replica.stop()
            replica.start()
            wait_until("it is back", lambda: len(balancer.ready) == 2)
            load.wait_for_more(20)
        load.wait_for_more(20)
    assert load.failures == []
    assert own_registration.available()


def test_certificates_are_replaced_while_requests_run(
    own_control_plane: ControlPlane,
    own_registration: Registration,
    replicas: tuple[Replica, Replica],
    balancer: Balancer,
) -> None:
    """Serving pair, front proxy and cluster CA, each by old and new together: none fails.

    Neither for admin, nor for a user whose rights are asked for; and objects are read on.
    """
    plane = own_control_plane
    pids = [replica.program.pid for replica in replicas]
    plane.kubeconfig("maria")
    may = ("--clusterrole=gpuclass-options-view", "--user=maria", "--namespace=tenant-acme")
    plane.kubectl("create", "rolebinding", "maria", *may)
    wait_until("maria may", lambda: plane.request("GET", ACME, user="maria")[0] == 200)
    of_maria = Load(through_kube_apiserver(plane, ACME, "maria"), must_be_ok)
    with Load(through_kube_apiserver(plane, ACME), must_be_ok) as load, of_maria:
        for authority, renew in (
            (own_registration.serving_ca, own_registration.new_serving_pair),
            (plane.front_proxy, plane.new_proxy_pair),
            (plane.ca, plane.new_serving_pair),
        ):
            authority.replace()
            for step in (authority.trust_present_too, renew, authority.trust_only_present):
                if step == plane.ca.trust_only_present:
                    plane.kubeconfig("admin", group=MASTERS)  # old certificates end here
                    plane.kubeconfig("maria")
                step()
                own_registration.register(balancer.port)
                load.wait_for_seconds(_FOLLOWED_SECONDS)
                balancer.cut()
                load.wait_for_more(10)
                _assert_edits_are_seen(plane)
    assert (load.failures, of_maria.failures) == ([], [])
    assert rows(plane) == printed_rows()
    assert pids == [replica.program.pid for replica in replicas if replica.program.running]
    # It has its kubeconfig's certificate from the start on.
    plane.controller_manager.stop()
    plane.controller_manager.start()


def test_kube_apiserver_and_etcd_are_killed_and_come_back(
    own_control_plane: ControlPlane,
    own_registration: Registration,
    replicas: tuple[Replica, Replica],
    balancer: Balancer,
) -> None:
    """Recovered within 30 s, without a restart of ours, and no figure is wrong meanwhile."""
    del balancer
    plane = own_control_plane
    first, _ = replicas
    pids = [replica.program.pid for replica in replicas]
    with Load(straight(own_registration, first.port, ACME), must_not_be_wrong) as load:
        for program in (plane.api_server, plane.etcd):
            program.stop(signal.SIGKILL)
            load.wait_for_more(20)
            program.start()
            plane.wait_until_ready()
            wait_until("served again", lambda: _served(plane), 30)
            assert rows(plane) == printed_rows()
            load.wait_for_more(20)
    assert load.failures == []
    # OA-02: a kube-apiserver that has just begun merges our document as well.
    wait_until("version 2 is merged", lambda: _is_merged(plane), 90)
    _assert_edits_are_seen(plane)
    own_registration.wait_until_available()
    assert pids == [replica.program.pid for replica in replicas if replica.program.running]


def _is_merged(plane: ControlPlane) -> bool:
    code, body = plane.request("GET", "/openapi/v2")
    assert code == 200
    paths = json.loads(body)["paths"]
    return f"{GROUP_VERSION}/gpuclassoptions" in paths


def _served(plane: ControlPlane) -> bool:
    code, body = plane.request("GET", f"{GROUP_VERSION}/gpuclassoptions")
    return code == 200 and bool(json.loads(body)["items"])


def _assert_edits_are_seen(plane: ControlPlane) -> None:
    """Assert that objects are followed: a node is taken out, and put back."""
    plane.kubectl("cordon", "zq-alder")
    wait_until("edits are seen", lambda: rows(plane) != printed_rows(), 30)
    plane.kubectl("uncordon", "zq-alder")
    wait_until("and undone", lambda: rows(plane) == printed_rows(), 30)
