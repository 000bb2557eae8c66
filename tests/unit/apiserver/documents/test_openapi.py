"""OpenAPI documents (contract 2)."""

from collections.abc import Iterator
from typing import Any

import pytest

from apiserver.documents import openapi
from apiserver.documents.resources import GROUP_VERSION, RESOURCES
from apiserver.documents.schemas import PREFIX

V2 = openapi.v2()
V3 = openapi.v3()
SCHEMAS = {"v2": V2["definitions"], "v3": V3["components"]["schemas"]}


def every_value(value: object) -> Iterator[Any]:
    """Walk a document."""
    yield value
    children: Iterator[Any] = iter(())
    if isinstance(value, dict):
        children = iter(value.values())
    elif isinstance(value, list):
        children = iter(value)
    for child in children:
        yield from every_value(child)


@pytest.mark.parametrize("version", ["v2", "v3"])
def test_every_schema_and_every_field_has_a_description(version: str) -> None:
    """`kubectl explain` prints exactly these (contract 2.16)."""
    for name, schema in SCHEMAS[version].items():
        assert schema["description"], name
        for field, described in schema["properties"].items():
            assert described["description"], f"{name}.{field}"


@pytest.mark.parametrize("version", ["v2", "v3"])
def test_oa_02_every_schema_carries_our_prefix(version: str) -> None:
    """OA-02: a shared name with other content would be renamed in the merged document."""
    assert all(name.startswith("io.cozystack.gpu.options.v1alpha1.") for name in SCHEMAS[version])


@pytest.mark.parametrize(("version", "document"), [("v2", V2), ("v3", V3)])
def test_every_reference_leads_to_a_schema(version: str, document: dict[str, Any]) -> None:
    """A dangling reference breaks every generator and `kubectl explain`."""
    references = [
        value["$ref"]
        for value in every_value(document)
        if isinstance(value, dict) and "$ref" in value
    ]
    assert references
    start = "#/definitions/" if version == "v2" else "#/components/schemas/"
    for reference in references:
        assert reference.removeprefix(start) in SCHEMAS[version]


@pytest.mark.parametrize("document", [V2, V3])
def test_oa_02_only_paths_of_the_group_version_are_described(document: dict[str, Any]) -> None:
    """OA-02: a path of somebody else's would be in two documents."""
    assert all(path.startswith(f"/apis/{GROUP_VERSION}/") for path in document["paths"])


@pytest.mark.parametrize("document", [V2, V3])
def test_oa_01_explain_finds_each_kind_by_the_operation_of_its_path(
    document: dict[str, Any],
) -> None:
    """OA-01: the list and item paths are marked with group, version and kind (contract 2.11)."""
    for info in RESOURCES:
        scope = "/namespaces/{namespace}" if info.namespaced else ""
        root = f"/apis/{GROUP_VERSION}{scope}/{info.plural}"
        for path, action in ((root, "list"), (f"{root}/{{name}}", "get")):
            operation = document["paths"][path]["get"]
            assert operation["x-kubernetes-action"] == action
            assert operation["x-kubernetes-group-version-kind"] == {
                "group": "options.gpu.cozystack.io",
                "version": "v1alpha1",
                "kind": info.kind,
            }
            assert set(operation["responses"]) == {"200", "401"}


@pytest.mark.parametrize("version", ["v2", "v3"])
def test_served_kinds_are_marked_in_their_schema(version: str) -> None:
    """explain picks the schema whose list of kinds holds the operation's (contract 2.11)."""
    for info in RESOURCES:
        for kind in (info.kind, info.list_kind):
            assert SCHEMAS[version][PREFIX + kind]["x-kubernetes-group-version-kind"] == [
                {"group": "options.gpu.cozystack.io", "kind": kind, "version": "v1alpha1"}
            ]


@pytest.mark.parametrize("document", [V2, V3])
def test_no_boolean_additional_properties_and_only_get_is_described(
    document: dict[str, Any],
) -> None:
    """One crashed a controller-manager, the other decides what kubectl tries (2.12, 2.14)."""
    for value in every_value(document):
        if isinstance(value, dict):
            assert not isinstance(value.get("additionalProperties"), bool)
    for item in document["paths"].values():
        assert set(item) == {"get", "parameters"}


def test_operation_ids_are_unique() -> None:
    """Merged documents need ids that are unique over the cluster (contract 2.12)."""
    ids = [item["get"]["operationId"] for item in V3["paths"].values()]
    assert len(ids) == len(set(ids))
    assert all("OptionsGpuCozystackIoV1alpha1" in each for each in ids)


def test_the_index_leads_to_the_group_document_alone() -> None:
    """Keys of all servers are merged into one map: only our own may be in it (contract 2.7)."""
    assert openapi.v3_root("ABC") == {
        "paths": {
            f"apis/{GROUP_VERSION}": {
                "serverRelativeURL": f"/openapi/v3/apis/{GROUP_VERSION}?hash=ABC"
            }
        }
    }
