"""What each class is beside the others and KubeVirt's table of permitted devices (domain 4.3, 5.3).

A class that is being deleted is no offer, but its resource name is still taken.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from storage.model.objects import GPUClass, KubeVirt
from storage.pool.answers import Offer
from storage.pool.gpu_names import governing, offered
from storage.pool.usage import ClassesOn


class Catalogue:
    """The classes and the KubeVirt objects as they are now."""

    def __init__(self) -> None:
        self._classes: Final[dict[str, GPUClass]] = {}
        self._kubevirts: Final[dict[str, KubeVirt]] = {}
        self._classes_on: ClassesOn = {}
        self._offered: frozenset[str] = frozenset()
        self._offers: dict[bool, Mapping[str, Offer]] = {}  # by whether they are readable, if asked

    @property
    def classes_on(self) -> ClassesOn:
        """By resource name: the classes that stand for it, terminating ones included."""
        return self._classes_on

    def gpu_class(self, name: str) -> GPUClass | None:
        """Return a class, terminating or not."""
        return self._classes.get(name)

    def licensed(self, secret_name: str) -> frozenset[str]:
        """Return the classes that need a Secret of this name."""
        return frozenset(
            name for name, each in self._classes.items() if each.license_secret == secret_name
        )

    def replace_class(self, name: str, new: GPUClass | None) -> GPUClass | None:
        """Take a class in the place of what had its name; return that."""
        self._offers.clear()
        old = self._classes.pop(name, None)
        if new is not None:
            self._classes[name] = new
        names_on: dict[str, list[str]] = {}
        for each in self._classes.values():
            names_on.setdefault(each.resource_name, []).append(each.name)
        self._classes_on = {resource: tuple(sorted(names)) for resource, names in names_on.items()}
        return old

    def replace_kubevirt(self, key: str, new: KubeVirt | None) -> None:
        """Take a KubeVirt object in the place of what was there under its key."""
        self._offers.clear()
        self._kubevirts.pop(key, None)
        if new is not None:
            self._kubevirts[key] = new
        self._offered = offered(governing(self._kubevirts.values()))

    def names(self) -> tuple[str, ...]:
        """Return the names of the classes that are offered, sorted."""
        return tuple(sorted(name for name, each in self._classes.items() if not each.terminating))

    def all_names(self) -> Iterable[str]:
        """Return the names of all classes, terminating ones included, in no order."""
        return self._classes.keys()

    def offer(self, name: str, *, readable: bool) -> Offer | None:
        """Return a class as an offer; not readable: classes or KubeVirt cannot be believed now."""
        gpu_class = self._classes.get(name)
        if gpu_class is None or gpu_class.terminating:
            return None
        return Offer(
            gpu_class=gpu_class,
            conflict=len(self._classes_on[gpu_class.resource_name]) > 1,
            permitted=gpu_class.resource_name in self._offered if readable else None,
        )

    def offers(self, *, readable: bool) -> Mapping[str, Offer]:
        """Return every offer by name; the very same mapping until one of them may differ."""
        if readable not in self._offers:
            offers = ((name, self.offer(name, readable=readable)) for name in self._classes)
            self._offers[readable] = {name: offer for name, offer in offers if offer is not None}
        return self._offers[readable]
