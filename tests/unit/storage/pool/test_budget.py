"""What is left for a tenant in a class: domain 3.3 by its worked examples."""

from collections.abc import Callable, Mapping

import pytest
from fakes.worlds import (
    RESOURCE,
    UNBOUNDED,
    UNKNOWN,
    a_class,
    a_cluster,
    a_garbled_vmi,
    a_kubevirt,
    a_pod,
    a_tenant,
    a_view,
    a_vmi,
    bounded,
)

from storage.model.objects import VMI, Pod, TenantRecord
from storage.model.snapshot import Drop, Object, Policy, Put, Source
from storage.pool.answers import PoolFigures
from storage.pool.pools import Pools
from storage.pool.view import PoolView

K = "l40s"

Budgets = Mapping[str, int | None]  # by namespace: units of the class; None: nothing declared


def tree(budgets: Budgets, usage: Mapping[str, int]) -> PoolView:
    """Return the view of tenants and of one VM in each namespace that uses something."""
    records = [
        a_tenant(namespace, {} if units is None else {K: units})
        for namespace, units in budgets.items()
    ]
    vmis = [a_vmi(namespace, {K: units}) for namespace, units in usage.items()]
    return a_view(a_class(K), a_kubevirt(), *records, *vmis)


def left(view: PoolView, *namespaces: str) -> list[int | None]:
    """Return what remains for each namespace; None where it is not bounded."""
    return [view.budget(namespace, K).remaining for namespace in namespaces]


def test_a_child_that_declares_something_else_stays_in_its_parents_pool() -> None:
    """E1: root of a-b is a; a budget for another resource is no way out."""
    view = a_view(
        a_class(K),
        a_tenant("tenant-a", {K: 6}),
        a_tenant("tenant-a-b", {"cpu": 10}),
        a_vmi("tenant-a", {K: 2}),
        a_vmi("tenant-a-b", {K: 3}),
    )
    assert left(view, "tenant-a", "tenant-a-b") == [1, 1]
    assert view.link("tenant-a-b", K) == "tenant-a"


def test_a_declared_zero_is_declared() -> None:
    """E2: a-b is bounded by nothing at all, and carves nothing out of a."""
    view = tree({"tenant-a": 8, "tenant-a-b": 0}, {})
    assert left(view, "tenant-a", "tenant-a-b") == [8, 0]
    assert view.link("tenant-a-b", K) == "tenant-a-b"


def test_nobody_declares_and_nothing_is_bounded() -> None:
    """E3: an unbounded tree."""
    view = tree({"tenant-root": None, "tenant-a": None}, {"tenant-a": 100})
    assert view.budget("tenant-a", K) == UNBOUNDED
    assert view.link("tenant-a", K) is None


def test_a_budget_of_the_root_is_shared_by_all() -> None:
    """E4: 10 less 4 and 3, for whoever asks."""
    view = tree(
        {"tenant-root": 10, "tenant-x": None, "tenant-y": None, "tenant-y-z": None},
        {"tenant-x": 4, "tenant-y-z": 3},
    )
    assert left(view, "tenant-root", "tenant-x", "tenant-y", "tenant-y-z") == [3, 3, 3, 3]


def test_a_budget_below_one_who_declares_nothing_is_carved_out() -> None:
    """E5: foo and bar share what baz leaves, and baz has used its own."""
    view = tree(
        {"tenant-foo": 10, "tenant-foo-bar": None, "tenant-foo-bar-baz": 4},
        {"tenant-foo": 1, "tenant-foo-bar": 2, "tenant-foo-bar-baz": 4},
    )
    assert left(view, "tenant-foo", "tenant-foo-bar", "tenant-foo-bar-baz") == [3, 3, 0]


@pytest.mark.parametrize("recorded", [True, False])
def test_a_missing_parent_is_no_error(recorded: bool) -> None:
    """E6, QB-04: the chain goes on by name, recorded or not at its lower end."""
    budgets: dict[str, int | None] = {"tenant-a": 6}
    if recorded:
        budgets["tenant-a-b-c"] = None
    view = tree(budgets, {"tenant-a-b-c": 2})
    assert left(view, "tenant-a", "tenant-a-b", "tenant-a-b-c") == [4, 4, 4]
    assert view.link("tenant-a-b-c", K) == "tenant-a"


