"""What is reported as changed: what a new revision is given to (design 6)."""

from dataclasses import replace

from fakes.worlds import (
    RESOURCE,
    a_class,
    a_kubevirt,
    a_node,
    a_pod,
    a_tenant,
    a_view,
    a_vmi,
    bounded,
)

from storage.model.snapshot import Change, Drop, Known, Licenses, Put, Source
from storage.pool.answers import ChangedParts
from storage.pool.view import PoolView

K = "l40s"

NOTHING = a_view().take_changed()


def view_of_tree() -> PoolView:
    """Return the view of a small tree with a class that needs a license."""
    return a_view(
        a_class(K, vgpu=True, license_secret="secret"),
        a_kubevirt(),
        a_tenant("tenant-root", {K: 20}),
        a_tenant("tenant-a", {K: 9}),
        a_tenant("tenant-a-b", {K: 4}),
        a_tenant("tenant-a-c"),
        a_tenant("tenant-d"),
        a_node(allocatable={RESOURCE: 8}),
        licenses={"secret": frozenset({"tenant-a"})},
    )


def changed_by(*changes: Change, view: PoolView | None = None) -> ChangedParts:
    """Return what some changes report."""
    view = view or view_of_tree()
    for change in changes:
        view.apply(change)
    return view.take_changed()


def test_nothing_is_reported_of_a_fresh_view() -> None:
    """Every part of a snapshot has the line's first revision."""
    assert not view_of_tree().take_changed()
    assert not NOTHING


def test_nothing_is_reported_twice() -> None:
    """A report begins where the last one ended."""
    view = view_of_tree()
    assert changed_by(Put(a_vmi("tenant-d", {K: 1})), view=view)
    assert not view.take_changed()


def test_a_vmi_changes_the_pool_that_it_is_charged_to() -> None:
    """Design 5: and no other, as long as no cap binds."""
    assert changed_by(Put(a_vmi("tenant-a-b", {K: 1}))) == replace(
        NOTHING, pools=frozenset({("tenant-a-b", K)})
    )


def test_a_cap_that_begins_to_bind_changes_the_pools_below() -> None:
    """Design 5: 18 of 20 used leave 2 to a, which had 5, and to a-b, which had 4."""
    assert changed_by(Put(a_vmi("tenant-d", {K: 18}))).pools == {
        ("tenant-root", K),
        ("tenant-a", K),
        ("tenant-a-b", K),
    }


def test_a_cap_that_binds_for_the_larger_alone_changes_the_larger_alone() -> None:
    """Design 5: 4 left are no less than what a-b has of its own."""
    assert changed_by(Put(a_vmi("tenant-d", {K: 16}))).pools == {
        ("tenant-root", K),
        ("tenant-a", K),
    }


def test_what_a_pool_uses_caps_its_siblings() -> None:
    """Domain 3.3: a and b together state more than the root has; the root's own part is nothing."""
    view = a_view(
        a_class(K),
        a_tenant("tenant-root", {K: 10}),
        a_tenant("tenant-a", {K: 8}),
        a_tenant("tenant-b", {K: 8}),
    )
    changed = changed_by(Put(a_vmi("tenant-a", {K: 5})), view=view)
    assert changed.pools == {("tenant-a", K), ("tenant-b", K)}
    assert view.budget("tenant-b", K) == bounded(5)


def test_a_pool_that_gains_what_its_cap_takes_is_not_reported() -> None:
    """Content that does not change keeps its revision: from 6 of 10 to 8 of 6 is 6 and 6.

    Each of many classes does the same, so that no lucky order of looking at them helps.
    """
    names = [f"k{n}" for n in range(12)]
    view = a_view(
        a_tenant("tenant-root", dict.fromkeys(names, 20)),
        a_tenant("tenant-a", dict.fromkeys(names, 10)),
        a_tenant("tenant-d"),
        a_vmi("tenant-a", dict.fromkeys(names, 4)),
        a_vmi("tenant-d", dict.fromkeys(names, 6)),
    )
    changed = changed_by(
        Put(a_vmi("tenant-a", dict.fromkeys(names, 2))),
        Put(a_vmi("tenant-d", dict.fromkeys(names, 12))),
        view=view,
    )
    assert changed.pools == {("tenant-root", name) for name in names}


def test_a_cap_is_held_against_the_largest_below_whoever_was_first() -> None:
    """Design 5: 5 left are no less than the small one's budget, and less than the large ones'."""
    names = ("tenant-a", "tenant-b", "tenant-c")
    for small in names:
        budgets = [a_tenant(name, {K: 3 if name == small else 9}) for name in names]
        view = a_view(a_tenant("tenant-root", {K: 20}), *budgets)
        changed = changed_by(Put(a_vmi("tenant-d", {K: 15})), view=view)
        assert changed.pools == {(name, K) for name in names if name != small}


