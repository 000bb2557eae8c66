"""Objects that tenants are read from: GPUTenant with its rules, HelmRelease, ResourceQuota.

What they say together is the readers' business (`tenants`); domain 2.3 has the rules.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import msgspec

from storage.cluster.decoded import DeclaredTenant, Decoded, TenantQuota, TenantRelease
from storage.cluster.quantities import exact, is_extended
from storage.cluster.reading import WireError, fragment_of, read, ref_of
from storage.cluster.wire import (
    GPUTenantSpec,
    GPUTenantWire,
    HelmReleaseWire,
    ResourceQuotaWire,
)
from storage.model.names import ROOT_TENANT, is_class_name, is_tenant_namespace
from storage.model.quantity import InvalidQuantityError

QUOTA_NAME: Final = "tenant-quota"

_MAX_UNITS: Final = 1_000_000
_NAMESPACE_MAX_LENGTH: Final = 63
_REQUESTS: Final = "requests."
_GPU_TENANT: Final = msgspec.json.Decoder(GPUTenantWire)
_RELEASE: Final = msgspec.json.Decoder(HelmReleaseWire)
_QUOTA: Final = msgspec.json.Decoder(ResourceQuotaWire)


def decode_gpu_tenant(payload: bytes) -> Decoded:
    """Decode a GPUTenant. One that breaks a rule makes its namespace ambiguous (design 2).

    Where its name can be no tenant's namespace there is nothing to make ambiguous: it is left out.
    """
    try:
        wire = read(payload, _GPU_TENANT)
    except WireError as error:
        ref, problem = fragment_of(payload).ref, str(error)
        spec = GPUTenantSpec()
    else:
        ref, spec = ref_of(wire.metadata), wire.spec or GPUTenantSpec()
        problem = "; ".join(_broken_rules(ref.name, spec))
    if not _can_be_tenant(ref.name):
        return Decoded(ref=ref, value=None, problem=problem)
    if problem:
        return Decoded(ref=ref, value=DeclaredTenant(readable=False), problem=problem)
    value = DeclaredTenant(
        parent=spec.parent or None,
        budgets=tuple(sorted((each.class_name, each.units) for each in spec.budgets or ())),
        entitlements=tuple(sorted(each.class_name for each in spec.entitlements or ())),
    )
    return Decoded(ref=ref, value=value)


def decode_release(payload: bytes) -> Decoded:
    """Decode a HelmRelease; one that stands for no tenant says nothing.

    One that cannot be read may stand for a tenant where its name is like a tenant's release.
    """
    try:
        wire = read(payload, _RELEASE)
    except WireError as error:
        ref = fragment_of(payload).ref
        tenant = ref.name.startswith("tenant-")
        value = TenantRelease(readable=False) if tenant else None
        return Decoded(ref=ref, value=value, problem=str(error))
    labels = wire.metadata.labels
    tenant = labels is not None and labels.application_kind == "Tenant"
    return Decoded(ref=ref_of(wire.metadata), value=TenantRelease() if tenant else None)


def decode_quota(payload: bytes) -> Decoded:
    """Decode a ResourceQuota; only the one that the platform renders for a tenant counts.

    Kubernetes counts extended resources under `requests.` alone, so `limits.` is not read.
    """
    ref = fragment_of(payload).ref
    if ref.name != QUOTA_NAME:
        return Decoded(ref=ref, value=None)
    try:
        wire = read(payload, _QUOTA)
        hard = _hard((wire.spec.hard if wire.spec else None) or {})
    except WireError as error:
        return Decoded(ref=ref, value=TenantQuota(readable=False), problem=str(error))
    except InvalidQuantityError:
        problem = "spec.hard has a value for a device that is no quantity"
        return Decoded(ref=ref, value=TenantQuota(readable=False), problem=problem)
    return Decoded(ref=ref, value=TenantQuota(hard=hard))


def _hard(quantities: Mapping[str, object]) -> tuple[tuple[str, int], ...]:
    """Return whole units by resource: a budget rounds down. Raises InvalidQuantityError."""
    return tuple(
        sorted(
            (resource, math.floor(exact(value)))
            for key, value in quantities.items()
            if key.startswith(_REQUESTS) and is_extended(resource := key.removeprefix(_REQUESTS))
        )
    )


def _can_be_tenant(name: str) -> bool:
    return is_tenant_namespace(name) and len(name) <= _NAMESPACE_MAX_LENGTH


def _broken_rules(name: str, spec: GPUTenantSpec) -> Iterator[str]:
    """Yield each rule that a GPUTenant breaks."""
    if not _can_be_tenant(name):
        yield "metadata.name must be the name of a tenant's namespace"
    if name == ROOT_TENANT and spec.parent:
        yield f"spec.parent must be absent for {ROOT_TENANT}"
    if spec.parent == name:
        yield "spec.parent must differ from metadata.name"
    budgets = spec.budgets or ()
    yield from _broken_names("budgets", [each.class_name for each in budgets])
    if not all(0 <= each.units <= _MAX_UNITS for each in budgets):
        yield f"spec.budgets[].units must be 0 to {_MAX_UNITS}"
    entitlements = spec.entitlements or ()
    yield from _broken_names("entitlements", [each.class_name for each in entitlements])


def _broken_names(field: str, names: Sequence[str]) -> Iterator[str]:
    if not all(is_class_name(name) for name in names):
        yield f"spec.{field}[].className must be the name of a class"
    if len(set(names)) != len(names):
        yield f"spec.{field} must not repeat a className"
