"""A world of the calculation as objects of a kube-apiserver, of the size that real ones have."""

import json
from collections.abc import Iterator
from typing import Any, Final

from fakes.stub_api import StubAPI
from fakes.stub_store import (
    CLASSES,
    KUBEVIRTS,
    NODES,
    PODS,
    SECRETS,
    TENANTS,
    VMIS,
    Resource,
    Value,
)

from storage.model.names import CLASSES_ANNOTATION
from storage.model.objects import VMI, GPUClass, KubeVirt, Node, Pod, TenantRecord
from storage.model.snapshot import ClusterSnapshot

#: What other parts of a real object weigh, in the shape that they have: managed fields.
_MANAGED: Final = [
    {
        "manager": "manager",
        "operation": "Update",
        "fieldsV1": {f"f:field{number}": {"f:part": {}, "f:other": {}} for number in range(24)},
    }
]


def load_world(stub: StubAPI, world: ClusterSnapshot) -> None:
    """Let a stub hold a world."""
    for resource, values in wire_world(world):
        stub.load(resource, values)


def wire_world(world: ClusterSnapshot) -> Iterator[tuple[Resource, Iterator[Value]]]:
    """Yield each resource with its objects."""
    yield CLASSES, (class_object(each) for each in world.classes)
    yield KUBEVIRTS, (kubevirt_object(each) for each in world.kubevirts)
    yield TENANTS, (tenant_object(each) for each in world.tenants)
    yield VMIS, (vmi_object(each) for each in world.vmis)
    yield PODS, (pod_object(each) for each in world.pods)
    yield NODES, (node_object(each) for each in world.nodes)
    yield (
        SECRETS,
        (
            {"metadata": {"name": name, "namespace": namespace, "uid": f"{namespace}/{name}"}}
            for name, namespaces in world.licenses.items()
            for namespace in sorted(namespaces or ())
        ),
    )


def class_object(gpu_class: GPUClass) -> Value:
    """Return a class."""
    spec: Value = {
        "vendor": gpu_class.vendor,
        "mode": gpu_class.mode.value,
        "resourceName": gpu_class.resource_name,
        "maxCount": gpu_class.max_count,
        "tolerations": [
            {"key": each.key, "operator": "Exists" if each.exists else "Equal"}
            for each in gpu_class.tolerations
        ],
    }
    if gpu_class.allowed_counts is not None:
        spec["allowedCounts"] = list(gpu_class.allowed_counts)
    if gpu_class.license_secret is not None:
        spec["license"] = {"secretName": gpu_class.license_secret}
    meta = _meta(gpu_class.name, uid=gpu_class.uid, creationTimestamp=gpu_class.created)
    return {"metadata": meta, "spec": spec}


def kubevirt_object(kubevirt: KubeVirt) -> Value:
    """Return a KubeVirt object."""
    table = {
        "pciHostDevices": [
            {"pciVendorSelector": row.vendor_selector, "resourceName": row.resource_name}
            for row in kubevirt.pci
        ],
        "mediatedDevices": [
            {"mdevNameSelector": "x", "resourceName": name} for name in kubevirt.mediated
        ],
    }
    meta = _meta(kubevirt.name, namespace=kubevirt.namespace, creationTimestamp=kubevirt.created)
    return {"metadata": meta, "spec": {"configuration": {"permittedHostDevices": table}}}


def tenant_object(record: TenantRecord) -> Value:
    """Return a GPUTenant."""
    spec: Value = {
        "budgets": [{"className": name, "units": units} for name, units in record.budgets],
        "entitlements": [{"className": name} for name in record.entitlements],
    }
    if record.parent is not None:
        spec["parent"] = record.parent
    return {"metadata": _meta(record.namespace), "spec": spec}


def vmi_object(vmi: VMI) -> Value:
    """Return a VMI."""
    entries = [{"className": each.class_name, "count": each.count} for each in vmi.entries or ()]
    annotations = {CLASSES_ANNOTATION: json.dumps(entries)} if vmi.annotated else {}
    return {
        "metadata": _meta(vmi.name, namespace=vmi.namespace, uid=vmi.uid, annotations=annotations),
        "spec": {"domain": {"devices": {"hostDevices": [], "disks": [{"name": "root"}]}}},
        "status": {"phase": "Succeeded" if vmi.final else "Running"},
    }


def pod_object(pod: Pod) -> Value:
    """Return a pod."""
    owners: list[Value] = []
    if pod.vmi_uid:
        owner = {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachineInstance"}
        owners = [{**owner, "name": "vm", "uid": pod.vmi_uid, "controller": True}]
    requests: dict[str, Any] = {name: str(units) for name, units in pod.requests}
    main = {"name": "compute", "resources": {"requests": {"cpu": "1", **requests}}}
    return {
        "metadata": _meta(pod.name, namespace=pod.namespace, uid=pod.uid, ownerReferences=owners),
        "spec": {"nodeName": pod.node, "containers": [main]},
        "status": {"phase": "Succeeded" if pod.final else "Running"},
    }


def node_object(node: Node) -> Value:
    """Return a node."""
    schedulable = {"kubevirt.io/schedulable": "true" if node.kubevirt_schedulable else "false"}
    return {
        "metadata": _meta(node.name, labels=schedulable),
        "spec": {
            "unschedulable": node.unschedulable,
            "taints": [
                {"key": each.key, "value": each.value, "effect": each.effect}
                for each in node.taints
            ],
        },
        "status": {
            "allocatable": {"cpu": "64", **{name: str(n) for name, n in node.allocatable}},
            "conditions": [{"type": "Ready", "status": "True" if node.ready else "False"}],
        },
    }


def _meta(name: str, **members: Any) -> Value:
    return {"name": name, "managedFields": _MANAGED, **members}
