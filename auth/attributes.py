"""What is asked for, as authorizers see it: the attributes of a SubjectAccessReview."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SelectorRequirement:
    """One term of a selector; operator is In, NotIn, Exists or DoesNotExist."""

    key: str
    operator: str
    values: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Attributes:
    """One request; hashable, so that decisions can be kept by it.

    A resource request has group, version, resource and perhaps the rest; any other request has a
    verb (the lower-case HTTP method) and the path.
    """

    verb: str
    path: str = ""
    resource_request: bool = False
    group: str = ""
    version: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    # Only for list, watch and deletecollection; None: absent or not parsable (contract 7.4).
    field_selector: tuple[SelectorRequirement, ...] | None = None
    label_selector: tuple[SelectorRequirement, ...] | None = None
