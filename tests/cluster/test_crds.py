"""Our CRDs in a real kube-apiserver: what it takes, and what it refuses in which words."""

from copy import deepcopy
from typing import Any

import pytest
import yaml
from cluster.control_plane.cluster import ControlPlane
from cluster.registered import Registration
from fakes.demo import SAMPLES

CLASS = {
    "apiVersion": "gpu.cozystack.io/v1alpha1",
    "kind": "GPUClass",
    "metadata": {"name": "tried"},
    "spec": {
        "vendor": "nvidia",
        "mode": "passthrough",
        "resourceName": "nvidia.com/tried",
        "maxCount": 2,
    },
}
TENANT = {
    "apiVersion": "gpu.cozystack.io/v1alpha1",
    "kind": "GPUTenant",
    "metadata": {"name": "tenant-tried"},
    "spec": {},
}


def tried(control_plane: ControlPlane, document: dict[str, Any]) -> str:
    """What kube-apiserver says to an object; "" where it takes it."""
    sent = yaml.safe_dump(document)
    done = control_plane.try_kubectl("create", "--dry-run=server", "-f", "-", stdin=sent)
    return "" if done.returncode == 0 else done.stderr


def changed(document: dict[str, Any], *, name: str = "", **spec: Any) -> dict[str, Any]:
    """An object with other members of its spec, or another name."""
    made = deepcopy(document)
    made["spec"] |= spec
    if name:
        made["metadata"]["name"] = name
    return made


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ({"resourceName": "cpu"}, "spec.resourceName in body should match"),
        ({"resourceName": "nvidia.com"}, "spec.resourceName in body should match"),
        ({"resourceName": "nvidia.com/a,b"}, "spec.resourceName in body should match"),
        ({"resourceName": "kubernetes.io/x"}, "resourceName must not be of kubernetes.io"),
        (
            {"resourceName": "requests.nvidia.com/x"},
            "resourceName must not begin with requests.",
        ),
        (
            {"resourceName": f"nvidia.com/{'x' * 64}"},
            "resourceName must have at most 63 characters after the slash",
        ),
        ({"maxCount": 0}, "spec.maxCount in body should be greater than or equal to 1"),
        ({"maxCount": 1025}, "spec.maxCount in body should be less than or equal to 1024"),
        ({"maxCount": "2"}, "spec.maxCount in body must be of type integer"),
        ({"allowedCounts": [3]}, "allowedCounts must lie between 1 and maxCount"),
        ({"allowedCounts": [1, 1]}, "Duplicate value"),
        ({"tolerations": [{"operator": "Exists"}]}, "spec.tolerations[0].key: Required value"),
        (
            {"tolerations": [{"key": "", "operator": "Exists"}]},
            "key must not be empty, which would tolerate every taint",
        ),
        (
            {"tolerations": [{"key": "node.kubernetes.io/not-ready", "operator": "Exists"}]},
            "key must not begin with node.kubernetes.io/",
        ),
        (
            {"tolerations": [{"key": "a", "operator": "Exists", "value": "b"}]},
            "value must be absent where the operator is Exists",
        ),
        ({"tolerations": [{"key": "a", "effect": "Never"}]}, "Unsupported value"),
        (
            {"vendor": "amd", "license": {"secretName": "a"}},
            "only classes of vendor nvidia have a license",
        ),
        ({"mode": "vgpu"}, "a vgpu class of vendor nvidia needs a license"),
        ({"mode": "shared"}, "Unsupported value"),
        ({"vendor": "acme"}, "Unsupported value"),
        ({"memoryPerUnit": "much"}, "spec.memoryPerUnit in body should match"),
        ({"displayName": "a\nb"}, "spec.displayName in body should match"),
        ({"displayName": "x" * 81}, "Too long: may not be more than 80"),
        ({"description": "x" * 401}, "Too long: may not be more than 400"),
    ],
    ids=lambda value: str(value)[:60],
)
def test_a_class_that_breaks_a_rule_is_refused_in_words_of_its_own(
    control_plane: ControlPlane, registration: Registration, spec: dict[str, Any], said: str
) -> None:
    """Domain 2.2, and the rows (d) of the edge classes."""
    del registration
    assert said in tried(control_plane, changed(CLASS, **spec))


@pytest.mark.parametrize("name", ["l40s.24q", "24q", "a" * 41, "a-"])
def test_a_class_name_is_a_short_label(
    control_plane: ControlPlane, registration: Registration, name: str
) -> None:
    """D11: a dot cannot go into an alias of a VM's device."""
    del registration
    said = tried(control_plane, changed(CLASS, name=name))
    assert "metadata.name must be at most 40 lower-case letters" in said or "RFC 1123" in said


@pytest.mark.parametrize(
    ("member", "value", "said"),
    [
        ("vendor", "amd", 'spec.vendor: Invalid value: "amd": vendor is immutable'),
        ("mode", "vgpu", 'spec.mode: Invalid value: "vgpu": mode is immutable'),
    ],
)
def test_vendor_and_mode_are_immutable(
    control_plane: ControlPlane, registration: Registration, member: str, value: str, said: str
) -> None:
    """Rows (d): what VMs were admitted for stays what they have."""
    del registration
    patch = f'{{"spec":{{"{member}":"{value}"}}}}'
    done = control_plane.try_kubectl("patch", "gpuclass", "l40s", "--type=merge", "-p", patch)
    assert done.returncode != 0
    assert said in done.stderr


