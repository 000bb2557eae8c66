"""The selectors of a collection's request, read once for authorization and answer alike.

Reading them takes time that a caller who is nobody must not cost: `request_info` leaves them be.
"""

from dataclasses import dataclass, field

from apiserver.http.memo import memoised
from auth.attributes import SelectorRequirement
from storage.views.selectors import (
    FieldSelector,
    InvalidSelectorError,
    LabelSelector,
    Operator,
    parse_fields,
    parse_labels,
)


@dataclass(frozen=True, slots=True)
class Selectors:
    """What was read; a selector with a fault is empty here, and must not be answered by."""

    labels: LabelSelector = field(default_factory=LabelSelector)
    fields: FieldSelector = field(default_factory=FieldSelector)
    fault: str = ""  # why one of them could not be read

    @property
    def name(self) -> str:
        """The one name that the field selector leaves, "" where it leaves several."""
        return self.fields.exact("metadata.name") or ""

    def field_requirements(self) -> tuple[SelectorRequirement, ...] | None:
        """Return the terms for an access review; None where there are none (contract 7.4)."""
        requirements = tuple(
            SelectorRequirement(term.field, "In" if term.equals else "NotIn", (term.value,))
            for term in self.fields.terms
        )
        return requirements or None

    def label_requirements(self) -> tuple[SelectorRequirement, ...] | None:
        """Return the terms for an access review, which knows no Gt and no Lt; None as above."""
        requirements = tuple(
            SelectorRequirement(term.key, term.operator.value, term.values)
            for term in self.labels.requirements
            if term.operator not in (Operator.GREATER_THAN, Operator.LESS_THAN)
        )
        return requirements or None


@memoised
def read_selectors(label_selector: str, field_selector: str) -> Selectors:
    """Read both selectors; each is read whether or not the other one can be."""
    labels, fields, faults = LabelSelector(), FieldSelector(), []
    try:
        labels = parse_labels(label_selector)
    except InvalidSelectorError as error:
        faults.append(str(error))
    try:
        fields = parse_fields(field_selector)
    except InvalidSelectorError as error:
        faults.append(str(error))
    return Selectors(labels, fields, next(iter(faults), ""))
