"""Random worlds: a second implementation, rebuilds, order, revisions and D2 must all agree."""

from collections.abc import Sequence
from dataclasses import replace
from random import Random
from typing import TypeVar

from fakes.naive import Naive, NaiveOption
from fakes.worlds import ASKED, CLASS_NAMES, MutableWorld, changes, policies, snapshots
from hypothesis import given, settings
from hypothesis import strategies as st

from storage.model.entries import ClassEntry
from storage.model.snapshot import Change, ClusterSnapshot, Known, Policy, Source
from storage.pool.answers import BudgetState, ChangedParts
from storage.pool.verdict import CapacityDetail, Facts, judge, verdict
from storage.pool.view import PoolView

T = TypeVar("T")

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


def every_part(view: PoolView) -> object:
    """Return everything that a view answers, in a form that can be compared."""
    return (
        view.offers(),
        view.tenants(),
        view.next_expiry_ms(),
        [(name, view.offer(name), view.capacity(name)) for name in CLASS_NAMES],
        [(pair, view.facts(*pair), view.link(*pair), view.pool(*pair)) for pair in PAIRS],
        [
            (pair, view.budget(*pair), view.entitlement(*pair), view.license(*pair))
            for pair in PAIRS
        ],
        [view.lineage(namespace) for namespace in ASKED],
    )


@given(snapshots(), policies())
@settings(max_examples=300)
def test_options_are_those_of_a_second_implementation(
    snapshot: ClusterSnapshot, policy: Policy
) -> None:
    """The definitions of domain 2.4, 3 and 4.3 hold in any world."""
    view, naive = PoolView.of(snapshot, policy), Naive(snapshot, policy)
    for pair in PAIRS:
        assert shown(view, *pair) == naive.option(*pair), pair


@given(snapshots())
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


@given(snapshots(), st.lists(changes(), max_size=12))
@settings(max_examples=200)
def test_a_changed_view_equals_a_rebuilt_one(
    snapshot: ClusterSnapshot, events: Sequence[Change]
) -> None:
    """Every part after any events is what a full rebuild gives (design 5)."""
    view, world = PoolView.of(snapshot, Policy()), MutableWorld.of(snapshot)
    for event in events:
        view.apply(event)
        world.apply(event)
        assert every_part(view) == every_part(PoolView.of(world.snapshot(), Policy()))


@given(snapshots(), st.lists(changes(), max_size=12))
def test_reading_between_events_changes_nothing(
    snapshot: ClusterSnapshot, events: Sequence[Change]
) -> None:
    """What is reported as changed does not depend on what was read before."""
    quiet, read = PoolView.of(snapshot, Policy()), PoolView.of(snapshot, Policy())
    for event in events:
        quiet.apply(event)
        read.apply(event)
        every_part(read)
    assert quiet.take_changed() == read.take_changed()


@given(snapshots(), st.randoms(use_true_random=False))
def test_the_order_of_objects_does_not_matter(snapshot: ClusterSnapshot, random: Random) -> None:
    """Equal worlds give equal answers on every replica, in whatever order they were listed."""
    shuffled = ClusterSnapshot(
        classes=_shuffled(snapshot.classes, random),
        kubevirts=_shuffled(snapshot.kubevirts, random),
        tenants=_shuffled(snapshot.tenants, random),
        vmis=_shuffled(snapshot.vmis, random),
        pods=_shuffled(snapshot.pods, random),
        nodes=_shuffled(snapshot.nodes, random),
        licenses=snapshot.licenses,
        known=snapshot.known,
        now_ms=snapshot.now_ms,
    )
    assert every_part(PoolView.of(shuffled, Policy())) == every_part(
        PoolView.of(snapshot, Policy())
    )


def _shuffled(objects: tuple[T, ...], random: Random) -> tuple[T, ...]:
    drawn = list(objects)
    random.shuffle(drawn)
    return tuple(drawn)


class Revisions:
    """A revision for each part, as the views keep them: the changes of one batch share one."""

    def __init__(self) -> None:
        self.batch = 0
        self.of_part: dict[object, int] = {}

    def take(self, changed: ChangedParts) -> None:
        """Give every changed part the next revision."""
        self.batch += 1
        parts: list[object] = ["everything"] if changed.everything else []
        parts += [("offer", each) for each in changed.offers]
        parts += [("capacity", each) for each in changed.capacities]
        parts += [("pool", each) for each in changed.pools]
        parts += [("tenant", each) for each in changed.tenants]
        parts += [("link", each) for each in changed.links]
        parts += [("license", each) for each in changed.licenses]
        parts += [("license source", each) for each in changed.license_sources]
        self.of_part.update(dict.fromkeys(parts, self.batch))

    def of_option(self, view: PoolView, namespace: str, class_name: str) -> int:
        """Return the greatest revision of the parts that ChangedParts says an option depends on."""
        parts: list[object] = [
            "everything",
            ("offer", class_name),
            ("capacity", class_name),
            ("license", (namespace, class_name)),
            ("license source", class_name),
        ]
        for each in view.lineage(namespace):
            parts += [("tenant", each), ("link", (each, class_name))]
        root = view.link(namespace, class_name)
        if root is not None:
            parts.append(("pool", (root, class_name)))
        return max(self.of_part.get(part, 0) for part in parts)


