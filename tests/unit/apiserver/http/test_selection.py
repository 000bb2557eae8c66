"""Selectors as authorization and lists take them: read once, within bounds."""

import pytest

from apiserver.http.selection import read_selectors

VALUES = ",".join(f"-{number}" for number in range(1000))


def test_each_selector_is_read_whatever_is_wrong_with_the_other() -> None:
    """Contract 7.4: the faulty one is left out, and the list is refused for the first fault."""
    read = read_selectors("x=a", "y")
    assert read.label_requirements() is not None
    assert read.field_requirements() is None
    assert read.fault == "invalid selector: 'y'; can't understand 'y'"
    read = read_selectors(",", "metadata.name=n")
    assert read.label_requirements() is None
    assert read.name == "n"
    assert read.fault.startswith("found ','")
    assert read_selectors(",", "y").fault.startswith("found ','")
    assert read_selectors("x=a", "metadata.name!=n").fault == ""


@pytest.mark.parametrize(
    ("labels", "fields", "fault"),
    [
        ("a," * 999 + "a", "", ""),
        ("a," * 1000 + "a", "", "the selector has more than 1000 terms"),
        ("", "a=b," * 1000, ""),
        ("", "a=b," * 1001, "the selector has more than 1000 terms"),
        (f"x in ({'a' * 60},{'b,' * 32732}a)", "", ""),
        (f"x in ({'a' * 60},{'b,' * 32736}a)", "", "the selector is longer than 65536 characters"),
        ("", f"a={'b' * 65534}", ""),
        ("", f"a={'b' * 65535}", "the selector is longer than 65536 characters"),
    ],
)
def test_a_selector_has_a_length_and_a_number_of_terms(
    labels: str, fields: str, fault: str
) -> None:
    """64 KiB are legal (contract 14.1); nobody needs a thousand terms."""
    assert read_selectors(labels, fields).fault == fault


def test_of_many_faulty_values_the_first_few_are_told() -> None:
    """A refusal does not grow with the request."""
    fault = read_selectors(f"x in ({VALUES})", "").fault
    assert fault.count("Invalid value") == 10


@pytest.mark.parametrize(
    ("labels", "fields"),
    [
        ("-" * 1000, ""),
        (f"x={'-' * 1000}", ""),
        (f"x>{'y' * 1000}", ""),
        (f"x {'y' * 1000}", ""),
        (f"x=y {'z' * 1000}", ""),
        (f"x in {'z' * 1000}", ""),
        (f"x in (y {'z' * 1000})", ""),
        ("", "y" * 1000),
    ],
)
def test_what_is_repeated_of_a_request_is_cut(labels: str, fields: str) -> None:
    """The beginning is enough to find it by."""
    fault = read_selectors(labels, fields).fault
    begun = ("-" if "--" in labels else (labels or fields)[-2 if ")" in labels else -1]) * 120
    assert begun in fault
    assert "..." in fault
    assert begun + begun not in fault
