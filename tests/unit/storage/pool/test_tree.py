"""The tree of tenants: stated parents, parents by name, and what happens where it is not clear."""

import pytest
from fakes.worlds import AMBIGUOUS, RESOURCE, a_class, a_tenant, a_view, a_vmi, bounded

from storage.model.objects import TenantRecord
from storage.model.snapshot import Change, Drop, Put, Source
from storage.pool.answers import Entitlement
from storage.pool.tree import Tree
from storage.pool.view import PoolView

K = "l40s"


def is_ambiguous(view: PoolView, *namespaces: str) -> bool:
    """Whether all of the namespaces are ambiguous; never some of them."""
    states = {view.budget(namespace, K) == AMBIGUOUS for namespace in namespaces}
    assert len(states) == 1
    return states.pop()


def test_the_stated_parent_wins_over_the_name() -> None:
    """E10: release tenant-a-b in tenant-root is no child of tenant-a."""
    view = a_view(
        a_class(K),
        a_tenant("tenant-root", {K: 10}),
        a_tenant("tenant-a", {K: 5}),
        a_tenant("tenant-a-b", parent="tenant-root"),
    )
    assert view.link("tenant-a-b", K) == "tenant-root"


def test_two_owners_of_one_namespace_make_it_ambiguous() -> None:
    """E11: and everything below it; the others stay clear."""
    view = a_view(
        a_tenant("tenant-a", {K: 5}),
        a_tenant("tenant-a-b", key="one", parent="tenant-root"),
        a_tenant("tenant-a-b", key="two", parent="tenant-a"),
        a_tenant("tenant-a-b-c", {K: 1}),
    )
    assert is_ambiguous(view, "tenant-a-b", "tenant-a-b-c", "tenant-a-b-x")
    assert view.budget("tenant-a", K) == bounded(4), "a-b-c may be part of it"
    assert view.tenants() == ("tenant-a", "tenant-a-b", "tenant-a-b-c")
    view.apply(Drop(Source.TENANTS, "two"))
    assert not is_ambiguous(view, "tenant-a-b", "tenant-a-b-c")


def test_two_owners_are_ambiguous_even_where_they_agree() -> None:
    """Domain 2.4: whose budget it is cannot be told."""
    view = a_view(a_tenant("tenant-a", {K: 5}, key="one"), a_tenant("tenant-a", {K: 5}, key="two"))
    assert is_ambiguous(view, "tenant-a")


@pytest.mark.parametrize(
    "records",
    [
        pytest.param([a_tenant("tenant-a", parent="tenant-a")], id="itself"),
        pytest.param(
            [a_tenant("tenant-a", parent="tenant-b"), a_tenant("tenant-b", parent="tenant-a")],
            id="two",
        ),
        pytest.param([a_tenant("tenant-a", parent="tenant-a-x-y")], id="through-missing-ones"),
        pytest.param([a_tenant("tenant-a", parent="default")], id="no-tenant"),
        pytest.param([a_tenant("tenant-a", readable=False)], id="unreadable"),
    ],
)
def test_parents_that_lead_nowhere_are_ambiguous(records: list[TenantRecord]) -> None:
    """QB-04: a cycle is TenantAmbiguous, without a hang; so is a parent that is no tenant."""
    view = a_view(
        *records, a_tenant("tenant-a-b", {K: 1}), a_tenant("tenant-c", {K: 2}), a_class(K)
    )
    assert is_ambiguous(view, "tenant-a", "tenant-a-b", "tenant-a-x-y")
    assert view.budget("tenant-c", K) == bounded(2)


def test_a_loop_below_leaves_what_is_above_it_clear() -> None:
    """What a loop hangs from is none of its business."""
    view = a_view(
        a_tenant("tenant-a", {K: 5}),
        a_tenant("tenant-a-b", parent="tenant-a-b-c"),
        a_tenant("tenant-a-b-c", parent="tenant-a-b"),
        a_vmi("tenant-a-b", {K: 2}),
    )
    assert is_ambiguous(view, "tenant-a-b", "tenant-a-b-c")
    assert view.budget("tenant-a", K) == bounded(5)


