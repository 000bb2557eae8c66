"""Every sentence an option can carry: one table, and how its numbers are put in.

The texts end in events, tooltips and terminals of tenants: they speak of the class and of the
asker's own numbers only (domain 3.6).
"""

from collections.abc import Iterable, Mapping
from typing import Final

from storage.pool.answers import Requestable, Startable

_REQUESTABLE: Final[Mapping[Requestable, str]] = {
    Requestable.CLASS_UNKNOWN: "whether this class is offered cannot be read at the moment",
    Requestable.TENANT_AMBIGUOUS: "it is not clear which budget this namespace draws from",
    Requestable.BUDGET_UNKNOWN: "the budget cannot be read at the moment",
    Requestable.ADMISSION_DISABLED: "GPU classes are not enabled on this cluster",
    Requestable.RESOURCE_NAME_CONFLICT: "this class and another one stand for the same device",
    Requestable.RESOURCE_NOT_PERMITTED: "not offered on this cluster",
    Requestable.NOT_ENTITLED: "this tenant is not entitled to this class",
    Requestable.LICENSE_UNKNOWN: "whether the license is in place cannot be read at the moment",
    Requestable.LICENSE_NOT_READY: "the license for this class is not in place in this namespace",
    Requestable.BUDGET_EXHAUSTED: "{left} left in the budget, at least {m} needed",
    Requestable.ALLOWED: "up to {n} may be asked for in one VM",
}

_STARTABLE: Final[Mapping[Startable, str]] = {
    Startable.REQUESTABLE_UNKNOWN: "it is not known how many may be asked for",
    Startable.NOT_REQUESTABLE: "none may be asked for",
    Startable.CAPACITY_UNKNOWN: "free units cannot be read at the moment",
    Startable.CAPACITY_HIDDEN: "this cluster does not show free units",
    Startable.NO_CAPACITY: (
        "no unit can start a VM now; a VM that asks for {m} is accepted and waits"
    ),
    Startable.FITS: "a VM with up to {n} can start now",
}

#: Text of a console label by the reason of the first condition that is not True, else Fits.
_LABELS: Final[Mapping[str, str]] = {
    "Fits": "up to {start} per VM now",
    "NoCapacity": "none free now",
    "CapacityUnknown": "up to {req} per VM, availability unknown",
    "CapacityHidden": "up to {req} per VM",
    "BudgetExhausted": "budget used up",
    "NotEntitled": "not entitled",
    "LicenseNotReady": "license missing",
    "AdmissionDisabled": "not enabled",
    "ResourceNameConflict": "not available",
    "ResourceNotPermitted": "not available",
}
_LABEL_OF_UNKNOWN: Final = "availability unknown"


def requestable_message(
    reasons: Iterable[Requestable], *, count: int | None, left: int | None, smallest: int
) -> str:
    """Join the sentences of all reasons that hold.

    `count` is requestableCount, `left` status.budget.remaining, `smallest` the least allowed count.
    """
    numbers = {"n": _units(count or 0), "left": left, "m": _one(smallest)}
    return "; ".join(_REQUESTABLE[reason].format_map(numbers) for reason in reasons)


def startable_message(reason: Startable | Requestable, *, count: int | None, smallest: int) -> str:
    """Return the sentence of Startable; `count` is startableCount.

    An offer's Startable takes reasons of Requestable where nobody can use the class.
    """
    if isinstance(reason, Requestable):
        return _REQUESTABLE[reason]
    return _STARTABLE[reason].format_map({"n": _units(count or 0), "m": _one(smallest)})


def console_label(reason: str, *, requestable: int | None, startable: int | None) -> str:
    """Return the text that follows a class's display name in the console's dropdown."""
    template = _LABELS.get(reason, _LABEL_OF_UNKNOWN)
    return template.format_map({"req": requestable, "start": startable})


def console_description(
    reason: str,
    message: str,
    *,
    left: int | None,
    free: int | None,
    requestable: int | None,
    smallest: int,
) -> str:
    """Return the tooltip of a class in the console; `left` is None for an unbounded budget."""
    budget = "No limit in your budget" if left is None else f"{left} left in your budget"
    if reason == Startable.FITS.value:
        return f"{budget}, {free} free."
    if reason == Startable.NO_CAPACITY.value:
        return (
            f"{budget}. Up to {requestable} per VM."
            f" A VM that asks for {_one(smallest)} is accepted and waits."
        )
    return f"{message[:1].upper()}{message[1:]}."


def _units(count: int) -> str:
    return "1 unit" if count == 1 else f"{count} units"


def _one(count: int) -> str:
    return "one" if count == 1 else str(count)
