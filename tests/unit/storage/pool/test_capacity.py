"""Capacity by physics: which nodes count, and what pods leave of them (domain 3.4)."""

from dataclasses import replace

import pytest
from fakes.worlds import (
    RESOURCE,
    a_class,
    a_kubevirt,
    a_node,
    a_pod,
    a_tenant,
    a_view,
    a_vmi,
)

from storage.model.objects import Node, Pod, Taint, Toleration
from storage.model.quantity import MAX_QUANTITY
from storage.model.snapshot import Drop, Known, Put, Source
from storage.pool.answers import Capacity
from storage.pool.capacity import eligible, tolerates
from storage.pool.verdict import CapacityDetail, judge
from storage.pool.view import PoolView

K = "l40s"
OTHER = "nvidia.com/other"
EIGHT = {RESOURCE: 8}

DEDICATED = Taint(key="gpu.example.com/dedicated", value="zq-vm", effect="NoSchedule")


def view_of(*objects: Node | Pod, tolerations: tuple[Toleration, ...] = ()) -> PoolView:
    """Return a view of one class with nodes and pods."""
    return a_view(a_class(K, max_count=4, tolerations=tolerations), a_kubevirt(), *objects)


def capacity(*objects: Node | Pod, tolerations: tuple[Toleration, ...] = ()) -> Capacity:
    """Return the class's capacity."""
    return view_of(*objects, tolerations=tolerations).capacity(K)


def test_allocatable_less_what_pods_hold_is_free() -> None:
    """GC-01: capacity 8, allocatable 5, pods use 3: 2 free; allocatable itself never moves."""
    pod = a_pod("tenant-a", {RESOURCE: 3}, node="zq-node")
    assert capacity(a_node(allocatable={RESOURCE: 5}), pod) == Capacity(2, 2)


def test_a_node_without_a_healthy_device_has_none() -> None:
    """GC-01: allocatable 0."""
    assert capacity(a_node(allocatable={RESOURCE: 0})) == Capacity(0, 0)


def test_more_held_than_healthy_is_zero_and_takes_nothing_from_other_nodes() -> None:
    """E27: allocatable 6 of capacity 8, 7 held: 0, not -1."""
    nodes = [a_node("zq-1", {RESOURCE: 6}), a_node("zq-2", {RESOURCE: 2})]
    pod = a_pod("tenant-a", {RESOURCE: 7}, node="zq-1")
    assert capacity(*nodes, pod) == Capacity(2, 2)


@pytest.mark.parametrize(
    "node",
    [
        a_node(allocatable=EIGHT, ready=False),
        a_node(allocatable=EIGHT, unschedulable=True),
        a_node(allocatable=EIGHT, deleting=True),
        a_node(allocatable=EIGHT, kubevirt_schedulable=False),
    ],
)
def test_a_node_that_takes_no_vm_gives_nothing(node: Node) -> None:
    """E29, GC-03: NotReady, cordoned, being deleted, KubeVirt's label false or absent."""
    assert capacity(node) == Capacity(0, 0)


def test_nodes_that_are_out_of_service_are_not_counted_until_they_are_back() -> None:
    """GC-03: NotReady, cordoned, ready: free 4; uncordoned: 8. Tenants stay charged throughout."""
    four = {RESOURCE: 4}
    view = a_view(
        a_class(K),
        a_tenant("tenant-a", {K: 9}),
        a_node("zq-1", four, ready=False),
        a_node("zq-2", four, unschedulable=True),
        a_node("zq-3", four),
        a_vmi("tenant-a", {K: 2}),
    )
    assert view.capacity(K) == Capacity(4, 4)
    assert view.budget("tenant-a", K).remaining == 7
    view.apply(Put(a_node("zq-2", four)))
    assert view.capacity(K) == Capacity(8, 4)
    assert view.take_changed().capacities == {K}


def test_taints_count_by_their_effect_and_the_classs_tolerations() -> None:
    """E30: NoExecute tolerated by key Exists counts; PreferNoSchedule untolerated counts too."""
    tolerated = a_node("zq-1", EIGHT, taints=(Taint(key="a", value="v", effect="NoExecute"),))
    preferred = a_node("zq-2", EIGHT, taints=(Taint(key="b", value="", effect="PreferNoSchedule"),))
    exists = (Toleration(key="a", exists=True),)
    assert capacity(tolerated, preferred, tolerations=exists) == Capacity(16, 8)
    assert capacity(tolerated, preferred) == Capacity(8, 8)


