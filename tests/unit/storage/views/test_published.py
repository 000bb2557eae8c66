"""What is published, when, and under which revision (design 5, 6)."""

from collections.abc import Mapping

import pytest
from fakes.worlds import a_class, a_kubevirt, a_node, a_pod, a_tenant, a_vmi

from storage.model.snapshot import (
    Change,
    ClusterSnapshot,
    Drop,
    Known,
    Licenses,
    Policy,
    Put,
    Source,
)
from storage.pool.verdict import CapacityDetail
from storage.pool.view import PoolView
from storage.views.gpuclassoffers import GPUClassOffers
from storage.views.gpuclassoptions import GPUClassOptions
from storage.views.options import ConsoleOptions
from storage.views.published import Published
from storage.views.resource import NotReadyError
from storage.views.revisions import EPOCH_MS, RevisionLine

OTHER = "nvidia.com/H200"


class World:
    """A calculation and what is published of it, with a clock that stands."""

    def __init__(
        self,
        snapshot: ClusterSnapshot | None = None,
        detail: CapacityDetail = CapacityDetail.FULL,
    ) -> None:
        self.now_ms = EPOCH_MS + 1_000_000
        self.view = PoolView.of(snapshot or a_cluster(), Policy())
        self.line = RevisionLine(lambda: self.now_ms, 1)
        self.published = Published(self.view, self.line, detail)
        self.options = GPUClassOptions(self.published)
        self.offers = GPUClassOffers(self.published)
        self.console = ConsoleOptions(self.published)

    def change(self, *changes: Change, tick: bool = False) -> None:
        """Apply changes and publish them as one batch."""
        for change in changes:
            self.view.apply(change)
        self.published.publish(tick=tick)

    def revisions(self) -> Mapping[tuple[str, str, str], int]:
        """The revision of every object in the namespaces that the tests speak of."""
        found = {("offer", "", key.name): key.revision for key in self.offers.keys(None)}
        for namespace in ("tenant-a", "tenant-b", "kube-system"):
            for key in self.options.keys(namespace):
                found["option", namespace, key.name] = key.revision
            for key in self.console.keys(namespace):
                found["console", namespace, key.name] = key.revision
        return found

    def moved(self, before: Mapping[tuple[str, str, str], int]) -> set[tuple[str, str, str]]:
        """The objects whose revision is another one now; none may have fallen."""
        after = self.revisions()
        assert all(after[each] >= before[each] for each in before.keys() & after.keys())
        return {each for each in after if after[each] != before.get(each)}

    def free(self, name: str = "l40s") -> int | None:
        """The free units that are shown of a class."""
        key = self.offers.find("", name)
        assert key is not None
        return self.offers.compose(key).capacity.free


def a_cluster() -> ClusterSnapshot:
    """Two classes, two tenants with budgets of their own, a node for each class."""
    return ClusterSnapshot(
        classes=(a_class(), a_class("h200", OTHER, license_secret="lic")),
        kubevirts=(a_kubevirt("nvidia.com/L40S", OTHER),),
        tenants=(a_tenant("tenant-a", {"l40s": 4}), a_tenant("tenant-b", {"l40s": 4})),
        nodes=(a_node("n1", {"nvidia.com/L40S": 8}), a_node("n2", {OTHER: 8})),
        licenses={"lic": frozenset({"tenant-a"})},
    )


def test_a_budget_shows_at_once_and_moves_only_its_own_objects() -> None:
    """Budgets are the tenant's own; content that does not change keeps its revision."""
    world = World()
    before = world.revisions()
    world.change(Put(a_vmi("tenant-a", {"l40s": 1})))
    assert world.moved(before) == {
        ("option", "tenant-a", "l40s"),
        ("console", "tenant-a", "gpuclass"),
    }
    key = world.options.find("tenant-a", "l40s")
    assert key is not None
    assert world.options.compose(key).budget.remaining == 3


def test_free_units_show_at_the_tick_and_not_before() -> None:
    """When others start and stop shows on the common tick alone (D9)."""
    world = World()
    before = world.revisions()
    world.change(Put(a_pod("kube-system", node="n1", requests={"nvidia.com/L40S": 3})))
    assert world.moved(before) == set()
    assert world.free() == 8
    world.change(tick=True)
    assert world.free() == 5
    assert world.moved(before) == {
        ("offer", "", "l40s"),
        *(("option", each, "l40s") for each in ("tenant-a", "tenant-b", "kube-system")),
        *(("console", each, "gpuclass") for each in ("tenant-a", "tenant-b", "kube-system")),
    }


def test_free_units_that_are_back_at_the_tick_move_nothing() -> None:
    """What came and went between two ticks leaves no trace in a revision."""
    world = World()
    before = world.revisions()
    pod = a_pod("kube-system", node="n1", requests={"nvidia.com/L40S": 3})
    world.change(Put(pod))
    world.change(Drop(Source.PODS, f"{pod.namespace}/{pod.name}"))
    world.change(tick=True)
    assert world.moved(before) == set()


def test_a_new_class_shows_its_free_units_at_once() -> None:
    """There is no earlier figure that it could be compared with."""
    world = World()
    world.change(
        Put(a_class("a100", "nvidia.com/A100")),
        Put(a_node("n3", {"nvidia.com/A100": 2})),
        Put(a_kubevirt("nvidia.com/L40S", OTHER, "nvidia.com/A100")),
    )
    assert world.free("a100") == 2


