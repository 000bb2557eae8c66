"""From figures to what an option and an offer say (domain 3.5, 4.1, 4.3)."""

from dataclasses import replace

import pytest
from fakes.worlds import (
    AMBIGUOUS,
    RESOURCE,
    UNBOUNDED,
    UNKNOWN,
    a_class,
    a_kubevirt,
    a_node,
    a_tenant,
    a_view,
    bounded,
)

from storage.model.snapshot import Policy, Source
from storage.pool.answers import (
    Budget,
    Capacity,
    Entitlement,
    License,
    Offer,
    Requestable,
    Startable,
    Status,
)
from storage.pool.verdict import (
    CapacityDetail,
    Facts,
    Judgement,
    OfferJudgement,
    judge,
    judge_offer,
)

FULL, FREE, NONE = CapacityDetail.FULL, CapacityDetail.FREE, CapacityDetail.NONE

OFFER = Offer(gpu_class=a_class(max_count=4), conflict=False, permitted=True)
FACTS = Facts(
    offer=OFFER,
    capacity=Capacity(7, 5),
    budget=UNBOUNDED,
    entitlement=Entitlement.NOT_REQUIRED,
    license=License.NOT_REQUIRED,
)


def judged(
    facts: Facts = FACTS, policy: Policy | None = None, detail: CapacityDetail = FULL
) -> Judgement:
    """Return what the option of these facts says."""
    return judge(facts, policy or Policy(), detail)


def facts_of(
    *,
    max_count: int = 4,
    allowed: tuple[int, ...] | None = None,
    budget: Budget = UNBOUNDED,
    capacity: Capacity = FACTS.capacity,
) -> Facts:
    """Return the facts of a class that everybody may use."""
    gpu_class = a_class(max_count=max_count, allowed=allowed)
    return replace(
        FACTS, offer=replace(OFFER, gpu_class=gpu_class), budget=budget, capacity=capacity
    )


def test_an_option_without_an_obstacle_says_how_many() -> None:
    """E33: maxCount 4, remaining 10, largest 8: requestable 4, published largest 4."""
    assert judged(facts_of(budget=bounded(10), capacity=Capacity(8, 8))) == Judgement(
        requestable=(Requestable.ALLOWED,),
        requestable_status=Status.TRUE,
        startable=Startable.FITS,
        startable_status=Status.TRUE,
        requestable_count=4,
        startable_count=4,
        largest_fit=4,
        smallest_allowed=1,
    )


@pytest.mark.parametrize(
    ("facts", "requestable", "startable", "largest_fit"),
    [
        pytest.param(facts_of(), 4, 4, 4, id="E3-unbounded"),
        pytest.param(
            facts_of(
                max_count=8,
                allowed=(1, 2, 4, 8),
                budget=bounded(3),
                capacity=Capacity(8, 8),
            ),
            2,
            2,
            8,
            id="E32",
        ),
        pytest.param(facts_of(capacity=Capacity(8, 1)), 4, 1, 1, id="E31"),
        pytest.param(facts_of(budget=bounded(2), capacity=Capacity(7, 3)), 2, 2, 3, id="GC-05"),
        pytest.param(
            facts_of(max_count=8, allowed=(2, 4, 8), capacity=Capacity(9, 7)), 8, 4, 4, id="gap"
        ),
        pytest.param(facts_of(max_count=2000, capacity=Capacity(9, 9)), 1024, 9, 9, id="S17"),
        pytest.param(facts_of(allowed=()), 4, 4, 4, id="empty-list-is-absent"),
    ],
)
def test_counts_are_the_largest_allowed_within_every_limit(
    facts: Facts, requestable: int, startable: int, largest_fit: int
) -> None:
    """S20, domain 3.5: maxCount, 1024, what remains; then the largest node."""
    judgement = judged(facts)
    assert judgement.requestable_count == requestable
    assert judgement.startable_count == startable
    assert judgement.largest_fit == largest_fit


