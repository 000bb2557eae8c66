"""Get and list of the resources (contract 4, design 6): which objects, in which form, how fresh."""

import re
from collections.abc import Mapping, Sequence
from typing import Final

from apiserver.http.answers import Answer, rendered
from apiserver.http.bodies import Bodies
from apiserver.http.errors import (
    ExpiredError,
    MethodNotAllowedError,
    NotAcceptableError,
    NotFoundError,
    PathNotFoundError,
    TooLargeRevisionError,
    WatchNotSupportedError,
)
from apiserver.http.exchange import Exchange
from apiserver.http.forms import Form
from apiserver.http.negotiation import Kind, Negotiated, Purpose, negotiate
from apiserver.http.params import ListOptions, get_options, list_options, table_form
from apiserver.http.query import Query, first
from apiserver.http.request_info import RequestInfo
from apiserver.http.services import Served, Services
from storage.model.names import OPTIONS_GROUP, VERSION
from storage.views.resource import Freshness, Key

#: A namespace that cannot exist has no objects, although options exist wherever they are asked for.
_NAMESPACE: Final = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?", re.ASCII)

#: Callers that a person reads at, as upstream knows them.
_PEOPLE: Final = ("curl", "Wget", "Mozilla/5.0")
_TRUE: Final = ("1", "t", "T", "TRUE", "true", "True")


class Objects:
    """The last step: answers every path of a resource, or says why not."""

    def __init__(self, bodies: Bodies) -> None:
        self._bodies = bodies

    async def __call__(self, exchange: Exchange, services: Services) -> Answer | None:
        """Return the object or list that was asked for; errors are raised."""
        info = exchange.info
        served = _routed(info, services.resources)
        if info.method != "GET":
            raise MethodNotAllowedError
        headers = exchange.request.headers
        negotiated = negotiate(headers.get("Accept", ""), Purpose.OBJECTS)
        one_or_all = self._one if info.named else self._all
        body = one_or_all(info, served, negotiated, services.freshness)
        pretty = negotiated.pretty or _for_people(info.query, headers.get("User-Agent", ""))
        return Answer(
            content_type=negotiated.encoding.value,
            body=rendered(body, negotiated.encoding, pretty=pretty),
        )

    def _one(
        self, info: RequestInfo, served: Served, negotiated: Negotiated, freshness: Freshness
    ) -> bytes:
        _require(freshness, get_options(info.query))
        namespace, name = info.attributes.namespace, info.attributes.name
        key = served.resource.find(namespace, name) if _can_exist(namespace) else None
        if key is None:
            raise NotFoundError(served.info, name)
        form = _form(negotiated.kind, info.query)
        if negotiated.kind is Kind.PARTIAL_LIST:
            raise NotAcceptableError(
                "you requested PartialObjectMetadataList, but the requested object is not a list"
                f" ({served.info.kind})"
            )
        if negotiated.kind is Kind.TABLE:
            return self._bodies.listed(served, (key,), key.revision, form, negotiated.version)
        return self._bodies.single(served, key, form, negotiated.version)

    def _all(
        self, info: RequestInfo, served: Served, negotiated: Negotiated, freshness: Freshness
    ) -> bytes:
        options = list_options(info.raw_query)
        if options.watch:
            raise WatchNotSupportedError(served.info)
        if options.exact:
            raise ExpiredError
        _require(freshness, options.minimum)
        form = _form(negotiated.kind, info.query)
        if negotiated.kind is Kind.PARTIAL:
            raise NotAcceptableError(
                "you requested PartialObjectMetadata, but the requested object is a list"
                f" ({served.info.list_kind})"
            )
        namespace, version = info.attributes.namespace, negotiated.version
        if options.selective or not _can_exist(namespace):
            keys = _selected(served, namespace, options)
            return self._bodies.listed(served, keys, freshness.list_revision(), form, version)
        return self._bodies.whole(served, namespace or None, freshness, form, version)


def _routed(info: RequestInfo, resources: Mapping[str, Served]) -> Served:
    """Return the resource of a path; only a namespaced one's objects have a namespace in theirs."""
    attributes = info.attributes
    served = resources.get(attributes.resource)
    if (
        served is None
        or not info.routable
        or info.by_path_verb
        or (attributes.group, attributes.version) != (OPTIONS_GROUP, VERSION)
        or attributes.subresource
        or (attributes.namespace and not served.info.namespaced)
        or (info.named and served.info.namespaced and not attributes.namespace)
    ):
        raise PathNotFoundError
    return served


def _can_exist(namespace: str) -> bool:
    return not namespace or _NAMESPACE.fullmatch(namespace) is not None


def _require(freshness: Freshness, revision: int) -> None:
    """Raise TooLargeRevisionError unless an answer at or after the revision can be given now."""
    if revision and not freshness.admit(revision):
        raise TooLargeRevisionError(revision, freshness.current)


def _selected(served: Served, namespace: str, options: ListOptions) -> Sequence[Key]:
    if not _can_exist(namespace):
        return ()
    return [
        key
        for key in served.resource.keys(namespace or None)
        if options.labels.matches(key.labels)
        and options.fields.matches({"metadata.name": key.name, "metadata.namespace": key.namespace})
    ]


def _form(kind: Kind, query: Query) -> Form:
    match kind:
        case Kind.TABLE:
            return table_form(query)
        case Kind.PARTIAL | Kind.PARTIAL_LIST:
            return Form.PARTIAL
        case _:
            return Form.OBJECT


def _for_people(query: Query, user_agent: str) -> bool:
    """Whether the answer is indented: as asked for, else where a person is likely to read it."""
    wish = first(query, "pretty")
    return wish in _TRUE if wish else user_agent.startswith(_PEOPLE)
