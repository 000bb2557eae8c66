"""Random worlds: changes give what a rebuild gives, in whatever order, whatever was read."""

from collections.abc import Sequence
from random import Random
from typing import TypeVar

from fakes.random_worlds import ASKED, CLASS_NAMES, changes, examples, snapshots
from fakes.worlds import MutableWorld
from hypothesis import given
from hypothesis import strategies as st

from storage.model.snapshot import Change, ClusterSnapshot, Policy
from storage.pool.view import PoolView

T = TypeVar("T")

PAIRS = [(namespace, class_name) for namespace in ASKED for class_name in CLASS_NAMES]


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


@given(snapshots(), st.lists(changes(), max_size=12))
@examples(200)
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
@examples(100)
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
@examples(100)
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
