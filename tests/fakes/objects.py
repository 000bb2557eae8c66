"""Objects as an API server sends them, for tests of what reads them."""

from typing import Any

import msgspec

CREATED = "2025-03-01T10:00:00Z"


def in_json(value: object) -> bytes:
    """Return a value as it goes over the wire."""
    return msgspec.json.encode(value)


def merged(base: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    """Return `base` with members replaced, level by level; None takes a member away."""
    result = dict(base)
    for key, value in changes.items():
        if value is None:
            result.pop(key, None)
        elif isinstance(value, dict) and isinstance(result.get(key), dict):
            result[key] = merged(result[key], value)
        else:
            result[key] = value
    return result


def a_class(**spec: Any) -> dict[str, Any]:
    """Return a GPUClass named l40s; arguments replace members of its spec."""
    return {
        "apiVersion": "gpu.cozystack.io/v1alpha1",
        "kind": "GPUClass",
        "metadata": {"name": "l40s", "uid": "uid-l40s", "creationTimestamp": CREATED},
        "spec": merged(
            {
                "vendor": "nvidia",
                "mode": "passthrough",
                "resourceName": "nvidia.com/AD102GL_L40S",
                "maxCount": 4,
            },
            spec,
        ),
    }


def a_tenant(name: str, **spec: Any) -> dict[str, Any]:
    """Return a GPUTenant."""
    return {
        "apiVersion": "gpu.cozystack.io/v1alpha1",
        "kind": "GPUTenant",
        "metadata": {"name": name, "uid": f"uid-{name}"},
        "spec": spec,
    }


def a_release(namespace: str, name: str, kind: str = "Tenant") -> dict[str, Any]:
    """Return the HelmRelease of an application."""
    labels = {"apps.cozystack.io/application.kind": kind}
    return {
        "apiVersion": "helm.toolkit.fluxcd.io/v2",
        "kind": "HelmRelease",
        "metadata": {"name": name, "namespace": namespace, "labels": labels},
    }


def a_quota(namespace: str, hard: dict[str, Any], name: str = "tenant-quota") -> dict[str, Any]:
    """Return a ResourceQuota."""
    return {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"hard": hard},
    }


def a_vmi(annotation: str | None = None, **changes: Any) -> dict[str, Any]:
    """Return a running VMI tenant-a/vm; arguments replace members of it."""
    metadata: dict[str, Any] = {"name": "vm", "namespace": "tenant-a", "uid": "uid-vm"}
    if annotation is not None:
        metadata["annotations"] = {"gpu.cozystack.io/classes": annotation, "other": "x"}
    base = {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachineInstance",
        "metadata": metadata,
        "spec": {"domain": {"devices": {}}},
        "status": {"phase": "Running"},
    }
    return merged(base, changes)


def a_pod(**changes: Any) -> dict[str, Any]:
    """Return a running pod tenant-a/pod on zq-node that asks for one x.com/gpu."""
    base = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "pod", "namespace": "tenant-a", "uid": "uid-pod"},
        "spec": {
            "nodeName": "zq-node",
            "containers": [{"name": "main", "resources": {"requests": {"x.com/gpu": "1"}}}],
        },
        "status": {"phase": "Running"},
    }
    return merged(base, changes)


def a_node(name: str = "zq-node", **changes: Any) -> dict[str, Any]:
    """Return a node that can take VMs and has 8 x.com/gpu."""
    base = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubevirt.io/schedulable": "true", "other": "x"}},
        "status": {
            "allocatable": {"cpu": "8", "x.com/gpu": "8"},
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }
    return merged(base, changes)


def a_kubevirt(table: object, **changes: Any) -> dict[str, Any]:
    """Return a KubeVirt object with this table of permitted devices."""
    base = {
        "apiVersion": "kubevirt.io/v1",
        "kind": "KubeVirt",
        "metadata": {"name": "kubevirt", "namespace": "kubevirt", "creationTimestamp": CREATED},
        "spec": {"configuration": {"permittedHostDevices": table}},
    }
    return merged(base, changes)


def a_secret(namespace: str, name: str) -> dict[str, Any]:
    """Return a Secret with something in it that nobody may look at."""
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": name, "namespace": namespace},
        "data": {"token": 7},
    }