@pytest.mark.parametrize(
    ("detail", "units", "moves"),
    [
        (CapacityDetail.FULL, 20, False),
        (CapacityDetail.FULL, 6, True),
        (CapacityDetail.FREE, 6, False),
        (CapacityDetail.NONE, 6, False),
    ],
)
def test_what_is_not_shown_is_not_told_by_a_revision(
    detail: CapacityDetail, units: int, moves: bool
) -> None:
    """No figure of a node's above the offer, nothing of what the hoster hides (domain 3.6).

    Units move between two nodes, so that the sum stays: only the fullest node's figure differs.
    """
    snapshot = a_cluster()
    nodes = (a_node("n1", {"nvidia.com/L40S": 16}), a_node("n2", {"nvidia.com/L40S": 4}))
    world = World(
        ClusterSnapshot(
            classes=snapshot.classes,
            kubevirts=snapshot.kubevirts,
            tenants=snapshot.tenants,
            nodes=nodes,
        ),
        detail,
    )
    before = world.revisions()
    world.change(
        Put(a_node("n1", {"nvidia.com/L40S": units})),
        Put(a_node("n2", {"nvidia.com/L40S": 20 - units})),
        tick=True,
    )
    if units == 6:
        world.change(
            Put(a_node("n1", {"nvidia.com/L40S": 6})),
            Put(a_node("n2", {"nvidia.com/L40S": 7})),
            Put(a_node("n3", {"nvidia.com/L40S": 7})),
            tick=True,
        )
    assert bool(world.moved(before)) is moves


def test_a_class_that_goes_and_comes_back_takes_a_new_revision() -> None:
    """A revision never stands for two contents, not even with a deletion in between."""
    world = World()
    before = world.revisions()
    world.change(Drop(Source.CLASSES, "l40s"))
    assert world.options.find("tenant-a", "l40s") is None
    assert ("console", "tenant-a", "gpuclass") in world.moved(before)
    world.change(Put(a_class()))
    assert ("option", "tenant-a", "l40s") in world.moved(before)


def test_a_terminating_class_has_no_option() -> None:
    """It is absent from options, and its going is a change of the set (domain 2.2)."""
    world = World()
    world.change(Put(a_class(terminating=True)))
    assert world.options.find("tenant-a", "l40s") is None
    assert [key.name for key in world.options.keys("tenant-a")] == ["h200"]


def test_a_license_that_comes_moves_its_namespace_and_class_alone() -> None:
    """Parts by (namespace, class): nobody else's object changes."""
    world = World()
    before = world.revisions()
    world.change(Licenses("lic", frozenset({"tenant-a", "tenant-b"})))
    assert world.moved(before) == {
        ("option", "tenant-b", "h200"),
        ("console", "tenant-b", "gpuclass"),
    }


def test_a_tenant_that_turns_unclear_moves_its_own_options() -> None:
    """The link part: which pool a namespace draws from."""
    world = World()
    before = world.revisions()
    world.change(Put(a_tenant("tenant-a", key="another")))
    moved = world.moved(before)
    assert {("option", "tenant-a", "l40s"), ("option", "tenant-a", "h200")} <= moved
    assert not any(namespace == "kube-system" for _, namespace, _ in moved)


def test_a_source_that_is_lost_makes_figures_unknown_and_comes_back_higher() -> None:
    """Unknown is a content of its own, with a revision of its own."""
    world = World()
    before = world.revisions()
    world.change(Known(Source.TENANTS, False), tick=True)
    during = world.revisions()
    assert ("option", "tenant-a", "l40s") in world.moved(before)
    world.change(Known(Source.TENANTS, True), tick=True)
    assert ("option", "tenant-a", "l40s") in world.moved(during)


def test_the_line_stops_following_the_clock_while_classes_or_tenants_are_lost() -> None:
    """A replica that may not know of a deletion mints nothing that looks younger (design 6)."""
    world = World()
    for source in (Source.CLASSES, Source.TENANTS):
        world.change(Known(source, False))
        assert not world.line.follows_clock
        world.change(Known(source, True))
        assert world.line.follows_clock
    world.change(Known(Source.PODS, False))
    assert world.line.follows_clock


def test_one_batch_takes_one_revision() -> None:
    """All parts that a batch changes share it (design 6)."""
    world = World()
    before = world.revisions()
    world.change(Put(a_vmi("tenant-a", {"l40s": 1})), Put(a_vmi("tenant-b", {"l40s": 2})))
    after = world.revisions()
    assert len({after[each] for each in world.moved(before)}) == 1


def test_a_batch_that_changes_nothing_published_mints_nothing() -> None:
    """A thousand unrelated changes leave every revision as it is."""
    world = World()
    current, generation = world.line.current, world.published.generation
    world.change(Put(a_pod("kube-system", requests={"example.com/other": 1})), tick=True)
    assert (world.line.current, world.published.generation) == (current, generation)


def test_nothing_is_told_before_classes_were_read() -> None:
    """An empty list at the start would look like a mass deletion (contract 4.25)."""
    world = World(ClusterSnapshot(known=frozenset()))
    assert not world.published.ready
    for resource in (world.options, world.offers, world.console):
        with pytest.raises(NotReadyError):
            resource.keys("tenant-a")
        with pytest.raises(NotReadyError):
            resource.find("tenant-a", "l40s")
    with pytest.raises(NotReadyError):
        world.options.keys(None)
    world.change(Known(Source.CLASSES, True))
    assert world.published.ready
    assert world.options.keys("tenant-a") == []
    world.change(Known(Source.CLASSES, False))
    assert world.published.ready


def test_a_key_of_what_has_gone_composes_nothing() -> None:
    """Keys are used at once; a stale one is a mistake of the caller's, told as such."""
    world = World()
    option = world.options.find("tenant-a", "l40s")
    offer = world.offers.find("", "l40s")
    assert option is not None
    assert offer is not None
    world.change(Drop(Source.CLASSES, "l40s"))
    with pytest.raises(LookupError):
        world.options.compose(option)
    with pytest.raises(LookupError):
        world.offers.compose(offer)
