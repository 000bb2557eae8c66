"""VMIs and pods: what they are charged for and what they hold (domain 3.2, 3.4).

One that cannot be understood is never left out: it is handed on as not readable (design 2), with as
much of its place as can be told.
"""

import operator
from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import Final

import msgspec

from storage.cluster.decoded import Decoded
from storage.cluster.kinds import group_of
from storage.cluster.quantities import exact_extended, whole_up
from storage.cluster.reading import WireError, fragment_of, read, ref_of, text_in
from storage.cluster.times import InvalidTimeError, epoch_ms
from storage.cluster.wire import Container, OwnerReference, PodMeta, PodSpec, PodWire, VMIWire
from storage.model.entries import ClassEntriesError, ClassEntry, parse_class_entries
from storage.model.objects import VMI, Pod
from storage.model.quantity import InvalidQuantityError

_VMI: Final = msgspec.json.Decoder(VMIWire)
_POD: Final = msgspec.json.Decoder(PodWire)
_FINAL_PHASES: Final = frozenset({"Succeeded", "Failed"})

Amounts = dict[str, Fraction]


def decode_vmi(payload: bytes) -> Decoded:
    """Decode a VMI; one that has not its shape makes the pools of its namespace unknown."""
    try:
        wire = read(payload, _VMI)
    except WireError as error:
        return _unreadable_vmi(payload, str(error))
    ref = ref_of(wire.metadata)
    annotation = wire.metadata.annotations.classes if wire.metadata.annotations else None
    entries, problem = _entries(annotation)
    devices = wire.spec.domain.devices if wire.spec and wire.spec.domain else None
    gpus = devices.gpus or () if devices else ()
    others = devices.host_devices or () if devices else ()
    value = VMI(
        namespace=ref.namespace,
        name=ref.name,
        uid=wire.metadata.uid,
        final=wire.status is not None and wire.status.phase in _FINAL_PHASES,
        annotated=annotation is not None,
        entries=entries,
        unit_names=tuple(gpu.name for gpu in gpus) if problem else (),
        devices=tuple(each.device_name for each in (*gpus, *others) if each.device_name),
    )
    return Decoded(ref=ref, value=value, problem=problem)


def decode_pod(payload: bytes) -> Decoded:
    """Decode a pod. One that asks for no device says nothing and is not kept.

    One that cannot be understood makes the pools of its namespace unknown and its node full; where
    its node cannot be told either, all free units are unknown.
    """
    try:
        wire = read(payload, _POD)
        requests = effective_request(wire.spec or PodSpec())
        charged_until_ms = _charged_until_ms(wire.metadata)
    except WireError as error:
        return _unreadable_pod(payload, str(error))
    except InvalidQuantityError:
        return _unreadable_pod(payload, "a request of a device is no quantity")
    except InvalidTimeError:
        return _unreadable_pod(payload, "metadata.deletionTimestamp is no time")
    ref = ref_of(wire.metadata)
    if not requests:
        return Decoded(ref=ref, value=None)
    value = Pod(
        namespace=ref.namespace,
        name=ref.name,
        uid=wire.metadata.uid,
        node=(wire.spec.node_name if wire.spec else None) or None,
        final=wire.status is not None and wire.status.phase in _FINAL_PHASES,
        charged_until_ms=charged_until_ms,
        vmi_uid=_vmi_uid(wire.metadata.owner_references or ()),
        requests=requests,
    )
    return Decoded(ref=ref, value=value)


def effective_request(spec: PodSpec) -> tuple[tuple[str, int], ...]:
    """Return what a pod requests of each extended resource, in whole units (domain 3.2).

    Per resource the larger of two: containers and restartable init containers together, and each
    ordinary init container with the restartable ones started before it; then the overhead.

    Raises InvalidQuantityError.
    """
    running: Amounts = {}
    starting: Amounts = {}
    for container in spec.init_containers or ():
        own = _request(container)
        if container.restart_policy == "Always":
            running = _sum(running, own)
        else:
            starting = _largest(starting, _sum(running, own))
    for container in spec.containers or ():
        running = _sum(running, _request(container))
    overhead = exact_extended(spec.overhead or {})
    return whole_up(_sum(_largest(running, starting), overhead))


def _entries(annotation: str | None) -> tuple[tuple[ClassEntry, ...] | None, str]:
    if annotation is None:
        return None, ""
    try:
        return parse_class_entries(annotation), ""
    except ClassEntriesError:
        return None, "the class annotation cannot be read"


def _unreadable_vmi(payload: bytes, problem: str) -> Decoded:
    fragment = fragment_of(payload)
    ref = fragment.ref
    value = VMI(
        namespace=ref.namespace,
        name=ref.name,
        uid=text_in(fragment.metadata, "uid"),
        readable=False,
    )
    return Decoded(ref=ref, value=value, problem=problem)


def _unreadable_pod(payload: bytes, problem: str) -> Decoded:
    fragment = fragment_of(payload)
    ref = fragment.ref
    value = Pod(
        namespace=ref.namespace,
        name=ref.name,
        uid=text_in(fragment.metadata, "uid"),
        node=text_in(fragment.spec, "nodeName") or None,
        readable=False,
        astray=not _tells_node(fragment.spec),
    )
    return Decoded(ref=ref, value=value, problem=problem)


def _tells_node(spec: object) -> bool:
    """Whether it can be told on which node a pod is, or that it is on none."""
    if not isinstance(spec, dict):
        return spec is None
    return isinstance(spec.get("nodeName"), str | None)


def _request(container: Container) -> Amounts:
    """Return what a container requests.

    The API server fills requests from limits; objects from files have not been through it.
    """
    resources = container.resources
    if resources is None:
        return {}
    return exact_extended({**(resources.limits or {}), **(resources.requests or {})})


def _sum(one: Amounts, other: Amounts) -> Amounts:
    return _by_resource(operator.add, one, other)


def _largest(one: Amounts, other: Amounts) -> Amounts:
    return _by_resource(max, one, other)


def _by_resource(
    combine: Callable[[Fraction, Fraction], Fraction], one: Amounts, other: Amounts
) -> Amounts:
    """Combine amounts of every resource; what is in one only stays (amounts are never below 0)."""
    if not one or not other:
        return one or other
    zero = Fraction(0)
    return {
        name: combine(one.get(name, zero), other.get(name, zero))
        for name in one.keys() | other.keys()
    }


def _charged_until_ms(metadata: PodMeta) -> int | None:
    """Return when a pod that is being deleted stops being charged. Raises InvalidTimeError."""
    if metadata.deletion_timestamp is None or metadata.deletion_grace_period_seconds is None:
        return None
    return epoch_ms(metadata.deletion_timestamp) + metadata.deletion_grace_period_seconds * 1000


def _vmi_uid(owners: Iterable[OwnerReference]) -> str | None:
    """Return the uid of the VMI that controls a pod: what makes it a launcher (domain 3.2)."""
    for owner in owners:
        if (
            owner.controller
            and owner.kind == "VirtualMachineInstance"
            and group_of(owner.api_version) == "kubevirt.io"
        ):
            return owner.uid or None
    return None
