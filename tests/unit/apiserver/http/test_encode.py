"""Bytes of computed objects in every form."""

import json
import re
from datetime import UTC, datetime
from typing import Any

import pytest

from apiserver.documents.resources import CONSOLE_OPTIONS, GPU_CLASS_OFFERS, GPU_CLASS_OPTIONS
from apiserver.http.encode import ResourceEncoder, console_option, offer, option
from apiserver.http.forms import Encoder, Form
from apiserver.http.table import (
    CONSOLE_OPTION_COLUMNS,
    GPU_CLASS_OFFER_COLUMNS,
    GPU_CLASS_OPTION_COLUMNS,
)
from storage.views.objects import (
    BudgetView,
    CapacityView,
    Condition,
    ConsoleItem,
    ConsoleOption,
    GPUClassOffer,
    GPUClassOption,
    Meta,
    OfferSpec,
)

NOW = datetime(2026, 1, 5, 7, 4, 5, tzinfo=UTC).timestamp()
META = Meta(
    name="l40s",
    namespace="tenant-acme",
    uid="0a6d1c7e-1111-4a0b-9c1e-000000000001",
    created="2026-01-02T03:04:05Z",
    labels={"gpu.cozystack.io/vendor": "nvidia", "gpu.cozystack.io/mode": "passthrough"},
    revision=42,
)
SPEC = OfferSpec(
    display_name="NVIDIA L40S 48 GB",
    description=None,
    vendor="nvidia",
    mode="passthrough",
    memory_per_unit="48Gi",
    max_count=4,
    allowed_counts=(1, 2, 4),
)
REQUESTABLE = Condition("Requestable", "True", "Allowed", "up to 1 unit may be asked for in one VM")
STARTABLE = Condition("Startable", "True", "Fits", "a VM with up to 1 unit can start now")
CAPACITY_UNKNOWN = Condition("Startable", "Unknown", "CapacityUnknown", "cannot be read")
CAPACITY_HIDDEN = Condition("Startable", "Unknown", "CapacityHidden", "does not show")

OPTIONS: Encoder[GPUClassOption] = ResourceEncoder(
    GPU_CLASS_OPTIONS, option, GPU_CLASS_OPTION_COLUMNS, lambda: NOW
)
OFFERS: Encoder[GPUClassOffer] = ResourceEncoder(
    GPU_CLASS_OFFERS, offer, GPU_CLASS_OFFER_COLUMNS, lambda: NOW
)
CONSOLE: Encoder[ConsoleOption] = ResourceEncoder(
    CONSOLE_OPTIONS, console_option, CONSOLE_OPTION_COLUMNS, lambda: NOW
)


def an_option(**fields: Any) -> GPUClassOption:
    """Build an option, some fields other than usual."""
    known: dict[str, Any] = {
        "meta": META,
        "spec": SPEC,
        "capacity": CapacityView("Known", 7, 4),
        "budget": BudgetView("Bounded", 1),
        "entitlement": "NotRequired",
        "requestable_count": 1,
        "startable_count": 1,
        "conditions": (REQUESTABLE, STARTABLE),
    }
    return GPUClassOption(**(known | fields))


def encoded(obj: GPUClassOption, form: Form = Form.OBJECT, version: str = "v1") -> Any:
    """The JSON of an option in a form."""
    return json.loads(OPTIONS.item(obj, form, version))


def shown(obj: GPUClassOption) -> dict[str, Any]:
    """The cells of an option's row by column name."""
    cells = encoded(obj, Form.TABLE_NONE)["cells"]
    assert len(cells) == len(GPU_CLASS_OPTION_COLUMNS)
    return {column.name: cell for column, cell in zip(GPU_CLASS_OPTION_COLUMNS, cells, strict=True)}


def test_an_option_has_the_fields_of_the_specification() -> None:
    """Every field of domain 4.1 under its wire name, numbers as plain integers (QB-01)."""
    assert encoded(an_option()) == {
        "kind": "GPUClassOption",
        "apiVersion": "options.gpu.cozystack.io/v1alpha1",
        "metadata": {
            "name": "l40s",
            "namespace": "tenant-acme",
            "uid": "0a6d1c7e-1111-4a0b-9c1e-000000000001",
            "resourceVersion": "42",
            "creationTimestamp": "2026-01-02T03:04:05Z",
            "labels": {
                "gpu.cozystack.io/vendor": "nvidia",
                "gpu.cozystack.io/mode": "passthrough",
            },
        },
        "spec": {
            "displayName": "NVIDIA L40S 48 GB",
            "vendor": "nvidia",
            "mode": "passthrough",
            "memoryPerUnit": "48Gi",
            "maxCount": 4,
            "allowedCounts": [1, 2, 4],
        },
        "status": {
            "capacity": {"state": "Known", "free": 7, "largestFit": 4},
            "budget": {"state": "Bounded", "remaining": 1},
            "entitlement": "NotRequired",
            "requestableCount": 1,
            "startableCount": 1,
            "conditions": [
                {
                    "type": "Requestable",
                    "status": "True",
                    "reason": "Allowed",
                    "message": "up to 1 unit may be asked for in one VM",
                },
                {
                    "type": "Startable",
                    "status": "True",
                    "reason": "Fits",
                    "message": "a VM with up to 1 unit can start now",
                },
            ],
        },
    }


