"""Everything that is answered and is no object: documents, health, metrics, the index.

Documents and the exact health paths are served before anybody is asked who they are (design 7), so
neither a source nor a review can hold them up.
"""

from collections.abc import Collection
from email.utils import formatdate
from http import HTTPStatus
from typing import Final

import msgspec

from apiserver.documents.document import Document
from apiserver.http.answers import NO_CACHE, Answer, plain_text
from apiserver.http.errors import MethodNotAllowedError, PathNotFoundError
from apiserver.http.negotiation import Encoding, Kind, Purpose, negotiate
from apiserver.http.query import Query, first
from apiserver.http.request import Request
from apiserver.http.request_info import RequestInfo
from apiserver.http.services import Services

_DISCOVERY: Final = "/apis"
_OPENAPI_V3: Final = "/openapi/v3/"
_METRICS: Final = "/metrics"
_INDEXES: Final = ("/", "/index.html")
_OPEN_HEALTH: Final = ("/healthz", "/livez", "/readyz")

_YEAR_SECONDS: Final = 365 * 24 * 3600


def for_everybody(request: Request, info: RequestInfo, services: Services) -> Answer | None:
    """Answer what takes no identity and no right; None: it is something else."""
    path = info.attributes.path
    if info.method != "GET" or not info.routable:
        return None
    if path in services.documents.plain:
        return _document(request, info, services)
    if path in _OPEN_HEALTH:
        return _health(path, info.query, services)
    return None


def for_the_allowed(info: RequestInfo, services: Services) -> Answer:
    """Answer the other paths that are no resource's.

    Raises PathNotFoundError and MethodNotAllowedError.
    """
    path = info.attributes.path
    if not info.routable or path not in _paths(services):
        raise PathNotFoundError
    if info.method != "GET":
        raise MethodNotAllowedError
    if path == _METRICS:
        content_type, body = services.metrics.exposition()
        return Answer(content_type=content_type, body=(body,))
    if path in services.health.paths:
        return _health(path, info.query, services)
    listed = msgspec.json.encode({"paths": sorted(_paths(services))})
    return Answer(content_type=Encoding.JSON, body=(listed, b"\n"))


def _paths(services: Services) -> Collection[str]:
    return {*_INDEXES, _METRICS, *services.documents.plain, *services.health.paths}


def _health(path: str, query: Query, services: Services) -> Answer:
    """Return the outcome of checks; 500 is what kubelets and people know a failure by."""
    well, report = services.health.report(
        path, excluded=query.get("exclude", ()), verbose="verbose" in query
    )
    return plain_text(report, HTTPStatus.OK if well else HTTPStatus.INTERNAL_SERVER_ERROR)


def _document(request: Request, info: RequestInfo, services: Services) -> Answer:
    path = info.attributes.path
    headers = request.headers
    purpose = Purpose.DISCOVERY if path == _DISCOVERY else Purpose.DOCUMENT
    aggregated = negotiate(headers.get("Accept", ""), purpose).kind is Kind.AGGREGATED_DISCOVERY
    documents = services.documents
    document = documents.aggregated_discovery if aggregated else documents.plain[path]
    caching = "Cache-Control: public\r\n" if aggregated else NO_CACHE
    if path.startswith(_OPENAPI_V3) and first(info.query, "hash") == _hash(document):
        caching = _for_a_year(services.wall_clock())
    caching += f"Vary: Accept\r\nETag: {document.etag}\r\n"
    if document.etag in headers.get("If-None-Match", ""):  # the quotes are part of it
        return Answer(code=HTTPStatus.NOT_MODIFIED, content_type="", body=(), headers=caching)
    return Answer(content_type=document.content_type, body=(document.body,), headers=caching)


def _hash(document: Document) -> str:
    return document.etag.strip('"')


def _for_a_year(now: float) -> str:
    """Return how long a document may be kept by who asked for it by its hash (contract 2.9).

    A hash that is not the present one gets the present document, never a redirect: replicas differ
    while they are rolled out, and a redirect does not pass the aggregator (contract 1.31).
    """
    expires = formatdate(now + _YEAR_SECONDS, usegmt=True)
    return f"Cache-Control: public, immutable\r\nExpires: {expires}\r\n"
