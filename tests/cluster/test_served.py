"""The sample world as real objects, served through a real kube-apiserver to a real kubectl."""

import json
import time
from pathlib import Path
from typing import Any

import pytest
import yaml
from cluster.control_plane.cluster import MASTERS, ControlPlane
from cluster.control_plane.processes import wait_until
from cluster.registered import API_SERVICE, GROUP_VERSION, Registration
from fakes.demo import SAMPLES
from fakes.matrix import ITEMS, printed_rows

GROUP = "options.gpu.cozystack.io"
OPTIONS = f"gpuclassoptions.{GROUP}"


def rows(control_plane: ControlPlane, *arguments: str) -> list[list[str]]:
    """The cells of what `kubectl get` prints to admin, sorted."""
    printed = control_plane.kubectl("get", "--no-headers", *arguments)
    return sorted(line.split() for line in printed.splitlines())


def test_the_matrix_is_what_kubectl_prints(
    control_plane: ControlPlane, registration: Registration
) -> None:
    """`kubectl get gpuclassoptions -A` as admin: all 15 rows."""
    del registration
    assert rows(control_plane, OPTIONS, "-A") == printed_rows()


def test_the_options_of_acme_are_the_expected_ones(
    control_plane: ControlPlane, registration: Registration
) -> None:
    """`-o json` agrees with the expected list in every field that is not opaque."""
    del registration
    items = control_plane.get(OPTIONS, "-n", "tenant-acme")["items"]
    for item in items:
        for opaque in ("uid", "resourceVersion", "creationTimestamp"):
            assert item["metadata"].pop(opaque)
    assert items == ITEMS


def test_the_consoles_object_is_the_expected_one(
    control_plane: ControlPlane, registration: Registration
) -> None:
    """The same answer in the console's shape."""
    del registration
    expected = yaml.safe_load((SAMPLES / "91-expected-console-option.yaml").read_text())
    shown = control_plane.get(f"options.{GROUP}", "gpuclass", "-n", "tenant-acme")
    for opaque in ("uid", "resourceVersion"):
        assert shown["metadata"].pop(opaque)
    expected["metadata"].pop("resourceVersion", None)
    assert shown == expected