@pytest.mark.parametrize(
    ("facts", "reason", "status", "count"),
    [
        (
            replace(FACTS, offer=replace(OFFER, permitted=None)),
            Requestable.CLASS_UNKNOWN,
            Status.UNKNOWN,
            None,
        ),
        (replace(FACTS, budget=AMBIGUOUS), Requestable.TENANT_AMBIGUOUS, Status.UNKNOWN, None),
        (replace(FACTS, budget=UNKNOWN), Requestable.BUDGET_UNKNOWN, Status.UNKNOWN, None),
        (
            replace(FACTS, offer=replace(OFFER, conflict=True)),
            Requestable.RESOURCE_NAME_CONFLICT,
            Status.FALSE,
            0,
        ),
        (
            replace(FACTS, offer=replace(OFFER, permitted=False)),
            Requestable.RESOURCE_NOT_PERMITTED,
            Status.FALSE,
            0,
        ),
        (
            replace(FACTS, entitlement=Entitlement.MISSING),
            Requestable.NOT_ENTITLED,
            Status.FALSE,
            0,
        ),
        (
            replace(FACTS, license=License.UNKNOWN),
            Requestable.LICENSE_UNKNOWN,
            Status.UNKNOWN,
            None,
        ),
        (replace(FACTS, license=License.MISSING), Requestable.LICENSE_NOT_READY, Status.FALSE, 0),
        (replace(FACTS, budget=bounded(0)), Requestable.BUDGET_EXHAUSTED, Status.FALSE, 0),
    ],
)
def test_each_obstacle_has_its_reason_and_status(
    facts: Facts, reason: Requestable, status: Status, count: int | None
) -> None:
    """Domain 4.3: an unknown one leaves the count out, a known one makes it 0."""
    judgement = judged(facts)
    assert judgement.requestable == (reason,)
    assert judgement.requestable_status is status
    assert judgement.requestable_count == count
    unknown = status is Status.UNKNOWN
    assert judgement.startable is (
        Startable.REQUESTABLE_UNKNOWN if unknown else Startable.NOT_REQUESTABLE
    )
    assert judgement.startable_status is status
    assert judgement.startable_count == count


@pytest.mark.parametrize("entitlement", [Entitlement.GRANTED, Entitlement.UNKNOWN])
@pytest.mark.parametrize("held", [License.READY, License.NOT_REQUIRED])
def test_what_is_granted_and_in_place_is_no_obstacle(
    entitlement: Entitlement, held: License
) -> None:
    """Domain 4.3; an unknown entitlement comes with an unknown budget, which says it."""
    assert judged(replace(FACTS, entitlement=entitlement, license=held)).requestable == (
        Requestable.ALLOWED,
    )


def test_disabled_admission_refuses_everybody() -> None:
    """Domain 4.3, --admission-disabled."""
    judgement = judged(policy=Policy(admission_disabled=True))
    assert judgement.requestable == (Requestable.ADMISSION_DISABLED,)
    assert judgement.requestable_count == 0


def test_all_reasons_are_given_in_order_and_the_first_decides() -> None:
    """Domain 4.3: all of them are in the message."""
    facts = replace(
        FACTS,
        offer=replace(OFFER, conflict=True, permitted=None),
        budget=bounded(0),
        entitlement=Entitlement.MISSING,
        license=License.UNKNOWN,
    )
    judgement = judged(facts, Policy(admission_disabled=True))
    assert judgement.requestable == (
        Requestable.CLASS_UNKNOWN,
        Requestable.ADMISSION_DISABLED,
        Requestable.RESOURCE_NAME_CONFLICT,
        Requestable.NOT_ENTITLED,
        Requestable.LICENSE_UNKNOWN,
        Requestable.BUDGET_EXHAUSTED,
    )
    assert judgement.requestable_status is Status.UNKNOWN
    readable = replace(facts, offer=replace(OFFER, permitted=True))
    assert judged(readable).requestable_status is Status.FALSE


@pytest.mark.parametrize(("left", "exhausted"), [(1, True), (2, False)])
def test_a_budget_is_exhausted_below_the_smallest_allowed_count(left: int, exhausted: bool) -> None:
    """Domain 4.3: one left of a class that comes in pairs."""
    judgement = judged(facts_of(allowed=(2, 4), budget=bounded(left)))
    assert (judgement.requestable == (Requestable.BUDGET_EXHAUSTED,)) == exhausted
    assert judgement.smallest_allowed == 2


