"""From figures to answers (domain 3.5, 4.3) and to decisions (domain 5.3, steps 2 to 10).

The option and admission ask the same rules: a wish for n units of one class is allowed exactly when
n is an allowed count and at most the `requestable_count` of the option from the same state (D2).
`verdict` is for admission, which is built on this room.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final, Protocol, assert_never

from storage.model.entries import ClassEntry
from storage.model.names import MAX_UNITS_PER_VM
from storage.model.objects import GPUClass
from storage.model.snapshot import Policy
from storage.pool.answers import (
    Budget,
    BudgetState,
    Capacity,
    Entitlement,
    License,
    Offer,
    Requestable,
    Startable,
    Status,
)


class CapacityDetail(Enum):
    """How much of free units the hoster shows (domain 4.1, `capacityDetail`)."""

    FULL = "full"
    FREE = "free"  # no largest fit, so nothing that one VM could start with
    NONE = "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """Everything that one namespace's option for one class is made of."""

    offer: Offer
    capacity: Capacity
    budget: Budget
    entitlement: Entitlement
    license: License


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """What an option says: conditions and the counts that go with them."""

    requestable: tuple[Requestable, ...]  # every reason that holds, in order; ALLOWED for none
    requestable_status: Status  # of the first reason
    startable: Startable
    startable_status: Status
    requestable_count: int | None  # None while Requestable is Unknown
    startable_count: int | None  # None while Startable is Unknown
    largest_fit: int | None  # None unless capacity is known and shown in full
    smallest_allowed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class OfferJudgement:
    """What an offer says: the same for every tenant."""

    startable: Startable | Requestable  # a reason of Requestable where the class cannot be used
    startable_status: Status
    startable_count: int | None  # None while Startable is Unknown
    largest_fit: int | None  # None unless capacity is known and shown in full
    smallest_allowed: int


class RefusalReason(Enum):
    """Why admission refuses a wish (domain 5.3)."""

    INPUTS_UNAVAILABLE = "InputsUnavailable"  # the one that may pass when tried again
    TENANT_AMBIGUOUS = "TenantAmbiguous"
    TOO_MANY_UNITS = "TooManyUnits"
    ADMISSION_DISABLED = "AdmissionDisabled"
    CLASS_NOT_FOUND = "ClassNotFound"
    CLASS_TERMINATING = "ClassTerminating"
    RESOURCE_NAME_CONFLICT = "ResourceNameConflict"
    RESOURCE_NOT_PERMITTED = "ResourceNotPermitted"
    COUNT_NOT_OFFERED = "CountNotOffered"
    NOT_ENTITLED = "NotEntitled"
    LICENSE_NOT_READY = "LicenseNotReady"
    LICENSE_CONFLICT = "LicenseConflict"
    BUDGET_EXHAUSTED = "BudgetExhausted"


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """The first rule that a wish breaks, and the numbers that a message about it needs."""

    reason: RefusalReason
    class_name: str | None = None  # None: it concerns no single class
    asked: int  # units of the class, or of all where it concerns no single one
    remaining: int | None = None  # only for BUDGET_EXHAUSTED
    max_count: int | None = None  # only for COUNT_NOT_OFFERED, as the next
    allowed_counts: tuple[int, ...] | None = None  # None: any from 1 to max_count


class View(Protocol):
    """What `verdict` asks of a state of the cluster."""

    @property
    def policy(self) -> Policy:
        """What flags decide."""
        ...

    @property
    def offers_readable(self) -> bool:
        """Whether classes and the KubeVirt object can be believed now."""
        ...

    def gpu_class(self, name: str) -> GPUClass | None:
        """Return a class, terminating or not."""
        ...

    def budget(self, namespace: str, class_name: str) -> Budget:
        """Return what is left for a namespace, whether or not there is such a class."""
        ...

    def facts(self, namespace: str, class_name: str) -> Facts | None:
        """Return what an option is made of; None: no such class, or terminating."""
        ...