@given(snapshots(), st.lists(st.lists(changes(), max_size=4), max_size=6))
@settings(max_examples=200)
def test_an_option_that_changes_takes_a_new_revision_and_none_ever_falls(
    snapshot: ClusterSnapshot, batches: Sequence[Sequence[Change]]
) -> None:
    """`take_changed` reports every part whose value differs: what watchers live on (design 6)."""
    view, revisions = PoolView.of(snapshot, Policy()), Revisions()
    facts = {pair: view.facts(*pair) for pair in PAIRS}
    before = dict.fromkeys(PAIRS, 0)
    for batch in batches:
        for event in batch:
            view.apply(event)
        revisions.take(view.take_changed())
        for pair in PAIRS:
            revision = revisions.of_option(view, *pair)
            assert revision >= before[pair], "a revision fell"
            if view.facts(*pair) != facts[pair]:
                assert revision == revisions.batch, f"{pair} changed and was not reported"
            before[pair], facts[pair] = revision, view.facts(*pair)


@given(snapshots(), st.lists(changes(), max_size=6))
@settings(max_examples=200)
def test_only_what_differs_is_reported(snapshot: ClusterSnapshot, events: Sequence[Change]) -> None:
    """Content that does not change keeps its revision (design 6)."""
    before, view = PoolView.of(snapshot, Policy()), PoolView.of(snapshot, Policy())
    for event in events:
        view.apply(event)
    changed = view.take_changed()
    for name in changed.offers:
        assert view.offer(name) != before.offer(name)
    for name in changed.capacities:
        classes = (before.gpu_class(name), view.gpu_class(name))
        assert view.capacity(name) != before.capacity(name) or None in classes
    for namespace, class_name in changed.licenses:
        assert view.license(namespace, class_name) != before.license(namespace, class_name) or (
            class_name in changed.offers
        )
    believed = {Source.TENANTS, Source.VMIS, Source.PODS}
    assert changed.everything == any(view.known(each) != before.known(each) for each in believed)
    assert not view.take_changed(), "nothing is reported twice"


@given(snapshots(), st.lists(changes(), max_size=6))
@settings(max_examples=200)
def test_only_the_tenants_that_an_event_concerns_are_reported(
    snapshot: ClusterSnapshot, events: Sequence[Change]
) -> None:
    """One VMI's event does not give every tenant's option a new revision."""
    world = MutableWorld.of(replace(snapshot, known=frozenset(Source)))
    before = world.snapshot()
    old, view = PoolView.of(before, Policy()), PoolView.of(before, Policy())
    for event in events:
        if not isinstance(event, Known):
            view.apply(event)
            world.apply(event)
    changed, after = view.take_changed(), world.snapshot()
    assert not changed.everything
    for namespace, class_name in changed.links:
        assert old.link(namespace, class_name) != view.link(namespace, class_name) or (
            class_name in _granted(before, namespace) ^ _granted(after, namespace)
        )
    for namespace in changed.tenants:
        assert (namespace in old.tenants()) != (namespace in view.tenants()) or (
            _unclear(old, namespace) != _unclear(view, namespace)
        )
    for pair in PAIRS:
        if old.link(*pair) == pair[0] == view.link(*pair):
            assert (pair in changed.pools) == (old.budget(*pair) != view.budget(*pair))


def _granted(snapshot: ClusterSnapshot, namespace: str) -> frozenset[str]:
    """Return the classes that every record of a namespace grants."""
    granted = [set(each.entitlements) for each in snapshot.tenants if each.namespace == namespace]
    return frozenset(set.intersection(*granted)) if granted else frozenset()


def _unclear(view: PoolView, namespace: str) -> BudgetState | None:
    """Return why all budgets of a namespace are unclear, asked for a class that nobody declares."""
    state = view.budget(namespace, "undeclared").state
    return None if state is BudgetState.UNBOUNDED else state


@given(snapshots(), policies(), st.integers(-1, 13), st.sampled_from(PAIRS))
@settings(max_examples=300)
def test_a_wish_is_allowed_exactly_when_the_option_says_so(
    snapshot: ClusterSnapshot, policy: Policy, count: int, pair: tuple[str, str]
) -> None:
    """D2: allowed iff n is an allowed count and at most requestableCount; unknown refuses."""
    view = PoolView.of(snapshot, policy)
    for namespace, class_name in (pair, *PAIRS[:6]):
        facts = view.facts(namespace, class_name)
        refusal = verdict(view, namespace, (ClassEntry(class_name, count),))
        assert (refusal is None) == _allowed(facts, policy, count)


def _allowed(facts: Facts | None, policy: Policy, count: int) -> bool:
    if facts is None:
        return False
    counts = facts.offer.gpu_class.allowed_counts
    offered = count >= 1 if counts is None else count in counts
    most = judge(facts, policy, CapacityDetail.FULL).requestable_count
    return offered and most is not None and count <= most
