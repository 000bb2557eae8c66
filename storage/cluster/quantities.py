"""Extended resources and their quantities on nodes, in pods and quotas (domain 2.2, 3.1)."""

import math
from collections.abc import Mapping
from fractions import Fraction

from storage.model.quantity import InvalidQuantityError, parse_quantity


def is_extended(resource: str) -> bool:
    """Whether a resource is a device that a class could stand for.

    Kubernetes' notion of an extended resource, less those that every VM requests (domain 2.7).
    """
    return (
        "/" in resource
        and "kubernetes.io/" not in resource
        and not resource.startswith("devices.kubevirt.io/")
    )


def exact(value: object) -> Fraction:
    """Return a quantity that is not negative, written as text or as a number.

    Raises InvalidQuantityError.
    """
    match value:
        case str():
            quantity = parse_quantity(value)
        case bool():
            raise InvalidQuantityError
        case int():
            quantity = Fraction(value)
        case float():
            quantity = parse_quantity(repr(value))
        case _:
            raise InvalidQuantityError
    if quantity < 0:
        raise InvalidQuantityError
    return quantity


def exact_extended(quantities: Mapping[str, object]) -> dict[str, Fraction]:
    """Return the extended resources among quantities. Raises InvalidQuantityError."""
    return {name: exact(value) for name, value in quantities.items() if is_extended(name)}


def whole_up(quantities: Mapping[str, Fraction]) -> tuple[tuple[str, int], ...]:
    """Return what is requested in whole units, by name, without zeros: a request rounds up."""
    return tuple(
        sorted((name, math.ceil(value)) for name, value in quantities.items() if value > 0)
    )


def allocatable(quantities: Mapping[str, object]) -> tuple[tuple[tuple[str, int], ...], int]:
    """Return a node's extended resources in whole units, by name, and how many made no sense.

    A node's figure rounds down; what is negative or no quantity counts as 0 (domain 3.1, E28).
    """
    units: list[tuple[str, int]] = []
    senseless = 0
    for name, value in quantities.items():
        if not is_extended(name):
            continue
        try:
            units.append((name, math.floor(exact(value))))
        except InvalidQuantityError:
            units.append((name, 0))
            senseless += 1
    return tuple(sorted(units)), senseless
