"""What a request asks for, read off its method and raw target alone (contract 0.3 to 0.6, 14.4).

The result serves authorization, metrics, limits and routing alike.
"""

from dataclasses import dataclass
from typing import Final

from apiserver.http.errors import BadRequestError
from apiserver.http.memo import memoised
from apiserver.http.query import Query, boolean, first, parse_query, unescape
from apiserver.http.series import Series, series_of
from auth.attributes import Attributes, SelectorRequirement
from storage.views.selectors import InvalidSelectorError, Operator, parse_fields, parse_labels

_VERBS: Final = {
    "POST": "create",
    "GET": "get",
    "HEAD": "get",
    "PUT": "update",
    "PATCH": "patch",
    "DELETE": "delete",
}
#: "/namespaces/NAME/status" and "…/finalize" are subresources of the namespace itself.
_NAMESPACE_SUBRESOURCES: Final = ("status", "finalize")
_WITH_SELECTORS: Final = ("list", "watch", "deletecollection")


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestInfo:
    """One request, understood; immutable, so that equal requests share one."""

    method: str
    raw_query: str
    query: Query
    routable: bool  # False: a segment is empty or a dot segment, or holds a slash
    by_path_verb: bool = False  # the deprecated /apis/GROUP/VERSION/watch/…
    named: bool = False  # the path itself names an object
    attributes: Attributes
    series: Series


@memoised
def request_info(target: str, method: str) -> RequestInfo:
    """Read a request line's target and method. Raises BadRequestError."""
    raw_path, _, raw_query = _origin_form(target).partition("?")
    segments = [unescape(segment) for segment in raw_path.strip("/").split("/")]
    if segments == [""]:
        segments = []
    query = parse_query(raw_query)
    parts = _resource_parts(segments)
    by_path_verb = parts[2:3] == ["watch"] and len(parts) > 3
    if parts:
        attributes = _of_resource(method, parts, query, by_path_verb=by_path_verb)
    else:
        attributes = Attributes(verb=method.lower(), path="/" + "/".join(segments))
    return RequestInfo(
        method=method,
        raw_query=raw_query,
        query=query,
        routable=all(_routable(segment) for segment in segments),
        by_path_verb=by_path_verb,
        named=bool(attributes.name) and attributes.verb not in _WITH_SELECTORS,
        attributes=attributes,
        series=series_of(method, attributes, named=bool(attributes.name)),
    )


def _origin_form(target: str) -> str:
    """Return path and query of a target that may be in absolute form (RFC 9112, 3.2)."""
    if target.startswith("/"):
        return target.partition("#")[0]
    scheme, separator, rest = target.partition("://")
    if not separator or scheme.lower() not in ("http", "https"):
        raise BadRequestError("the target of the request is not a path")
    return "/" + rest.partition("/")[2].partition("#")[0]


def _routable(segment: str) -> bool:
    return segment not in ("", ".", "..") and "/" not in segment


def _resource_parts(segments: list[str]) -> list[str]:
    """Return group, version and what follows them; nothing where this is no resource's path."""
    if segments[:1] == ["apis"] and len(segments) > 3:
        return segments[1:]
    if segments[:1] == ["api"] and len(segments) > 2:
        return ["", *segments[1:]]
    return []


def _of_resource(method: str, parts: list[str], query: Query, *, by_path_verb: bool) -> Attributes:
    group, version, *path = parts[:2] + parts[3:] if by_path_verb else parts
    namespace = ""
    if path[0] == "namespaces" and len(path) > 1:
        namespace = path[1]
        if len(path) > 2 and path[2] not in _NAMESPACE_SUBRESOURCES:
            path = path[2:]
    resource, name, subresource = (*path, "", "")[:3]
    verb = "watch" if by_path_verb else _VERBS.get(method, "")
    if not name:
        verb, name = _of_collection(verb, query)
    selectable = verb in _WITH_SELECTORS and not by_path_verb
    return Attributes(
        verb=verb,
        resource_request=True,
        group=group,
        version=version,
        resource=resource,
        subresource=subresource,
        namespace=namespace,
        name=name,
        field_selector=_field_requirements(query) if selectable else None,
        label_selector=_label_requirements(query) if selectable else None,
    )


def _of_collection(verb: str, query: Query) -> tuple[str, str]:
    """Return verb and name of a request whose path names no object."""
    match verb:
        case "get":
            return ("watch" if boolean(query, "watch") else "list"), _selected_name(query)
        case "delete":
            return "deletecollection", ""
        case _:
            return verb, ""


def _selected_name(query: Query) -> str:
    """Return the one name that a field selector leaves, "" where it leaves several."""
    try:
        name = parse_fields(first(query, "fieldSelector")).exact("metadata.name") or ""
    except InvalidSelectorError:
        return ""
    return name if _routable(name) and "%" not in name else ""


def _field_requirements(query: Query) -> tuple[SelectorRequirement, ...] | None:
    """Return the terms for an access review; None also where they cannot be parsed."""
    try:
        terms = parse_fields(first(query, "fieldSelector")).terms
    except InvalidSelectorError:
        return None
    requirements = tuple(
        SelectorRequirement(term.field, "In" if term.equals else "NotIn", (term.value,))
        for term in terms
    )
    return requirements or None


def _label_requirements(query: Query) -> tuple[SelectorRequirement, ...] | None:
    """Return the terms for an access review, which knows no Gt and no Lt; None as above."""
    try:
        terms = parse_labels(first(query, "labelSelector")).requirements
    except InvalidSelectorError:
        return None
    requirements = tuple(
        SelectorRequirement(term.key, term.operator.value, term.values)
        for term in terms
        if term.operator not in (Operator.GREATER_THAN, Operator.LESS_THAN)
    )
    return requirements or None