def test_a_child_larger_than_its_parent_is_capped_by_it() -> None:
    """E7: nothing is left to share, and the child gets what the parent has not used."""
    view = tree({"tenant-a": 4, "tenant-a-b": 6}, {"tenant-a": 1})
    assert left(view, "tenant-a", "tenant-a-b") == [0, 3]
    assert view.pool("tenant-a", K) == PoolFigures(
        budget=4, carved=6, shared=0, used=1, subtree=1, overcommit=2, remaining=0
    )


def test_a_budget_lowered_below_use_leaves_nothing_and_not_less() -> None:
    """E8, QB-04: zero, never negative."""
    view = tree({"tenant-a": 8}, {"tenant-a": 3})
    view.apply(Put(a_tenant("tenant-a", {K: 2})))
    assert left(view, "tenant-a") == [0]


def test_two_children_over_their_parent_share_what_it_owns() -> None:
    """E9: the ancestor cap keeps the subtree within what a owns."""
    view = tree(
        {"tenant-a": 10, "tenant-a-b": 6, "tenant-a-c": 5}, {"tenant-a-b": 6, "tenant-a-c": 3}
    )
    assert left(view, "tenant-a-c") == [1]
    figures = view.pool("tenant-a", K)
    assert figures is not None
    assert figures.overcommit == 1


def test_a_cap_reaches_down_through_every_level() -> None:
    """Domain 3.3: every proper ancestor of the root that declares the class caps it."""
    view = tree(
        {"tenant-root": 10, "tenant-a": 9, "tenant-a-b": 8, "tenant-c": None}, {"tenant-c": 7}
    )
    assert left(view, "tenant-a-b", "tenant-a", "tenant-root") == [3, 1, 0]


def test_use_that_nobody_checks_eats_the_childs_part() -> None:
    """Domain 3.3, departure 2: root 10, a 4, undeclared b uses 9 raw gives a 1."""
    view = a_view(
        a_class(K),
        a_tenant("tenant-root", {K: 10}),
        a_tenant("tenant-a", {K: 4}),
        a_vmi("tenant-b", raw=[RESOURCE] * 9),
    )
    assert left(view, "tenant-a") == [1]


def test_siblings_and_a_child_larger_than_its_parent() -> None:
    """QB-04: parent 10, siblings use 7, child limit 20, child uses 1: 2 remain."""
    view = tree(
        {"tenant-p": 10, "tenant-p-child": 20, "tenant-p-sib": None},
        {"tenant-p-sib": 7, "tenant-p-child": 1},
    )
    assert left(view, "tenant-p-child") == [2]


def test_a_level_without_a_limit_does_not_bind() -> None:
    """QB-04: only levels that declare the class are asked."""
    view = tree({"tenant-p": None, "tenant-p-q": 5, "tenant-p-q-r": None}, {"tenant-p": 50})
    assert left(view, "tenant-p", "tenant-p-q-r") == [None, 5]


def test_a_namespace_moved_under_another_parent_moves_its_use() -> None:
    """QB-04: both trees are right after one update."""
    objects: list[Object] = [
        a_class(K),
        a_tenant("tenant-a", {K: 10}),
        a_tenant("tenant-b", {K: 10}),
        a_vmi("tenant-m", {K: 4}),
    ]
    view = a_view(*objects, a_tenant("tenant-m", parent="tenant-a"))
    assert left(view, "tenant-a", "tenant-b", "tenant-m") == [6, 10, 6]
    view.apply(Put(a_tenant("tenant-m", parent="tenant-b")))
    assert left(view, "tenant-a", "tenant-b", "tenant-m") == [10, 6, 6]
    assert view.link("tenant-m", K) == "tenant-b"


