"""Schemas of everything served, one description per field: `kubectl explain` prints exactly these.

References are written as `Ref`; `openapi` renders them for version 2 and version 3. All names carry
our own prefix, metadata included: a model of the cluster's that differed by a byte would be renamed
in the merged document (contract 2.6).
"""

from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from apiserver.documents.resources import (
    CONSOLE_OPTIONS,
    GPU_CLASS_OFFERS,
    GPU_CLASS_OPTIONS,
    ResourceInfo,
)
from storage.model.names import OPTIONS_GROUP, VERSION

Schema: TypeAlias = dict[str, Any]

PREFIX: Final = f"io.cozystack.gpu.options.{VERSION}."


@dataclass(frozen=True, slots=True)
class Ref:
    """A field whose type is a schema of its own."""

    name: str  # without the prefix
    description: str


def _string(description: str, *, enum: tuple[str, ...] = (), **more: object) -> Schema:
    schema: Schema = {"type": "string", "description": description, **more}
    if enum:
        schema["enum"] = list(enum)
    return schema


def _integer(description: str, **more: object) -> Schema:
    return {"type": "integer", "format": "int64", "description": description, **more}


def _array(description: str, items: Schema | Ref, *, list_type: str, **more: object) -> Schema:
    return {
        "type": "array",
        "description": description,
        "items": items,
        "x-kubernetes-list-type": list_type,
        **more,
    }


def _object(description: str, properties: dict[str, Schema | Ref], *required: str) -> Schema:
    schema: Schema = {"type": "object", "description": description, "properties": properties}
    if required:
        schema["required"] = list(required)
    return schema


_MODES: Final = ("passthrough", "vgpu")
_TIME: Final = "date-time"

_CAPACITY: Final = _object(
    "What is free for a class, over all nodes that can take it. The figures change on a clock "
    "tick that is the same for every caller.",
    {
        "state": _string(
            "Known; Unknown while nodes or pods cannot be read; Hidden where the hoster shows no "
            "figures.",
            enum=("Known", "Unknown", "Hidden"),
        ),
        "free": _integer(
            "Units free for this class on all nodes that can take it, at most: a VM's CPU, "
            "memory and affinity may take nodes away. Absent unless state is Known.",
            minimum=0,
        ),
        "largestFit": _integer(
            "Most units that one VM can get at once: the largest count on offer that some node "
            "has free. Absent unless state is Known, and where the hoster does not show it.",
            minimum=0,
        ),
    },
    "state",
)

_BUDGET: Final = _object(
    "What is left in the budget that the namespace draws from.",
    {
        "state": _string(
            "Bounded: remaining says how much is left; Unbounded: no budget limits this class "
            "here; Unknown: it cannot be read, or it is not clear which budget it is.",
            enum=("Bounded", "Unbounded", "Unknown"),
        ),
        "remaining": _integer(
            "Units left; 0 when nothing is left. Present only if state is Bounded.", minimum=0
        ),
    },
    "state",
)

_CONDITION: Final = _object(
    "One thing that is true, false or unknown of a class for this caller.",
    {
        "type": _string(
            "Requestable: may a VM ask for it; Startable: would such a VM find room now. Lack of "
            "room never makes the first False.",
            enum=("Requestable", "Startable"),
        ),
        "status": _string("Whether it holds.", enum=("True", "False", "Unknown")),
        "reason": _string("Why, as one word for programs."),
        "message": _string("Why, as a sentence for people."),
    },
    *("type", "status", "reason", "message"),
)

_CONDITIONS: Final = _array(
    "Requestable and Startable. They carry no transition time: nothing is stored that could know "
    "it.",
    Ref("Condition", "One condition."),
    list_type="map",
    **{"x-kubernetes-list-map-keys": ["type"]},
)

_OFFER_SPEC: Final = _object(
    "The offer as the hoster states it.",
    {
        "displayName": _string("The class's name for people."),
        "description": _string("What the class is good for, in the hoster's words."),
        "vendor": _string("Who makes the device.", enum=("nvidia", "amd", "intel")),
        "mode": _string(
            "passthrough: the VM gets the whole device; vgpu: a slice of it, with the vendor's "
            "driver and license in the guest.",
            enum=_MODES,
        ),
        "memoryPerUnit": _string("Memory of one unit, as a quantity."),
        "maxCount": _integer(
            "Most units of this class that one VM may have.", minimum=1, maximum=1024
        ),
        "allowedCounts": _array(
            "The only counts that one VM may ask for. Absent: any from 1 to maxCount.",
            _integer("A count that may be asked for."),
            list_type="set",
        ),
    },
    *("vendor", "mode", "maxCount"),
)

_STARTABLE_COUNT: Final = _integer(
    "Most units that a VM can ask for and find room for now. Absent while Startable is Unknown.",
    minimum=0,
)

_OPTION_STATUS: Final = _object(
    "What this namespace can have of the class now.",
    {
        "capacity": Ref("Capacity", "What is free for the class, for all tenants alike."),
        "budget": Ref("Budget", "What is left in the budget that this namespace draws from."),
        "entitlement": _string(
            "Whether this namespace may use the class where that needs an entitlement (vGPU "
            "classes do). Absent while it cannot be read.",
            enum=("NotRequired", "Granted", "Missing"),
        ),
        "requestableCount": _integer(
            "Most units of this class that one VM of this namespace may ask for now: what "
            "admission accepts. Absent while Requestable is Unknown.",
            minimum=0,
        ),
        "startableCount": _STARTABLE_COUNT,
        "conditions": _CONDITIONS,
    },
    *("capacity", "budget", "conditions"),
)

