"""OpenAPI version 2 and version 3 of the group (contract 2), from one set of schemas and
operations.
"""

from collections.abc import Callable
from typing import Any, Final, TypeAlias

from apiserver.documents.resources import GROUP_VERSION, RESOURCES, ResourceInfo
from apiserver.documents.schemas import PREFIX, Ref, schemas
from storage.model.names import OPTIONS_GROUP, VERSION

Json: TypeAlias = dict[str, Any]

V3_GROUP_PATH: Final = f"/openapi/v3/apis/{GROUP_VERSION}"

_MEDIA_TYPES: Final = ("application/json", "application/yaml")
_TAG: Final = "optionsGpuCozystackIo_v1alpha1"
_OPERATION: Final = "OptionsGpuCozystackIoV1alpha1"

_PRETTY: Final = ("pretty", "string", "If 'true', the answer is indented for people.")
_RESOURCE_VERSION: Final = (
    "resourceVersion",
    "string",
    "The answer is at least as new as this; empty or 0 for what is known now.",
)
_GET_PARAMETERS: Final = (_PRETTY, _RESOURCE_VERSION)
_LIST_PARAMETERS: Final = (
    _PRETTY,
    ("allowWatchBookmarks", "boolean", "Ignored unless this is a watch."),
    ("continue", "string", "The token of a previous answer, to get what follows it."),
    ("fieldSelector", "string", "Restricts the list by metadata.name and metadata.namespace."),
    ("labelSelector", "string", "Restricts the list by labels."),
    ("limit", "integer", "Most objects to answer with; a server may answer with all of them."),
    _RESOURCE_VERSION,
    ("resourceVersionMatch", "string", "How resourceVersion is applied: Exact or NotOlderThan."),
    ("sendInitialEvents", "boolean", "Allowed only for a watch."),
    ("timeoutSeconds", "integer", "Limits the duration of the call."),
    ("watch", "boolean", "Asks for a stream of changes instead of a list."),
)


def v2() -> Json:
    """Build the document of `/openapi/v2`."""
    return {
        "swagger": "2.0",
        "info": _info(),
        "paths": _paths(_v2_operation, _v2_parameter),
        "definitions": {
            PREFIX + name: _render(schema, _v2_ref) for name, schema in schemas().items()
        },
    }


def v3() -> Json:
    """Build the document of the group version below `/openapi/v3`."""
    return {
        "openapi": "3.0.0",
        "info": _info(),
        "paths": _paths(_v3_operation, _v3_parameter),
        "components": {
            "schemas": {
                PREFIX + name: _render(schema, _v3_ref) for name, schema in schemas().items()
            }
        },
    }


def v3_root(group_hash: str) -> Json:
    """Build the index of `/openapi/v3`; the hash is that of the group's document."""
    return {
        "paths": {
            f"apis/{GROUP_VERSION}": {"serverRelativeURL": f"{V3_GROUP_PATH}?hash={group_hash}"}
        }
    }


def _info() -> Json:
    return {"title": "GPU class options", "version": VERSION}


def _paths(
    operation: Callable[[ResourceInfo, str, str, str], Json],
    parameter: Callable[[str, str, str, str, bool], Json],
) -> Json:
    def query(parameters: tuple[tuple[str, str, str], ...]) -> list[Json]:
        return [parameter("query", name, kind, text, False) for name, kind, text in parameters]

    namespace = parameter("path", "namespace", "string", "The namespace that asks.", True)
    paths: Json = {}
    for info in RESOURCES:
        name = parameter("path", "name", "string", f"Name of the {info.kind}.", True)
        root = f"/apis/{GROUP_VERSION}"
        scoped = f"{root}/namespaces/{{namespace}}" if info.namespaced else root
        inside = "Namespaced" if info.namespaced else ""
        in_path = [namespace] if info.namespaced else []
        paths[f"{scoped}/{info.plural}"] = {
            "get": operation(info, "list", f"list{_OPERATION}{inside}{info.kind}", info.list_kind),
            "parameters": [*in_path, *query(_LIST_PARAMETERS)],
        }
        paths[f"{scoped}/{info.plural}/{{name}}"] = {
            "get": operation(info, "get", f"read{_OPERATION}{inside}{info.kind}", info.kind),
            "parameters": [name, *in_path, *query(_GET_PARAMETERS)],
        }
        if info.namespaced:
            everywhere = f"list{_OPERATION}{info.kind}ForAllNamespaces"
            paths[f"{root}/{info.plural}"] = {
                "get": operation(info, "list", everywhere, info.list_kind),
                "parameters": query(_LIST_PARAMETERS),
            }
    return dict(sorted(paths.items()))


def _operation(info: ResourceInfo, action: str, operation_id: str) -> Json:
    return {
        "description": f"{'List' if action == 'list' else 'Read'} {info.plural}.",
        "tags": [_TAG],
        "operationId": operation_id,
        "x-kubernetes-action": action,
        "x-kubernetes-group-version-kind": {
            "group": OPTIONS_GROUP,
            "kind": info.kind,
            "version": VERSION,
        },
    }


def _v2_operation(info: ResourceInfo, action: str, operation_id: str, kind: str) -> Json:
    return _operation(info, action, operation_id) | {
        "produces": list(_MEDIA_TYPES),
        "schemes": ["https"],
        "responses": {
            "200": {"description": "OK", "schema": {"$ref": f"#/definitions/{PREFIX}{kind}"}},
            "401": {"description": "Unauthorized"},
        },
    }


def _v3_operation(info: ResourceInfo, action: str, operation_id: str, kind: str) -> Json:
    schema = {"$ref": f"#/components/schemas/{PREFIX}{kind}"}
    return _operation(info, action, operation_id) | {
        "responses": {
            "200": {
                "description": "OK",
                "content": {media_type: {"schema": schema} for media_type in _MEDIA_TYPES},
            },
            "401": {"description": "Unauthorized"},
        },
    }


def _v2_parameter(where: str, name: str, kind: str, text: str, required: bool) -> Json:
    parameter: Json = {"name": name, "in": where, "description": text, "type": kind}
    return parameter | ({"required": True} if required else {}) | {"uniqueItems": True}


def _v3_parameter(where: str, name: str, kind: str, text: str, required: bool) -> Json:
    parameter: Json = {"name": name, "in": where, "description": text}
    return (
        parameter
        | ({"required": True} if required else {})
        | {"schema": {"type": kind, "uniqueItems": True}}
    )


def _v2_ref(ref: Ref) -> Json:
    return {"description": ref.description, "$ref": f"#/definitions/{PREFIX}{ref.name}"}


def _v3_ref(ref: Ref) -> Json:
    # Siblings of $ref are ignored in OpenAPI 3.0, so the description needs the detour.
    return {
        "description": ref.description,
        "allOf": [{"$ref": f"#/components/schemas/{PREFIX}{ref.name}"}],
    }


def _render(schema: object, ref: Callable[[Ref], Json]) -> Any:
    match schema:
        case Ref():
            return ref(schema)
        case dict():
            return {name: _render(value, ref) for name, value in schema.items()}
        case _:
            return schema