def test_the_root_has_no_parent_whatever_is_stated() -> None:
    """Domain 2.4: tenant-root is the top."""
    view = a_view(a_tenant("tenant-root", {K: 5}, parent="tenant-a"), a_tenant("tenant-a"))
    assert view.budget("tenant-a", K) == bounded(5)


def test_ambiguous_use_counts_once_in_each_pool_it_might_be_part_of() -> None:
    """Domain 2.4: and once in those above, though two ways lead there."""
    view = a_view(
        a_class(K),
        a_tenant("tenant-root", {K: 20}),
        a_tenant("tenant-a", {K: 5}),
        a_tenant("tenant-b", {K: 5}),
        a_tenant("tenant-m", key="one", parent="tenant-a"),
        a_tenant("tenant-m", key="two", parent="tenant-b"),
        a_vmi("tenant-m", {K: 2}),
        a_vmi("tenant-m-below", {K: 1}),
    )
    assert [view.budget(n, K) for n in ("tenant-a", "tenant-b")] == [bounded(2), bounded(2)]
    root = view.pool("tenant-root", K)
    assert root is not None
    assert (root.used, root.subtree) == (0, 3)
    view.apply(Put(a_vmi("tenant-m", {K: 1})))
    assert [view.budget(n, K) for n in ("tenant-a", "tenant-b")] == [bounded(3), bounded(3)]
    assert view.take_changed().pools == {("tenant-a", K), ("tenant-b", K)}


def test_ambiguous_declarations_carve_the_largest_out_of_each() -> None:
    """Domain 2.4: the safe side for whoever shares the pool."""
    view = a_view(
        a_class(K),
        a_tenant("tenant-a", {K: 9}),
        a_tenant("tenant-b", {K: 9}),
        a_tenant("tenant-m", {K: 4}, key="one", parent="tenant-a"),
        a_tenant("tenant-m", {K: 3}, key="two", parent="tenant-b"),
        a_vmi("tenant-m", {K: 2}),
    )
    # Its use counts in them as well: it is not known that it draws from a pool of its own.
    assert [view.budget(n, K) for n in ("tenant-a", "tenant-b")] == [bounded(3), bounded(3)]
    figures = view.pool("tenant-m", K)
    assert figures is not None
    assert (figures.budget, figures.used, figures.remaining) == (4, 2, None)


def test_what_draws_from_an_unreadable_owner_may_draw_from_its_parent() -> None:
    """Domain 2.4: what the record states, and what it may not have stated."""
    view = a_view(
        a_tenant("tenant-a", {K: 9}),
        a_tenant("tenant-a-b", {K: 2}, readable=False),
        a_vmi("tenant-a-b-c", {K: 1}),
    )
    assert view.budget("tenant-a", K) == bounded(6), "2 carved, 1 used"


def test_what_all_owners_declare_is_no_way_up() -> None:
    """Domain 2.4: below two owners who both declare the class, it is theirs that is drawn from."""
    owners = [a_tenant("tenant-a-b", {K: 2}, key=key, parent="tenant-a") for key in ("one", "two")]
    view = a_view(a_tenant("tenant-a", {K: 9}), *owners, a_vmi("tenant-a-b-c", {K: 1}))
    assert view.budget("tenant-a", K) == bounded(7), "2 carved, nothing used"


def test_no_parent_is_passed_over_where_several_lead_to_one_place() -> None:
    """Domain 2.4: each of three parents declares a class of its own and passes the others up."""
    classes = ("k1", "k2", "k3")
    owners = [
        a_tenant("tenant-m", key=f"owner-{name}", parent=f"tenant-{name}") for name in classes
    ]
    view = a_view(
        a_tenant("tenant-root"),
        *(a_tenant(f"tenant-{name}", {name: 5}) for name in classes),
        *owners,
        a_vmi("tenant-m", dict.fromkeys(classes, 1)),
    )
    assert [view.budget(f"tenant-{name}", name) for name in classes] == [bounded(4)] * 3


def test_an_ambiguous_owner_that_cannot_be_budgeted_makes_its_parents_unknown() -> None:
    """Never too good: what it carves is not known, and it may be theirs."""
    view = a_view(
        a_class(K),
        a_tenant("tenant-a", {K: 9}),
        a_tenant("tenant-b", {K: 9}),
        a_tenant("tenant-root"),
        a_tenant("tenant-m", key="one", parent="tenant-a", budget_readable=False),
        a_tenant("tenant-m", key="two", parent="tenant-a"),
    )
    assert view.budget("tenant-a", K).remaining is None
    assert view.budget("tenant-b", K) == bounded(9)


