"""What the calculation answers: closed sets and the parts that an option is composed of.

A part changes only when an input of it changed; views give each part a revision of its own
(design 5, 6).
"""

from dataclasses import dataclass
from enum import Enum
from typing import Final

from storage.model.objects import GPUClass


class Requestable(Enum):
    """Reasons of the condition Requestable, in the order in which they are given (domain 4.3)."""

    CLASS_UNKNOWN = "ClassUnknown"
    TENANT_AMBIGUOUS = "TenantAmbiguous"
    BUDGET_UNKNOWN = "BudgetUnknown"
    ADMISSION_DISABLED = "AdmissionDisabled"
    RESOURCE_NAME_CONFLICT = "ResourceNameConflict"
    RESOURCE_NOT_PERMITTED = "ResourceNotPermitted"
    NOT_ENTITLED = "NotEntitled"
    LICENSE_UNKNOWN = "LicenseUnknown"
    LICENSE_NOT_READY = "LicenseNotReady"
    BUDGET_EXHAUSTED = "BudgetExhausted"
    ALLOWED = "Allowed"


class Startable(Enum):
    """Reasons of the condition Startable, in the order in which they are given (domain 4.3)."""

    REQUESTABLE_UNKNOWN = "RequestableUnknown"
    NOT_REQUESTABLE = "NotRequestable"
    CAPACITY_UNKNOWN = "CapacityUnknown"
    CAPACITY_HIDDEN = "CapacityHidden"
    NO_CAPACITY = "NoCapacity"
    FITS = "Fits"


class Entitlement(Enum):
    """Whether a tenant may use a class that needs an entitlement."""

    NOT_REQUIRED = "NotRequired"
    GRANTED = "Granted"
    MISSING = "Missing"
    UNKNOWN = "Unknown"  # tenants cannot be read; never shown: the field is absent then


class License(Enum):
    """Whether the Secret with a class's license is in the tenant's namespace."""

    NOT_REQUIRED = "NotRequired"
    READY = "Ready"
    MISSING = "Missing"
    UNKNOWN = "Unknown"


class BudgetState(Enum):
    """What is known of a tenant's budget for a class."""

    BOUNDED = "Bounded"
    UNBOUNDED = "Unbounded"
    UNKNOWN = "Unknown"
    AMBIGUOUS = "Ambiguous"  # two owners or a loop; shown as Unknown with reason TenantAmbiguous


@dataclass(frozen=True, slots=True)
class Budget:
    """What is left for a tenant in a class."""

    state: BudgetState
    remaining: int | None = None  # 0 or more; only where Bounded


@dataclass(frozen=True, slots=True)
class Capacity:
    """Free units of a class by physics (domain 3.4); both None while unknown."""

    free: int | None  # over all nodes that can take the class
    largest: int | None  # of the node with most free units, not capped by the offer


UNKNOWN_CAPACITY: Final = Capacity(None, None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """A class that is not being deleted, and what other classes and KubeVirt make of it."""

    gpu_class: GPUClass
    conflict: bool  # another class, terminating ones included, names the same resource
    permitted: bool | None  # None while the KubeVirt object cannot be read


class Status(Enum):
    """Status of a condition."""

    TRUE = "True"
    FALSE = "False"
    UNKNOWN = "Unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolFigures:
    """One pool as the hoster sees it (domain 3.3); a tenant is told `remaining` alone."""

    budget: int
    carved: int  # stated by the pools directly below, used or not
    shared: int
    used: int  # by the namespaces that draw from this pool
    subtree: int  # by the root and everything below it, whatever pool that draws from
    overcommit: int
    remaining: int | None  # None where something it depends on cannot be told


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedParts:
    """Keys of the parts whose value differs from the one last taken.

    An option of (namespace, class) depends on `everything`, `offers` and `capacities` of the class,
    `licenses` of the pair, `license_sources` of the class, `tenants` and `links` of each namespace
    in `PoolView.lineage(namespace)`, and, where `PoolView.link` names a root, `pools` of (root,
    class). On nothing else. An offer depends on `offers` and `capacities` of its class.

    The greatest revision over these never falls: whenever a lineage or a link changes, `tenants` or
    `links` names one of its namespaces. What has gone must keep its revision for that.
    """

    everything: bool  # whether budgets can be believed at all has changed
    offers: frozenset[str]  # classes whose offer came, went or reads differently
    capacities: frozenset[str]  # classes whose free units differ
    pools: frozenset[tuple[str, str]]  # (root, class) where what remains differs
    tenants: frozenset[str]  # namespaces whose record came or went, or that turned (un)clear
    links: frozenset[tuple[str, str]]  # (namespace, class): another pool, another entitlement
    licenses: frozenset[tuple[str, str]]  # (namespace, class) whose Secret came or went
    license_sources: frozenset[str]  # classes whose Secret became readable, or no longer is

    def __bool__(self) -> bool:
        """Whether anything differs."""
        return self != _NOTHING_CHANGED


_NOTHING_CHANGED: Final = ChangedParts(
    everything=False,
    offers=frozenset(),
    capacities=frozenset(),
    pools=frozenset(),
    tenants=frozenset(),
    links=frozenset(),
    licenses=frozenset(),
    license_sources=frozenset(),
)
