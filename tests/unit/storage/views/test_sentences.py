"""Every sentence of the table of messages."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from storage.pool.answers import Requestable, Startable
from storage.views import sentences

TABLE: dict[str, Any] = yaml.safe_load(
    (Path(__file__).parents[3] / "data" / "samples" / "92-messages.yaml").read_text()
)


def filled(template: str, *, n: int = 0, m: int = 1, **numbers: int) -> str:
    """Fill a template of the table by its own rules, told in its first lines."""
    text = template.replace("{n} unit(s)", "1 unit" if n == 1 else f"{n} units")
    text = text.replace("{m}", "one" if m == 1 else str(m))
    for name, number in numbers.items():
        text = text.replace("{" + name + "}", str(number))
    return text


@pytest.mark.parametrize("reason", list(Requestable))
@pytest.mark.parametrize("count", [0, 1, 7])
@pytest.mark.parametrize("smallest", [1, 2])
def test_requestable_says_what_the_table_says(
    reason: Requestable, count: int, smallest: int
) -> None:
    """Word for word, with the unit in the singular for one."""
    said = sentences.requestable_message([reason], count=count, left=3, smallest=smallest)
    assert said == filled(TABLE["requestable"][reason.value], n=count, m=smallest, left=3)


@pytest.mark.parametrize("reason", list(Startable))
@pytest.mark.parametrize("count", [0, 1, 7])
@pytest.mark.parametrize("smallest", [1, 2])
def test_startable_says_what_the_table_says(reason: Startable, count: int, smallest: int) -> None:
    """Word for word."""
    said = sentences.startable_message(reason, count=count, smallest=smallest)
    assert said == filled(TABLE["startable"][reason.value], n=count, m=smallest)


def test_the_sentences_of_all_reasons_are_joined() -> None:
    """The first reason is the condition's; nothing that stands in the way is kept back."""
    said = sentences.requestable_message(
        [Requestable.NOT_ENTITLED, Requestable.LICENSE_NOT_READY], count=0, left=None, smallest=1
    )
    assert said == (
        "this tenant is not entitled to this class; "
        "the license for this class is not in place in this namespace"
    )


@pytest.mark.parametrize("reason", [*TABLE["console"]["label"], "TenantAmbiguous"])
def test_a_console_label_says_what_the_table_says(reason: str) -> None:
    """The dropdown shows the label alone: the numbers are in it."""
    labels = TABLE["console"]["label"]
    template = labels.get(reason, labels["any Unknown"])
    if reason == "any Unknown":
        reason = "BudgetUnknown"
    assert sentences.console_label(reason, requestable=4, startable=2) == filled(
        template, req=4, start=2
    )


def test_a_console_description_speaks_of_budget_and_room() -> None:
    """Fits and NoCapacity have sentences of their own, with and without a limit."""
    template = TABLE["console"]["description"]["Fits"]
    assert _described("Fits", left=3) == filled(template, left=3, free=9)
    assert _described("Fits", left=None) == "No limit in your budget, 9 free."
    template = TABLE["console"]["description"]["NoCapacity"]
    assert _described("NoCapacity", left=3) == filled(template, left=3, req=4, m=2)
    assert _described("NoCapacity", left=None) == (
        "No limit in your budget. Up to 4 per VM. A VM that asks for 2 is accepted and waits."
    )


def test_any_other_console_description_is_the_conditions_message() -> None:
    """With a capital letter and a full stop."""
    assert _described("NotEntitled", left=3) == "Not offered on this cluster."


def _described(reason: str, *, left: int | None) -> str:
    return sentences.console_description(
        reason,
        "not offered on this cluster",
        left=left,
        free=9,
        requestable=4,
        smallest=2,
    )
