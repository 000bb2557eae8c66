"""Random worlds: whoever gives each reported part a new revision misses no change (design 6)."""

from collections.abc import Sequence
from dataclasses import replace

from fakes.random_worlds import ASKED, CLASS_NAMES, changes, examples, snapshots
from fakes.worlds import MutableWorld
from hypothesis import given
from hypothesis import strategies as st

from storage.model.snapshot import Change, ClusterSnapshot, Known, Policy, Source
from storage.pool.answers import BudgetState, ChangedParts
from storage.pool.view import PoolView

PAIRS = [(namespace, class_name) for namespace in ASKED for class_name in CLASS_NAMES]


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
@examples(200)
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
@examples(200)
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
    assert changed.everything == (_believed(before) != _believed(view))
    assert not view.take_changed(), "nothing is reported twice"


@given(snapshots(), st.lists(changes(), max_size=6))
@examples(200)
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


def _believed(view: PoolView) -> tuple[bool, bool]:
    """Return whether tenants can be believed, and whether what they use can."""
    return view.known(Source.TENANTS), view.known(Source.VMIS) and view.known(Source.PODS)


def _granted(snapshot: ClusterSnapshot, namespace: str) -> frozenset[str]:
    """Return the classes that every record of a namespace grants."""
    granted = [set(each.entitlements) for each in snapshot.tenants if each.namespace == namespace]
    return frozenset(set.intersection(*granted)) if granted else frozenset()


def _unclear(view: PoolView, namespace: str) -> BudgetState | None:
    """Return why all budgets of a namespace are unclear, asked for a class that nobody declares."""
    state = view.budget(namespace, "undeclared").state
    return None if state is BudgetState.UNBOUNDED else state
