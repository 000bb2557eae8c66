"""The constant documents together."""

import json
import re

from apiserver import __version__
from apiserver.documents.build import build_documents
from apiserver.documents.resources import GROUP_VERSION


def test_documents_are_the_same_bytes_each_time() -> None:
    """Replicas whose hashes differ make every kube-apiserver download in a loop (contract 2.17)."""
    assert build_documents() == build_documents()


def test_the_schema_index_leads_to_the_tag_of_the_group_document() -> None:
    """The hash in the address is what the document is cached by (contract 2.7, 2.9)."""
    documents = build_documents()
    index = json.loads(documents.plain["/openapi/v3"].body)
    address = index["paths"][f"apis/{GROUP_VERSION}"]["serverRelativeURL"]
    path, _, digest = address.partition("?hash=")
    assert documents.plain[path].etag == f'"{digest}"'


def test_aggregated_discovery_has_exactly_the_type_that_clients_compare() -> None:
    """AD-01: any other type is read as a plain list (contract 1.8)."""
    assert build_documents().aggregated_discovery.content_type == (
        "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
    )


def test_version_has_the_fields_of_upstream_as_strings() -> None:
    """`kubectl version` and dashboards read them (contract 9.8)."""
    version = json.loads(build_documents().plain["/version"].body)
    assert re.fullmatch(r"v\d+\.\d+\.\d+(-dev\.\d+)?", version["gitVersion"])
    assert version["gitVersion"].removeprefix("v").replace("-dev.", ".dev") == __version__
    assert set(version) == {
        *("major", "minor", "gitVersion", "gitCommit", "gitTreeState", "buildDate"),
        *("goVersion", "compiler", "platform"),
    }
    assert all(isinstance(value, str) for value in version.values())
