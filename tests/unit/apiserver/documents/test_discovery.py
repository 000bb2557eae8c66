"""Discovery documents (contract 1)."""

from apiserver.documents import discovery
from apiserver.documents.resources import RESOURCES


def test_ad_02_resources_are_listed_whatever_the_cluster_holds() -> None:
    """AD-02, AD-06: kind, singular name, scope and exactly the verbs that work."""
    found = {each["name"]: each for each in discovery.resource_list()["resources"]}
    assert set(found) == {"gpuclassoptions", "gpuclassoffers", "options"}
    assert found["gpuclassoptions"] == {
        "name": "gpuclassoptions",
        "singularName": "gpuclassoption",
        "namespaced": True,
        "group": "options.gpu.cozystack.io",
        "version": "v1alpha1",
        "kind": "GPUClassOption",
        "verbs": ["get", "list"],
        "shortNames": ["gco"],
        "categories": ["gpu"],
    }
    assert found["gpuclassoffers"]["namespaced"] is False
    assert found["gpuclassoffers"]["shortNames"] == ["gcoff"]
    assert "shortNames" not in found["options"]


def test_no_resource_is_in_the_category_all() -> None:
    """`kubectl delete all --all` must not come by here (contract 1.21)."""
    for each in discovery.resource_list()["resources"]:
        assert each["categories"] == ["gpu"]


def test_the_group_says_its_only_version() -> None:
    """Direct clients find the version from /apis and from /apis/GROUP (contract 1.1, 1.2)."""
    version = {"groupVersion": "options.gpu.cozystack.io/v1alpha1", "version": "v1alpha1"}
    group = discovery.group()
    assert group["kind"] == "APIGroup"
    assert group["versions"] == [version]
    assert group["preferredVersion"] == version
    listed = discovery.group_list()
    assert listed["kind"] == "APIGroupList"
    assert listed["groups"] == [{k: v for k, v in group.items() if k not in {"kind", "apiVersion"}}]


def test_aggregated_discovery_names_a_response_kind_for_every_resource() -> None:
    """One without responseKind is dropped by clients, or crashes them (contract 1.10)."""
    document = discovery.aggregated()
    assert document["kind"] == "APIGroupDiscoveryList"
    assert document["apiVersion"] == "apidiscovery.k8s.io/v2"
    (item,) = document["items"]
    assert item["metadata"] == {"name": "options.gpu.cozystack.io"}
    (version,) = item["versions"]
    assert (version["version"], version["freshness"]) == ("v1alpha1", "Current")
    resources = {each["resource"]: each for each in version["resources"]}
    for info in RESOURCES:
        assert resources[info.plural]["responseKind"]["kind"] == info.kind
        assert resources[info.plural]["scope"] == ("Namespaced" if info.namespaced else "Cluster")
        assert resources[info.plural]["singularResource"] == info.singular
        assert resources[info.plural]["verbs"] == ["get", "list"]
