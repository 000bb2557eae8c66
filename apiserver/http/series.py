"""Which series of the metrics a request counts in; what is not served counts without its name.

So the number of series does not depend on what callers ask for (contract 9.10).
"""

from typing import Final, NamedTuple

from apiserver.documents.resources import RESOURCES
from auth.attributes import Attributes
from storage.model.names import OPTIONS_GROUP, VERSION

_METHODS: Final = frozenset(
    ("CONNECT", "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "TRACE")
)
_OF_OBJECTS: Final = {
    "list": "LIST",
    "watch": "WATCH",
    "deletecollection": "DELETECOLLECTION",
}
_PLURALS: Final = frozenset(info.plural for info in RESOURCES)


class Series(NamedTuple):
    """Labels of apiserver_request_total, without the code."""

    verb: str
    group: str = ""
    version: str = ""
    resource: str = ""
    subresource: str = ""
    scope: str = ""  # resource, namespace, cluster; "" where there is no resource


#: A request that could not be read.
UNREADABLE: Final = Series("other")


def series_of(method: str, attributes: Attributes, *, named: bool) -> Series:
    """Return the series of a request."""
    verb = _OF_OBJECTS.get(attributes.verb, method if method in _METHODS else "other")
    served = (attributes.group, attributes.version) == (OPTIONS_GROUP, VERSION)
    if not served or attributes.resource not in _PLURALS or attributes.subresource:
        return Series(verb)
    scope = "namespace" if attributes.namespace else "cluster"
    scope = "resource" if named else scope
    return Series(verb, attributes.group, attributes.version, attributes.resource, "", scope)
