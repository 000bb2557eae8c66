"""What admission decides, from the very rules that the option is made of (domain 5.3)."""

from collections.abc import Mapping

import pytest
from fakes.random_worlds import ASKED, CLASS_NAMES, examples, policies, snapshots
from fakes.worlds import a_class, a_kubevirt, a_tenant, a_view, a_vmi
from hypothesis import given
from hypothesis import strategies as st

from storage.model.entries import ClassEntry
from storage.model.snapshot import ClusterSnapshot, Object, Policy, Source
from storage.pool.verdict import (
    CapacityDetail,
    Facts,
    Refusal,
    RefusalReason,
    judge,
    verdict,
)
from storage.pool.view import PoolView

NS = "tenant-a"
R = RefusalReason


def wish(**counts: int) -> tuple[ClassEntry, ...]:
    """Return entries, in the order of the arguments."""
    return tuple(ClassEntry(name, count) for name, count in counts.items())


CLASSES: tuple[Object, ...] = (
    a_class("small", "a.com/small", max_count=2),
    a_class("pairs", "a.com/pairs", allowed=(2, 4)),
    a_class("vgpu", "a.com/vgpu", vgpu=True, license_secret="one"),
    a_class("other", "a.com/other", vgpu=True, license_secret="two"),
    a_class("third", "a.com/third", license_secret="one"),
    a_class("huge", "a.com/huge", max_count=1024),
    a_class("gone", "a.com/gone", terminating=True),
    a_class("twin", "a.com/twin"),
    a_class("twin2", "a.com/twin"),
    a_class("absent", "a.com/absent"),
    a_kubevirt(
        *(f"a.com/{name}" for name in ("small", "pairs", "vgpu", "other", "third", "huge", "twin"))
    ),
)
LICENSES: Mapping[str, frozenset[str] | None] = {"one": frozenset({NS}), "two": frozenset({NS})}
TENANT = a_tenant(NS, {"small": 1, "pairs": 3}, entitlements=("other", "vgpu"))


def refused(
    entries: tuple[ClassEntry, ...],
    *more: Object,
    namespace: str = NS,
    policy: Policy | None = None,
    licenses: Mapping[str, frozenset[str] | None] = LICENSES,
    unknown: frozenset[Source] = frozenset(),
) -> Refusal | None:
    """Return the verdict on a wish of a tenant of the world above."""
    view = a_view(*CLASSES, *(more or (TENANT,)), policy=policy, licenses=licenses, unknown=unknown)
    return verdict(view, namespace, entries)


@pytest.mark.parametrize(
    "entries",
    [
        wish(small=1),
        wish(pairs=2),
        wish(vgpu=1, third=8),
        wish(huge=1024),
        wish(small=1, pairs=2, vgpu=8, huge=1000),
        (),
    ],
)
def test_a_wish_that_breaks_no_rule_is_granted(entries: tuple[ClassEntry, ...]) -> None:
    """S34: capacity is never asked; there is not one node here."""
    assert refused(entries) is None