def test_budgets_of_one_class_say_nothing_of_another() -> None:
    """D3: pools are formed per class."""
    view = a_view(
        a_class("k1", "nvidia.com/R1"),
        a_class("k2", "nvidia.com/R2"),
        a_tenant("tenant-a", {"k1": 5}),
        a_vmi("tenant-a", {"k1": 2, "k2": 3}),
    )
    assert view.budget("tenant-a", "k1") == bounded(3)
    assert view.budget("tenant-a", "k2") == UNBOUNDED


def test_a_budget_outlives_its_class() -> None:
    """E12: the VM stays charged, and a class made anew under the name finds it so."""
    view = a_view(a_class(K), a_tenant("tenant-a", {K: 4}), a_vmi("tenant-a", {K: 2}))
    view.apply(Drop(Source.CLASSES, K))
    assert view.facts("tenant-a", K) is None
    assert view.budget("tenant-a", K) == bounded(2)
    view.apply(Put(a_class(K, "nvidia.com/other")))
    assert view.budget("tenant-a", K) == bounded(2)


def test_a_record_of_what_is_no_tenant_is_no_tenants_record() -> None:
    """Domain 2.4: anything but a tenant's namespace has neither pool nor budget."""
    view = a_view(a_class(K), a_tenant("default", {K: 1}), a_vmi("default", {K: 5}))
    assert view.tenants() == ()
    assert view.budget("default", K) == UNBOUNDED
    view.apply(Put(a_tenant("tenant-a", {K: 1}, key="default")))
    assert view.tenants() == ("tenant-a",)
    view.apply(Put(a_tenant("default", {K: 1})))
    assert view.tenants() == ()
    assert view.pool("default", K) is None


def test_what_a_non_tenant_uses_is_charged_to_nobody() -> None:
    """E24: not even to the root of all tenants."""
    view = a_view(a_class(K), a_tenant("tenant-root", {K: 9}), a_pod("cozy-gpu", {RESOURCE: 1}))
    assert left(view, "tenant-root") == [9]


@pytest.mark.parametrize("depth", [2, 1500])
def test_a_chain_of_any_length_is_walked(depth: int) -> None:
    """Stated parents can make a chain as long as there are records: no recursion in here."""
    records = [a_tenant("tenant-0", {K: 9})]
    records += [
        a_tenant(f"tenant-{n}", {K: 5}, parent=f"tenant-{n - 1}") for n in range(1, depth + 1)
    ]
    view = a_view(a_class(K), *records, a_vmi(f"tenant-{depth}", {K: 3}))
    assert left(view, f"tenant-{depth}") == [2]
    view.apply(Put(a_vmi("tenant-0", {K: 6}, name="other")))
    assert left(view, f"tenant-{depth}") == [0]
    assert (f"tenant-{depth}", K) in view.take_changed().pools


@pytest.mark.parametrize(
    ("namespace", "known"),
    [
        ("tenant-a-b", ["tenant-c", "tenant-root"]),
        ("tenant-a", ["tenant-c", "tenant-root"]),
        ("tenant-c", []),
    ],
)
@pytest.mark.parametrize("make", [a_vmi, a_pod])
def test_an_unreadable_object_makes_every_figure_that_it_could_lower_unknown(
    namespace: str, known: list[str], make: Callable[..., VMI | Pod]
) -> None:
    """Design 2: the pool it is charged to, and all whose ancestor cap counts it; never too good."""
    view = a_view(
        a_class(K),
        a_tenant("tenant-root", {K: 20}),
        a_tenant("tenant-a", {K: 10}),
        a_tenant("tenant-a-b", {K: 4}),
        a_tenant("tenant-c"),
        a_tenant("tenant-d", {K: 2}),
    )
    fine = {each: view.budget(each, K) for each in view.tenants()}
    view.apply(Put(make(namespace, readable=False)))
    told = {each: view.budget(each, K) for each in view.tenants()}
    assert [each for each in told if told[each] != UNKNOWN] == known
    assert all(told[each] == fine[each] for each in known)
    view.apply(Put(make(namespace, readable=False, final=True)))
    assert {each: view.budget(each, K) for each in view.tenants()} == fine


