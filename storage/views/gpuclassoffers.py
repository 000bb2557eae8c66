"""The resource `gpuclassoffers`: the offer alone, for every authenticated user (domain 4.1, D8)."""

from collections.abc import Sequence
from typing import Final

from storage.pool.verdict import judge_offer
from storage.views.compose import capacity_view, offer_spec
from storage.views.identity import class_labels, class_meta
from storage.views.objects import Condition, GPUClassOffer
from storage.views.published import Published
from storage.views.resource import Key
from storage.views.sentences import startable_message

KIND: Final = "GPUClassOffer"


class GPUClassOffers:
    """One object per class, cluster-scoped: a namespace has no say in any of it."""

    def __init__(self, published: Published) -> None:
        self._published = published

    def keys(self, namespace: str | None) -> Sequence[Key]:
        """Return the keys of all classes, by name. Raises NotReadyError."""
        del namespace
        return [key for name in self._published.classes() if (key := self.find("", name))]

    def find(self, namespace: str, name: str) -> Key | None:
        """Return the key of one class; None where it is not offered. Raises NotReadyError."""
        del namespace
        offer = self._published.offer(name)
        if offer is None:
            return None
        revision = self._published.offer_revision(name)
        return Key("", name, revision, class_labels(offer.gpu_class))

    def compose(self, key: Key) -> GPUClassOffer:
        """Return the object of a key."""
        offer = self._published.offer(key.name)
        if offer is None:
            raise LookupError(key.name)
        detail = self._published.detail
        capacity = self._published.free_units(key.name)
        judged = judge_offer(offer, capacity, self._published.policy, detail)
        message = startable_message(
            judged.startable, count=judged.startable_count, smallest=judged.smallest_allowed
        )
        return GPUClassOffer(
            meta=class_meta(KIND, "", offer.gpu_class, key.revision),
            spec=offer_spec(offer.gpu_class),
            capacity=capacity_view(capacity, judged.largest_fit, detail),
            startable_count=judged.startable_count,
            conditions=(
                Condition(
                    "Startable", judged.startable_status.value, judged.startable.value, message
                ),
            ),
        )