@pytest.mark.parametrize(
    ("entries", "refusal"),
    [
        (wish(huge=1025), Refusal(reason=R.TOO_MANY_UNITS, asked=1025)),
        (wish(huge=600, small=600), Refusal(reason=R.TOO_MANY_UNITS, asked=1200)),
        (wish(nothing=1), Refusal(reason=R.CLASS_NOT_FOUND, class_name="nothing", asked=1)),
        (wish(gone=2), Refusal(reason=R.CLASS_TERMINATING, class_name="gone", asked=2)),
        (wish(twin=1), Refusal(reason=R.RESOURCE_NAME_CONFLICT, class_name="twin", asked=1)),
        (wish(absent=1), Refusal(reason=R.RESOURCE_NOT_PERMITTED, class_name="absent", asked=1)),
        (
            wish(small=3),
            Refusal(reason=R.COUNT_NOT_OFFERED, class_name="small", asked=3, max_count=2),
        ),
        (
            wish(pairs=3),
            Refusal(
                reason=R.COUNT_NOT_OFFERED,
                class_name="pairs",
                asked=3,
                max_count=8,
                allowed_counts=(2, 4),
            ),
        ),
        (
            wish(small=0),
            Refusal(reason=R.COUNT_NOT_OFFERED, class_name="small", asked=0, max_count=2),
        ),
        (wish(vgpu=1, other=1), Refusal(reason=R.LICENSE_CONFLICT, class_name="other", asked=1)),
        (
            wish(small=2),
            Refusal(reason=R.BUDGET_EXHAUSTED, class_name="small", asked=2, remaining=1),
        ),
        (
            wish(pairs=4, small=1),
            Refusal(reason=R.BUDGET_EXHAUSTED, class_name="pairs", asked=4, remaining=3),
        ),
    ],
)
def test_a_broken_rule_is_named_with_its_numbers(
    entries: tuple[ClassEntry, ...], refusal: Refusal
) -> None:
    """S20, domain 5.3: each of the limits can be the one that refuses, with its own reason."""
    assert refused(entries) == refusal


def test_an_unentitled_tenant_is_refused_whatever_its_budget() -> None:
    """S57: with room in the budget."""
    refusal = refused(wish(vgpu=1), a_tenant(NS, {"vgpu": 9}))
    assert refusal == Refusal(reason=R.NOT_ENTITLED, class_name="vgpu", asked=1)


def test_a_missing_license_is_refused_and_an_unknown_one_to_be_tried_again() -> None:
    """Domain 5.3, step 8; design 2, LicenseUnknown."""
    missing = refused(wish(third=1), licenses={"one": frozenset({"tenant-b"})})
    assert missing == Refusal(reason=R.LICENSE_NOT_READY, class_name="third", asked=1)
    for licenses in ({}, {"one": None}):
        unknown = refused(wish(third=1), licenses=licenses)
        assert unknown == Refusal(reason=R.INPUTS_UNAVAILABLE, class_name="third", asked=1)


@pytest.mark.parametrize("source", [Source.CLASSES, Source.KUBEVIRT, Source.TENANTS])
@pytest.mark.parametrize("name", ["small", "huge", "nothing", "twin"])
def test_inputs_that_cannot_be_read_refuse_whatever_is_asked(source: Source, name: str) -> None:
    """E38, D14: fail-closed and retryable, before anything that follows from them."""
    refusal = refused((ClassEntry(name, 1),), unknown=frozenset({source}))
    assert refusal == Refusal(reason=R.INPUTS_UNAVAILABLE, class_name=name, asked=1)


@pytest.mark.parametrize("source", [Source.VMIS, Source.PODS])
def test_what_is_used_is_asked_only_where_a_budget_is(source: Source) -> None:
    """Domain 4.5: Unbounded needs the tenants alone; nodes are never needed."""
    unknown = frozenset({source, Source.NODES})
    assert refused(wish(small=1), unknown=unknown) == Refusal(
        reason=R.INPUTS_UNAVAILABLE, class_name="small", asked=1
    )
    assert refused(wish(huge=1), unknown=unknown) is None


def test_an_unreadable_vmi_refuses_where_its_use_counts() -> None:
    """Design 2: what it is charged for is not known."""
    refusal = refused(wish(small=1), TENANT, a_vmi(NS, readable=False))
    assert refusal == Refusal(reason=R.INPUTS_UNAVAILABLE, class_name="small", asked=1)


def test_an_ambiguous_tenant_is_refused_before_its_classes_are_looked_at() -> None:
    """E11, domain 2.4: 403 TenantAmbiguous, after step 2."""
    owners = (a_tenant(NS, key="one"), a_tenant(NS, key="two"))
    for name in ("small", "nothing", "gone"):
        refusal = refused((ClassEntry(name, 1),), *owners)
        assert refusal == Refusal(reason=R.TENANT_AMBIGUOUS, class_name=name, asked=1)


