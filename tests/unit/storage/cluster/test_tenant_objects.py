"""GPUTenant, HelmRelease and ResourceQuota as they are decoded."""

from typing import Any

import pytest
from fakes.objects import a_quota, a_release, a_tenant, in_json, merged

from storage.cluster.decoded import DeclaredTenant, Ref, TenantQuota, TenantRelease
from storage.cluster.tenant_objects import decode_gpu_tenant, decode_quota, decode_release

GPU = "requests.x.com/gpu"


def test_a_tenant_is_its_parent_its_budgets_and_its_entitlements() -> None:
    """Lists come out by class name; 0 units are stated, not absent."""
    value = a_tenant(
        "tenant-acme",
        parent="tenant-root",
        budgets=[{"className": "l40s", "units": 8}, {"className": "h200", "units": 0}],
        entitlements=[{"className": "l40s-24q"}, {"className": "a40"}],
    )
    assert decode_gpu_tenant(in_json(value)).value == DeclaredTenant(
        parent="tenant-root",
        budgets=(("h200", 0), ("l40s", 8)),
        entitlements=("a40", "l40s-24q"),
    )


@pytest.mark.parametrize("spec", [None, {}, {"parent": ""}, {"budgets": None}])
def test_a_tenant_may_state_nothing(spec: object) -> None:
    """Everything in it is optional."""
    value = {**a_tenant("tenant-acme"), "spec": spec}
    assert decode_gpu_tenant(in_json(value)).value == DeclaredTenant()


@pytest.mark.parametrize(
    ("name", "spec", "problem"),
    [
        ("tenant-root", {"parent": "tenant-a"}, "spec.parent must be absent for tenant-root"),
        ("tenant-a", {"parent": "tenant-a"}, "spec.parent must differ from metadata.name"),
        ("tenant-a", {"budgets": [{"className": "L40S", "units": 1}]}, "className must be"),
        ("tenant-a", {"budgets": [{"className": "a", "units": -1}]}, "units must be 0 to 1000000"),
        ("tenant-a", {"budgets": [{"className": "a", "units": 1_000_001}]}, "units must be 0 to"),
        ("tenant-a", {"budgets": [{"className": "a", "units": 1}] * 2}, "must not repeat"),
        ("tenant-a", {"budgets": [{"className": "a"}]}, "units is missing"),
        ("tenant-a", {"budgets": [{"className": "a", "units": 0.5}]}, "expected type"),
        ("tenant-a", {"entitlements": [{"className": "a"}] * 2}, "must not repeat"),
        ("tenant-a", {"entitlements": ["a"]}, "expected type"),
        ("tenant-a", {"parent": 5}, "expected type"),
    ],
)
def test_a_tenant_that_breaks_a_rule_is_not_readable(
    name: str, spec: dict[str, Any], problem: str
) -> None:
    """Its namespace is ambiguous: leaving it out would give it its parent's budget."""
    decoded = decode_gpu_tenant(in_json(a_tenant(name, **spec)))
    assert decoded.value == DeclaredTenant(readable=False)
    assert problem in decoded.problem


@pytest.mark.parametrize(
    "name", ["acme", "tenant-", "tenant-A", "tenant-a--b", "tenant-" + "a" * 57]
)
def test_a_tenant_whose_name_is_no_tenants_namespace_is_left_out(name: str) -> None:
    """There is no namespace to be careful about."""
    decoded = decode_gpu_tenant(in_json(a_tenant(name)))
    assert decoded.value is None
    assert decoded.problem == "metadata.name must be the name of a tenant's namespace"


def test_the_longest_namespace_is_a_tenants() -> None:
    """63 characters, as Kubernetes has it."""
    assert decode_gpu_tenant(in_json(a_tenant("tenant-" + "a" * 56))).value == DeclaredTenant()


def test_a_release_stands_for_a_tenant_by_its_label() -> None:
    """Other applications are HelmReleases too."""
    decoded = decode_release(in_json(a_release("tenant-root", "tenant-acme")))
    assert decoded.ref == Ref("tenant-root", "tenant-acme")
    assert decoded.value == TenantRelease()
    other = decode_release(in_json(a_release("tenant-root", "tenant-acme", kind="Bucket")))
    assert not other.counts


@pytest.mark.parametrize(
    ("name", "value"), [("tenant-a", TenantRelease(readable=False)), ("x", None)]
)
def test_a_release_that_cannot_be_read_may_be_a_tenant(
    name: str, value: TenantRelease | None
) -> None:
    """Where its name says so it counts as one, not readable."""
    broken = merged(a_release("tenant-root", name), {"metadata": {"labels": 5}})
    decoded = decode_release(in_json(broken))
    assert decoded.value == value
    assert decoded.problem


@pytest.mark.parametrize(
    ("hard", "units"),
    [
        ({GPU: "4"}, (("x.com/gpu", 4),)),
        ({GPU: 4}, (("x.com/gpu", 4),)),
        ({GPU: "7500m"}, (("x.com/gpu", 7),)),
        ({GPU: "0.5"}, (("x.com/gpu", 0),)),
        ({"limits.x.com/gpu": "4"}, ()),
        ({"requests.cpu": "x", "limits.cpu": "64", "pods": "x"}, ()),
        ({"requests.devices.kubevirt.io/kvm": "1"}, ()),
        ({}, ()),
    ],
)
def test_a_quota_counts_by_requests_and_rounds_down(
    hard: dict[str, Any], units: tuple[tuple[str, int], ...]
) -> None:
    """Domain 2.3b: limits of an extended resource are stored and never counted. QB-01: 0.5 is 0."""
    assert decode_quota(in_json(a_quota("tenant-a", hard))).value == TenantQuota(hard=units)


@pytest.mark.parametrize("hard", [{GPU: "x"}, {GPU: "-1"}, {GPU: None}, [], 5])
def test_a_quota_that_cannot_be_read_is_unknown(hard: Any) -> None:
    """Not the same as a quota that bounds nothing."""
    decoded = decode_quota(in_json(a_quota("tenant-a", hard)))
    assert decoded.value == TenantQuota(readable=False)
    assert decoded.problem


def test_only_the_quota_of_the_platform_counts() -> None:
    """A namespace may have others."""
    assert not decode_quota(in_json(a_quota("tenant-a", {GPU: "4"}, name="mine"))).counts
