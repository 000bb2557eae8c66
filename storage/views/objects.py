"""The computed objects as values, without a wire format."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Meta:
    """An object's metadata; all of it equal on every replica but the revision."""

    name: str
    namespace: str  # "" for cluster-scoped objects
    uid: str
    created: str | None  # RFC 3339; None: the field is absent
    labels: Mapping[str, str]  # empty: the field is absent
    revision: int  # resourceVersion


@dataclass(frozen=True, slots=True)
class Condition:
    """One condition; status is True, False or Unknown, the message one sentence of samples/92."""

    type: str
    status: str
    reason: str
    message: str


def shown_reason(conditions: Sequence[Condition]) -> str:
    """Return the reason of the first condition that is not True, else of the last one."""
    for condition in conditions:
        if condition.status != "True":
            return condition.reason
    return conditions[-1].reason


@dataclass(frozen=True, slots=True, kw_only=True)
class OfferSpec:
    """The offer as the hoster states it; None: the field is absent."""

    display_name: str | None
    description: str | None
    vendor: str
    mode: str
    memory_per_unit: str | None
    max_count: int
    allowed_counts: tuple[int, ...] | None


@dataclass(frozen=True, slots=True)
class CapacityView:
    """status.capacity; the numbers are None, so absent, where domain 4.1 says so."""

    state: str  # Known, Unknown, Hidden
    free: int | None = None
    largest_fit: int | None = None


@dataclass(frozen=True, slots=True)
class BudgetView:
    """status.budget."""

    state: str  # Bounded, Unbounded, Unknown
    remaining: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GPUClassOption:
    """What one tenant is told about one class (domain 4.1)."""

    meta: Meta
    spec: OfferSpec
    capacity: CapacityView
    budget: BudgetView
    entitlement: str | None  # None while tenants cannot be read: absent
    requestable_count: int | None
    startable_count: int | None
    conditions: tuple[Condition, ...]  # Requestable, Startable


@dataclass(frozen=True, slots=True, kw_only=True)
class GPUClassOffer:
    """What everybody is told about one class: the option less the asking tenant's part."""

    meta: Meta
    spec: OfferSpec
    capacity: CapacityView
    startable_count: int | None
    conditions: tuple[Condition, ...]  # Startable


@dataclass(frozen=True, slots=True)
class ConsoleItem:
    """One entry of the console's dropdown; never marked as the default (domain 4.4)."""

    value: str
    label: str
    description: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsoleOption:
    """The options of one tenant in the shape that the existing console renders."""

    meta: Meta
    items: tuple[ConsoleItem, ...]
