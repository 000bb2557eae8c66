"""Written objects filled in."""

import json
from typing import Any

import pytest

from storage.cluster.decoded import Ref
from storage.cluster.documents import FileFaultError, PlainObject, Position
from storage.cluster.kinds import Kind
from storage.cluster.manifests import Identity, Manifest, manifest_of

POSITION = Position("a.yaml", 1, 1)


def plain(api_version: str, kind: str, metadata: object) -> PlainObject:
    """Return an object as it is written."""
    return PlainObject(api_version, kind, {"metadata": metadata}, POSITION)


def read(api_version: str, kind: str, metadata: object) -> Manifest:
    """Return it filled in."""
    found = manifest_of(plain(api_version, kind, metadata))
    assert found is not None
    return found


def metadata_of(manifest: Manifest) -> Any:
    """Return the metadata that goes on, as JSON."""
    return json.loads(manifest.payload)["metadata"]


@pytest.mark.parametrize(
    ("api_version", "kind", "metadata", "ref", "read_as"),
    [
        ("v1", "Pod", {"name": "a"}, Ref("default", "a"), Kind.POD),
        ("v1", "Pod", {"name": "a", "namespace": "n"}, Ref("n", "a"), Kind.POD),
        ("v1", "Node", {"name": "a", "namespace": "n"}, Ref("", "a"), Kind.NODE),
        ("rbac.authorization.k8s.io/v1", "Role", {"name": "a"}, Ref("default", "a"), None),
        ("rbac.authorization.k8s.io/v1", "ClusterRole", {"name": "a"}, Ref("", "a"), None),
    ],
)
def test_an_object_has_the_place_that_its_kind_gives_it(
    api_version: str, kind: str, metadata: object, ref: Ref, read_as: Kind | None
) -> None:
    """As kubectl would: namespace default where none is written, none for what has none."""
    manifest = read(api_version, kind, metadata)
    assert manifest.identity == Identity(kind, ref)
    assert manifest.kind is read_as
    assert metadata_of(manifest).get("namespace", "") == ref.namespace


@pytest.mark.parametrize(
    ("api_version", "kind"),
    [("v1", "ConfigMap"), ("apps/v1", "Pod"), ("rbac.authorization.k8s.io/v1", "Other")],
)
def test_other_kinds_are_not_read(api_version: str, kind: str) -> None:
    """They need not even have a name."""
    assert manifest_of(plain(api_version, kind, None)) is None


def test_uid_and_time_are_derived_where_they_are_missing() -> None:
    """The same at every start, another for every object."""
    one = metadata_of(read("v1", "Pod", {"name": "a", "uid": None}))
    again = metadata_of(read("v1", "Pod", {"name": "a", "namespace": "default"}))
    other = metadata_of(read("v1", "Pod", {"name": "b"}))
    assert one == again
    assert one["uid"] != other["uid"]
    assert one["creationTimestamp"] == "2000-01-01T00:00:00Z"


def test_uid_and_time_stay_where_they_are_written() -> None:
    """Pods name the uids of VMIs."""
    metadata = {"name": "a", "uid": "u", "creationTimestamp": "2025-01-01T00:00:00Z"}
    assert metadata_of(read("v1", "Node", metadata)) == metadata


@pytest.mark.parametrize(
    "metadata",
    [
        None,
        [],
        {},
        {"name": ""},
        {"name": 5},
        {"generateName": "a-"},
        {"name": "a", "namespace": 5},
    ],
)
def test_an_object_without_a_name_is_a_fault(metadata: object) -> None:
    """It could be told from no other."""
    with pytest.raises(FileFaultError):
        manifest_of(plain("v1", "Pod", metadata))


@pytest.mark.parametrize(
    ("kind", "value", "title"),
    [
        ("Node", {"metadata": {"name": "zq-a"}}, "this Node"),
        ("Pod", {"metadata": {"name": "a", "namespace": "n"}, "spec": {}}, "Pod n/a"),
        ("Pod", {"metadata": {"name": "a"}, "spec": {"nodeName": "zq-a"}}, "Pod default/a"),
        ("Pod", {"metadata": {"name": "x-zq-a"}, "spec": {"nodeName": "zq-a"}}, "this Pod"),
        ("Pod", {"metadata": {"name": "debug-zq-a-x"}, "spec": {"nodeName": "zq-a"}}, "this Pod"),
        ("Pod", {"metadata": {"name": "x-zq-a"}, "spec": {"nodeName": ["zq-a"]}}, "this Pod"),
        ("Pod", {"metadata": {"name": "x-zq-a"}, "spec": "?"}, "this Pod"),
        ("Pod", {"metadata": {"name": "x\nERROR"}, "spec": {}}, "this Pod"),
    ],
)
def test_an_object_is_named_unless_it_could_name_a_node(
    kind: str, value: dict[str, Any], title: str
) -> None:
    """Its title goes into logs (design 2), on one line."""
    manifest = manifest_of(PlainObject("v1", kind, value, POSITION))
    assert manifest is not None
    assert manifest.title == title


def test_nothing_of_a_secret_is_kept_but_its_place() -> None:
    """Its content is nobody's business here (design 2)."""
    value = {"metadata": {"name": "a"}, "data": {"token": "s"}, "stringData": {"token": "s"}}
    manifest = manifest_of(PlainObject("v1", "Secret", value, POSITION))
    assert manifest is not None
    assert set(manifest.value) == set(json.loads(manifest.payload)) == {"metadata"}


@pytest.mark.parametrize("value", [{None: 1}, "\ud800", {(1, 2): 3}])
def test_what_json_does_not_have_is_a_fault(value: object) -> None:
    """YAML can say more than an API server could."""
    found = PlainObject("v1", "Pod", {"metadata": {"name": "a"}, "x": value}, POSITION)
    with pytest.raises(FileFaultError, match="JSON"):
        manifest_of(found)


@pytest.mark.parametrize("metadata", [{"name": "\ud800"}, {"name": "a", "namespace": "\udfff"}])
def test_half_a_character_is_no_text(metadata: dict[str, str]) -> None:
    """JSON can spell it, and nothing can be derived from it."""
    with pytest.raises(FileFaultError, match="must be text"):
        manifest_of(plain("v1", "Pod", metadata))
