"""The reader of GPUClass, with every rule of domain 2.2: objects from files never met a CRD.

Another shape of class would be read here and nowhere else (design 2).
"""

import re
from collections.abc import Iterable, Iterator
from typing import Final

import msgspec

from storage.cluster.decoded import Decoded
from storage.cluster.reading import WireError, fragment_of, read, ref_of
from storage.cluster.times import InvalidTimeError, epoch_ms
from storage.cluster.wire import GPUClassSpec, GPUClassWire, TolerationWire
from storage.model.names import CLASS_NAME_MAX_LENGTH, MAX_UNITS_PER_VM, is_class_name
from storage.model.objects import GPUClass, Mode, Toleration
from storage.model.quantity import InvalidQuantityError, parse_quantity

_CLASS: Final = msgspec.json.Decoder(GPUClassWire)
_MODES: Final = {mode.value: mode for mode in Mode}
_VENDORS: Final = ("nvidia", "amd", "intel")
_OPERATORS: Final = ("Equal", "Exists")
_EFFECTS: Final = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_RESOURCE_NAME: Final = re.compile(
    r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?/[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?"
)
_DNS_SUBDOMAIN: Final = re.compile(
    r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*"
)
_LINE_BREAK: Final = re.compile(r"[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]")


def decode_class(payload: bytes) -> Decoded:
    """Decode a class; one that breaks a rule is left out, and the problem says which rules."""
    try:
        wire = read(payload, _CLASS)
    except WireError as error:
        return Decoded(ref=fragment_of(payload).ref, value=None, problem=str(error))
    ref = ref_of(wire.metadata)
    broken = tuple(_broken_rules(wire))
    if broken:
        return Decoded(ref=ref, value=None, problem="; ".join(broken))
    return Decoded(ref=ref, value=_class(wire))


def _class(wire: GPUClassWire) -> GPUClass:
    spec = wire.spec
    memory = spec.memory_per_unit
    return GPUClass(
        name=wire.metadata.name,
        uid=wire.metadata.uid,
        created=wire.metadata.creation_timestamp or "",
        vendor=spec.vendor,
        mode=_MODES[spec.mode],
        resource_name=spec.resource_name,
        max_count=spec.max_count,
        # An empty list says no more than an absent one, as in Go; "none at all" cannot be offered.
        allowed_counts=tuple(sorted(spec.allowed_counts)) if spec.allowed_counts else None,
        memory_per_unit=None if memory is None else str(memory),
        display_name=spec.display_name,
        description=spec.description,
        tolerations=tuple(_toleration(each) for each in spec.tolerations or ()),
        license_secret=spec.license.secret_name if spec.license else None,
        terminating=wire.metadata.deletion_timestamp is not None,
    )


def _toleration(wire: TolerationWire) -> Toleration:
    return Toleration(
        key=wire.key,
        exists=wire.operator == "Exists",
        value=wire.value or "",
        effect=wire.effect or "",
    )


def _broken_rules(wire: GPUClassWire) -> Iterator[str]:
    """Yield each rule that a class breaks, in the order of domain 2.2's table."""
    spec = wire.spec
    yield from _broken_metadata(wire)
    if spec.vendor not in _VENDORS:
        yield "spec.vendor must be one of " + ", ".join(_VENDORS)
    if spec.mode not in _MODES:
        yield "spec.mode must be one of " + ", ".join(_MODES)
    yield from _broken_resource_name(spec.resource_name)
    yield from _broken_counts(spec.max_count, spec.allowed_counts or ())
    yield from _broken_tolerations(spec.tolerations or ())
    yield from _broken_license(spec)
    yield from _broken_texts(spec)


def _broken_metadata(wire: GPUClassWire) -> Iterator[str]:
    if not is_class_name(wire.metadata.name):
        yield (
            "metadata.name must be a DNS label without dots that begins with a letter, "
            f"of at most {CLASS_NAME_MAX_LENGTH} characters"
        )
    try:
        epoch_ms(wire.metadata.creation_timestamp or "")
    except InvalidTimeError:
        yield "metadata.creationTimestamp must be a time in RFC 3339"


def _broken_resource_name(name: str) -> Iterator[str]:
    if _RESOURCE_NAME.fullmatch(name) is None or len(name) > 308:
        yield "spec.resourceName must be a domain, a slash and a name, of at most 308 characters"
        return
    if "kubernetes.io/" in name:
        yield "spec.resourceName must not be in a domain of kubernetes.io"
    if name.startswith("requests."):
        yield "spec.resourceName must not begin with requests."
    if len(name.partition("/")[2]) > 63:
        yield "spec.resourceName must have at most 63 characters after the slash"


def _broken_counts(max_count: int, allowed: tuple[int, ...]) -> Iterator[str]:
    if not 1 <= max_count <= MAX_UNITS_PER_VM:
        yield f"spec.maxCount must be 1 to {MAX_UNITS_PER_VM}"
    if len(allowed) > 16:
        yield "spec.allowedCounts must have at most 16 members"
    if len(set(allowed)) != len(allowed):
        yield "spec.allowedCounts must not repeat a member"
    if not all(1 <= count <= max_count for count in allowed):
        yield "spec.allowedCounts must be from 1 to spec.maxCount"


def _broken_tolerations(tolerations: tuple[TolerationWire, ...]) -> Iterator[str]:
    if len(tolerations) > 16:
        yield "spec.tolerations must have at most 16 members"
    for index, toleration in enumerate(tolerations):
        for rule in _broken_toleration(toleration):
            yield f"spec.tolerations[{index}].{rule}"


def _broken_toleration(toleration: TolerationWire) -> Iterator[str]:
    if not toleration.key:
        yield "key is required: a toleration of every taint would reach failed nodes"
    if toleration.key.startswith("node.kubernetes.io/"):
        yield "key must not begin with node.kubernetes.io/"
    if toleration.operator is not None and toleration.operator not in _OPERATORS:
        yield "operator must be one of " + ", ".join(_OPERATORS)
    if toleration.operator == "Exists" and toleration.value:
        yield "value must be absent with operator Exists"
    if toleration.effect is not None and toleration.effect not in _EFFECTS:
        yield "effect must be absent or one of " + ", ".join(_EFFECTS)


def _broken_license(spec: GPUClassSpec) -> Iterator[str]:
    if spec.license is None:
        if spec.mode == Mode.VGPU.value and spec.vendor == "nvidia":
            yield "spec.license is required with mode vgpu and vendor nvidia"
        return
    if spec.vendor != "nvidia":
        yield "spec.license must be absent unless vendor is nvidia"
    name = spec.license.secret_name
    if len(name) > 253 or _DNS_SUBDOMAIN.fullmatch(name) is None:
        yield "spec.license.secretName must be a DNS subdomain"


def _broken_texts(spec: GPUClassSpec) -> Iterator[str]:
    if isinstance(spec.memory_per_unit, str):
        try:
            parse_quantity(spec.memory_per_unit)
        except InvalidQuantityError:
            yield "spec.memoryPerUnit must be a quantity"
    texts: Iterable[tuple[str, str | None, int]] = (
        ("displayName", spec.display_name, 80),
        ("description", spec.description, 400),
    )
    for field, text, limit in texts:
        if text is not None and (len(text) > limit or _LINE_BREAK.search(text)):
            yield f"spec.{field} must have at most {limit} characters and no line break"