@pytest.mark.parametrize("number", [0, 3, 1_000_000, 1_003_026])
def test_qb_01_numbers_are_plain_integers_on_the_wire(number: int) -> None:
    """QB-01: no exponent, no trailing .0, in objects and in cells; compared as bytes."""
    obj = an_option(
        capacity=CapacityView("Known", number, number),
        budget=BudgetView("Bounded", number),
        requestable_count=number,
        startable_count=number,
    )
    wire = OPTIONS.item(obj, Form.OBJECT, "v1")
    for field in ("free", "largestFit", "remaining", "requestableCount", "startableCount"):
        assert re.search(rb'"%b":%d[,}]' % (field.encode(), number), wire), field
    assert re.search(rb'"maxCount":4[,}]', wire)
    row = shown(obj)
    for column in ("Free", "Left", "Requestable", "Startable", "Largest-Fit"):
        assert row[column] == str(number)


def test_what_is_unknown_is_absent_and_what_is_zero_is_there() -> None:
    """D6: unknown is never shown as zero, and nothing left is not unknown."""
    status = encoded(
        an_option(
            capacity=CapacityView("Unknown"),
            budget=BudgetView("Bounded", 0),
            entitlement=None,
            requestable_count=0,
            startable_count=None,
        )
    )["status"]
    assert status["capacity"] == {"state": "Unknown"}
    assert status["budget"] == {"state": "Bounded", "remaining": 0}
    assert status["requestableCount"] == 0
    assert "startableCount" not in status
    assert "entitlement" not in status


@pytest.mark.parametrize("version", ["v1", "v1beta1"])
def test_partial_metadata_is_the_metadata_alone(version: str) -> None:
    """Metadata informers get kind, apiVersion and metadata (contract 3.5)."""
    partial = encoded(an_option(), Form.PARTIAL, version)
    assert set(partial) == {"kind", "apiVersion", "metadata"}
    assert partial["kind"] == "PartialObjectMetadata"
    assert partial["apiVersion"] == f"meta.k8s.io/{version}"
    assert partial["metadata"] == encoded(an_option())["metadata"]


def test_wa_08_a_row_has_one_cell_per_column() -> None:
    """WA-08: the row of domain 4.2, cells that can hold a word as strings."""
    assert shown(an_option()) == {
        "Name": "l40s",
        "Mode": "passthrough",
        "Free": "7",
        "Max/VM": 4,
        "Left": "1",
        "Requestable": "1",
        "Startable": "1",
        "Reason": "Fits",
        "Vendor": "nvidia",
        "Memory": "48Gi",
        "Entitlement": "NotRequired",
        "Largest-Fit": "4",
        "Display Name": "NVIDIA L40S 48 GB",
        "Age": "3d4h",
    }


@pytest.mark.parametrize(
    ("fields", "cells"),
    [
        ({"budget": BudgetView("Unbounded")}, {"Left": "unbounded"}),
        ({"budget": BudgetView("Unknown")}, {"Left": "unknown"}),
        ({"requestable_count": None}, {"Requestable": "unknown"}),
        ({"entitlement": None}, {"Entitlement": "unknown"}),
        (
            {
                "capacity": CapacityView("Unknown"),
                "startable_count": None,
                "conditions": (REQUESTABLE, CAPACITY_UNKNOWN),
            },
            {
                "Free": "unknown",
                "Largest-Fit": "unknown",
                "Startable": "unknown",
                "Reason": "CapacityUnknown",
            },
        ),
        (
            {
                "capacity": CapacityView("Hidden"),
                "startable_count": None,
                "conditions": (REQUESTABLE, CAPACITY_HIDDEN),
            },
            {"Free": "-", "Largest-Fit": "-", "Startable": "-", "Reason": "CapacityHidden"},
        ),
        ({"capacity": CapacityView("Known", 7)}, {"Free": "7", "Largest-Fit": "-"}),
        (
            {
                "spec": OfferSpec(
                    display_name=None,
                    description=None,
                    vendor="amd",
                    mode="vgpu",
                    memory_per_unit=None,
                    max_count=1,
                    allowed_counts=None,
                )
            },
            {"Memory": "<none>", "Display Name": "<none>"},
        ),
    ],
)
def test_unknown_hidden_and_unbounded_have_words_of_their_own(
    fields: dict[str, Any], cells: dict[str, str]
) -> None:
    """Domain 4.2: unknown prints `unknown`, hidden `-`, and neither looks like a number."""
    row = shown(an_option(**fields))
    assert {name: row[name] for name in cells} == cells


