"""From the calculation's answers to the fields of computed objects (domain 4.1, 4.3)."""

from storage.model.objects import GPUClass
from storage.pool.answers import Budget, BudgetState, Capacity
from storage.pool.verdict import CapacityDetail
from storage.views.objects import BudgetView, CapacityView, OfferSpec


def offer_spec(gpu_class: GPUClass) -> OfferSpec:
    """Return what tenants see of a class: no resource name, no toleration, no Secret's name."""
    return OfferSpec(
        display_name=gpu_class.display_name,
        description=gpu_class.description,
        vendor=gpu_class.vendor,
        mode=gpu_class.mode.value,
        memory_per_unit=gpu_class.memory_per_unit,
        max_count=gpu_class.max_count,
        allowed_counts=gpu_class.allowed_counts,
    )


def capacity_view(
    capacity: Capacity, largest_fit: int | None, detail: CapacityDetail
) -> CapacityView:
    """Return free units as far as the hoster shows them; unknown is never shown as zero."""
    if detail is CapacityDetail.NONE:
        return CapacityView("Hidden")
    if capacity.free is None:
        return CapacityView("Unknown")
    shown_fit = largest_fit if detail is CapacityDetail.FULL else None
    return CapacityView("Known", capacity.free, shown_fit)


def budget_view(budget: Budget) -> BudgetView:
    """Return the budget; an ambiguous one is unknown, and the reason says why."""
    match budget.state:
        case BudgetState.BOUNDED:
            return BudgetView("Bounded", budget.remaining)
        case BudgetState.UNBOUNDED:
            return BudgetView("Unbounded")
        case BudgetState.UNKNOWN | BudgetState.AMBIGUOUS:
            return BudgetView("Unknown")
