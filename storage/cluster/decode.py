"""From an object's JSON to the model, whatever its kind (design 2).

Nothing raises out of here: an object that cannot be understood comes out as what is safe to believe
of its kind, with a problem that says what is wrong.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

import msgspec

from storage.cluster.classes import decode_class
from storage.cluster.decoded import Decoded, Ref
from storage.cluster.kinds import Kind
from storage.cluster.quantities import allocatable
from storage.cluster.reading import (
    WireError,
    fragment_of,
    read,
    read_row,
    ref_of,
    text_in,
)
from storage.cluster.tenant_objects import decode_gpu_tenant, decode_quota, decode_release
from storage.cluster.wire import (
    KubeVirtWire,
    MediatedRowWire,
    NodeSpec,
    NodeStatus,
    NodeWire,
    PCIRowWire,
    PermittedHostDevices,
)
from storage.cluster.workloads import decode_pod, decode_vmi
from storage.model.objects import KubeVirt, Node, PCIRow, Taint

_KUBEVIRT: Final = msgspec.json.Decoder(KubeVirtWire)
_NODE: Final = msgspec.json.Decoder(NodeWire)


def decode(kind: Kind, payload: bytes) -> Decoded:
    """Decode one object of a kind."""
    decoded = _DECODERS[kind](payload)
    if decoded.ref.namespace and not kind.namespaced:
        # The API server would have refused the field; the object's place is its name alone.
        return replace(decoded, ref=Ref("", decoded.ref.name))
    return decoded


def decode_node(payload: bytes) -> Decoded:
    """Decode a node; one that has not its shape is left out (domain 3.4)."""
    try:
        wire = read(payload, _NODE)
    except WireError as error:
        return Decoded(ref=fragment_of(payload).ref, value=None, problem=str(error))
    spec, status = wire.spec or NodeSpec(), wire.status or NodeStatus()
    labels = wire.metadata.labels
    units, senseless = allocatable(status.allocatable or {})
    node = Node(
        name=wire.metadata.name,
        unschedulable=bool(spec.unschedulable),
        deleting=wire.metadata.deletion_timestamp is not None,
        ready=any(
            each.type == "Ready" and each.status == "True" for each in status.conditions or ()
        ),
        kubevirt_schedulable=labels is not None and labels.schedulable == "true",
        taints=tuple(
            Taint(key=each.key, value=each.value or "", effect=each.effect)
            for each in spec.taints or ()
        ),
        allocatable=units,
    )
    problem = "status.allocatable has a value that is no quantity" if senseless else ""
    return Decoded(ref=ref_of(wire.metadata), value=node, problem=problem)


def decode_kubevirt(payload: bytes) -> Decoded:
    """Decode a KubeVirt object; a row that has not its shape is left out.

    An object that has not its shape stays, with an empty table: were it left out, the table of a
    younger one would count.
    """
    try:
        wire = read(payload, _KUBEVIRT)
    except WireError as error:
        fragment = fragment_of(payload)
        ref, problem = fragment.ref, str(error)
        created = text_in(fragment.metadata, "creationTimestamp")
        table = PermittedHostDevices()
    else:
        ref, problem = ref_of(wire.metadata), ""
        created = wire.metadata.creation_timestamp or ""
        configuration = wire.spec.configuration if wire.spec else None
        table = (
            configuration.permitted_host_devices if configuration else None
        ) or PermittedHostDevices()
    pci = [read_row(row, PCIRowWire) for row in table.pci_host_devices or ()]
    mediated = [read_row(row, MediatedRowWire) for row in table.mediated_devices or ()]
    if None in pci or None in mediated:
        problem = "a row of permittedHostDevices does not have the expected shape"
    value = KubeVirt(
        namespace=ref.namespace,
        name=ref.name,
        created=created,
        pci=tuple(
            PCIRow(vendor_selector=row.pci_vendor_selector, resource_name=row.resource_name)
            for row in pci
            if row
        ),
        mediated=tuple(row.resource_name for row in mediated if row),
    )
    return Decoded(ref=ref, value=value, problem=problem)


def decode_secret(payload: bytes) -> Decoded:
    """Decode a Secret: that it is there, and nothing else of it."""
    ref = fragment_of(payload).ref
    if not ref.name:
        return Decoded(ref=ref, value=None, problem="metadata.name is missing")
    return Decoded(ref=ref, value=ref)


_DECODERS: Final[Mapping[Kind, Callable[[bytes], Decoded]]] = {
    Kind.GPU_CLASS: decode_class,
    Kind.GPU_TENANT: decode_gpu_tenant,
    Kind.HELM_RELEASE: decode_release,
    Kind.RESOURCE_QUOTA: decode_quota,
    Kind.KUBEVIRT: decode_kubevirt,
    Kind.VMI: decode_vmi,
    Kind.POD: decode_pod,
    Kind.NODE: decode_node,
    Kind.SECRET: decode_secret,
}