@pytest.mark.parametrize(
    ("toleration", "covers"),
    [
        (Toleration(key=DEDICATED.key, exists=True), True),
        (Toleration(key=DEDICATED.key, exists=True, effect="NoSchedule"), True),
        (Toleration(key=DEDICATED.key, exists=True, effect="NoExecute"), False),
        (Toleration(key=DEDICATED.key, exists=False, value="zq-vm"), True),
        (Toleration(key=DEDICATED.key, exists=False, value="other"), False),
        (Toleration(key="other", exists=True), False),
        (Toleration(key="", exists=True), False),
    ],
)
def test_a_toleration_covers_a_taint_of_its_key_value_and_effect(
    toleration: Toleration, covers: bool
) -> None:
    """Kubernetes' rule; an empty effect covers every effect, an empty key is never a class's."""
    assert tolerates(toleration, DEDICATED) == covers


def test_every_repelling_taint_must_be_tolerated() -> None:
    """Domain 3.7: node zq-fir has one taint more than class h200 tolerates."""
    firmware = Taint(key="maintenance", value="zq-window", effect="NoExecute")
    node = a_node(allocatable=EIGHT, taints=(DEDICATED, firmware))
    one = Toleration(key=DEDICATED.key, exists=True)
    assert not eligible(node, (one,))
    assert eligible(node, (one, Toleration(key="maintenance", exists=True)))


def test_one_free_unit_on_each_of_eight_nodes_starts_only_small_vms() -> None:
    """E31: free 8, largest 1, startable 1 of maxCount 4."""
    view = view_of(*(a_node(f"zq-{n}", {RESOURCE: 1}) for n in range(8)))
    assert view.capacity(K) == Capacity(8, 1)
    facts = view.facts("default", K)
    assert facts is not None
    assert judge(facts, view.policy, CapacityDetail.FULL).startable_count == 1


def test_free_units_are_summed_and_the_fit_is_that_of_one_node() -> None:
    """GC-05: 3, 3 and 1 free: 7, and 3 at once; no node with the class: 0 and 0."""
    view = view_of(*(a_node(f"zq-{n}", {RESOURCE: free}) for n, free in enumerate((3, 3, 1))))
    assert view.capacity(K) == Capacity(7, 3)
    for n in range(2):
        view.apply(Drop(Source.NODES, f"zq-{n}"))
    assert view.capacity(K) == Capacity(1, 1)
    view.apply(Drop(Source.NODES, "zq-2"))
    assert view.capacity(K) == Capacity(0, 0)


def test_resources_are_never_added_up() -> None:
    """GC-02: 2 whole cards and 6 slices are 2 of one class and 6 of another."""
    view = a_view(a_class(K), a_class("slice", OTHER), a_node(allocatable={RESOURCE: 2, OTHER: 6}))
    assert view.capacity(K) == Capacity(2, 2)
    assert view.capacity("slice") == Capacity(6, 6)


def test_two_classes_on_one_resource_see_the_same_units() -> None:
    """Domain 3.4: each by its own tolerations."""
    tolerant = a_class("tolerant", tolerations=(Toleration(key=DEDICATED.key, exists=True),))
    nodes = [a_node("zq-1", EIGHT), a_node("zq-2", EIGHT, taints=(DEDICATED,))]
    view = a_view(a_class(K), tolerant, *nodes, a_pod("x", {RESOURCE: 1}, node="zq-2"))
    assert view.capacity(K) == Capacity(8, 8)
    assert view.capacity("tolerant") == Capacity(15, 8)
    view.apply(Drop(Source.CLASSES, K))
    view.apply(Put(a_pod("x", {RESOURCE: 3}, node="zq-2")))
    assert view.capacity("tolerant") == Capacity(13, 8)
    assert view.capacity(K) == Capacity(None, None)


def test_a_pod_that_is_being_deleted_still_holds_its_device() -> None:
    """Domain 3.4: until it is gone."""
    pod = a_pod("x", {RESOURCE: 1}, node="zq-node", charged_until_ms=-1)
    assert capacity(a_node(allocatable=EIGHT), pod) == Capacity(7, 7)


def test_a_pod_whose_requests_cannot_be_read_makes_its_node_full() -> None:
    """Design 2: 0 for every class there, until the pod has ended; other nodes are as they were."""
    nodes = [a_node("zq-1", {RESOURCE: 8, OTHER: 8}), a_node("zq-2", EIGHT)]
    view = a_view(a_class(K), a_class("other", OTHER), *nodes)
    held = a_pod("tenant-a", {RESOURCE: 2}, name="held", node="zq-1")
    for pod in (held, a_pod("tenant-a", node="zq-1", readable=False)):
        view.apply(Put(pod))
    assert (view.capacity(K), view.capacity("other")) == (Capacity(8, 8), Capacity(0, 0))
    view.apply(Put(a_pod("tenant-a", node="zq-1", readable=False, final=True)))
    assert (view.capacity(K), view.capacity("other")) == (Capacity(14, 8), Capacity(8, 8))


