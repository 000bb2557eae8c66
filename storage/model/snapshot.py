"""One state of the cluster, and the changes that lead from one to the next."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import TypeAlias, assert_never

from storage.model.objects import VMI, GPUClass, KubeVirt, Node, Pod, TenantRecord


class Source(Enum):
    """A kind of objects that is read as a whole; license Secrets are known by name each instead."""

    CLASSES = "classes"
    KUBEVIRT = "kubevirt"
    TENANTS = "tenants"
    VMIS = "vmis"
    PODS = "pods"
    NODES = "nodes"


Object: TypeAlias = GPUClass | KubeVirt | TenantRecord | VMI | Pod | Node


def key_of(obj: Object) -> tuple[Source, str]:
    """Return the source an object belongs to and its key there."""
    match obj:  # those that are most first
        case Pod():
            return Source.PODS, f"{obj.namespace}/{obj.name}"
        case VMI():
            return Source.VMIS, f"{obj.namespace}/{obj.name}"
        case Node():
            return Source.NODES, obj.name
        case TenantRecord():
            return Source.TENANTS, obj.key
        case GPUClass():
            return Source.CLASSES, obj.name
        case KubeVirt():
            return Source.KUBEVIRT, f"{obj.namespace}/{obj.name}"
        case _:
            assert_never(obj)


@dataclass(frozen=True, slots=True)
class Put:
    """An object is there, or is there with other content."""

    obj: Object


@dataclass(frozen=True, slots=True)
class Drop:
    """The object of this key has gone."""

    source: Source
    key: str


@dataclass(frozen=True, slots=True)
class Known:
    """Whether a source may be believed now: it was listed and heard of recently."""

    source: Source
    known: bool


@dataclass(frozen=True, slots=True)
class Licenses:
    """The namespaces that hold a Secret of this name; None while that cannot be read."""

    secret_name: str
    namespaces: frozenset[str] | None


@dataclass(frozen=True, slots=True)
class Tick:
    """The clock, in epoch milliseconds."""

    now_ms: int


Change: TypeAlias = Put | Drop | Known | Licenses | Tick


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """What flags decide of the calculation."""

    gpu_resource_names: frozenset[str] = frozenset()  # gpu.resourceNames
    not_gpu_resource_names: frozenset[str] = frozenset()  # gpu.notGpuResourceNames
    admission_disabled: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterSnapshot:
    """One state of the cluster. Objects of a source are unique by `key_of`, in any order."""

    classes: tuple[GPUClass, ...] = ()
    kubevirts: tuple[KubeVirt, ...] = ()
    tenants: tuple[TenantRecord, ...] = ()
    vmis: tuple[VMI, ...] = ()
    pods: tuple[Pod, ...] = ()
    nodes: tuple[Node, ...] = ()
    # By Secret name: the namespaces that hold one, or None; a name that is absent cannot be read.
    licenses: Mapping[str, frozenset[str] | None] = field(default_factory=dict)
    known: frozenset[Source] = frozenset(Source)
    now_ms: int = 0
