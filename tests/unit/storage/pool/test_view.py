"""The view as a whole: what each source is needed for, and that odd changes change nothing."""

from collections.abc import Mapping

import pytest
from fakes.worlds import (
    RESOURCE,
    UNBOUNDED,
    UNKNOWN,
    MutableWorld,
    a_class,
    a_cluster,
    a_kubevirt,
    a_node,
    a_pod,
    a_tenant,
    a_view,
    a_vmi,
    bounded,
)

from storage.model.snapshot import Drop, Known, Licenses, Policy, Put, Source, Tick
from storage.pool.answers import Budget, Capacity, Entitlement, License
from storage.pool.view import PoolView

K = "l40s"
NS = "tenant-a"

WORLD = a_cluster(
    a_class(K, vgpu=True, license_secret="secret"),
    a_kubevirt(),
    a_tenant(NS, {K: 4}, entitlements=(K,)),
    a_vmi(NS, {K: 1}),
    a_pod(NS, {RESOURCE: 1}, node="zq-node"),
    a_node(allocatable={RESOURCE: 8}),
    licenses={"secret": frozenset({NS})},
)


def test_facts_gather_every_part() -> None:
    """What an option is made of."""
    view = PoolView.of(WORLD, Policy())
    facts = view.facts(NS, K)
    assert facts is not None
    assert facts.offer == view.offer(K)
    assert facts.capacity == Capacity(7, 7)
    assert facts.budget == bounded(2)
    assert facts.entitlement is Entitlement.GRANTED
    assert facts.license is License.READY
    assert view.facts(NS, "nothing") is None


@pytest.mark.parametrize("source", list(Source))
def test_a_source_is_known_as_the_snapshot_and_changes_say(source: Source) -> None:
    """Unknown is its own state (D6)."""
    view = a_view(unknown=frozenset({source}))
    assert not view.known(source)
    for known in (True, False):
        view.apply(Known(source, known))
        assert view.known(source) is known


@pytest.mark.parametrize(
    ("source", "own", "other"),
    [
        (Source.TENANTS, UNKNOWN, UNKNOWN),
        (Source.VMIS, UNKNOWN, UNBOUNDED),
        (Source.PODS, UNKNOWN, UNBOUNDED),
        (Source.NODES, bounded(2), UNBOUNDED),
        (Source.KUBEVIRT, bounded(2), UNBOUNDED),
        (Source.CLASSES, bounded(2), UNBOUNDED),
    ],
)
def test_a_budget_needs_tenants_and_where_it_is_bounded_their_use(
    source: Source, own: Budget, other: Budget
) -> None:
    """Domain 4.5: and what is no tenant's is unbounded whatever can be read (E34)."""
    view = PoolView.of(WORLD, Policy())
    view.apply(Known(source, False))
    assert view.budget(NS, K) == own
    assert view.budget("tenant-b", K) == other
    assert view.budget("default", K) == UNBOUNDED
    assert view.link(NS, K) == (None if source is Source.TENANTS else NS)


@pytest.mark.parametrize(
    ("namespace", "known", "unknown"),
    [
        (NS, Entitlement.GRANTED, Entitlement.UNKNOWN),
        ("tenant-a-b", Entitlement.MISSING, Entitlement.UNKNOWN),
        ("default", Entitlement.MISSING, Entitlement.MISSING),
    ],
)
def test_an_entitlement_is_the_namespaces_own(
    namespace: str, known: Entitlement, unknown: Entitlement
) -> None:
    """Domain 2.3: not inherited; unknown while tenants are."""
    view = PoolView.of(WORLD, Policy())
    assert view.entitlement(namespace, K) is known
    view.apply(Known(Source.TENANTS, False))
    assert view.entitlement(namespace, K) is unknown


@pytest.mark.parametrize("namespace", [NS, "default"])
def test_a_passthrough_class_needs_no_entitlement(namespace: str) -> None:
    """Domain 2.3: needed iff the mode is vgpu."""
    view = a_view(a_class("whole"), unknown=frozenset({Source.TENANTS}))
    assert view.entitlement(namespace, "whole") is Entitlement.NOT_REQUIRED
    assert view.entitlement(namespace, "nothing") is Entitlement.NOT_REQUIRED


@pytest.mark.parametrize(
    ("licenses", "held"),
    [
        ({"secret": frozenset({NS})}, License.READY),
        ({"secret": frozenset({"tenant-b"})}, License.MISSING),
        ({"secret": None}, License.UNKNOWN),
        ({"another": frozenset({NS})}, License.UNKNOWN),
    ],
)
def test_a_license_is_a_secret_in_the_namespace(
    licenses: Mapping[str, frozenset[str] | None], held: License
) -> None:
    """Design 2: a name that cannot be read, or was not, is unknown and not missing."""
    view = a_view(a_class(K, license_secret="secret"), a_class("free"), licenses=licenses)
    assert view.license(NS, K) is held
    assert view.license(NS, "free") is License.NOT_REQUIRED
    assert view.license(NS, "nothing") is License.NOT_REQUIRED
    view.apply(Licenses("secret", frozenset({NS})))
    assert view.license(NS, K) is License.READY


@pytest.mark.parametrize("source", list(Source))
def test_dropping_what_is_not_there_changes_nothing(source: Source) -> None:
    """A race of lists and watches is no error."""
    view = PoolView.of(WORLD, Policy())
    view.apply(Drop(source, "nothing"))
    assert not view.take_changed()
    assert view.budget(NS, K) == bounded(2)
    assert view.capacity(K) == Capacity(7, 7)


def test_putting_what_is_there_changes_nothing() -> None:
    """What is told twice is told once."""
    view = PoolView.of(WORLD, Policy())
    for obj in MutableWorld.of(WORLD).objects.values():
        view.apply(Put(obj))
    assert not view.take_changed()


def test_everything_dropped_leaves_an_empty_view() -> None:
    """Each kind goes as it came."""
    view = PoolView.of(WORLD, Policy())
    for source, key in MutableWorld.of(WORLD).objects:
        view.apply(Drop(source, key))
    assert view.offers() == ()
    assert view.tenants() == ()
    assert view.budget(NS, K) == UNBOUNDED
    assert view.capacity(K) == Capacity(None, None)


def test_an_empty_cluster_is_answered() -> None:
    """Nothing there is no error either."""
    view = a_view()
    assert view.offers() == ()
    assert view.tenants() == ()
    assert view.next_expiry_ms() is None
    assert view.pool(NS, K) is None
    assert not view.take_changed()


def test_the_policy_is_kept() -> None:
    """Views judge by the policy of the calculation."""
    policy = Policy(admission_disabled=True)
    assert a_view(policy=policy).policy is policy


def test_tenants_are_recorded_ones_sorted() -> None:
    """Design 2: a list over all namespaces holds the recorded tenants."""
    view = a_view(a_tenant("tenant-b"), a_tenant("tenant-a"), a_vmi("tenant-c", {K: 1}))
    assert view.tenants() == ("tenant-a", "tenant-b")


def test_a_tick_that_moves_nothing_changes_nothing() -> None:
    """The clock alone is no news."""
    view = PoolView.of(WORLD, Policy())
    view.apply(Tick(10**12))
    assert not view.take_changed()
