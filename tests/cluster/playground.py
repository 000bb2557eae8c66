"""`make cluster`: a control plane with the sample world and the server registered, until Ctrl-C."""

import shutil
import signal
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from cluster.control_plane.assets import MissingAssetsError
from cluster.control_plane.cluster import KUBECTL, MASTERS, ControlPlane
from cluster.real_objects import RealObjects, documents
from cluster.registered import ROOT, Registration

#: Git does not see it, and it is made anew each time.
DIRECTORY: Final = ROOT / ".cluster"
TENANT: Final = "tenant-acme"
USER: Final = "maria"
_RBAC: Final = "rbac.authorization.k8s.io"
_WORLD: Final = ("10", "20", "30", "40", "50", "60", "70")


def main(arguments: Sequence[str], directory: Path = DIRECTORY) -> int:
    """Run until a signal; arguments are flags of `serve`, state is in the directory."""
    stopped = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stopped.set())
    shutil.rmtree(directory, ignore_errors=True)
    try:
        control_plane = ControlPlane(directory / "control-plane")
    except MissingAssetsError as error:
        _say(str(error))
        return 1
    _say("starting etcd, kube-apiserver, kube-controller-manager")
    control_plane.start()
    registration = Registration(control_plane, directory / "server")
    try:
        _fill(control_plane, registration, arguments)
        _say(_what_to_type(control_plane, directory))
        while not stopped.wait(1):
            pass
    finally:
        _say("stopping")
        registration.stop()
        control_plane.stop()
    return 0


def _fill(
    control_plane: ControlPlane, registration: Registration, arguments: Sequence[str]
) -> None:
    _say("applying the manifests, creating the sample world")
    registration.install()
    samples = ROOT / "tests" / "data" / "samples"
    files = [next(samples.glob(f"{number}-*.yaml")) for number in _WORLD]
    RealObjects(control_plane).create(documents(files))
    control_plane.apply(
        {
            "apiVersion": f"{_RBAC}/v1",
            "kind": "RoleBinding",
            "metadata": {"name": f"{USER}-views", "namespace": TENANT},
            "roleRef": {"apiGroup": _RBAC, "kind": "ClusterRole", "name": "view"},
            "subjects": [{"apiGroup": _RBAC, "kind": "User", "name": USER}],
        }
    )
    _say("starting gpuclass-apiserver serve")
    replica = registration.add_replica(*arguments)
    registration.wait_until_ready(replica)
    registration.register(replica.port)
    registration.wait_until_available()


def _what_to_type(control_plane: ControlPlane, directory: Path) -> str:
    admin = control_plane.kubeconfig("admin", group=MASTERS)
    tenant = control_plane.kubeconfig(USER)
    kubectl = _short(KUBECTL)
    return (
        "\nServing. In another terminal:\n\n"
        f"  {kubectl} --kubeconfig {_short(admin)} get gpuclassoptions -A\n"
        f"  {kubectl} --kubeconfig {_short(tenant)} get gpuclassoptions -n {TENANT}\n"
        f"  {kubectl} --kubeconfig {_short(tenant)} get gpuclassoffers\n\n"
        f"admin may do everything; {USER} may view {TENANT}. Logs are in {_short(directory)}."
        " Ctrl-C ends it.\n"
    )


def _short(path: Path) -> str:
    """Return a path as a person in the work tree types it."""
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else str(path)


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