def test_disabled_admission_grants_nothing() -> None:
    """Nothing is admitted that the option says is not enabled."""
    refusal = refused(wish(small=1), policy=Policy(admission_disabled=True))
    assert refusal == Refusal(reason=R.ADMISSION_DISABLED, class_name="small", asked=1)


def test_what_is_no_tenant_may_have_what_needs_no_entitlement() -> None:
    """E34: passthrough is unbounded there, vgpu is not usable."""
    assert refused(wish(small=2), namespace="default") is None
    refusal = refused(wish(vgpu=1), namespace="default")
    assert refusal == Refusal(reason=R.NOT_ENTITLED, class_name="vgpu", asked=1)


@pytest.mark.parametrize(
    ("entries", "reason", "class_name"),
    [
        (wish(small=3, gone=1, nothing=1), R.CLASS_TERMINATING, "gone"),
        (wish(absent=1, twin=1), R.RESOURCE_NAME_CONFLICT, "twin"),
        (wish(pairs=1, absent=1), R.RESOURCE_NOT_PERMITTED, "absent"),
        (wish(vgpu=1, pairs=1), R.COUNT_NOT_OFFERED, "pairs"),
        (wish(third=1, vgpu=1), R.NOT_ENTITLED, "vgpu"),
        (wish(small=2, third=1), R.LICENSE_NOT_READY, "third"),
    ],
)
def test_a_rule_is_asked_of_all_entries_before_the_next_rule(
    entries: tuple[ClassEntry, ...], reason: RefusalReason, class_name: str
) -> None:
    """Domain 5.3: in this order; the first failure answers."""
    tenant = a_tenant(NS, {"small": 1})
    refusal = refused(entries, tenant, licenses={"one": frozenset(), "two": frozenset()})
    assert refusal is not None
    assert (refusal.reason, refusal.class_name) == (reason, class_name)


def test_a_conflict_of_licenses_comes_before_the_budget() -> None:
    """Domain 5.3: step 9, then step 10."""
    refusal = refused(wish(small=2, vgpu=1, third=1, other=1))
    assert refusal == Refusal(reason=R.LICENSE_CONFLICT, class_name="other", asked=1)


@given(
    snapshots(),
    policies(),
    st.integers(-1, 13),
    st.sampled_from(ASKED),
    st.sampled_from(CLASS_NAMES),
)
@examples(400)
def test_a_wish_is_allowed_exactly_when_the_option_says_so(
    snapshot: ClusterSnapshot, policy: Policy, count: int, namespace: str, class_name: str
) -> None:
    """D2: allowed iff n is an allowed count and at most requestableCount; unknown refuses."""
    view = PoolView.of(snapshot, policy)
    refusal = verdict(view, namespace, (ClassEntry(class_name, count),))
    assert (refusal is None) == _allowed(view.facts(namespace, class_name), policy, count)


def _allowed(facts: Facts | None, policy: Policy, count: int) -> bool:
    if facts is None:
        return False
    counts = facts.offer.gpu_class.allowed_counts
    offered = count >= 1 if counts is None else count in counts
    most = judge(facts, policy, CapacityDetail.FULL).requestable_count
    return offered and most is not None and count <= most


@given(snapshots(), policies(), st.sampled_from(ASKED), st.data())
@examples(200)
def test_several_classes_are_allowed_exactly_when_each_is_and_their_licenses_agree(
    snapshot: ClusterSnapshot, policy: Policy, namespace: str, data: st.DataObject
) -> None:
    """Domain 3.5: budgets are per class and independent; one Secret at most."""
    view = PoolView.of(snapshot, policy)
    names = data.draw(st.lists(st.sampled_from(CLASS_NAMES), unique=True, max_size=3))
    entries = tuple(ClassEntry(name, data.draw(st.integers(1, 3))) for name in names)
    each = all(verdict(view, namespace, (entry,)) is None for entry in entries)
    classes = [view.gpu_class(name) for name in names]
    secrets = {each.license_secret for each in classes if each and each.license_secret}
    assert (verdict(view, namespace, entries) is None) == (each and len(secrets) <= 1)