def test_what_else_a_namespace_uses_makes_nothing_known() -> None:
    """Design 2: by class, raw or garbled beside it."""
    for other in (
        a_vmi("tenant-a", {K: 1}),
        a_vmi("tenant-a", raw=[RESOURCE]),
        a_garbled_vmi("tenant-a", raw=[RESOURCE]),
    ):
        odd = a_vmi("tenant-a", name="odd", readable=False)
        view = a_view(a_class(K), a_tenant("tenant-a", {K: 9}), other, odd)
        assert view.budget("tenant-a", K) == UNKNOWN


def test_tenants_that_declare_nothing_share_one_mapping() -> None:
    """Design 5: never materialise tenants x classes."""
    pools = Pools([a_tenant("tenant-root", {K: 9}), *map(a_tenant, ("tenant-a", "tenant-a-b"))], ())
    assert pools.roots("tenant-a") is pools.roots("tenant-root")
    assert pools.roots("tenant-a-b") is pools.roots("tenant-root")


def test_an_unreadable_object_changes_nothing_where_nothing_is_bounded() -> None:
    """Unbounded needs the tenants alone."""
    view = a_view(a_class(K), a_tenant("tenant-a"), a_vmi("tenant-a", readable=False))
    assert view.budget("tenant-a", K) == UNBOUNDED


def test_an_unreadable_budget_makes_everything_from_there_down_unknown() -> None:
    """Domain 2.3: the tenant's own, who draws from it, whom it may cap, and whom it carves from."""
    records = [
        a_tenant("tenant-root", {K: 20}),
        a_tenant("tenant-a", budget_readable=False),
        a_tenant("tenant-a-b"),
        a_tenant("tenant-a-c", {K: 4}),
        a_tenant("tenant-d"),
        a_tenant("tenant-e", {K: 5}),
    ]
    view = a_view(a_class(K), *records)
    unknown = ["tenant-root", "tenant-a", "tenant-a-b", "tenant-a-b-x", "tenant-a-c", "tenant-d"]
    assert [view.budget(each, K) for each in unknown] == [UNKNOWN] * len(unknown)
    assert view.budget("tenant-e", K) == bounded(5)
    assert view.link("tenant-a-c", K) is None
    assert view.budget("tenant-a", "undeclared") == UNKNOWN
    assert view.budget("tenant-d", "undeclared") == UNBOUNDED


def test_a_readable_budget_makes_them_known_again() -> None:
    """One invalid object spoils only itself, and only while it is invalid."""
    view = a_view(a_tenant("tenant-root", {K: 20}), a_tenant("tenant-a", budget_readable=False))
    view.apply(Put(a_tenant("tenant-a", {K: 5})))
    assert left(view, "tenant-root", "tenant-a") == [15, 5]


def test_figures_of_a_pool_add_up() -> None:
    """Domain 3.7, class l40s: root 20, carved 8, shared 12, used 2, remaining 10."""
    records: list[TenantRecord] = [
        a_tenant("tenant-root", {K: 20}),
        a_tenant("tenant-acme", {K: 8}),
        a_tenant("tenant-zeta"),
    ]
    usage = [a_vmi("tenant-zeta", {K: 2}), a_vmi("tenant-acme", {K: 3})]
    view = PoolView.of(a_cluster(a_class(K), *records, *usage), Policy())
    assert view.pool("tenant-root", K) == PoolFigures(
        budget=20, carved=8, shared=12, used=2, subtree=5, overcommit=0, remaining=10
    )
    assert view.pool("tenant-zeta", K) is None


def test_figures_without_their_inputs_say_what_is_declared_and_not_what_remains() -> None:
    """Domain 4.5: a figure from a source that cannot be believed is unknown."""
    snapshot = a_cluster(a_tenant("tenant-a", {K: 3}), unknown=frozenset({Source.PODS}))
    figures = PoolView.of(snapshot, Policy()).pool("tenant-a", K)
    assert figures is not None
    assert (figures.budget, figures.remaining) == (3, None)