def smallest_allowed(gpu_class: GPUClass) -> int:
    """Return the smallest count that a VM may ask for."""
    return min(gpu_class.allowed_counts or (1,))


def largest_allowed(gpu_class: GPUClass, bound: int) -> int:
    """Return the largest count at most the bound that a VM may ask for; 0 where there is none."""
    if not gpu_class.allowed_counts:
        return max(bound, 0)
    return max((count for count in gpu_class.allowed_counts if count <= bound), default=0)


def largest_fit(gpu_class: GPUClass, largest: int) -> int:
    """Return the most units that one VM can get where some node has `largest` free; 0 for none."""
    return largest_allowed(gpu_class, min(_offer_limit(gpu_class), largest))


def is_offered(gpu_class: GPUClass, count: int) -> bool:
    """Whether a VM may ask for exactly so many, budget and the rest aside."""
    bound = min(count, _offer_limit(gpu_class))
    return count >= 1 and largest_allowed(gpu_class, bound) == count


def hard_limit(facts: Facts) -> int:
    """Return the domain's hardLimit: maxCount, the bound of a VM, and the budget if bounded."""
    limit = _offer_limit(facts.offer.gpu_class)
    left = facts.budget.remaining
    return limit if left is None else min(limit, left)


def input_reasons(*, readable: bool, budget: Budget) -> Iterator[Requestable]:
    """Yield what cannot be told at all: whether there is an offer, and what is left."""
    if not readable:
        yield Requestable.CLASS_UNKNOWN
    if budget.state is BudgetState.AMBIGUOUS:
        yield Requestable.TENANT_AMBIGUOUS
    if budget.state is BudgetState.UNKNOWN:
        yield Requestable.BUDGET_UNKNOWN


def class_reasons(offer: Offer, policy: Policy) -> Iterator[Requestable]:
    """Yield why nobody can use the class."""
    if policy.admission_disabled:
        yield Requestable.ADMISSION_DISABLED
    if offer.conflict:
        yield Requestable.RESOURCE_NAME_CONFLICT
    if offer.permitted is False:
        yield Requestable.RESOURCE_NOT_PERMITTED


def tenant_reasons(facts: Facts) -> Iterator[Requestable]:
    """Yield why this namespace cannot use the class, whatever its budget."""
    if facts.entitlement is Entitlement.MISSING:
        yield Requestable.NOT_ENTITLED
    if facts.license is License.UNKNOWN:
        yield Requestable.LICENSE_UNKNOWN
    if facts.license is License.MISSING:
        yield Requestable.LICENSE_NOT_READY


def exceeds_budget(facts: Facts, count: int) -> bool:
    """Whether a count is more than what is left."""
    left = facts.budget.remaining
    return left is not None and count > left


def judge(facts: Facts, policy: Policy, detail: CapacityDetail) -> Judgement:
    """Return what the option of these facts says (domain 3.5, 4.3)."""
    gpu_class = facts.offer.gpu_class
    reasons = tuple(_requestable(facts, policy)) or (Requestable.ALLOWED,)
    requestable = _status(reasons[0])
    count: int | None = None
    match requestable:
        case Status.TRUE:
            count = largest_allowed(gpu_class, hard_limit(facts))
        case Status.FALSE:
            count = 0
    startable = _startable(requestable, gpu_class, facts.capacity, detail)
    status = _status(startable)
    return Judgement(
        requestable=reasons,
        requestable_status=requestable,
        startable=startable,
        startable_status=status,
        requestable_count=count,
        startable_count=_startable_count(status, gpu_class, count, facts.capacity),
        largest_fit=_largest_fit(gpu_class, facts.capacity, detail),
        smallest_allowed=smallest_allowed(gpu_class),
    )


