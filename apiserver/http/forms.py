"""Forms in which objects are sent, and what a resource's encoder offers (contract 3.4 to 3.21)."""

from enum import StrEnum
from typing import Protocol, TypeVar

T_contra = TypeVar("T_contra", contravariant=True)


class Form(StrEnum):
    """What one object is encoded as; a Table's forms are those of one row, by includeObject."""

    OBJECT = "object"
    PARTIAL = "partial"
    TABLE_METADATA = "table with metadata"
    TABLE_OBJECT = "table with objects"
    TABLE_NONE = "table"


class Encoder(Protocol[T_contra]):
    """Makes the bytes of one resource's objects."""

    def item(self, obj: T_contra, form: Form, version: str) -> bytes:
        """Return the JSON of one object with kind and apiVersion, or of its row in a Table.

        `version` is that of meta.k8s.io, v1 or v1beta1, for all forms but OBJECT.
        """
        ...

    def moment(self, form: Form) -> int:
        """Return what the bytes of a form depend on beside the object: the second, for ages.

        0 for a form that depends on nothing else.
        """
        ...

    def list_head(self, form: Form, version: str) -> tuple[bytes, bytes, bytes]:
        """Return what stands before the revision, between it and the items, and after them.

        The list or Table is these around the decimal revision and the items joined by commas.
        """
        ...