def test_a_row_carries_as_much_of_its_object_as_was_asked_for() -> None:
    """includeObject (contract 3.21)."""
    assert "object" not in encoded(an_option(), Form.TABLE_NONE)
    assert encoded(an_option(), Form.TABLE_METADATA)["object"] == encoded(an_option(), Form.PARTIAL)
    assert encoded(an_option(), Form.TABLE_OBJECT)["object"] == encoded(an_option())


@pytest.mark.parametrize(
    ("form", "kind", "items"),
    [
        (Form.OBJECT, "GPUClassOptionList", "items"),
        (Form.PARTIAL, "PartialObjectMetadataList", "items"),
        (Form.TABLE_NONE, "Table", "rows"),
        (Form.TABLE_METADATA, "Table", "rows"),
        (Form.TABLE_OBJECT, "Table", "rows"),
    ],
)
def test_a_list_is_joined_from_its_parts(form: Form, kind: str, items: str) -> None:
    """The revision is set in when the list is sent; empty lists are [], never null (3.31)."""
    before, between, after = OPTIONS.list_head(form, "v1")
    empty = json.loads(before + b"77" + between + after)
    assert (empty["kind"], empty["metadata"]) == (kind, {"resourceVersion": "77"})
    assert empty[items] == []
    row = OPTIONS.item(an_option(), form, "v1")
    full = json.loads(before + b"77" + between + row + b"," + row + after)
    assert len(full[items]) == 2
    if items == "rows":
        assert [column["name"] for column in full["columnDefinitions"]][:2] == ["Name", "Mode"]
        assert full["columnDefinitions"][0]["format"] == "name"
        assert {column["priority"] for column in full["columnDefinitions"]} == {0, 1}


def test_only_tables_with_ages_depend_on_the_moment() -> None:
    """Everything else may be kept for as long as the revision stands."""
    assert OPTIONS.moment(Form.OBJECT) == OPTIONS.moment(Form.PARTIAL) == 0
    assert OPTIONS.moment(Form.TABLE_METADATA) == int(NOW)
    assert CONSOLE.moment(Form.TABLE_METADATA) == 0


def test_an_offer_tells_nothing_of_budgets() -> None:
    """The offer is everybody's: less budget, entitlement and what may be asked for (domain 4.1)."""
    obj = GPUClassOffer(
        meta=META,
        spec=SPEC,
        capacity=CapacityView("Known", 7, 4),
        startable_count=4,
        conditions=(STARTABLE,),
    )
    wire = json.loads(OFFERS.item(obj, Form.OBJECT, "v1"))
    assert set(wire["status"]) == {"capacity", "startableCount", "conditions"}
    row = json.loads(OFFERS.item(obj, Form.TABLE_NONE, "v1"))["cells"]
    assert row[:6] == ["l40s", "passthrough", "7", 4, "4", "Fits"]
    names = [column.name.upper() for column in GPU_CLASS_OFFER_COLUMNS if not column.wide]
    assert names == ["NAME", "MODE", "FREE", "MAX/VM", "STARTABLE", "REASON"]


def test_a_console_option_has_items_and_no_default() -> None:
    """The console picks an item marked as default by itself, so none ever is (domain 4.4)."""
    meta = Meta(
        name="gpuclass", namespace="tenant-acme", uid="u", created=None, labels={}, revision=42
    )
    obj = ConsoleOption(meta=meta, items=(ConsoleItem("l40s", "L40S - up to 1", "1 left."),))
    wire = json.loads(CONSOLE.item(obj, Form.OBJECT, "v1"))
    assert wire["metadata"] == {
        "name": "gpuclass",
        "namespace": "tenant-acme",
        "uid": "u",
        "resourceVersion": "42",
    }
    assert wire["spec"]["items"] == [
        {"value": "l40s", "label": "L40S - up to 1", "description": "1 left."}
    ]
    assert json.loads(CONSOLE.item(obj, Form.TABLE_NONE, "v1")) == {"cells": ["gpuclass", 1]}
