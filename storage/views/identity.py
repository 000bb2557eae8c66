"""What identifies a computed object: uids that follow from names, and its metadata (design 2)."""

from collections.abc import Mapping
from typing import Final
from uuid import UUID, uuid5

from storage.model.names import MODE_LABEL, OPTIONS_GROUP, VENDOR_LABEL
from storage.model.objects import GPUClass
from storage.views.objects import Meta

#: The UUID namespace of the project; it never changes, or every uid would.
UID_NAMESPACE: Final = UUID("7f2d9c51-6a0e-5b7c-9d3a-4e1b8c6f2a90")


def uid_of(kind: str, namespace: str, *more: str) -> str:
    """Return the uid of a computed object: equal on every replica and after every restart.

    `more` is the uid of the class, where the object is one class's: another class of the same name
    gives another object.
    """
    return str(uuid5(UID_NAMESPACE, "/".join((OPTIONS_GROUP, kind, namespace, *more))))


def class_labels(gpu_class: GPUClass) -> Mapping[str, str]:
    """Return the labels of a class's objects; both are immutable in the class."""
    return {VENDOR_LABEL: gpu_class.vendor, MODE_LABEL: gpu_class.mode.value}


def class_meta(kind: str, namespace: str, gpu_class: GPUClass, revision: int) -> Meta:
    """Return the metadata of a class's object in a namespace ("" for cluster-scoped kinds)."""
    return Meta(
        name=gpu_class.name,
        namespace=namespace,
        uid=uid_of(kind, namespace, gpu_class.uid),
        created=gpu_class.created,
        labels=class_labels(gpu_class),
        revision=revision,
    )
