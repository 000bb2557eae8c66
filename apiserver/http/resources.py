"""Get and list of the resources (contract 4, design 6): which objects, in which form, how fresh."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from apiserver.http.answers import Answer, rendered
from apiserver.http.bodies import Bodies, Body
from apiserver.http.errors import (
    ExpiredError,
    MethodNotAllowedError,
    NotAcceptableError,
    NotFoundError,
    PathNotFoundError,
    TooLargeRevisionError,
    WatchNotSupportedError,
)
from apiserver.http.forms import Form
from apiserver.http.memo import memoised
from apiserver.http.negotiation import Encoding, Kind, Purpose, negotiate
from apiserver.http.params import ListOptions, get_options, list_options, table_form
from apiserver.http.query import Query, first, parse_query
from apiserver.http.request import Request
from apiserver.http.request_info import RequestInfo
from apiserver.http.selection import Selectors
from apiserver.http.services import Served, Services
from storage.views.resource import Freshness, Key

#: Callers that a person reads at, as upstream knows them.
_PEOPLE: Final = ("curl", "Wget", "Mozilla/5.0")
_TRUE: Final = ("1", "t", "T", "TRUE", "true", "True")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Wish:
    """What is asked for beside the objects: form and freshness."""

    form: Form
    version: str  # of meta.k8s.io
    encoding: Encoding
    pretty: bool
    minimum: int  # the answer is at or after this revision; 0: any
    selection: ListOptions | None  # None: everything


class Resources:
    """Answers every path of every resource, or says why not."""

    def __init__(self, services: Services, bodies: Bodies) -> None:
        self._faces = {
            plural: _Face(served, services.freshness, bodies)
            for plural, served in services.resources.items()
        }

    def answer(self, request: Request, info: RequestInfo) -> Answer:
        """Return the object or list that was asked for; errors are raised."""
        face = self._faces.get(info.attributes.resource)
        if face is None or not info.routable:
            raise PathNotFoundError
        return face.answer(request, info)


class _Face:
    """One resource as it is served."""

    def __init__(self, served: Served, freshness: Freshness, bodies: Bodies) -> None:
        self._served = served
        self._freshness = freshness
        self._bodies = bodies
        self._understood = memoised(self._understand)

    def answer(self, request: Request, info: RequestInfo) -> Answer:
        namespace, name = info.attributes.namespace, info.attributes.name
        if not self._is_path(namespace, named=info.named):
            raise PathNotFoundError
        if info.method != "GET":
            raise MethodNotAllowedError
        headers = request.headers
        by_person = headers.get("User-Agent", "").startswith(_PEOPLE)
        accept = headers.get("Accept", "")
        wish = self._understood(info.raw_query, accept, by_person, info.named, info.selectors)
        if wish.minimum and not self._freshness.admit(wish.minimum):
            raise TooLargeRevisionError(wish.minimum, self._freshness.list_revision())
        body = self._one(namespace, name, wish) if info.named else self._all(namespace, wish)
        return Answer(wish.encoding, rendered(body, wish.encoding, pretty=wish.pretty))

    def _is_path(self, namespace: str, *, named: bool) -> bool:
        """Whether a path is of this resource: only a namespaced one's have a namespace."""
        if self._served.info.namespaced:
            return bool(namespace) or not named
        return not namespace

    def _understand(
        self,
        raw_query: str,
        accept: str,
        by_person: bool,
        named: bool,
        selectors: Selectors | None,
    ) -> _Wish:
        """Read query and headers. Raises every error that does not depend on objects."""
        query = parse_query(raw_query)
        negotiated = negotiate(accept, Purpose.OBJECTS)
        options = None if named else list_options(query, selectors)
        if options is not None and options.watch:
            raise WatchNotSupportedError(self._served.info)
        if options is not None and options.exact:
            raise ExpiredError
        pretty = first(query, "pretty")
        return _Wish(
            form=self._form(negotiated.kind, query, named=named),
            version=negotiated.version,
            encoding=negotiated.encoding,
            pretty=negotiated.pretty or (pretty in _TRUE if pretty else by_person),
            minimum=get_options(query) if options is None else options.minimum,
            selection=options if options is not None and options.selective else None,
        )

    def _form(self, kind: Kind, query: Query, *, named: bool) -> Form:
        info = self._served.info
        match kind:
            case Kind.TABLE:
                return table_form(query)
            case Kind.PARTIAL if not named:
                raise NotAcceptableError(
                    "you requested PartialObjectMetadata, but the requested object is a list"
                    f" ({info.list_kind})"
                )
            case Kind.PARTIAL_LIST if named:
                raise NotAcceptableError(
                    "you requested PartialObjectMetadataList, but the requested object is not a"
                    f" list ({info.kind})"
                )
            case Kind.PARTIAL | Kind.PARTIAL_LIST:
                return Form.PARTIAL
            case _:
                return Form.OBJECT

    def _one(self, namespace: str, name: str, wish: _Wish) -> Body:
        served, form = self._served, wish.form
        key = served.resource.find(namespace, name)
        if key is None:
            raise NotFoundError(served.info, name)
        if form in (Form.OBJECT, Form.PARTIAL):
            return self._bodies.single(served, key, form, wish.version)
        return self._bodies.listed(served, (key,), key.revision, form, wish.version)

    def _all(self, namespace: str, wish: _Wish) -> Body:
        served, freshness = self._served, self._freshness
        if wish.selection is None:
            whose = namespace or None
            return self._bodies.whole(served, whose, freshness, wish.form, wish.version)
        keys = self._selected(namespace, wish.selection)
        revision = freshness.list_revision()
        return self._bodies.listed(served, keys, revision, wish.form, wish.version)

    def _selected(self, namespace: str, selection: ListOptions) -> Sequence[Key]:
        return [
            key
            for key in self._served.resource.keys(namespace or None)
            if selection.labels.matches(key.labels)
            and selection.fields.matches(
                {"metadata.name": key.name, "metadata.namespace": key.namespace}
            )
        ]
