"""The cluster's objects, reduced to what the calculation reads.

Every type is frozen and holds tuples only, so that one snapshot can be shared by whoever reads it.
An object that could not be understood is here too, marked as not readable: leaving it out would
make a figure too good (design 2).
"""

from dataclasses import dataclass
from enum import Enum

from storage.model.entries import ClassEntry


class Mode(Enum):
    """How a class's devices reach the guest."""

    PASSTHROUGH = "passthrough"
    VGPU = "vgpu"


@dataclass(frozen=True, slots=True, kw_only=True)
class Toleration:
    """One toleration of a class; an empty effect means every effect."""

    key: str
    exists: bool  # operator Exists; otherwise Equal
    value: str = ""
    effect: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Taint:
    """One taint of a node."""

    key: str
    value: str
    effect: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GPUClass:
    """An offer of the hoster's (domain 2.2)."""

    name: str
    uid: str
    created: str  # creationTimestamp as RFC 3339
    vendor: str
    mode: Mode
    resource_name: str
    max_count: int  # units of this class in one VM, 1 to 1024
    allowed_counts: tuple[int, ...] | None = None  # ascending, without repeats; None: any from 1
    memory_per_unit: str | None = None  # a quantity, display only
    display_name: str | None = None
    description: str | None = None
    tolerations: tuple[Toleration, ...] = ()
    license_secret: str | None = None  # a Secret of that name in the tenant's namespace
    terminating: bool = False  # deletionTimestamp is set


@dataclass(frozen=True, slots=True, kw_only=True)
class TenantRecord:
    """What one object of the tenant source says of one namespace (domain 2.3).

    Two records may own one namespace; it is ambiguous then (domain 2.4).
    """

    key: str  # identity of the source object, unique among records
    namespace: str
    parent: str | None = None  # as stated; None: taken from the name
    budgets: tuple[tuple[str, int], ...] = ()  # (class name, units), by class name
    entitlements: tuple[str, ...] = ()  # class names, sorted
    readable: bool = True  # False: the namespace is ambiguous
    budget_readable: bool = True  # False: the namespace's budget is unknown


@dataclass(frozen=True, slots=True, kw_only=True)
class VMI:
    """A VirtualMachineInstance: what it is charged for."""

    namespace: str
    name: str
    uid: str
    final: bool = False  # phase Succeeded or Failed
    annotated: bool = False  # has the class annotation, readable or not
    entries: tuple[ClassEntry, ...] | None = None  # the annotation's; None: absent or unreadable
    # Names of devices.gpus; read only where the annotation is unreadable, and empty elsewhere.
    unit_names: tuple[str, ...] = ()
    # deviceName of every member of devices.gpus and devices.hostDevices that has one.
    devices: tuple[str, ...] = ()
    readable: bool = True  # False: the pools of its namespace are unknown


@dataclass(frozen=True, slots=True, kw_only=True)
class Pod:
    """A pod: what it is charged for, what it holds on its node."""

    namespace: str
    name: str
    uid: str
    node: str | None = None  # spec.nodeName
    final: bool = False  # phase Succeeded or Failed
    # Epoch milliseconds of deletionTimestamp plus deletionGracePeriodSeconds; None unless both are
    # set.
    charged_until_ms: int | None = None
    vmi_uid: str | None = None  # controller owner of kind VirtualMachineInstance, group kubevirt.io
    requests: tuple[
        tuple[str, int], ...
    ] = ()  # effective request of each extended resource, above 0
    readable: bool = True  # False: pools of its namespace unknown, its node has no free unit
    astray: bool = False  # not readable, not even its node: it may hold devices on any of them


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A node: what it can take."""

    name: str
    unschedulable: bool = False
    deleting: bool = False
    ready: bool = False  # condition Ready is True
    kubevirt_schedulable: bool = False  # label kubevirt.io/schedulable is "true"
    taints: tuple[Taint, ...] = ()
    allocatable: tuple[tuple[str, int], ...] = ()  # extended resources in whole units, rounded down


@dataclass(frozen=True, slots=True, kw_only=True)
class PCIRow:
    """A row of permittedHostDevices.pciHostDevices."""

    vendor_selector: str
    resource_name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class KubeVirt:
    """A KubeVirt object's table of permitted devices."""

    namespace: str
    name: str
    created: str  # creationTimestamp as RFC 3339
    pci: tuple[PCIRow, ...] = ()
    mediated: tuple[str, ...] = ()  # resourceName of each mediatedDevices row
