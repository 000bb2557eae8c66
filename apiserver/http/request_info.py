"""What a request asks for, read off its method and raw target alone (contract 0.3 to 0.6, 14.4).

The result serves authorization, metrics, limits and routing alike.
"""

from dataclasses import dataclass, replace
from typing import Final

from apiserver.http.errors import BadRequestError
from apiserver.http.memo import memoised
from apiserver.http.query import Query, boolean, first, parse_query, unescape
from apiserver.http.selection import Selectors, read_selectors
from apiserver.http.series import Series, series_of
from auth.attributes import Attributes
from storage.model.names import OPTIONS_GROUP, VERSION

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
_WITH_SELECTED_NAME: Final = ("list", "watch")
#: More than any client sends: what is read before anybody is asked who they are must take no time.
_MAX_TARGET: Final = 256 * 1024
_MAX_SEGMENTS: Final = 100
_MAX_PARAMETERS: Final = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestInfo:
    """One request, understood; immutable, so that equal requests share one."""

    method: str
    raw_query: str
    query: Query
    routable: bool  # False: whatever is served, nothing is at this path
    named: bool  # the path itself names an object
    by_path_verb: bool  # the path is of the old form that names the verb, /watch/…
    attributes: Attributes
    series: Series
    selectors: Selectors | None = None  # None: there are none, or they were not read yet


@memoised
def request_info(target: str, method: str) -> RequestInfo:
    """Read a request line's target and method. Raises BadRequestError."""
    if len(target) > _MAX_TARGET:
        raise BadRequestError(f"the URL is longer than {_MAX_TARGET} bytes")
    raw_path, _, raw_query = _origin_form(target).partition("?")
    if raw_path.count("/") > _MAX_SEGMENTS:
        raise BadRequestError(f"the path has more than {_MAX_SEGMENTS} segments")
    if raw_query.count("&") > _MAX_PARAMETERS:
        raise BadRequestError(f"the query has more than {_MAX_PARAMETERS} parameters")
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
        routable=all(map(_routable, segments)) and not by_path_verb and _in_group(attributes),
        named=bool(attributes.name) and attributes.verb not in _WITH_SELECTORS,
        attributes=attributes,
        by_path_verb=by_path_verb,
        series=series_of(method, attributes, named=bool(attributes.name)),
    )


def with_selectors(info: RequestInfo) -> RequestInfo:
    """Return a request with its selectors read; to be called once it is known who asks.

    They are part of what is authorized: a list of one name is authorized by that name, and what
    cannot be parsed is left out (contract 7.4, 7.5).
    """
    attributes = info.attributes
    texts = first(info.query, "labelSelector"), first(info.query, "fieldSelector")
    if info.by_path_verb or attributes.verb not in _WITH_SELECTORS or not any(texts):
        return info
    selectors = read_selectors(*texts)
    name = selectors.name if attributes.verb in _WITH_SELECTED_NAME else ""
    attributes = replace(
        attributes,
        name=name if _routable(name) and "%" not in name else "",
        field_selector=selectors.field_requirements(),
        label_selector=selectors.label_requirements(),
    )
    return replace(info, attributes=attributes, selectors=selectors)


def _origin_form(target: str) -> str:
    """Return path and query of a target that may be in absolute form (RFC 9112, 3.2)."""
    if target.startswith("/"):
        return target.partition("#")[0]
    scheme, separator, rest = target.partition("://")
    if not separator or scheme.lower() not in ("http", "https"):
        raise BadRequestError("the target of the request is not a path")
    hierarchy, mark, query = rest.partition("#")[0].partition("?")
    return f"/{hierarchy.partition('/')[2]}{mark}{query}"


def _in_group(attributes: Attributes) -> bool:
    """Whether a resource is of the group that is served; subresources there are none."""
    of_group = (attributes.group, attributes.version) == (OPTIONS_GROUP, VERSION)
    return not attributes.resource_request or (of_group and not attributes.subresource)


def _routable(segment: str) -> bool:
    """Whether a name can be like that: not empty, no dot segment, no slash."""
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
        verb = _of_collection(verb, query)
    return Attributes(
        verb=verb,
        resource_request=True,
        group=group,
        version=version,
        resource=resource,
        subresource=subresource,
        namespace=namespace,
        name=name,
    )


def _of_collection(verb: str, query: Query) -> str:
    """Return the verb of a request whose path names no object."""
    match verb:
        case "get":
            return "watch" if boolean(query, "watch") else "list"
        case "delete":
            return "deletecollection"
        case _:
            return verb
