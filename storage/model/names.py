"""Names of the domain and what can be told from a name alone (domain 2.1, 2.4)."""

import re
from typing import Final

CRD_GROUP: Final = "gpu.cozystack.io"
OPTIONS_GROUP: Final = "options.gpu.cozystack.io"
VERSION: Final = "v1alpha1"

CLASSES_ANNOTATION: Final = "gpu.cozystack.io/classes"
VENDOR_LABEL: Final = "gpu.cozystack.io/vendor"
MODE_LABEL: Final = "gpu.cozystack.io/mode"

ROOT_TENANT: Final = "tenant-root"

#: Most units of all classes together that one VM may name (domain S17).
MAX_UNITS_PER_VM: Final = 1024

CLASS_NAME_MAX_LENGTH: Final = 40

_CLASS_NAME: Final = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?", re.ASCII)
_TENANT_NAMESPACE: Final = re.compile(r"tenant-[a-z0-9]+(-[a-z0-9]+)*", re.ASCII)


def is_class_name(name: str) -> bool:
    """Whether the name can be a class's: it becomes part of a libvirt alias (D11)."""
    return len(name) <= CLASS_NAME_MAX_LENGTH and _CLASS_NAME.fullmatch(name) is not None


def is_tenant_namespace(name: str) -> bool:
    """Whether a namespace of this name belongs to the tenant tree, recorded or not."""
    return _TENANT_NAMESPACE.fullmatch(name) is not None


def parent_by_name(namespace: str) -> str | None:
    """Return the parent that the name of a tenant's namespace tells; None for the root.

    A dash separates levels, so cutting the last word gives the parent; what has nothing left to cut
    hangs below the root. Only for names that `is_tenant_namespace` accepts.
    """
    if namespace == ROOT_TENANT:
        return None
    parent, _, _ = namespace.rpartition("-")
    return ROOT_TENANT if parent == "tenant" else parent