def test_unread_use_of_an_ambiguous_namespace_makes_its_parents_unknown() -> None:
    """Never too good: what cannot be read there may be theirs to pay."""
    view = a_view(
        a_class(K),
        a_tenant("tenant-a", {K: 9}),
        a_tenant("tenant-m", key="one", parent="tenant-a"),
        a_tenant("tenant-m", key="two", parent="tenant-a"),
    )
    view.apply(Put(a_vmi("tenant-m", readable=False)))
    assert view.budget("tenant-a", K).remaining is None
    view.apply(Drop(Source.VMIS, "tenant-m/vm"))
    assert view.budget("tenant-a", K) == bounded(9)


def test_unread_use_counts_from_wherever_it_comes() -> None:
    """Its own and that of an ambiguous namespace: known again only when both can be read."""
    view = a_view(
        a_class(K),
        a_tenant("tenant-a", {K: 9}),
        a_tenant("tenant-a-b", {K: 1}),
        a_tenant("tenant-m", key="one", parent="tenant-a"),
        a_tenant("tenant-m", key="two", parent="tenant-a"),
    )
    told = []
    changes: list[Change] = [
        Put(a_vmi("tenant-a", readable=False)),
        Put(a_vmi("tenant-m", readable=False)),
        Put(a_vmi("tenant-m-below", readable=False)),
        Drop(Source.VMIS, "tenant-m/vm"),
        Drop(Source.VMIS, "tenant-a/vm"),
        Drop(Source.VMIS, "tenant-m-below/vm"),
    ]
    for change in changes:
        view.apply(change)
        told.append([view.budget(each, K).remaining for each in ("tenant-a", "tenant-a-b")])
    assert told == [[None, None]] * 5 + [[8, 1]]


def test_an_entitlement_holds_where_all_owners_grant_it() -> None:
    """The safe reading of two owners."""
    view = a_view(
        a_class("k1", RESOURCE, vgpu=True),
        a_class("k2", "nvidia.com/other", vgpu=True),
        a_tenant("tenant-a", key="one", entitlements=("k1", "k2")),
        a_tenant("tenant-a", key="two", entitlements=("k1",)),
    )
    assert view.entitlement("tenant-a", "k1") is Entitlement.GRANTED
    assert view.entitlement("tenant-a", "k2") is Entitlement.MISSING


def test_a_tree_lists_parents_before_children() -> None:
    """What is built on it goes down once."""
    tree = Tree([a_tenant("tenant-a-b-c"), a_tenant("tenant-a"), a_tenant("tenant-root")])
    assert list(tree.places.items()) == [
        ("tenant-root", None),
        ("tenant-a", "tenant-root"),
        ("tenant-a-b-c", "tenant-a"),
    ]


@pytest.mark.parametrize(
    ("namespace", "home"),
    [
        ("tenant-a", "tenant-a"),
        ("tenant-a-b-c", "tenant-a"),
        ("tenant-b", None),
        ("tenant-root", None),
        ("default", None),
        ("tenant-", None),
    ],
)
def test_the_nearest_recorded_namespace_by_name_stands_for_what_has_no_record(
    namespace: str, home: str | None
) -> None:
    """E6: a missing parent is passed over; what is no tenant's has none."""
    assert Tree([a_tenant("tenant-a")]).home(namespace) == home


@pytest.mark.parametrize(
    ("namespace", "lineage"),
    [
        ("tenant-a", ("tenant-a",)),
        ("tenant-a-b-c", ("tenant-a-b-c", "tenant-a-b", "tenant-a")),
        ("tenant-b-c", ("tenant-b-c", "tenant-b", "tenant-root")),
        ("default", ()),
    ],
)
def test_a_lineage_ends_at_the_first_record(namespace: str, lineage: tuple[str, ...]) -> None:
    """What an option of an unrecorded namespace depends on, for its revision."""
    assert a_view(a_tenant("tenant-a")).lineage(namespace) == lineage
