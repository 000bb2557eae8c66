"""What decoding an object gives: its place, what it says, and what could not be understood."""

from dataclasses import dataclass
from typing import TypeAlias

from storage.model.objects import VMI, GPUClass, KubeVirt, Node, Pod


@dataclass(frozen=True, slots=True, order=True)
class Ref:
    """An object's place within its kind; the namespace is "" for cluster-scoped kinds."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredTenant:
    """A GPUTenant (domain 2.3a)."""

    parent: str | None = None
    budgets: tuple[tuple[str, int], ...] = ()  # (class name, units), by class name
    entitlements: tuple[str, ...] = ()  # class names, sorted
    readable: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class TenantRelease:
    """A HelmRelease that stands for a tenant (domain 2.3b)."""

    readable: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class TenantQuota:
    """The ResourceQuota of a tenant's namespace (domain 2.3b)."""

    # (resource name, units) of each `requests.` key of an extended resource, rounded down, by name.
    hard: tuple[tuple[str, int], ...] = ()
    readable: bool = True


TenantValue: TypeAlias = DeclaredTenant | TenantRelease | TenantQuota

#: A Secret's value is its Ref: nothing of it is read but its being there (design 2).
Value: TypeAlias = GPUClass | KubeVirt | VMI | Pod | Node | TenantValue | Ref


@dataclass(frozen=True, slots=True, kw_only=True)
class Decoded:
    """One object as it was understood."""

    ref: Ref
    value: Value | None  # None: it says nothing to the calculation, or is left out
    problem: str = ""  # what could not be understood; tells neither values nor names
    origin: str = ""  # where it is written, of one that could not be understood; "": in a cluster

    @property
    def counts(self) -> bool:
        """Whether there is anything to keep of it."""
        return self.value is not None or bool(self.problem)