def judge_offer(
    offer: Offer, capacity: Capacity, policy: Policy, detail: CapacityDetail
) -> OfferJudgement:
    """Return what the offer alone says: the first reason of the class, else what capacity says."""
    gpu_class = offer.gpu_class
    unbounded = Budget(BudgetState.UNBOUNDED)
    readable = offer.permitted is not None
    reasons = (*input_reasons(readable=readable, budget=unbounded), *class_reasons(offer, policy))
    startable = reasons[0] if reasons else _startable(Status.TRUE, gpu_class, capacity, detail)
    status = _status(startable)
    return OfferJudgement(
        startable=startable,
        startable_status=status,
        startable_count=_startable_count(status, gpu_class, _offer_limit(gpu_class), capacity),
        largest_fit=_largest_fit(gpu_class, capacity, detail),
        smallest_allowed=smallest_allowed(gpu_class),
    )


def verdict(view: View, tenant: str, entries: Sequence[ClassEntry]) -> Refusal | None:
    """Return why a VM of a tenant may not have these units; None: it may.

    Each rule is asked of all entries before the next one, in the order of domain 5.3; capacity is
    never asked. Entries are as the parser gives them: each class once.
    """
    asked = sum(entry.count for entry in entries)
    if asked > MAX_UNITS_PER_VM:
        return Refusal(reason=RefusalReason.TOO_MANY_UNITS, asked=asked)
    for entry in entries:
        budget = view.budget(tenant, entry.class_name)
        for reason in input_reasons(readable=view.offers_readable, budget=budget):
            return _refusal(entry, _REFUSALS[reason])
    wishes: list[_Wish] = []
    for entry in entries:
        facts = view.facts(tenant, entry.class_name)
        if facts is None:
            gone = view.gpu_class(entry.class_name) is None
            return _refusal(
                entry, RefusalReason.CLASS_NOT_FOUND if gone else RefusalReason.CLASS_TERMINATING
            )
        wishes.append(_Wish(entry, facts))
    return next(_refusals(wishes, view.policy), None)


@dataclass(frozen=True, slots=True)
class _Wish:
    entry: ClassEntry
    facts: Facts


_ORDER: Final = tuple(Requestable)

_ALLOWING: Final = frozenset({Requestable.ALLOWED, Startable.FITS})
_OPEN: Final = frozenset(
    {
        Requestable.CLASS_UNKNOWN,
        Requestable.TENANT_AMBIGUOUS,
        Requestable.BUDGET_UNKNOWN,
        Requestable.LICENSE_UNKNOWN,
        Startable.REQUESTABLE_UNKNOWN,
        Startable.CAPACITY_UNKNOWN,
        Startable.CAPACITY_HIDDEN,
    }
)

_REFUSALS: Final = {
    Requestable.CLASS_UNKNOWN: RefusalReason.INPUTS_UNAVAILABLE,
    Requestable.TENANT_AMBIGUOUS: RefusalReason.TENANT_AMBIGUOUS,
    Requestable.BUDGET_UNKNOWN: RefusalReason.INPUTS_UNAVAILABLE,
    Requestable.ADMISSION_DISABLED: RefusalReason.ADMISSION_DISABLED,
    Requestable.RESOURCE_NAME_CONFLICT: RefusalReason.RESOURCE_NAME_CONFLICT,
    Requestable.RESOURCE_NOT_PERMITTED: RefusalReason.RESOURCE_NOT_PERMITTED,
    Requestable.NOT_ENTITLED: RefusalReason.NOT_ENTITLED,
    Requestable.LICENSE_UNKNOWN: RefusalReason.INPUTS_UNAVAILABLE,
    Requestable.LICENSE_NOT_READY: RefusalReason.LICENSE_NOT_READY,
}


def _offer_limit(gpu_class: GPUClass) -> int:
    return min(gpu_class.max_count, MAX_UNITS_PER_VM)