@pytest.mark.parametrize(
    "spec",
    [
        {},
        {"memoryPerUnit": 5},
        {"memoryPerUnit": "141Gi"},
        {"allowedCounts": [1, 2]},
        {"mode": "vgpu", "license": {"secretName": "gpu-license-vws"}},
        {"vendor": "amd", "mode": "vgpu"},
        {"tolerations": [{"key": "a", "value": "b"}, {"key": "c", "operator": "Exists"}]},
    ],
    ids=str,
)
def test_a_class_that_keeps_the_rules_is_taken(
    control_plane: ControlPlane, registration: Registration, spec: dict[str, Any]
) -> None:
    """Nothing more is refused than the rules say."""
    del registration
    assert tried(control_plane, changed(CLASS, **spec)) == ""


@pytest.mark.parametrize(
    ("document", "said"),
    [
        (changed(TENANT, name="acme"), "metadata.name must be tenant- and"),
        (changed(TENANT, name="tenant-a--b"), "metadata.name must be tenant- and"),
        (changed(TENANT, name="tenant-root", parent="tenant-a"), "tenant-root has no parent"),
        (changed(TENANT, parent="tenant-tried"), "a tenant is not its own parent"),
        (changed(TENANT, parent="acme"), "spec.parent in body should match"),
        (
            changed(TENANT, budgets=[{"className": "a", "units": -1}]),
            "spec.budgets[0].units in body should be greater than or equal to 0",
        ),
        (
            changed(TENANT, budgets=[{"className": "a", "units": 1_000_001}]),
            "spec.budgets[0].units in body should be less than or equal to 1000000",
        ),
        (
            changed(TENANT, budgets=[{"className": "a", "units": 1}] * 2),
            "Duplicate value",
        ),
        (
            changed(TENANT, budgets=[{"className": "A.b", "units": 1}]),
            "spec.budgets[0].className in body should match",
        ),
        (changed(TENANT, entitlements=[{"className": "a"}] * 2), "Duplicate value"),
        (changed(TENANT, entitlements=[{}]), "spec.entitlements[0].className: Required value"),
    ],
    ids=lambda value: str(value)[:60],
)
def test_a_tenant_that_breaks_a_rule_is_refused_in_words_of_its_own(
    control_plane: ControlPlane, registration: Registration, document: dict[str, Any], said: str
) -> None:
    """Domain 2.3."""
    del registration
    # Not in dry run: the sample world has a tenant-root already, whose name must not matter.
    assert said in tried(control_plane, document)


def test_the_samples_are_taken_as_they_are(
    control_plane: ControlPlane, registration: Registration
) -> None:
    """Good classes and tenants, as the specification has them."""
    del registration
    for number in ("30", "40"):
        (file,) = SAMPLES.glob(f"{number}-*.yaml")
        taken = control_plane.kubectl("apply", "--dry-run=server", "-f", str(file))
        assert taken.count("(server dry run)") == len([*yaml.safe_load_all(file.read_text())])


def test_every_field_of_our_kinds_is_explained(
    control_plane: ControlPlane, registration: Registration
) -> None:
    """`kubectl explain`: no field without a description."""
    del registration
    for kind in ("gpuclasses.gpu.cozystack.io", "gputenants.gpu.cozystack.io"):
        found = control_plane.get("crd", kind)
        (version,) = found["spec"]["versions"]
        schema = version["schema"]["openAPIV3Schema"]
        assert _undescribed(schema["properties"]["spec"], "spec") == []
        assert control_plane.kubectl("explain", f"{kind.partition('.')[0]}.spec")


def test_classes_are_printed_with_what_a_hoster_looks_for(
    control_plane: ControlPlane, registration: Registration
) -> None:
    """`kubectl get gpuclasses`."""
    del registration
    header, *rows = control_plane.kubectl("get", "gpuclasses").splitlines()
    assert header.split() == ["NAME", "VENDOR", "MODE", "RESOURCE", "MAX/VM", "READY", "AGE"]
    assert [row.split()[:5] for row in rows] == [
        ["h200", "nvidia", "passthrough", "nvidia.com/GH100_H200_SXM_141GB", "8"],
        ["l40s", "nvidia", "passthrough", "nvidia.com/AD102GL_L40S", "4"],
        ["l40s-24q", "nvidia", "vgpu", "nvidia.com/L40S-24Q", "1"],
    ]


def _undescribed(schema: dict[str, Any], path: str) -> list[str]:
    """The paths of a schema's fields that have no description."""
    found = [] if "description" in schema or path.endswith("[]") else [path]
    for name, member in schema.get("properties", {}).items():
        found += _undescribed(member, f"{path}.{name}")
    if "items" in schema:
        found += _undescribed(schema["items"], f"{path}[]")
    return found
