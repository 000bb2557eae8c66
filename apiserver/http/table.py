"""Columns of the Tables that `kubectl get` prints (domain 4.2).

A column that can hold a word ("unknown", "unbounded", "-") is of type string in every row.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

from storage.views.objects import (
    CapacityView,
    Condition,
    ConsoleOption,
    GPUClassOffer,
    GPUClassOption,
    shown_reason,
)

T = TypeVar("T")
Offered = TypeVar("Offered", GPUClassOption, GPUClassOffer)

_UNKNOWN: Final = "unknown"
_HIDDEN: Final = "-"
_NONE: Final = "<none>"


@dataclass(frozen=True, slots=True, kw_only=True)
class Column(Generic[T]):
    """One column: its definition, and how its cell is read off an object."""

    name: str
    type: str  # string, integer or date
    description: str
    cell: Callable[[T], object]
    format: str = ""
    wide: bool = False  # only with `-o wide`


def definitions(columns: Sequence[Column[Any]]) -> list[dict[str, object]]:
    """Build the columnDefinitions of a Table."""
    return [
        {
            "name": column.name,
            "type": column.type,
            "format": column.format,
            "description": column.description,
            "priority": int(column.wide),
        }
        for column in columns
    ]


def _free(capacity: CapacityView) -> str:
    return _figure(capacity.free, hidden=capacity.state == "Hidden")


def _largest_fit(capacity: CapacityView) -> str:
    return _figure(capacity.largest_fit, hidden=capacity.state != "Unknown")


def _left(option: GPUClassOption) -> str:
    if option.budget.state == "Unbounded":
        return "unbounded"
    return _figure(option.budget.remaining)


def _startable(count: int | None, conditions: Sequence[Condition]) -> str:
    return _figure(count, hidden=conditions[-1].reason == "CapacityHidden")


def _figure(number: int | None, *, hidden: bool = False) -> str:
    if number is None:
        return _HIDDEN if hidden else _UNKNOWN
    return str(number)


def _narrow_columns(_: type[Offered]) -> tuple[Column[Offered], ...]:
    """Return the columns that an option and an offer both show."""
    return (
        Column(
            name="Name",
            type="string",
            format="name",
            description="The class, as a VM's class entry names it.",
            cell=lambda obj: obj.meta.name,
        ),
        Column(
            name="Mode",
            type="string",
            description="passthrough: the whole device; vgpu: a slice of it.",
            cell=lambda obj: obj.spec.mode,
        ),
        Column(
            name="Free",
            type="string",
            description="Units free for this class on all nodes that can take it, at most.",
            cell=lambda obj: _free(obj.capacity),
        ),
        Column(
            name="Max/VM",
            type="integer",
            description="Most units of this class that one VM may have.",
            cell=lambda obj: obj.spec.max_count,
        ),
        Column(
            name="Startable",
            type="string",
            description="Most units that a VM can ask for and find room for now.",
            cell=lambda obj: _startable(obj.startable_count, obj.conditions),
        ),
        Column(
            name="Reason",
            type="string",
            description="Reason of the first condition that is not True, else Fits.",
            cell=lambda obj: shown_reason(obj.conditions),
        ),
    )


def _wide_columns(_: type[Offered]) -> tuple[Column[Offered], ...]:
    """Return the columns that an option and an offer both show with `-o wide`."""
    return (
        Column(
            name="Vendor",
            type="string",
            description="Who makes the device.",
            cell=lambda obj: obj.spec.vendor,
            wide=True,
        ),
        Column(
            name="Memory",
            type="string",
            description="Memory of one unit.",
            cell=lambda obj: obj.spec.memory_per_unit or _NONE,
            wide=True,
        ),
        Column(
            name="Largest-Fit",
            type="string",
            description="Most units one VM of any tenant could get at once.",
            cell=lambda obj: _largest_fit(obj.capacity),
            wide=True,
        ),
        Column(
            name="Display Name",
            type="string",
            description="The class's name for people.",
            cell=lambda obj: obj.spec.display_name or _NONE,
            wide=True,
        ),
        Column(
            name="Age",
            type="date",
            description="Time since the class was created.",
            cell=lambda obj: obj.meta.created,
            wide=True,
        ),
    )


def _option_columns() -> tuple[Column[GPUClassOption], ...]:
    columns = {
        column.name: column
        for column in (*_narrow_columns(GPUClassOption), *_wide_columns(GPUClassOption))
    }
    columns["Left"] = Column(
        name="Left",
        type="string",
        description="Units left in the budget that this namespace draws from.",
        cell=_left,
    )
    columns["Requestable"] = Column(
        name="Requestable",
        type="string",
        description="Most units that one VM of this namespace may ask for now.",
        cell=lambda option: _figure(option.requestable_count),
    )
    columns["Entitlement"] = Column(
        name="Entitlement",
        type="string",
        description="Whether this namespace may use the class where that needs an entitlement.",
        cell=lambda option: option.entitlement or _UNKNOWN,
        wide=True,
    )
    return tuple(
        columns[name]
        for name in (
            *("Name", "Mode", "Free", "Max/VM", "Left", "Requestable", "Startable", "Reason"),
            *("Vendor", "Memory", "Entitlement", "Largest-Fit", "Display Name", "Age"),
        )
    )


GPU_CLASS_OPTION_COLUMNS: Final = _option_columns()

GPU_CLASS_OFFER_COLUMNS: Final = (*_narrow_columns(GPUClassOffer), *_wide_columns(GPUClassOffer))

CONSOLE_OPTION_COLUMNS: Final[tuple[Column[ConsoleOption], ...]] = (
    Column(
        name="Name",
        type="string",
        format="name",
        description="The name of the option source.",
        cell=lambda option: option.meta.name,
    ),
    Column(
        name="Items",
        type="integer",
        description="How many choices the dropdown has.",
        cell=lambda option: len(option.items),
    ),
)
