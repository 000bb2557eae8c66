"""Computed objects to JSON: one dict builder per type, and the bytes of every form they are sent
in.

The wire names are those that `documents.schemas` describes. Absent fields are left out, never null.
"""

from collections.abc import Callable
from typing import Any, Final, Generic, Protocol, TypeAlias, TypeVar

import msgspec

from apiserver.documents.resources import GROUP_VERSION, ResourceInfo
from apiserver.http.ages import age_of
from apiserver.http.forms import Form
from apiserver.http.table import Column, definitions
from storage.views.objects import (
    CapacityView,
    Condition,
    ConsoleOption,
    GPUClassOffer,
    GPUClassOption,
    Meta,
    OfferSpec,
)

Json: TypeAlias = dict[str, Any]


class Described(Protocol):
    """Whatever has metadata."""

    @property
    def meta(self) -> Meta: ...


T = TypeVar("T", bound=Described)

_encode: Final = msgspec.json.Encoder().encode
_REVISION: Final = b'"resourceVersion":"'


def metadata(meta: Meta) -> Json:
    """Build ObjectMeta; its revision is the object's own."""
    return _present(
        name=meta.name,
        namespace=meta.namespace or None,
        uid=meta.uid,
        resourceVersion=str(meta.revision),
        creationTimestamp=meta.created,
        labels=dict(meta.labels) or None,
    )


def option(obj: GPUClassOption) -> Json:
    """Build spec and status of a GPUClassOption."""
    return {
        "spec": _offer_spec(obj.spec),
        "status": _present(
            capacity=_capacity(obj.capacity),
            budget=_present(state=obj.budget.state, remaining=obj.budget.remaining),
            entitlement=obj.entitlement,
            requestableCount=obj.requestable_count,
            startableCount=obj.startable_count,
            conditions=[_condition(condition) for condition in obj.conditions],
        ),
    }


def offer(obj: GPUClassOffer) -> Json:
    """Build spec and status of a GPUClassOffer."""
    return {
        "spec": _offer_spec(obj.spec),
        "status": _present(
            capacity=_capacity(obj.capacity),
            startableCount=obj.startable_count,
            conditions=[_condition(condition) for condition in obj.conditions],
        ),
    }


def console_option(obj: ConsoleOption) -> Json:
    """Build the spec of the console's Option."""
    return {
        "spec": {
            "items": [
                {"value": item.value, "label": item.label, "description": item.description}
                for item in obj.items
            ]
        }
    }


class ResourceEncoder(Generic[T]):
    """Bytes of one resource's objects in every form."""

    def __init__(
        self,
        info: ResourceInfo,
        build: Callable[[T], Json],
        columns: tuple[Column[T], ...],
        clock: Callable[[], float],
    ) -> None:
        """Take names, builder and columns of a resource; the clock gives Unix time in seconds."""
        self._info = info
        self._clock = clock
        self._shows_age = any(column.type == "date" for column in columns)
        self._build = build
        self._columns = columns

    def item(self, obj: T, form: Form, version: str) -> bytes:
        """Return the JSON of one object, or of its row in a Table; `version` is meta.k8s.io's."""
        match form:
            case Form.OBJECT:
                return _encode(self._object(obj))
            case Form.PARTIAL:
                return _encode(_partial(obj.meta, version))
            case Form.TABLE_NONE:
                return _encode(self._row(obj))
            case Form.TABLE_METADATA:
                return _encode(self._row(obj) | {"object": _partial(obj.meta, version)})
            case Form.TABLE_OBJECT:
                return _encode(self._row(obj) | {"object": self._object(obj)})

    def moment(self, form: Form) -> int:
        """Return the second for a Table with ages, else 0."""
        in_table = form not in (Form.OBJECT, Form.PARTIAL)
        return int(self._clock()) if in_table and self._shows_age else 0

    def list_head(self, form: Form, version: str) -> tuple[bytes, bytes, bytes]:
        """Return what stands before the revision, between it and the items, and after them."""
        match form:
            case Form.OBJECT:
                kind, api_version = self._info.list_kind, GROUP_VERSION
                middle = b'"},"items":['
            case Form.PARTIAL:
                kind, api_version = "PartialObjectMetadataList", f"meta.k8s.io/{version}"
                middle = b'"},"items":['
            case _:
                kind, api_version = "Table", f"meta.k8s.io/{version}"
                columns = _encode(definitions(self._columns))
                middle = b'"},"columnDefinitions":' + columns + b',"rows":['
        head = _encode({"kind": kind, "apiVersion": api_version})[:-1]
        return head + b',"metadata":{' + _REVISION, middle, b"]}"

    def _object(self, obj: T) -> Json:
        return {
            "kind": self._info.kind,
            "apiVersion": GROUP_VERSION,
            "metadata": metadata(obj.meta),
        } | self._build(obj)

    def _row(self, obj: T) -> Json:
        return {"cells": [self._cell(column, obj) for column in self._columns]}

    def _cell(self, column: Column[T], obj: T) -> object:
        cell = column.cell(obj)
        # As upstream does it: kubectl prints what it gets.
        return age_of(cell, self._clock()) if column.type == "date" else cell


def _partial(meta: Meta, version: str) -> Json:
    return {
        "kind": "PartialObjectMetadata",
        "apiVersion": f"meta.k8s.io/{version}",
        "metadata": metadata(meta),
    }


def _offer_spec(spec: OfferSpec) -> Json:
    return _present(
        displayName=spec.display_name,
        description=spec.description,
        vendor=spec.vendor,
        mode=spec.mode,
        memoryPerUnit=spec.memory_per_unit,
        maxCount=spec.max_count,
        allowedCounts=spec.allowed_counts,
    )


def _capacity(capacity: CapacityView) -> Json:
    return _present(state=capacity.state, free=capacity.free, largestFit=capacity.largest_fit)


def _condition(condition: Condition) -> Json:
    return {
        "type": condition.type,
        "status": condition.status,
        "reason": condition.reason,
        "message": condition.message,
    }


def _present(**fields: object) -> Json:
    return {name: value for name, value in fields.items() if value is not None}