def test_a_full_node_stays_full_whatever_else_goes() -> None:
    """Design 2: with a pod that holds nothing of ours, and with one that does."""
    unread = a_pod("x", name="unread", node="zq-node", readable=False)
    view = view_of(a_node(allocatable=EIGHT), unread)
    for requests in ({}, {RESOURCE: 1}):
        view.apply(Put(a_pod("x", requests, node="zq-node")))
        assert view.capacity(K) == Capacity(0, 0)
        view.apply(Drop(Source.PODS, "x/pod"))
        assert view.capacity(K) == Capacity(0, 0)
    view.apply(Drop(Source.PODS, "x/unread"))
    assert view.capacity(K) == Capacity(8, 8)


def test_capacity_needs_nodes_and_pods_alone() -> None:
    """Domain 4.5: it stands though nothing else can be read."""
    view = a_view(
        a_class(K),
        a_node(allocatable=EIGHT),
        unknown=frozenset(Source) - {Source.NODES, Source.PODS},
    )
    assert view.capacity(K) == Capacity(8, 8)


def test_pods_are_remembered_for_nodes_that_come_later() -> None:
    """A race of lists: a pod's node may be listed after it, or again without its devices."""
    pod = a_pod("x", {RESOURCE: 3, OTHER: 1}, node="zq-node")
    view = view_of(pod)
    assert view.capacity(K) == Capacity(0, 0)
    view.apply(Put(a_node(allocatable=EIGHT)))
    assert view.capacity(K) == Capacity(5, 5)
    view.apply(Put(a_node(allocatable={OTHER: 2})))
    assert view.capacity(K) == Capacity(0, 0)
    view.apply(Put(a_node(allocatable=EIGHT)))
    view.apply(Drop(Source.PODS, "x/pod"))
    assert view.capacity(K) == Capacity(8, 8)


def test_a_pod_that_moves_frees_the_node_that_it_left() -> None:
    """Odd input: a name that comes back bound elsewhere."""
    view = view_of(a_node("zq-1", EIGHT), a_node("zq-2", {RESOURCE: 2}))
    seen = []
    for node in ("zq-1", "zq-2", None, "zq-gone"):
        view.apply(Put(a_pod("x", {RESOURCE: 2}, node=node)))
        seen.append(view.capacity(K))
    assert seen == [Capacity(8, 6), Capacity(8, 8), Capacity(10, 8), Capacity(10, 8)]


def test_a_class_that_tolerates_more_or_names_another_device_sees_other_nodes() -> None:
    """A class is looked at anew when it changes."""
    view = view_of(a_node("zq-1", EIGHT, taints=(DEDICATED,)), a_node("zq-2", {OTHER: 3}))
    assert view.capacity(K) == Capacity(0, 0)
    view.apply(Put(a_class(K, tolerations=(Toleration(key=DEDICATED.key, exists=True),))))
    assert view.capacity(K) == Capacity(8, 8)
    view.apply(Put(a_class(K, OTHER)))
    assert view.capacity(K) == Capacity(3, 3)


@pytest.mark.parametrize("source", [Source.NODES, Source.PODS])
def test_capacity_is_unknown_without_nodes_or_pods(source: Source) -> None:
    """E37, domain 4.5: unknown is not zero, and is known again when the source is."""
    view = view_of(a_node(allocatable=EIGHT))
    view.apply(Known(source, False))
    assert view.capacity(K) == Capacity(None, None)
    view.apply(Known(source, True))
    assert view.capacity(K) == Capacity(8, 8)


def test_a_device_that_only_pods_can_have_is_a_class_all_the_same() -> None:
    """KV-03: no plugin of KubeVirt serves it, so VMs are refused; its units are counted."""
    view = a_view(a_class(K, OTHER), a_kubevirt(RESOURCE), a_node(allocatable={OTHER: 4}))
    offer = view.offer(K)
    assert offer is not None
    assert offer.permitted is False
    assert view.capacity(K) == Capacity(4, 4)


def test_a_pod_that_may_be_anywhere_makes_all_free_units_unknown() -> None:
    """Design 2: what cannot be understood never makes a figure too good."""
    view = view_of(a_node(allocatable=EIGHT))
    lost = replace(a_pod("tenant-a", readable=False), astray=True)
    view.apply(Put(lost))
    assert view.capacity(K) == Capacity(None, None)
    view.apply(Put(replace(lost, final=True)))
    assert view.capacity(K) == Capacity(8, 8)
    view.apply(Put(lost))
    view.apply(Drop(Source.PODS, "tenant-a/pod"))
    assert view.capacity(K) == Capacity(8, 8)


def test_a_sum_beyond_what_a_quantity_can_be_is_cut_off() -> None:
    """The wire's integers have 64 bits (schema: int64)."""
    most = {RESOURCE: MAX_QUANTITY}
    view = view_of(a_node("zq-1", most), a_node("zq-2", most))
    assert view.capacity(K) == Capacity(MAX_QUANTITY, MAX_QUANTITY)
