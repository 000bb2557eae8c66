"""Quantities of extended resources."""

from fractions import Fraction

import pytest

from storage.cluster.quantities import allocatable, exact, is_extended, whole_up
from storage.model.quantity import InvalidQuantityError


@pytest.mark.parametrize(
    ("resource", "extended"),
    [
        ("nvidia.com/AD102GL_L40S", True),
        ("x.com/y", True),
        ("cpu", False),
        ("hugepages-2Mi", False),
        ("kubernetes.io/batch", False),
        ("node.kubernetes.io/x", False),
        ("devices.kubevirt.io/kvm", False),
    ],
)
def test_a_device_is_told_by_its_name(resource: str, extended: bool) -> None:
    """Only what could be a class's device is kept; each VM's own requests are not."""
    assert is_extended(resource) is extended


@pytest.mark.parametrize(
    ("written", "value"),
    [("2", 2), (2, 2), ("2000m", 2), ("1k", 1000), (0.5, Fraction(1, 2)), ("0", 0)],
)
def test_a_quantity_may_be_text_or_a_number(written: object, value: Fraction | int) -> None:
    """Objects from files hold numbers where an API server sends text."""
    assert exact(written) == value


@pytest.mark.parametrize("written", ["x", "", "-1", -1, True, None, [], {}, float("inf")])
def test_what_is_no_quantity_is_refused(written: object) -> None:
    """Nothing odd becomes a number."""
    with pytest.raises(InvalidQuantityError):
        exact(written)


@pytest.mark.parametrize(
    ("written", "units", "senseless"),
    [("2000m", 2, 0), ("1k", 1000, 0), ("7500m", 7, 0), ("-1", 0, 1), ("x", 0, 1), (None, 0, 1)],
)
def test_allocatable_rounds_down_and_nonsense_is_nothing(
    written: object, units: int, senseless: int
) -> None:
    """E28: 2000m, 1k, 7500m, -1, x are 2, 1000, 7, 0, 0 with an error count."""
    assert allocatable({"x.com/gpu": written, "cpu": "x"}) == ((("x.com/gpu", units),), senseless)


def test_a_request_rounds_up_and_nothing_is_left_out() -> None:
    """A part of a device takes the device; QB-01: whole numbers come out, without a tail."""
    amounts = {"b": Fraction(3, 2), "a": Fraction(1), "c": Fraction(0)}
    assert whole_up(amounts) == (("a", 1), ("b", 2))
