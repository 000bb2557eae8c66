"""The three resources of the group as clients come to know them (design 2)."""

from dataclasses import dataclass
from typing import Final

from storage.model.names import OPTIONS_GROUP, VERSION

GROUP_VERSION: Final = f"{OPTIONS_GROUP}/{VERSION}"

#: In the order discovery gives them; watch joins them when it is served.
VERBS: Final = ("get", "list")

CATEGORIES: Final = ("gpu",)


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceInfo:
    """Names of one resource; the group and version are the same for all."""

    plural: str
    singular: str
    kind: str
    namespaced: bool
    short_names: tuple[str, ...] = ()

    @property
    def list_kind(self) -> str:
        """Kind of a list of it."""
        return f"{self.kind}List"

    @property
    def qualified(self) -> str:
        """The name that errors give: plural and group."""
        return f"{self.plural}.{OPTIONS_GROUP}"


GPU_CLASS_OFFERS: Final = ResourceInfo(
    plural="gpuclassoffers",
    singular="gpuclassoffer",
    kind="GPUClassOffer",
    namespaced=False,
    short_names=("gcoff",),
)

GPU_CLASS_OPTIONS: Final = ResourceInfo(
    plural="gpuclassoptions",
    singular="gpuclassoption",
    kind="GPUClassOption",
    namespaced=True,
    short_names=("gco",),
)

CONSOLE_OPTIONS: Final = ResourceInfo(
    plural="options", singular="option", kind="Option", namespaced=True
)

RESOURCES: Final = (GPU_CLASS_OFFERS, GPU_CLASS_OPTIONS, CONSOLE_OPTIONS)
