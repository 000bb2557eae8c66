"""The cache of encoded answers."""

import json
from collections.abc import Callable
from typing import Any

from fakes.http_fakes import FakeFreshness, FakeResource, FakeWorld, a_meta, an_option

from apiserver.documents.resources import GPU_CLASS_OPTIONS
from apiserver.http.bodies import Bodies, Body
from apiserver.http.encode import ResourceEncoder, option
from apiserver.http.forms import Form
from apiserver.http.services import Served
from apiserver.http.table import GPU_CLASS_OPTION_COLUMNS

NOW = 1_800_000_000.0


def decoded(body: Body) -> dict[str, Any]:
    """Return a body in pieces as what it says."""
    value: dict[str, Any] = json.loads(b"".join(body))
    return value


def served(resource: FakeResource, clock: Callable[[], float] | None = None) -> Served:
    """Return options of a fake as a resource that is served."""
    clock = clock or (lambda: NOW)
    encoder = ResourceEncoder(GPU_CLASS_OPTIONS, option, GPU_CLASS_OPTION_COLUMNS, clock)
    return Served(info=GPU_CLASS_OPTIONS, resource=resource, encoder=encoder)


def a_resource() -> FakeResource:
    """Return two options."""
    return FakeResource(an_option, [a_meta("tenant-a", "h200"), a_meta("tenant-a", "l40s")])


def test_an_object_is_encoded_once_per_revision() -> None:
    """Reading the same thing again costs no encoding; a change is seen at once."""
    resource, bodies = a_resource(), Bodies()
    options = served(resource)
    first = bodies.single(options, resource.keys("tenant-a")[0], Form.OBJECT, "v1")
    assert bodies.single(options, resource.keys("tenant-a")[0], Form.OBJECT, "v1") == first
    assert resource.composed == 1
    resource.metas[0] = a_meta("tenant-a", "h200", 701)
    second = bodies.single(options, resource.keys("tenant-a")[0], Form.OBJECT, "v1")
    assert decoded(second)["metadata"]["resourceVersion"] == "701"
    assert resource.composed == 2


def test_each_form_has_bytes_of_its_own() -> None:
    """A Table's row is never taken for an object, nor one version for another."""
    resource, bodies = a_resource(), Bodies()
    key = resource.keys("tenant-a")[0]
    forms = [(form, version) for form in Form for version in ("v1", "v1beta1")]
    for _ in range(2):
        for form, version in forms:
            expected = Bodies().single(served(resource), key, form, version)
            assert bodies.single(served(resource), key, form, version) == expected


def test_a_list_is_put_together_once_per_generation() -> None:
    """A LIST of what has not changed is one look-up and the list's own revision."""
    resource, bodies, freshness = a_resource(), Bodies(), FakeFreshness()
    options = served(resource)
    first = decoded(bodies.whole(options, "tenant-a", freshness, Form.OBJECT, "v1"))
    freshness.listed = 1001
    second = decoded(bodies.whole(options, "tenant-a", freshness, Form.OBJECT, "v1"))
    assert first["metadata"]["resourceVersion"] == "1000"
    assert second["metadata"]["resourceVersion"] == "1001"
    assert first["items"] == second["items"]
    resource.metas.append(a_meta("tenant-a", "new"))
    freshness.generation += 1
    third = decoded(bodies.whole(options, "tenant-a", freshness, Form.OBJECT, "v1"))
    assert [item["metadata"]["name"] for item in third["items"]] == ["h200", "l40s", "new"]
    assert resource.composed == 3


def test_tenants_never_get_each_others_lists() -> None:
    """The namespace is part of what bytes are kept by; so is its absence."""
    world, bodies = FakeWorld(), Bodies()
    options = served(world.options)
    for namespace, count in (("tenant-acme", 2), ("tenant-beta", 2), (None, 4), ("none", 0)):
        body = bodies.whole(options, namespace, world.freshness, Form.OBJECT, "v1")
        items = decoded(body)["items"]
        assert len(items) == count
        assert namespace is None or {i["metadata"]["namespace"] for i in items} <= {namespace}


def test_memory_is_bounded_whatever_is_asked_for() -> None:
    """What does not fit is made again; the answers are the same."""
    resource, freshness = a_resource(), FakeFreshness()
    small, large = Bodies(max_bytes=600), Bodies()
    for namespace in ("tenant-a", None):
        for _ in range(2):
            args = (served(resource), namespace, freshness, Form.OBJECT, "v1")
            assert small.whole(*args) == large.whole(*args)
    assert resource.composed > 4


def test_an_empty_list_has_items_and_a_revision() -> None:
    """Contract 3.31, WA-03: [] and never null; a revision is always there."""
    body = Bodies().listed(served(a_resource()), (), 9, Form.OBJECT, "v1")
    assert decoded(body) == {
        "kind": "GPUClassOptionList",
        "apiVersion": "options.gpu.cozystack.io/v1alpha1",
        "metadata": {"resourceVersion": "9"},
        "items": [],
    }


def test_a_table_with_ages_is_as_old_as_the_second() -> None:
    """An age is read off the clock: kept within a second, made again in the next one."""
    now = [NOW]
    resource, bodies, freshness = a_resource(), Bodies(), FakeFreshness()
    options = served(resource, lambda: now[0])

    def ages() -> set[str]:
        body = bodies.whole(options, None, freshness, Form.TABLE_NONE, "v1")
        return {row["cells"][-1] for row in decoded(body)["rows"]}

    before = ages()
    assert ages() == before
    assert resource.composed == 2
    now[0] += 100 * 24 * 3600
    assert ages() != before