@pytest.fixture
def maria(control_plane: ControlPlane, registration: Registration) -> Path:
    """The kubeconfig of a user who may view tenant-acme by the shipped roles, and nothing else."""
    del registration
    maria = control_plane.kubeconfig("maria", group="acme")
    control_plane.apply(
        {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "RoleBinding",
            "metadata": {"name": "acme-views", "namespace": "tenant-acme"},
            "roleRef": {
                "apiGroup": "rbac.authorization.k8s.io",
                "kind": "ClusterRole",
                "name": "view",
            },
            "subjects": [
                {"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "acme"}
            ],
        }
    )

    # The aggregation of roles is the controller's, and takes a moment.
    wait_until(
        "the view role has our rights",
        lambda: sees(control_plane, maria, OPTIONS, "-n", "tenant-acme"),
    )
    return maria


def sees(control_plane: ControlPlane, user: Path, *arguments: str) -> bool:
    """Whether `kubectl get` gives a user something."""
    return control_plane.try_kubectl("get", *arguments, user=user).returncode == 0


def test_a_tenant_sees_its_namespace_and_the_offers_and_is_refused_elsewhere(
    control_plane: ControlPlane, maria: Path
) -> None:
    """A user who may view a namespace by the shipped ClusterRoles, and nothing else."""
    assert sees(control_plane, maria, OPTIONS, "-n", "tenant-acme")
    assert sees(control_plane, maria, f"gpuclassoffers.{GROUP}")
    for elsewhere in (["-n", "tenant-beta"], ["-n", "no-such-namespace"], ["-A"]):
        refused = control_plane.try_kubectl("get", OPTIONS, *elsewhere, user=maria)
        assert refused.returncode != 0
        assert "forbidden" in refused.stderr
        assert 'User "maria" cannot list resource "gpuclassoptions"' in refused.stderr
    assert not sees(control_plane, maria, "gpuclasses.gpu.cozystack.io")


def test_rights_are_told_by_auth_can_i(
    control_plane: ControlPlane, registration: Registration
) -> None:
    """`kubectl auth can-i get gpuclassoptions -n tenant-acme --as=...`."""
    del registration
    ask = ("auth", "can-i", "get", OPTIONS, "-n", "tenant-acme")
    assert control_plane.try_kubectl(*ask, "--as=nobody").stdout.strip() == "no"
    assert control_plane.try_kubectl(*ask).stdout.strip() == "yes"


def test_an_impersonated_user_is_who_is_asked_about(
    control_plane: ControlPlane, registration: Registration
) -> None:
    """AU-09: kube-apiserver sends the impersonated user and groups, a line each."""
    del registration
    refused = control_plane.try_kubectl("get", OPTIONS, "-n", "tenant-acme", "--as=zoe")
    assert 'User "zoe" cannot list' in refused.stderr
    groups = [f"--as-group={each}" for each in ("one", "two", MASTERS)]
    control_plane.kubectl("get", OPTIONS, "-n", "tenant-acme", "--as=zoe", *groups)


def test_az_04_a_role_limited_to_one_name_lists_and_gets_that_name(
    control_plane: ControlPlane, registration: Registration
) -> None:
    """AZ-04: the review carries verb and name, from the path and from the field selector."""
    del registration
    rbac = "rbac.authorization.k8s.io"
    control_plane.apply(
        {
            "apiVersion": f"{rbac}/v1",
            "kind": "Role",
            "metadata": {"name": "only-l40s", "namespace": "tenant-acme"},
            "rules": [
                {
                    "apiGroups": [GROUP],
                    "resources": ["gpuclassoptions"],
                    "resourceNames": ["l40s"],
                    "verbs": ["get", "list", "watch"],
                }
            ],
        },
        {
            "apiVersion": f"{rbac}/v1",
            "kind": "RoleBinding",
            "metadata": {"name": "only-l40s", "namespace": "tenant-acme"},
            "roleRef": {"apiGroup": rbac, "kind": "Role", "name": "only-l40s"},
            "subjects": [{"apiGroup": rbac, "kind": "User", "name": "olaf"}],
        },
    )
    olaf = control_plane.kubeconfig("olaf")

    def code(*arguments: str) -> int:
        command = ("get", OPTIONS, "-n", "tenant-acme", *arguments)
        return control_plane.try_kubectl(*command, user=olaf).returncode

    wait_until("the role counts", lambda: code("l40s") == 0)
    assert code("--field-selector=metadata.name=l40s") == 0
    assert code("h200") != 0
    assert code("--field-selector=metadata.name=h200") != 0
    assert code() != 0


def test_explain_prints_every_field_with_a_description(
    control_plane: ControlPlane, registration: Registration
) -> None:
    """OA-01: by version 3, and in the version 2 mode, which kube-apiserver answers."""
    del registration
    told = control_plane.kubectl("explain", OPTIONS, "--recursive")
    assert "startableCount" in told
    assert control_plane.kubectl("explain", f"{OPTIONS}.status.budget.remaining")

    def told_by_version_2() -> bool:
        mode = "--output=plaintext-openapiv2"
        return control_plane.try_kubectl("explain", mode, OPTIONS, "--recursive").returncode == 0

    # kube-apiserver merges version 2 in the background.
    wait_until("version 2 is merged", told_by_version_2, 90)


def test_the_resources_are_listed_with_their_names(
    control_plane: ControlPlane, registration: Registration
) -> None:
    """`kubectl api-resources`: names, short names, scope and kind, and no other verb."""
    del registration
    listed = control_plane.kubectl("api-resources", f"--api-group={GROUP}", "--no-headers")
    assert sorted(line.split() for line in listed.splitlines()) == [
        ["gpuclassoffers", "gcoff", f"{GROUP}/v1alpha1", "false", "GPUClassOffer"],
        ["gpuclassoptions", "gco", f"{GROUP}/v1alpha1", "true", "GPUClassOption"],
        ["options", f"{GROUP}/v1alpha1", "true", "Option"],
    ]
    found = json.loads(control_plane.kubectl("get", "--raw", GROUP_VERSION))
    assert {verb for each in found["resources"] for verb in each["verbs"]} == {"get", "list"}


def test_oa_02_each_path_is_in_the_merged_document_once(
    control_plane: ControlPlane, registration: Registration
) -> None:
    """OA-02: `get --raw /openapi/v2` is 200, with our paths as we serve them."""
    del registration
    merged: dict[str, Any] = {}

    def has_ours() -> bool:
        merged.update(json.loads(control_plane.kubectl("get", "--raw", "/openapi/v2")))
        return any(path.startswith(GROUP_VERSION) for path in merged["paths"])

    wait_until("version 2 is merged", has_ours, 90)
    ours = sorted(path for path in merged["paths"] if path.startswith(f"{GROUP_VERSION}/"))
    assert ours == [
        f"{GROUP_VERSION}/gpuclassoffers",
        f"{GROUP_VERSION}/gpuclassoffers/{{name}}",
        f"{GROUP_VERSION}/gpuclassoptions",
        f"{GROUP_VERSION}/namespaces/{{namespace}}/gpuclassoptions",
        f"{GROUP_VERSION}/namespaces/{{namespace}}/gpuclassoptions/{{name}}",
        f"{GROUP_VERSION}/namespaces/{{namespace}}/options",
        f"{GROUP_VERSION}/namespaces/{{namespace}}/options/{{name}}",
        f"{GROUP_VERSION}/options",
    ]
    renamed = [name for name in merged["definitions"] if name.endswith("_v2")]
    assert [name for name in renamed if "gpu" in name.lower()] == []


def test_the_apiservice_is_available(
    control_plane: ControlPlane, registration: Registration
) -> None:
    """`kubectl get apiservice`."""
    del registration
    shown = control_plane.kubectl("get", "apiservice", API_SERVICE, "--no-headers").split()
    assert shown[2] == "True"


def test_ad_06_writes_are_refused_and_change_nothing(
    control_plane: ControlPlane, registration: Registration
) -> None:
    """AD-06: 405 for every verb that is not served, also through kube-apiserver."""
    del registration
    before = rows(control_plane, OPTIONS, "-A")
    item = f"{GROUP_VERSION}/namespaces/tenant-acme/gpuclassoptions/l40s"
    for method, path in (
        ("POST", item.rpartition("/")[0]),
        ("PUT", item),
        ("PATCH", item),
        ("DELETE", item),
        ("DELETE", item.rpartition("/")[0]),
    ):
        content_type = "application/merge-patch+json" if method == "PATCH" else "application/json"
        code, body = control_plane.request(method, path, {}, content_type=content_type)
        assert code == 405, (method, path)
        assert json.loads(body)["reason"] == "MethodNotAllowed"
    assert rows(control_plane, OPTIONS, "-A") == before


def test_ad_06_the_controllers_watch_nothing_of_ours(
    control_plane: ControlPlane, registration: Registration
) -> None:
    """AD-06: garbage collector and quota monitor only what can be deleted."""
    del registration
    log = control_plane.controller_manager.log.read_text
    wait_until("what can be deleted is monitored", lambda: "gpuclasses" in log())
    assert "gpuclassoptions" not in log()
    assert "gpuclassoffers" not in log()


def test_ad_01_a_namespace_is_created_and_deleted_in_time(
    control_plane: ControlPlane, registration: Registration
) -> None:
    """AD-01, AD-06: options exist in it, and hold nothing up."""
    del registration
    control_plane.kubectl("create", "namespace", "tenant-brief")
    assert rows(control_plane, OPTIONS, "-n", "tenant-brief")
    started = time.monotonic()
    control_plane.kubectl("delete", "namespace", "tenant-brief", "--timeout=30s")
    assert time.monotonic() - started < 30


def test_an_edit_of_a_real_object_is_in_the_answer(
    control_plane: ControlPlane, registration: Registration
) -> None:
    """The flow of events, whole: a node that is cordoned gives no units any more."""
    del registration

    def free() -> str:
        return rows(control_plane, f"gpuclassoffers.{GROUP}", "l40s")[0][2]

    assert free() == "7"
    control_plane.kubectl("cordon", "zq-alder")
    try:
        wait_until("the cordoned node's units are gone", lambda: free() != "7")
    finally:
        control_plane.kubectl("uncordon", "zq-alder")
    wait_until("they are back", lambda: free() == "7")


def test_nothing_that_a_tenant_can_reach_names_a_node_or_another_tenant(
    control_plane: ControlPlane, maria: Path
) -> None:
    """Through kube-apiserver too: objects, and the words of every refusal."""
    reached = ""
    for arguments in (
        [OPTIONS, "-n", "tenant-acme"],
        [f"options.{GROUP}", "-n", "tenant-acme"],
        [f"gpuclassoffers.{GROUP}"],
        [OPTIONS, "-A"],
        [OPTIONS, "-n", "tenant-acme", "no-such-class"],
    ):
        told = control_plane.try_kubectl("get", *arguments, "-o", "json", user=maria)
        reached += told.stdout + told.stderr
    assert "l40s" in reached
    assert "not found" in reached
    assert "zq-" not in reached
    assert "tenant-beta" not in reached


def test_the_log_names_no_node_and_no_token(registration: Registration) -> None:
    """What is logged at the default level."""
    (replica, *_) = registration.replicas
    log = replica.program.log.read_text()
    assert "zq-" not in log
    assert "eyJ" not in log
    assert "Traceback" not in log


@pytest.mark.parametrize("path", ["/apis", f"/apis/{GROUP}", GROUP_VERSION])
def test_discovery_is_answered_through_kube_apiserver(
    control_plane: ControlPlane, registration: Registration, path: str
) -> None:
    """AD-01: each of the documents that clients walk through."""
    del registration
    assert GROUP in control_plane.kubectl("get", "--raw", path)
