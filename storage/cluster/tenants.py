"""The readers of tenants: from the objects of a source to the records of the calculation.

Two sources (domain 2.3): GPUTenant objects, and the platform's HelmReleases with their
ResourceQuotas. Both read one namespace at a time, so that an object costs the tenant it speaks of
and no other. Another source would be a third class in this module (design 2).
"""

from collections.abc import Mapping
from typing import Final, Protocol, TypeAlias

from storage.cluster.decoded import (
    DeclaredTenant,
    Ref,
    TenantQuota,
    TenantRelease,
    TenantValue,
)
from storage.cluster.kinds import Kind
from storage.model.names import ROOT_TENANT, is_tenant_namespace
from storage.model.objects import TenantRecord

#: Objects that speak of one namespace, by kind and place.
TenantObjects: TypeAlias = Mapping[tuple[Kind, Ref], TenantValue]

#: Names of the classes that name a resource, sorted.
ClassNames: TypeAlias = Mapping[str, tuple[str, ...]]

_TENANT_PREFIX: Final = "tenant-"


class TenantReader(Protocol):
    """One way to read tenants."""

    @property
    def kinds(self) -> frozenset[Kind]:
        """The kinds it reads; tenants are known once all of them are."""
        ...

    @property
    def reads_classes(self) -> bool:
        """Whether records change when the resource names of classes do."""
        ...

    def namespace_of(self, kind: Kind, ref: Ref) -> str:
        """Return the namespace that an object speaks of."""
        ...

    def records(
        self, namespace: str, objects: TenantObjects, classes: ClassNames
    ) -> tuple[TenantRecord, ...]:
        """Return the records of one namespace, by key; none where no tenant owns it."""
        ...


class GPUTenantReader:
    """Tenants as GPUTenant objects (domain 2.3a)."""

    kinds: Final = frozenset({Kind.GPU_TENANT})
    reads_classes: Final = False

    def namespace_of(self, kind: Kind, ref: Ref) -> str:
        """Return the object's name: a GPUTenant is named as its namespace."""
        del kind
        return ref.name

    def records(
        self, namespace: str, objects: TenantObjects, classes: ClassNames
    ) -> tuple[TenantRecord, ...]:
        """Return the one record of a namespace; a name is unique."""
        del classes
        declared = _declared(namespace, objects)
        if declared is None or not is_tenant_namespace(namespace):
            return ()
        return (
            TenantRecord(
                key=f"{Kind.GPU_TENANT.kind}/{namespace}",
                namespace=namespace,
                parent=declared.parent,
                budgets=declared.budgets,
                entitlements=declared.entitlements,
                readable=declared.readable,
                # What it would declare cannot be told: nothing may count as not carved out.
                budget_readable=declared.readable,
            ),
        )


class CozystackReader:
    """Tenants as the platform stores them (domain 2.3b, 2.4).

    The tree comes from HelmReleases, the budget from ResourceQuota `tenant-quota` through the
    resource names of classes, entitlements from a GPUTenant of the namespace's name. A quota or a
    GPUTenant without a release makes no tenant.
    """

    kinds: Final = frozenset({Kind.HELM_RELEASE, Kind.RESOURCE_QUOTA, Kind.GPU_TENANT})
    reads_classes: Final = True

    def namespace_of(self, kind: Kind, ref: Ref) -> str:
        """Return the namespace that a release owns, that a quota is in, a GPUTenant is named as."""
        if kind is Kind.HELM_RELEASE:
            return owned_namespace(ref.namespace, ref.name)
        return ref.name if kind is Kind.GPU_TENANT else ref.namespace

    def records(
        self, namespace: str, objects: TenantObjects, classes: ClassNames
    ) -> tuple[TenantRecord, ...]:
        """Return a record for each release that owns the namespace: two make it ambiguous."""
        if not is_tenant_namespace(namespace):
            return ()
        declared = _declared(namespace, objects) or DeclaredTenant()
        quota = _quota(objects)
        budgets = _budgets(quota, classes)
        return tuple(
            TenantRecord(
                key=f"{Kind.HELM_RELEASE.kind}/{ref.namespace}/{ref.name}",
                namespace=namespace,
                parent=None if namespace == ROOT_TENANT else ref.namespace,
                budgets=budgets,
                entitlements=declared.entitlements,
                readable=release.readable and declared.readable,
                budget_readable=quota.readable,
            )
            for ref, release in _releases(objects)
        )


def owned_namespace(parent: str, release: str) -> str:
    """Return the namespace of the tenant that a release of this name in `parent` stands for."""
    name = release.removeprefix(_TENANT_PREFIX)
    return f"{_TENANT_PREFIX}{name}" if parent == ROOT_TENANT else f"{parent}-{name}"


def _declared(namespace: str, objects: TenantObjects) -> DeclaredTenant | None:
    value = objects.get((Kind.GPU_TENANT, Ref("", namespace)))
    return value if isinstance(value, DeclaredTenant) else None


def _quota(objects: TenantObjects) -> TenantQuota:
    """Return a namespace's quota; one that is not there bounds nothing."""
    found = [value for value in objects.values() if isinstance(value, TenantQuota)]
    return found[0] if found else TenantQuota()


def _releases(objects: TenantObjects) -> list[tuple[Ref, TenantRelease]]:
    return sorted(
        ((ref, value) for (_, ref), value in objects.items() if isinstance(value, TenantRelease)),
        key=lambda item: item[0],
    )


def _budgets(quota: TenantQuota, classes: ClassNames) -> tuple[tuple[str, int], ...]:
    """Return a quota's units by class; a resource bounds every class that names it."""
    return tuple(
        sorted(
            (name, units) for resource, units in quota.hard for name in classes.get(resource, ())
        )
    )


#: By the value of --tenant-source.
READERS: Final[Mapping[str, type[TenantReader]]] = {
    "gputenants": GPUTenantReader,
    "cozystack": CozystackReader,
}
