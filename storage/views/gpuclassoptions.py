"""The resource `gpuclassoptions`: what one namespace can have of each class (domain 4.1)."""

import re
from collections.abc import Sequence
from typing import Final

from storage.pool.answers import Entitlement
from storage.pool.verdict import Facts, Judgement, judge
from storage.views.compose import budget_view, capacity_view, offer_spec
from storage.views.identity import class_labels, class_meta
from storage.views.objects import Condition, GPUClassOption
from storage.views.published import Published
from storage.views.resource import Key
from storage.views.sentences import requestable_message, startable_message

KIND: Final = "GPUClassOption"

_NAMESPACE: Final = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?", re.ASCII)


def can_be_namespace(name: str) -> bool:
    """Whether a namespace can have this name; options exist in every one that is asked for."""
    return _NAMESPACE.fullmatch(name) is not None


class GPUClassOptions:
    """One object per class in every namespace that is asked for; a list of all has the tenants'."""

    def __init__(self, published: Published) -> None:
        self._published = published

    def keys(self, namespace: str | None) -> Sequence[Key]:
        """Return the keys of a namespace, or of all recorded tenants. Raises NotReadyError."""
        namespaces = self._published.tenants() if namespace is None else (namespace,)
        return [
            key
            for each in namespaces
            for name in self._published.classes()
            if (key := self.find(each, name))
        ]

    def find(self, namespace: str, name: str) -> Key | None:
        """Return the key of one class; None where it is not offered. Raises NotReadyError."""
        offer = self._published.offer(name)
        if offer is None or not can_be_namespace(namespace):
            return None
        revision = self._published.option_revision(namespace, name)
        return Key(namespace, name, revision, class_labels(offer.gpu_class))

    def compose(self, key: Key) -> GPUClassOption:
        """Return the object of a key."""
        facts = self._published.facts(key.namespace, key.name)
        detail = self._published.detail
        judged = judge(facts, self._published.policy, detail)
        entitlement = facts.entitlement
        return GPUClassOption(
            meta=class_meta(KIND, key.namespace, facts.offer.gpu_class, key.revision),
            spec=offer_spec(facts.offer.gpu_class),
            capacity=capacity_view(facts.capacity, judged.largest_fit, detail),
            budget=budget_view(facts.budget),
            entitlement=None if entitlement is Entitlement.UNKNOWN else entitlement.value,
            requestable_count=judged.requestable_count,
            startable_count=judged.startable_count,
            conditions=_conditions(facts, judged),
        )


def _conditions(facts: Facts, judged: Judgement) -> tuple[Condition, ...]:
    requestable = Condition(
        "Requestable",
        judged.requestable_status.value,
        judged.requestable[0].value,
        requestable_message(
            judged.requestable,
            count=judged.requestable_count,
            left=facts.budget.remaining,
            smallest=judged.smallest_allowed,
        ),
    )
    startable = Condition(
        "Startable",
        judged.startable_status.value,
        judged.startable.value,
        startable_message(
            judged.startable, count=judged.startable_count, smallest=judged.smallest_allowed
        ),
    )
    return requestable, startable
