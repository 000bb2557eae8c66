"""What `kubectl apply -k` sends, judged by a real kube-apiserver."""

from pathlib import Path

import pytest
from cluster.control_plane.cluster import ControlPlane
from cluster.registered import Registration
from fakes.manifests import OVERLAYS, with_ca


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_an_overlay_is_taken_whole(
    control_plane: ControlPlane, registration: Registration, tmp_path: Path, overlay: str
) -> None:
    """`kubectl apply -k` by a dry run at the server; the namespace is there already."""
    manifests = with_ca(tmp_path, registration.serving_ca.file.read_bytes())
    folder = str(manifests / "overlays" / overlay)
    done = control_plane.try_kubectl("apply", "--dry-run=server", "-k", folder)
    assert done.returncode == 0, done.stderr
    assert "deployment.apps/gpuclass-apiserver created" in done.stdout


def test_the_server_runs_with_the_rights_of_the_manifests_and_no_more(
    control_plane: ControlPlane, registration: Registration
) -> None:
    """RBAC as the README says: named Secrets only, and nothing is written but reviews."""
    del registration
    account = "--as=system:serviceaccount:gpuclass-system:gpuclass-apiserver"

    def can(*arguments: str) -> bool:
        asked = ("auth", "can-i", *arguments, account)
        return control_plane.try_kubectl(*asked).stdout.strip() == "yes"

    assert can("list", "nodes")
    assert can("watch", "virtualmachineinstances.kubevirt.io", "-A")
    assert can("create", "subjectaccessreviews.authorization.k8s.io")
    assert can("create", "tokenreviews.authentication.k8s.io")
    assert can("list", "secrets/gpu-license-vws", "-A")
    assert not can("list", "secrets", "-A")
    assert not can("get", "secrets", "-n", "gpuclass-system")
    for verb in ("create", "update", "patch", "delete"):
        assert not can(verb, "pods", "-A")
        assert not can(verb, "gpuclasses.gpu.cozystack.io")
