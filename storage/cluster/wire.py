"""The shapes of objects as they come over the wire: the only place that knows them.

Structs name only the fields that are read, so everything else is skipped unbuilt, and hold tuples
without garbage collection (runtime 7). Maps of quantities stay untyped: most are never looked at,
and one odd value must not spoil its object. A field that is null counts as absent, as in Go.
"""

from typing import Any

from msgspec import Struct, field

from storage.model.names import CLASSES_ANNOTATION


class ClassAnnotations(Struct, gc=False):
    """The one annotation that is read."""

    classes: str | None = field(name=CLASSES_ANNOTATION, default=None)


class OwnerReference(Struct, gc=False, rename="camel"):
    """metadata.ownerReferences[]."""

    api_version: str = ""
    kind: str = ""
    uid: str = ""
    controller: bool | None = None


class ObjectMeta(Struct, gc=False, rename="camel"):
    """metadata, as far as any kind needs it."""

    name: str
    namespace: str | None = None
    uid: str = ""
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None


class TolerationWire(Struct, gc=False):
    """GPUClass spec.tolerations[]."""

    key: str = ""
    operator: str | None = None
    value: str | None = None
    effect: str | None = None


class LicenseWire(Struct, gc=False, rename="camel"):
    """GPUClass spec.license."""

    secret_name: str


class GPUClassSpec(Struct, gc=False, rename="camel"):
    """GPUClass spec."""

    vendor: str
    mode: str
    resource_name: str
    max_count: int
    allowed_counts: tuple[int, ...] | None = None
    memory_per_unit: str | int | None = None
    display_name: str | None = None
    description: str | None = None
    tolerations: tuple[TolerationWire, ...] | None = None
    license: LicenseWire | None = None


class GPUClassWire(Struct, gc=False):
    """GPUClass (domain 2.2)."""

    metadata: ObjectMeta
    spec: GPUClassSpec


class BudgetWire(Struct, gc=False, rename="camel"):
    """GPUTenant spec.budgets[]."""

    class_name: str
    units: int


class EntitlementWire(Struct, gc=False, rename="camel"):
    """GPUTenant spec.entitlements[]."""

    class_name: str


class GPUTenantSpec(Struct, gc=False):
    """GPUTenant spec."""

    parent: str | None = None
    budgets: tuple[BudgetWire, ...] | None = None
    entitlements: tuple[EntitlementWire, ...] | None = None


class GPUTenantWire(Struct, gc=False):
    """GPUTenant (domain 2.3a)."""

    metadata: ObjectMeta
    spec: GPUTenantSpec | None = None


class ReleaseLabels(Struct, gc=False):
    """What tells a tenant's HelmRelease from others."""

    application_kind: str | None = field(name="apps.cozystack.io/application.kind", default=None)


class ReleaseMeta(ObjectMeta, gc=False, rename="camel"):
    """metadata of a HelmRelease."""

    labels: ReleaseLabels | None = None


class HelmReleaseWire(Struct, gc=False):
    """HelmRelease (domain 2.3b)."""

    metadata: ReleaseMeta


class QuotaSpec(Struct, gc=False):
    """ResourceQuota spec."""

    hard: dict[str, Any] | None = None


class ResourceQuotaWire(Struct, gc=False):
    """ResourceQuota (domain 2.3b)."""

    metadata: ObjectMeta
    spec: QuotaSpec | None = None


class PCIRowWire(Struct, gc=False, rename="camel"):
    """A row of pciHostDevices."""

    pci_vendor_selector: str
    resource_name: str


class MediatedRowWire(Struct, gc=False, rename="camel"):
    """A row of mediatedDevices."""

    resource_name: str


class PermittedHostDevices(Struct, gc=False, rename="camel"):
    """permittedHostDevices; rows are read one by one, so that a bad one spoils only itself."""

    pci_host_devices: tuple[Any, ...] | None = None
    mediated_devices: tuple[Any, ...] | None = None


class KubeVirtConfiguration(Struct, gc=False, rename="camel"):
    """KubeVirt spec.configuration."""

    permitted_host_devices: PermittedHostDevices | None = None


class KubeVirtSpec(Struct, gc=False):
    """KubeVirt spec."""

    configuration: KubeVirtConfiguration | None = None


class KubeVirtWire(Struct, gc=False):
    """KubeVirt (domain 5.4)."""

    metadata: ObjectMeta
    spec: KubeVirtSpec | None = None


class DeviceWire(Struct, gc=False, rename="camel"):
    """A member of devices.gpus or devices.hostDevices; one with a claim has no deviceName."""

    name: str = ""
    device_name: str | None = None


class Devices(Struct, gc=False, rename="camel"):
    """VMI spec.domain.devices."""

    gpus: tuple[DeviceWire, ...] | None = None
    host_devices: tuple[DeviceWire, ...] | None = None


class Domain(Struct, gc=False):
    """VMI spec.domain."""

    devices: Devices | None = None


class VMISpec(Struct, gc=False):
    """VMI spec."""

    domain: Domain | None = None


class PhaseStatus(Struct, gc=False):
    """status of a VMI or a pod."""

    phase: str | None = None


class VMIMeta(ObjectMeta, gc=False, rename="camel"):
    """metadata of a VMI."""

    annotations: ClassAnnotations | None = None


class VMIWire(Struct, gc=False):
    """VirtualMachineInstance (domain 3.2)."""

    metadata: VMIMeta
    spec: VMISpec | None = None
    status: PhaseStatus | None = None


class Resources(Struct, gc=False):
    """A container's resources."""

    requests: dict[str, Any] | None = None
    limits: dict[str, Any] | None = None


class Container(Struct, gc=False, rename="camel"):
    """A container or an init container."""

    resources: Resources | None = None
    restart_policy: str | None = None


class PodSpec(Struct, gc=False, rename="camel"):
    """Pod spec."""

    node_name: str | None = None
    containers: tuple[Container, ...] | None = None
    init_containers: tuple[Container, ...] | None = None
    overhead: dict[str, Any] | None = None


class PodMeta(ObjectMeta, gc=False, rename="camel"):
    """metadata of a pod."""

    deletion_grace_period_seconds: int | None = None
    owner_references: tuple[OwnerReference, ...] | None = None


class PodWire(Struct, gc=False):
    """Pod (domain 3.2)."""

    metadata: PodMeta
    spec: PodSpec | None = None
    status: PhaseStatus | None = None


class NodeLabels(Struct, gc=False):
    """The one label that is read."""

    schedulable: str | None = field(name="kubevirt.io/schedulable", default=None)


class NodeMeta(ObjectMeta, gc=False, rename="camel"):
    """metadata of a node."""

    labels: NodeLabels | None = None


class TaintWire(Struct, gc=False):
    """Node spec.taints[]."""

    key: str
    effect: str
    value: str | None = None


class NodeSpec(Struct, gc=False):
    """Node spec."""

    unschedulable: bool | None = None
    taints: tuple[TaintWire, ...] | None = None


class NodeCondition(Struct, gc=False):
    """Node status.conditions[]."""

    type: str
    status: str


class NodeStatus(Struct, gc=False):
    """Node status."""

    allocatable: dict[str, Any] | None = None
    conditions: tuple[NodeCondition, ...] | None = None


class NodeWire(Struct, gc=False):
    """Node (domain 3.4)."""

    metadata: NodeMeta
    spec: NodeSpec | None = None
    status: NodeStatus | None = None
