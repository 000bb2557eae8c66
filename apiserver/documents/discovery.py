"""What is served, as clients and the aggregator ask for it (contract 1).

Nothing here depends on data: with no class, node or tenant the documents are the same.
"""

from typing import Any, TypeAlias

from apiserver.documents.resources import CATEGORIES, GROUP_VERSION, RESOURCES, VERBS, ResourceInfo
from storage.model.names import OPTIONS_GROUP, VERSION

Json: TypeAlias = dict[str, Any]


def group_list() -> Json:
    """Build the APIGroupList of `/apis`."""
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": [_group()]}


def group() -> Json:
    """Build the APIGroup of `/apis/GROUP`."""
    return {"kind": "APIGroup", "apiVersion": "v1"} | _group()


def resource_list() -> Json:
    """Build the APIResourceList of `/apis/GROUP/VERSION`."""
    return {
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": GROUP_VERSION,
        "resources": [_resource(info) for info in RESOURCES],
    }


def aggregated() -> Json:
    """Build the APIGroupDiscoveryList (v2) of `/apis`."""
    return {
        "kind": "APIGroupDiscoveryList",
        "apiVersion": "apidiscovery.k8s.io/v2",
        "metadata": {},
        "items": [
            {
                "metadata": {"name": OPTIONS_GROUP},
                "versions": [
                    {
                        "version": VERSION,
                        "freshness": "Current",
                        "resources": [_discovered(info) for info in RESOURCES],
                    }
                ],
            }
        ],
    }


def _group() -> Json:
    version = {"groupVersion": GROUP_VERSION, "version": VERSION}
    return {"name": OPTIONS_GROUP, "versions": [version], "preferredVersion": version}


def _resource(info: ResourceInfo) -> Json:
    described: Json = {
        "name": info.plural,
        "singularName": info.singular,
        "namespaced": info.namespaced,
        "group": OPTIONS_GROUP,
        "version": VERSION,
        "kind": info.kind,
        "verbs": list(VERBS),
        "categories": list(CATEGORIES),
    }
    if info.short_names:
        described["shortNames"] = list(info.short_names)
    return described


def _discovered(info: ResourceInfo) -> Json:
    described: Json = {
        "resource": info.plural,
        "responseKind": {"group": OPTIONS_GROUP, "version": VERSION, "kind": info.kind},
        "scope": "Namespaced" if info.namespaced else "Cluster",
        "singularResource": info.singular,
        "verbs": list(VERBS),
        "categories": list(CATEGORIES),
    }
    if info.short_names:
        described["shortNames"] = list(info.short_names)
    return described