@pytest.mark.parametrize(
    ("capacity", "detail", "reason", "count", "fit"),
    [
        (Capacity(7, 5), FULL, Startable.FITS, 4, 4),
        (Capacity(7, 5), FREE, Startable.CAPACITY_HIDDEN, None, None),
        (Capacity(7, 5), NONE, Startable.CAPACITY_HIDDEN, None, None),
        (Capacity(1, 1), FREE, Startable.CAPACITY_HIDDEN, None, None),
        (Capacity(0, 0), FULL, Startable.NO_CAPACITY, 0, 0),
        (Capacity(0, 0), FREE, Startable.NO_CAPACITY, 0, None),
        (Capacity(0, 0), NONE, Startable.CAPACITY_HIDDEN, None, None),
        (Capacity(None, None), FULL, Startable.CAPACITY_UNKNOWN, None, None),
        (Capacity(None, None), FREE, Startable.CAPACITY_UNKNOWN, None, None),
        (Capacity(None, None), NONE, Startable.CAPACITY_HIDDEN, None, None),
    ],
)
def test_capacity_says_as_much_as_the_hoster_shows(
    capacity: Capacity,
    detail: CapacityDetail,
    reason: Startable,
    count: int | None,
    fit: int | None,
) -> None:
    """Domain 4.1, capacityDetail; offers say the same."""
    for judgement in (
        judged(replace(FACTS, capacity=capacity), detail=detail),
        judge_offer(OFFER, capacity, Policy(), detail),
    ):
        assert judgement.startable is reason
        assert judgement.startable_count == count
        assert judgement.largest_fit == fit


def test_a_shortage_never_makes_asking_wrong() -> None:
    """D5, S34: asked for and waiting is allowed; the node must fit the smallest allowed count."""
    judgement = judged(facts_of(allowed=(2, 4), capacity=Capacity(9, 1)))
    assert judgement.requestable_count == 4
    assert judgement.startable is Startable.NO_CAPACITY
    assert judgement.startable_status is Status.FALSE
    assert judged(facts_of(allowed=(2, 4), capacity=Capacity(2, 2))).startable is Startable.FITS


def test_what_cannot_be_asked_for_does_not_start_whatever_is_known_of_capacity() -> None:
    """Domain 4.3: NotRequestable comes before what capacity says."""
    judgement = judged(replace(FACTS, budget=bounded(0), capacity=Capacity(None, None)))
    assert (judgement.startable, judgement.startable_count) == (Startable.NOT_REQUESTABLE, 0)


@pytest.mark.parametrize(
    ("offer", "policy", "reason", "status", "count"),
    [
        (
            replace(OFFER, permitted=None, conflict=True),
            Policy(),
            Requestable.CLASS_UNKNOWN,
            Status.UNKNOWN,
            None,
        ),
        (
            replace(OFFER, conflict=True),
            Policy(admission_disabled=True),
            Requestable.ADMISSION_DISABLED,
            Status.FALSE,
            0,
        ),
        (
            replace(OFFER, conflict=True, permitted=False),
            Policy(),
            Requestable.RESOURCE_NAME_CONFLICT,
            Status.FALSE,
            0,
        ),
        (
            replace(OFFER, permitted=False),
            Policy(),
            Requestable.RESOURCE_NOT_PERMITTED,
            Status.FALSE,
            0,
        ),
        (OFFER, Policy(), Startable.FITS, Status.TRUE, 4),
    ],
)
def test_an_offer_says_why_nobody_can_use_it(
    offer: Offer,
    policy: Policy,
    reason: Requestable | Startable,
    status: Status,
    count: int | None,
) -> None:
    """Domain 4.1: the reasons of the class come before what capacity says."""
    assert judge_offer(offer, Capacity(7, 5), policy, FULL) == OfferJudgement(
        startable=reason,
        startable_status=status,
        startable_count=count,
        largest_fit=4,
        smallest_allowed=1,
    )


def test_without_nodes_the_budget_is_right_and_the_rest_is_left_out() -> None:
    """E37: capacity Unknown, Startable Unknown, startableCount absent."""
    view = a_view(
        a_class(),
        a_kubevirt(),
        a_tenant("tenant-a", {"l40s": 3}),
        a_node(allocatable={RESOURCE: 8}),
        unknown=frozenset({Source.NODES}),
    )
    facts = view.facts("tenant-a", "l40s")
    assert facts is not None
    assert facts.budget == bounded(3)
    judgement = judged(facts)
    assert judgement.requestable_count == 3
    assert judgement.startable is Startable.CAPACITY_UNKNOWN
    assert (judgement.startable_count, judgement.largest_fit) == (None, None)


def test_without_tenants_both_counts_are_left_out() -> None:
    """E38: budget Unknown, Requestable Unknown."""
    view = a_view(
        a_class(),
        a_kubevirt(),
        a_tenant("tenant-a", {"l40s": 3}),
        unknown=frozenset({Source.TENANTS}),
    )
    facts = view.facts("tenant-a", "l40s")
    assert facts is not None
    judgement = judged(facts)
    assert judgement.requestable == (Requestable.BUDGET_UNKNOWN,)
    assert (judgement.requestable_count, judgement.startable_count) == (None, None)
