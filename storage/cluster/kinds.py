"""The kinds that are read, and which source of the calculation each feeds (domain 2, design 2)."""

from collections.abc import Mapping
from enum import Enum
from typing import Final

from storage.model.names import CRD_GROUP
from storage.model.snapshot import Source


class Kind(Enum):
    """A kind that is read: API group, kind, and whether its objects live in namespaces."""

    GPU_CLASS = (CRD_GROUP, "GPUClass", False)
    GPU_TENANT = (CRD_GROUP, "GPUTenant", False)
    HELM_RELEASE = ("helm.toolkit.fluxcd.io", "HelmRelease", True)
    RESOURCE_QUOTA = ("", "ResourceQuota", True)
    KUBEVIRT = ("kubevirt.io", "KubeVirt", True)
    VMI = ("kubevirt.io", "VirtualMachineInstance", True)
    POD = ("", "Pod", True)
    NODE = ("", "Node", False)
    SECRET = ("", "Secret", True)

    def __init__(self, group: str, kind: str, namespaced: bool) -> None:
        self.group = group
        self.kind = kind
        self.namespaced = namespaced


#: Kinds whose objects are one object of the model each. Tenants are put together by a reader, and
#: Secrets are counted by name.
DIRECT_SOURCES: Final[Mapping[Kind, Source]] = {
    Kind.GPU_CLASS: Source.CLASSES,
    Kind.KUBEVIRT: Source.KUBEVIRT,
    Kind.VMI: Source.VMIS,
    Kind.POD: Source.PODS,
    Kind.NODE: Source.NODES,
}

_BY_NAME: Final = {(kind.group, kind.kind): kind for kind in Kind}


def group_of(api_version: str) -> str:
    """Return the group of an apiVersion; "" for the core group."""
    group, slash, _ = api_version.rpartition("/")
    return group if slash else ""


def kind_named(api_version: str, kind: str) -> Kind | None:
    """Return the kind that is read under this name, whatever its version; None: it is not read."""
    return _BY_NAME.get((group_of(api_version), kind))
