"""Both readers of tenants."""

import pytest

from storage.cluster.decoded import DeclaredTenant, Ref, TenantQuota, TenantRelease, TenantValue
from storage.cluster.kinds import Kind
from storage.cluster.tenants import (
    CozystackReader,
    GPUTenantReader,
    TenantReader,
    owned_namespace,
)
from storage.model.objects import TenantRecord

Objects = dict[tuple[Kind, Ref], TenantValue]

READERS: tuple[TenantReader, ...] = (GPUTenantReader(), CozystackReader())


def declared(name: str, value: DeclaredTenant) -> Objects:
    """Return a GPUTenant as a reader sees it."""
    return {(Kind.GPU_TENANT, Ref("", name)): value}


def release(parent: str, name: str, readable: bool = True) -> Objects:
    """Return a tenant's HelmRelease as a reader sees it."""
    return {(Kind.HELM_RELEASE, Ref(parent, name)): TenantRelease(readable=readable)}


def quota(namespace: str, value: TenantQuota) -> Objects:
    """Return a tenant's quota as a reader sees it."""
    return {(Kind.RESOURCE_QUOTA, Ref(namespace, "tenant-quota")): value}


def test_a_gputenant_is_one_record() -> None:
    """What it states goes into the record as it is."""
    value = DeclaredTenant(parent="tenant-root", budgets=(("l40s", 8),), entitlements=("a40",))
    assert GPUTenantReader().records("tenant-a", declared("tenant-a", value), {}) == (
        TenantRecord(
            key="GPUTenant/tenant-a",
            namespace="tenant-a",
            parent="tenant-root",
            budgets=(("l40s", 8),),
            entitlements=("a40",),
        ),
    )


@pytest.mark.parametrize("reader", READERS)
def test_no_object_makes_no_record(reader: TenantReader) -> None:
    """A tenant that went leaves nothing."""
    assert reader.records("tenant-a", {}, {}) == ()


@pytest.mark.parametrize("reader", READERS)
def test_a_namespace_that_is_no_tenants_has_no_record(reader: TenantReader) -> None:
    """Whatever objects say."""
    objects = {**declared("kube-system", DeclaredTenant()), **release("kube", "system")}
    assert reader.records("kube-system", objects, {}) == ()


def test_a_broken_gputenant_is_a_record_that_is_not_readable() -> None:
    """Its namespace is ambiguous then, and what it carves from its parent is not known."""
    broken = declared("tenant-a", DeclaredTenant(readable=False))
    (record,) = GPUTenantReader().records("tenant-a", broken, {})
    assert not record.readable
    assert not record.budget_readable


@pytest.mark.parametrize(
    ("parent", "name", "namespace"),
    [
        ("tenant-root", "tenant-acme", "tenant-acme"),
        ("tenant-acme", "tenant-prod", "tenant-acme-prod"),
        ("tenant-root", "tenant-root", "tenant-root"),
        ("tenant-root", "tenant-a-b", "tenant-a-b"),
        ("tenant-a", "tenant-b", "tenant-a-b"),
        ("tenant-a", "b", "tenant-a-b"),
    ],
)
def test_a_release_owns_the_namespace_that_the_platform_gives_it(
    parent: str, name: str, namespace: str
) -> None:
    """Domain 2.4, tenant-root being its own parent; the last three share one namespace."""
    assert owned_namespace(parent, name) == namespace


def test_the_platforms_tenant_is_put_together_from_three_objects() -> None:
    """Tree from the release, budget from the quota by way of classes, entitlements apart."""
    objects = {
        **release("tenant-acme", "tenant-prod"),
        **quota("tenant-acme-prod", TenantQuota(hard=(("x.com/gpu", 4), ("y.com/other", 9)))),
        **declared(
            "tenant-acme-prod",
            DeclaredTenant(parent="tenant-x", budgets=(("l40s", 99),), entitlements=("l40s-24q",)),
        ),
    }
    classes = {"x.com/gpu": ("l40s", "l40s-cheap")}
    assert CozystackReader().records("tenant-acme-prod", objects, classes) == (
        TenantRecord(
            key="HelmRelease/tenant-acme/tenant-prod",
            namespace="tenant-acme-prod",
            parent="tenant-acme",
            budgets=(("l40s", 4), ("l40s-cheap", 4)),
            entitlements=("l40s-24q",),
        ),
    )


def test_the_root_has_no_parent() -> None:
    """Though its release lies in its own namespace."""
    (record,) = CozystackReader().records("tenant-root", release("tenant-root", "tenant-root"), {})
    assert record.parent is None


def test_the_stated_parent_of_a_name_with_a_dash_wins() -> None:
    """E10: release tenant-a-b in tenant-root belongs to tenant-root, not to tenant-a."""
    (record,) = CozystackReader().records("tenant-a-b", release("tenant-root", "tenant-a-b"), {})
    assert record.parent == "tenant-root"


def test_two_releases_that_own_one_namespace_are_two_records() -> None:
    """E11: the calculation sees two owners, and so that the namespace is ambiguous."""
    objects = {**release("tenant-root", "tenant-a-b"), **release("tenant-a", "tenant-b")}
    records = CozystackReader().records("tenant-a-b", objects, {})
    assert [(each.key, each.parent) for each in records] == [
        ("HelmRelease/tenant-a/tenant-b", "tenant-a"),
        ("HelmRelease/tenant-root/tenant-a-b", "tenant-root"),
    ]


def test_a_quota_that_cannot_be_read_makes_the_budget_unknown() -> None:
    """The tenant is still the tenant."""
    objects = {
        **release("tenant-root", "tenant-a"),
        **quota("tenant-a", TenantQuota(readable=False)),
    }
    (record,) = CozystackReader().records("tenant-a", objects, {})
    assert record.readable
    assert not record.budget_readable


@pytest.mark.parametrize(
    "objects",
    [
        release("tenant-root", "tenant-a", readable=False),
        {
            **release("tenant-root", "tenant-a"),
            **declared("tenant-a", DeclaredTenant(readable=False)),
        },
    ],
)
def test_a_release_or_entitlements_that_cannot_be_read_make_it_ambiguous(objects: Objects) -> None:
    """Design 2: never too good."""
    (record,) = CozystackReader().records("tenant-a", objects, {})
    assert not record.readable


def test_a_quota_without_a_release_makes_no_tenant() -> None:
    """The tree comes from releases alone."""
    objects = {**quota("tenant-a", TenantQuota()), **declared("tenant-a", DeclaredTenant())}
    assert CozystackReader().records("tenant-a", objects, {}) == ()