def _requestable(facts: Facts, policy: Policy) -> Iterator[Requestable]:
    readable = facts.offer.permitted is not None
    yield from input_reasons(readable=readable, budget=facts.budget)
    yield from class_reasons(facts.offer, policy)
    yield from tenant_reasons(facts)
    if exceeds_budget(facts, smallest_allowed(facts.offer.gpu_class)):
        yield Requestable.BUDGET_EXHAUSTED


def _status(reason: Requestable | Startable) -> Status:
    if reason in _ALLOWING:
        return Status.TRUE
    return Status.UNKNOWN if reason in _OPEN else Status.FALSE


def _startable(
    requestable: Status, gpu_class: GPUClass, capacity: Capacity, detail: CapacityDetail
) -> Startable:
    """Return the reason of Startable; a hidden largest fit tells nothing unless nothing is free."""
    match requestable:
        case Status.UNKNOWN:
            return Startable.REQUESTABLE_UNKNOWN
        case Status.FALSE:
            return Startable.NOT_REQUESTABLE
        case Status.TRUE:
            pass
        case _:
            assert_never(requestable)
    if detail is CapacityDetail.NONE:
        return Startable.CAPACITY_HIDDEN
    if capacity.free is None or capacity.largest is None:
        return Startable.CAPACITY_UNKNOWN
    if detail is CapacityDetail.FREE and capacity.free > 0:
        return Startable.CAPACITY_HIDDEN
    if capacity.largest < smallest_allowed(gpu_class):
        return Startable.NO_CAPACITY
    return Startable.FITS


def _startable_count(
    status: Status, gpu_class: GPUClass, count: int | None, capacity: Capacity
) -> int | None:
    if status is Status.UNKNOWN:
        return None
    if status is Status.FALSE or count is None or capacity.largest is None:
        return 0
    return largest_allowed(gpu_class, min(count, capacity.largest))


def _largest_fit(gpu_class: GPUClass, capacity: Capacity, detail: CapacityDetail) -> int | None:
    if detail is not CapacityDetail.FULL or capacity.largest is None:
        return None
    return largest_fit(gpu_class, capacity.largest)


def _refusals(wishes: Sequence[_Wish], policy: Policy) -> Iterator[Refusal]:
    """Yield the rules that wishes break, each rule asked of all of them before the next."""
    yield from _broken(wishes, lambda facts: class_reasons(facts.offer, policy))
    for wish in wishes:
        gpu_class = wish.facts.offer.gpu_class
        if not is_offered(gpu_class, wish.entry.count):
            yield Refusal(
                reason=RefusalReason.COUNT_NOT_OFFERED,
                class_name=wish.entry.class_name,
                asked=wish.entry.count,
                max_count=gpu_class.max_count,
                allowed_counts=gpu_class.allowed_counts,
            )
    yield from _broken(wishes, tenant_reasons)
    licensed = [wish for wish in wishes if wish.facts.offer.gpu_class.license_secret is not None]
    for wish in licensed:
        first = licensed[0].facts.offer.gpu_class
        if wish.facts.offer.gpu_class.license_secret != first.license_secret:
            yield _refusal(wish.entry, RefusalReason.LICENSE_CONFLICT)
    for wish in wishes:
        if exceeds_budget(wish.facts, wish.entry.count):
            yield Refusal(
                reason=RefusalReason.BUDGET_EXHAUSTED,
                class_name=wish.entry.class_name,
                asked=wish.entry.count,
                remaining=wish.facts.budget.remaining,
            )


def _broken(
    wishes: Sequence[_Wish], reasons: Callable[[Facts], Iterable[Requestable]]
) -> Iterator[Refusal]:
    found = [(reason, wish) for wish in wishes for reason in reasons(wish.facts)]
    for reason, wish in sorted(found, key=lambda each: _ORDER.index(each[0])):
        yield _refusal(wish.entry, _REFUSALS[reason])


def _refusal(entry: ClassEntry, reason: RefusalReason) -> Refusal:
    return Refusal(reason=reason, class_name=entry.class_name, asked=entry.count)