_OFFER_STATUS: Final = _object(
    "What anybody can have of the class now, budgets aside.",
    {
        "capacity": Ref("Capacity", "What is free for the class, for all tenants alike."),
        "startableCount": _STARTABLE_COUNT,
        "conditions": _CONDITIONS,
    },
    *("capacity", "conditions"),
)

_CONSOLE_ITEM: Final = _object(
    "One choice of the dropdown.",
    {
        "value": _string("The class name that is put into the form."),
        "label": _string(
            "What the dropdown shows: the class's name and how many units a VM can get."
        ),
        "description": _string("What the tooltip shows."),
    },
    *("value", "label", "description"),
)

_CONSOLE_SPEC: Final = _object(
    "The choices of the dropdown.",
    {
        "items": _array(
            "One entry per class, those that cannot be used included, with the reason in the "
            "label.",
            Ref("OptionItem", "One choice."),
            list_type="map",
            **{"x-kubernetes-list-map-keys": ["value"]},
        )
    },
    "items",
)

_OBJECT_META: Final = _object(
    "Metadata of a computed object. Nothing is stored: all of it follows from the class and the "
    "namespace.",
    {
        "name": _string("The class's name."),
        "namespace": _string("The namespace that asks. Absent for cluster-scoped kinds."),
        "uid": _string(
            "Follows from the class's own uid: another class of the same name has another."
        ),
        "resourceVersion": _string("Changes whenever anything in the object changes; comparable."),
        "creationTimestamp": _string("When the class was created.", format=_TIME),
        "labels": {
            "type": "object",
            "description": "gpu.cozystack.io/vendor and gpu.cozystack.io/mode, for selectors.",
            "additionalProperties": {"type": "string"},
        },
    },
    *("name", "uid", "resourceVersion"),
)

_LIST_META: Final = _object(
    "Metadata of a list.",
    {"resourceVersion": _string("The revision that the whole list was read at; comparable.")},
    "resourceVersion",
)


def _kind(info: ResourceInfo, description: str, properties: dict[str, Schema | Ref]) -> Schema:
    return _object(
        description,
        _type_meta()
        | {"metadata": Ref("ObjectMeta", "Standard metadata, as far as a computed object has it.")}
        | properties,
    ) | {"x-kubernetes-group-version-kind": [_gvk(info.kind)]}


def _list(info: ResourceInfo) -> Schema:
    return _object(
        f"A list of {info.kind}.",
        _type_meta()
        | {
            "metadata": Ref("ListMeta", "Standard list metadata."),
            "items": _array(
                "The objects, by namespace and name.",
                Ref(info.kind, f"One {info.kind}."),
                list_type="atomic",
            ),
        },
        "items",
    ) | {"x-kubernetes-group-version-kind": [_gvk(info.list_kind)]}


def _type_meta() -> dict[str, Schema | Ref]:
    return {
        "apiVersion": _string(f"{OPTIONS_GROUP}/{VERSION}."),
        "kind": _string("The kind of this object."),
    }


def _gvk(kind: str) -> dict[str, str]:
    return {"group": OPTIONS_GROUP, "kind": kind, "version": VERSION}


def schemas() -> dict[str, Schema]:
    """Return every schema by its name without the prefix, sorted by name."""
    found = {
        GPU_CLASS_OPTIONS.kind: _kind(
            GPU_CLASS_OPTIONS,
            "What one namespace can have of one GPU class: how many units are free, what is left "
            "in its budget, how many it may ask for, and whether a VM would start now. Computed "
            "and read-only; one object per class.",
            {
                "spec": Ref("OfferSpec", "The offer as the hoster states it."),
                "status": Ref("OptionStatus", "What this namespace can have of the class now."),
            },
        ),
        GPU_CLASS_OFFERS.kind: _kind(
            GPU_CLASS_OFFERS,
            "What everybody is told about one GPU class: the offer and what is free, budgets "
            "aside. Computed and read-only; one object per class.",
            {
                "spec": Ref("OfferSpec", "The offer as the hoster states it."),
                "status": Ref("OfferStatus", "What anybody can have of the class now."),
            },
        ),
        CONSOLE_OPTIONS.kind: _kind(
            CONSOLE_OPTIONS,
            "The GPU classes of one namespace in the shape of the console's dropdowns. Computed "
            "and read-only; one object, named gpuclass.",
            {"spec": Ref("OptionSpec", "The choices of the dropdown.")},
        ),
        "Budget": _BUDGET,
        "Capacity": _CAPACITY,
        "Condition": _CONDITION,
        "ListMeta": _LIST_META,
        "ObjectMeta": _OBJECT_META,
        "OfferSpec": _OFFER_SPEC,
        "OfferStatus": _OFFER_STATUS,
        "OptionItem": _CONSOLE_ITEM,
        "OptionSpec": _CONSOLE_SPEC,
        "OptionStatus": _OPTION_STATUS,
    }
    for info in (GPU_CLASS_OPTIONS, GPU_CLASS_OFFERS, CONSOLE_OPTIONS):
        found[info.list_kind] = _list(info)
    return dict(sorted(found.items()))
