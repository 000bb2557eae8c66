"""All constant documents of a server, built once at start and equal on every replica."""

import platform
from typing import Any, Final

import msgspec

from apiserver import __version__
from apiserver.documents import discovery, openapi
from apiserver.documents.document import Document, Documents, document
from apiserver.documents.resources import GROUP_VERSION
from storage.model.names import OPTIONS_GROUP

_JSON: Final = "application/json"
_AGGREGATED: Final = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"


def build_documents() -> Documents:
    """Return every constant document by its path."""
    group_schema = _json(openapi.v3())
    return Documents(
        plain={
            "/apis": _json(discovery.group_list()),
            f"/apis/{OPTIONS_GROUP}": _json(discovery.group()),
            f"/apis/{GROUP_VERSION}": _json(discovery.resource_list()),
            "/openapi/v2": _json(openapi.v2()),
            "/openapi/v3": _json(openapi.v3_root(group_schema.etag.strip('"'))),
            openapi.V3_GROUP_PATH: group_schema,
            "/version": _json(version()),
        },
        aggregated_discovery=_json(discovery.aggregated(), _AGGREGATED),
    )


def version() -> dict[str, str]:
    """Build the answer of `/version`; the fields of Go have no counterpart and are empty."""
    major, minor, *_ = __version__.split(".")
    return {
        "major": major,
        "minor": minor,
        # Python's spelling of a pre-release is none of semantic versioning's, which clients parse.
        "gitVersion": "v" + __version__.replace(".dev", "-dev."),
        "gitCommit": "",
        "gitTreeState": "",
        "buildDate": "",
        "goVersion": "",
        "compiler": platform.python_implementation(),
        "platform": f"{platform.system().lower()}/{platform.machine()}",
    }


def _json(value: dict[str, Any], content_type: str = _JSON) -> Document:
    return document(msgspec.json.encode(value), content_type)