def test_a_cap_that_is_unknown_changes_everything_below() -> None:
    """What cannot be told is a change too, and so is that it can be told again."""
    view = view_of_tree()
    every = {("tenant-root", K), ("tenant-a", K), ("tenant-a-b", K)}
    assert changed_by(Put(a_vmi("tenant-d", readable=False)), view=view).pools == every
    assert changed_by(Drop(Source.VMIS, "tenant-d/vm"), view=view).pools == every


def test_what_changes_and_changes_back_is_not_reported() -> None:
    """Content that does not change keeps its revision."""
    assert not changed_by(Put(a_vmi("tenant-d", {K: 3})), Drop(Source.VMIS, "tenant-d/vm"))
    assert not changed_by(Put(a_tenant("tenant-a", {K: 1})), Put(a_tenant("tenant-a", {K: 9})))


def test_a_pods_node_changes_capacity_alone() -> None:
    """A VM's own pod is not charged; what it holds, everybody sees."""
    vmi = a_vmi("tenant-d", {K: 2})
    view = view_of_tree()
    changed_by(Put(vmi), view=view)
    pod = a_pod("tenant-d", {RESOURCE: 2}, vmi=vmi, node="zq-node")
    assert changed_by(Put(pod), view=view) == replace(NOTHING, capacities=frozenset({K}))


def test_a_budget_changes_pools_and_not_the_links_to_them() -> None:
    """Who draws from which pool stays as it was."""
    assert changed_by(Put(a_tenant("tenant-a-b", {K: 5}))) == replace(
        NOTHING, pools=frozenset({("tenant-a-b", K), ("tenant-a", K)})
    )


def test_a_first_budget_changes_the_links_of_all_who_draw_from_it() -> None:
    """Per tenant which pool it draws from (design 5)."""
    changed = changed_by(Put(a_tenant("tenant-a-c", {K: 1})))
    assert changed.links == {("tenant-a-c", K)}
    assert changed.pools == {("tenant-a-c", K), ("tenant-a", K)}
    changed = changed_by(Put(a_tenant("tenant-a")))
    assert changed.links == {("tenant-a", K), ("tenant-a-c", K)}
    assert ("tenant-a", K) in changed.pools


def test_an_entitlement_changes_a_link_of_its_namespace_alone() -> None:
    """Per tenant and class (design 5)."""
    assert changed_by(Put(a_tenant("tenant-a", {K: 9}, entitlements=(K,)))) == replace(
        NOTHING, links=frozenset({("tenant-a", K)})
    )


def test_a_tenant_that_comes_or_goes_is_reported_as_a_whole() -> None:
    """Design 2: in a list over all namespaces it is ADDED or DELETED."""
    view = view_of_tree()
    assert changed_by(Put(a_tenant("tenant-e")), view=view).tenants == {"tenant-e"}
    assert changed_by(Drop(Source.TENANTS, "tenant-e"), view=view).tenants == {"tenant-e"}


def test_a_tenant_that_turns_unclear_takes_all_below_with_it() -> None:
    """Every class of theirs reads differently."""
    second = a_tenant("tenant-a", key="second")
    unclear = {"tenant-a", "tenant-a-b", "tenant-a-c"}
    assert changed_by(Put(second)).tenants == unclear
    unread = a_tenant("tenant-a", {K: 9}, budget_readable=False)
    assert changed_by(Put(unread)).tenants == unclear


def test_an_offer_changes_with_the_class_its_neighbours_and_kubevirt() -> None:
    """Its place in the set of classes is part of it."""
    for change in (
        Put(a_class(K, max_count=3)),
        Put(a_class("other")),
        Put(a_kubevirt("nvidia.com/other")),
        Known(Source.KUBEVIRT, False),
    ):
        assert K in changed_by(change).offers
    assert "other" in changed_by(Put(a_class("other", "nvidia.com/x"))).offers
    assert changed_by(Drop(Source.CLASSES, K)).offers == {K}


def test_a_license_is_reported_for_the_namespaces_where_it_came_or_went() -> None:
    """Per tenant and class (design 5)."""
    changed = changed_by(Licenses("secret", frozenset({"tenant-d"})))
    assert changed == replace(NOTHING, licenses=frozenset({("tenant-a", K), ("tenant-d", K)}))
    assert not changed_by(Licenses("secret", frozenset({"tenant-a"})))
    assert not changed_by(Licenses("nobody's", frozenset({"tenant-a"})))


def test_a_license_that_cannot_be_read_is_reported_for_the_class() -> None:
    """It concerns every namespace, asked about or not."""
    view = view_of_tree()
    unread = replace(NOTHING, license_sources=frozenset({K}))
    assert changed_by(Licenses("secret", None), view=view) == unread
    assert changed_by(Licenses("secret", frozenset()), view=view) == unread


def test_sources_of_budgets_concern_everything() -> None:
    """Tenants, and what they use: every budget may be another."""
    for source in (Source.TENANTS, Source.VMIS, Source.PODS):
        assert changed_by(Known(source, False)).everything
    for source in (Source.NODES, Source.CLASSES, Source.KUBEVIRT):
        assert not changed_by(Known(source, False)).everything
    assert changed_by(Known(Source.NODES, False)).capacities == {K}
