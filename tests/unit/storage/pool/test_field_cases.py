"""Clauses of field cases that need more than one formula at once."""

from dataclasses import replace

import pytest
from fakes.worlds import RESOURCE, a_class, a_kubevirt, a_node, a_pod, a_tenant, a_view, a_vmi

from storage.model.snapshot import Put
from storage.pool.answers import Capacity

K = "l40s"
SLICE = "nvidia.com/slice"


@pytest.mark.parametrize("use", [3, 4, 7])
def test_qb_04_a_parent_lowered_below_what_is_used_leaves_nothing_to_anyone(use: int) -> None:
    """QB-04: 0 for the parent, the sibling and the child with a budget of its own; not negative."""
    view = a_view(
        a_class(K),
        a_kubevirt(),
        a_tenant("tenant-p", {K: 10}),
        a_tenant("tenant-p-child", {K: 20}),
        a_tenant("tenant-p-sib"),
        a_vmi("tenant-p-sib", {K: use}),
        a_vmi("tenant-p-child", {K: 1}),
    )
    assert view.budget("tenant-p-child", K).remaining == 10 - use - 1
    view.apply(Put(a_tenant("tenant-p", {K: 3})))
    for namespace in ("tenant-p", "tenant-p-sib", "tenant-p-child"):
        assert view.budget(namespace, K).remaining == 0


def test_qb_03_a_migration_that_succeeded_gives_back_the_sources_units() -> None:
    """QB-03: the source pod is Succeeded before it has gone."""
    vmi = a_vmi("tenant-a", {K: 2})
    source = a_pod("tenant-a", {RESOURCE: 2}, name="source", node="zq-1", vmi=vmi)
    target = a_pod("tenant-a", {RESOURCE: 2}, name="target", node="zq-2", vmi=vmi)
    view = a_view(
        a_class(K),
        a_kubevirt(),
        a_tenant("tenant-a", {K: 9}),
        a_node("zq-1", {RESOURCE: 8}),
        a_node("zq-2", {RESOURCE: 8}),
        vmi,
        source,
        target,
    )
    assert (view.budget("tenant-a", K).remaining, view.capacity(K).free) == (7, 12)
    view.apply(Put(replace(source, final=True)))
    assert (view.budget("tenant-a", K).remaining, view.capacity(K).free) == (7, 14)


def test_gc_03_pods_on_nodes_out_of_service_stay_charged() -> None:
    """GC-03: a node that is not ready, or cordoned, frees no budget."""
    view = a_view(
        a_class(K),
        a_kubevirt(),
        a_tenant("tenant-a", {K: 9}),
        a_node("zq-1", {RESOURCE: 4}, ready=False),
        a_node("zq-2", {RESOURCE: 4}, unschedulable=True),
        a_pod("tenant-a", {RESOURCE: 1}, name="one", node="zq-1"),
        a_pod("tenant-a", {RESOURCE: 2}, name="two", node="zq-2"),
    )
    assert view.capacity(K) == Capacity(0, 0)
    assert view.budget("tenant-a", K).remaining == 6


def test_gc_02_largest_fit_is_per_name_and_per_node() -> None:
    """GC-02: slices of two nodes add up to what is free, never to what fits one VM."""
    view = a_view(
        a_class(K),
        a_class("slice", SLICE),
        a_node("zq-1", {RESOURCE: 2, SLICE: 2}),
        a_node("zq-2", {SLICE: 4}),
    )
    assert view.capacity("slice") == Capacity(6, 4)
    assert view.capacity(K) == Capacity(2, 2)
