"""Random worlds: a second implementation, written from the definitions alone, must agree."""

from fakes.naive import Naive, NaiveOption
from fakes.random_worlds import ASKED, CLASS_NAMES, examples, policies, snapshots
from hypothesis import given

from storage.model.snapshot import ClusterSnapshot, Policy
from storage.pool.verdict import CapacityDetail, judge
from storage.pool.view import PoolView

PAIRS = [(namespace, class_name) for namespace in ASKED for class_name in CLASS_NAMES]


def shown(view: PoolView, namespace: str, class_name: str) -> NaiveOption | None:
    """Return an option of the view in the words of the naive implementation."""
    facts = view.facts(namespace, class_name)
    if facts is None:
        return None
    judgement = judge(facts, view.policy, CapacityDetail.FULL)
    return NaiveOption(
        budget=facts.budget.state.value,
        remaining=facts.budget.remaining,
        entitlement=facts.entitlement.value,
        license=facts.license.value,
        free=facts.capacity.free,
        largest=facts.capacity.largest,
        reasons=tuple(reason.value for reason in judgement.requestable),
        requestable_count=judgement.requestable_count,
        startable=judgement.startable.value,
        startable_count=judgement.startable_count,
    )


@given(snapshots(), policies())
@examples(300)
def test_options_are_those_of_a_second_implementation(
    snapshot: ClusterSnapshot, policy: Policy
) -> None:
    """The definitions of domain 2.4, 3 and 4.3 hold in any world."""
    view, naive = PoolView.of(snapshot, policy), Naive(snapshot, policy)
    for pair in PAIRS:
        assert shown(view, *pair) == naive.option(*pair), pair


@given(snapshots())
@examples(100)
def test_the_hosters_figures_are_those_of_a_second_implementation(
    snapshot: ClusterSnapshot,
) -> None:
    """Budget, carve, shared, used, subtree and overcommit follow domain 3.3, unclear roots too."""
    view, naive = PoolView.of(snapshot, Policy()), Naive(snapshot, Policy())
    for namespace, class_name in PAIRS:
        figures = view.pool(namespace, class_name)
        assert (figures is not None) == bool(
            naive.stated(namespace, class_name) and namespace in naive.namespaces()
        )
        if figures is not None:
            assert figures.budget == naive.budget_of(namespace, class_name)
            assert figures.carved == naive.carve(namespace, class_name)
            assert figures.shared == naive.shared(namespace, class_name)
            assert figures.used == naive.used(namespace, class_name)
            assert figures.subtree == naive.subtree(namespace, class_name)
            assert figures.overcommit == naive.overcommit(namespace, class_name)
            assert figures.remaining == naive.budget(namespace, class_name)[1]
