"""The resource `options`: the one object `gpuclass` in the shape of the console's dropdowns.

A class that cannot be used stays in the list, with the reason in its label: the console cannot grey
it out, and leaving it out looks like a fault (domain 4.4).
"""

from collections.abc import Mapping, Sequence
from typing import Final

from storage.views.gpuclassoptions import GPUClassOptions, can_be_namespace
from storage.views.identity import uid_of
from storage.views.objects import (
    ConsoleItem,
    ConsoleOption,
    GPUClassOption,
    Meta,
    shown_reason,
)
from storage.views.published import Published
from storage.views.resource import Key
from storage.views.sentences import console_description, console_label

KIND: Final = "Option"

#: The name of the option source; the console looks for exactly this (domain 2.1).
SOURCE: Final = "gpuclass"

_NO_LABELS: Final[Mapping[str, str]] = {}


class ConsoleOptions:
    """One object in every namespace that is asked for, made of that namespace's options."""

    def __init__(self, published: Published) -> None:
        self._published = published
        self._options = GPUClassOptions(published)

    def keys(self, namespace: str | None) -> Sequence[Key]:
        """Return the key of a namespace, or of each recorded tenant. Raises NotReadyError."""
        namespaces = self._published.tenants() if namespace is None else (namespace,)
        return [key for each in namespaces if (key := self.find(each, SOURCE))]

    def find(self, namespace: str, name: str) -> Key | None:
        """Return the key of the object; None for any other name. Raises NotReadyError."""
        revision = self._published.console_revision(namespace)
        if name != SOURCE or not can_be_namespace(namespace):
            return None
        return Key(namespace, SOURCE, revision, _NO_LABELS)

    def compose(self, key: Key) -> ConsoleOption:
        """Return the object of a key."""
        options = [self._options.compose(each) for each in self._options.keys(key.namespace)]
        return ConsoleOption(
            meta=Meta(
                name=SOURCE,
                namespace=key.namespace,
                uid=uid_of(KIND, key.namespace),
                created=None,
                labels=_NO_LABELS,
                revision=key.revision,
            ),
            items=tuple(_item(option) for option in options),
        )


def _item(option: GPUClassOption) -> ConsoleItem:
    reason = shown_reason(option.conditions)
    text = console_label(
        reason, requestable=option.requestable_count, startable=option.startable_count
    )
    (message,) = (each.message for each in option.conditions if each.reason == reason)
    return ConsoleItem(
        value=option.meta.name,
        label=f"{option.spec.display_name or option.meta.name} - {text}",
        description=console_description(
            reason,
            message,
            left=option.budget.remaining,
            free=option.capacity.free,
            requestable=option.requestable_count,
            smallest=min(option.spec.allowed_counts or (1,)),
        ),
    )
