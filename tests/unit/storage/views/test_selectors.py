"""Label and field selectors: upstream's grammar, its error texts, its matching."""

import pytest

from storage.views.selectors import (
    FieldSelector,
    FieldTerm,
    InvalidSelectorError,
    LabelSelector,
    Operator,
    Requirement,
    parse_fields,
    parse_labels,
)

LABELS = {"vendor": "nvidia", "mode": "vgpu", "size": "48", "empty": ""}


def one(key: str, operator: Operator, *values: str) -> LabelSelector:
    """Return a selector of one requirement."""
    return LabelSelector((Requirement(key, operator, values),))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", LabelSelector()),
        ("  \t", LabelSelector()),
        ("x=a", one("x", Operator.IN, "a")),
        ("x==a", one("x", Operator.IN, "a")),
        (" x = a ", one("x", Operator.IN, "a")),
        ("x=", one("x", Operator.IN, "")),
        ("x!=a", one("x", Operator.NOT_IN, "a")),
        ("x in (a,b)", one("x", Operator.IN, "a", "b")),
        ("x in (b,a,b)", one("x", Operator.IN, "a", "b")),
        ("x in ()", one("x", Operator.IN, "")),
        ("x in (,a)", one("x", Operator.IN, "", "a")),
        ("x in (a,)", one("x", Operator.IN, "", "a")),
        ("x in (a,,b)", one("x", Operator.IN, "", "a", "b")),
        ("x notin (a)", one("x", Operator.NOT_IN, "a")),
        ("x", one("x", Operator.EXISTS)),
        ("!x", one("x", Operator.DOES_NOT_EXIST)),
        ("x>5", one("x", Operator.GREATER_THAN, "5")),
        ("x<5", one("x", Operator.LESS_THAN, "5")),
        ("in in (in,notin)", one("in", Operator.IN, "in", "notin")),
        ("x=in", one("x", Operator.IN, "in")),
        ("example.com/x=a", one("example.com/x", Operator.IN, "a")),
        (
            "y,x=a",
            LabelSelector(
                (Requirement("x", Operator.IN, ("a",)), Requirement("y", Operator.EXISTS))
            ),
        ),
        ("x=a,", None),
    ],
)
def test_label_selectors_are_read_as_upstream_reads_them(
    text: str, expected: LabelSelector | None
) -> None:
    """Every form of contract 4.6 is understood, with white space anywhere."""
    if expected is None:
        with pytest.raises(InvalidSelectorError):
            parse_labels(text)
    else:
        assert parse_labels(text) == expected


NAME_RULE = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an"
    " alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for"
    " validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
VALUE_RULE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.',"
    " and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or"
    " '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("=a", "found '=', expected: !, identifier, or 'end of string'"),
        (",x", "found ',', expected: !, identifier, or 'end of string'"),
        ("x,", "found '', expected: identifier after ','"),
        ("x,,y", "found ',', expected: identifier after ','"),
        ("x=a b", "found 'b', expected: ',' or 'end of string'"),
        ("x=a=b", "found '=', expected: ',' or 'end of string'"),
        ("!", "unable to parse requirement: found '', expected: identifier"),
        ("!!x", "unable to parse requirement: found '!', expected: identifier"),
        (
            "x y",
            "unable to parse requirement: found 'y', expected: in, notin, =, ==, !=, gt, lt",
        ),
        ("x in a", "unable to parse requirement: found 'a' expected: '('"),
        ("x in (", "unable to parse requirement: found '', expected: ',', ')' or identifier"),
        ("x in (a", "unable to parse requirement: found '', expected: ',' or ')'"),
        ("x in (a b)", "unable to parse requirement: found 'b', expected: ',' or ')'"),
        ("x==(a)", "unable to parse requirement: found '(', expected: identifier"),
        (
            "-x",
            f'unable to parse requirement: <nil>: Invalid value: "-x": name part {NAME_RULE}',
        ),
        (
            "a/b/c",
            'unable to parse requirement: <nil>: Invalid value: "a/b/c": a valid label key'
            f" {NAME_RULE} with an optional DNS subdomain prefix and '/' (e.g."
            " 'example.com/MyName')",
        ),
        (
            "x=-a",
            f'unable to parse requirement: values[0][x]: Invalid value: "-a": {VALUE_RULE}',
        ),
        (
            f"x={'a' * 64}",
            f'unable to parse requirement: values[0][x]: Invalid value: "{"a" * 64}":'
            " must be no more than 63 bytes",
        ),
        (
            "x>a",
            'unable to parse requirement: values[0]: Invalid value: "a":'
            " for 'Gt', 'Lt' operators, the value must be an integer",
        ),
        (
            "x in (-,=)",
            "unable to parse requirement: found '=', expected: ',', or identifier",
        ),
    ],
)
def test_a_malformed_label_selector_is_named_in_upstreams_words(text: str, message: str) -> None:
    """kubectl shows the text as it comes; people search for it."""
    with pytest.raises(InvalidSelectorError) as caught:
        parse_labels(text)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    "key",
    [
        "/x",
        "example.com/",
        "Example.com/x",
        f"{'a' * 254}/x",
        "a" * 64,
        "x" + "-",
        "gr\u00f6\u00dfe",
        "x\x00y",
    ],
)
def test_a_key_that_no_label_can_have_is_refused(key: str) -> None:
    """Keys are qualified names: a DNS prefix of at most 253, a name of at most 63 characters."""
    with pytest.raises(InvalidSelectorError, match="Invalid value"):
        parse_labels(f"{key}=a")


def test_several_bad_values_are_all_named() -> None:
    """One answer tells everything that is wrong with a requirement."""
    with pytest.raises(InvalidSelectorError) as caught:
        parse_labels("x in (-a,-b)")
    assert str(caught.value).startswith("unable to parse requirement: [values[0][x]: ")
    assert ", values[1][x]: " in str(caught.value)


@pytest.mark.parametrize(
    ("text", "matches"),
    [
        ("", True),
        ("vendor=nvidia", True),
        ("vendor=amd", False),
        ("absent=x", False),
        ("vendor!=amd", True),
        ("vendor!=nvidia", False),
        ("absent!=x", True),
        ("vendor in (amd,nvidia)", True),
        ("vendor in (amd)", False),
        ("vendor notin (amd)", True),
        ("vendor notin (nvidia)", False),
        ("absent notin (x)", True),
        ("vendor", True),
        ("absent", False),
        ("!absent", True),
        ("!vendor", False),
        ("empty", True),
        ("empty=", True),
        ("vendor=", False),
        ("size>47", True),
        ("size>48", False),
        ("size<49", True),
        ("size<48", False),
        ("vendor>1", False),
        ("absent<1", False),
        ("vendor=nvidia,mode=vgpu", True),
        ("vendor=nvidia,mode=passthrough", False),
    ],
)
def test_labels_match_as_upstream_matches_them(text: str, matches: bool) -> None:
    """Commas mean and; what is absent meets != and notin; Gt and Lt compare integers."""
    assert parse_labels(text).matches(LABELS) is matches


def test_an_integer_beyond_64_bits_is_none() -> None:
    """Comparison is that of 64-bit integers; a longer label value is no number."""
    assert not parse_labels("size>1").matches({"size": "9" * 19})
    with pytest.raises(InvalidSelectorError, match="must be an integer"):
        parse_labels(f"size>{'9' * 19}")


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("", ()),
        (",,", ()),
        ("metadata.name=a", (FieldTerm("metadata.name", True, "a"),)),
        ("metadata.name==a", (FieldTerm("metadata.name", True, "a"),)),
        ("metadata.name!=a", (FieldTerm("metadata.name", False, "a"),)),
        ("metadata.name=", (FieldTerm("metadata.name", True, ""),)),
        (r"a=x\,y\=z\\", (FieldTerm("a", True, "x,y=z\\"),)),
        ("b=1,a=2", (FieldTerm("a", True, "2"), FieldTerm("b", True, "1"))),
    ],
)
def test_field_selectors_are_read_as_upstream_reads_them(
    text: str, terms: tuple[FieldTerm, ...]
) -> None:
    """Every form of contract 4.5, with its escapes; terms come sorted."""
    assert parse_fields(text) == FieldSelector(terms)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name", "invalid selector: 'name'; can't understand 'name'"),
        ("a=b,name", "invalid selector: 'a=b,name'; can't understand 'name'"),
        (r"a=\x", r"invalid field selector: invalid escape sequence: \x"),
        ("a=b\\", "invalid field selector: invalid escape sequence: \\"),
        ("a=b=c", "invalid field selector: unescaped character in value: 61"),
    ],
)
def test_a_malformed_field_selector_is_named_in_upstreams_words(text: str, message: str) -> None:
    """The text is upstream's."""
    with pytest.raises(InvalidSelectorError) as caught:
        parse_fields(text)
    assert str(caught.value) == message


def test_an_unknown_field_is_refused_and_the_known_ones_are_named() -> None:
    """Only metadata.name and metadata.namespace can be selected by."""
    known = ("metadata.name", "metadata.namespace")
    parse_fields("metadata.name=a,metadata.namespace!=b").require_known(known)
    with pytest.raises(InvalidSelectorError) as caught:
        parse_fields("spec.vendor=x").require_known(known)
    assert str(caught.value) == (
        '"spec.vendor" is not a known field selector: only "metadata.name", "metadata.namespace"'
    )


@pytest.mark.parametrize(
    ("text", "matches"),
    [
        ("metadata.name=l40s", True),
        ("metadata.name=h200", False),
        ("metadata.name!=h200", True),
        ("metadata.name!=l40s", False),
        ("metadata.name=l40s,metadata.namespace=other", False),
        ("metadata.namespace=", True),
    ],
)
def test_fields_match_term_by_term(text: str, matches: bool) -> None:
    """Every term must hold; an absent field is empty."""
    assert parse_fields(text).matches({"metadata.name": "l40s"}) is matches


def test_the_exact_value_of_a_field_is_known_only_where_one_is_demanded() -> None:
    """Authorization by resourceNames builds on it (contract 7.5)."""
    assert parse_fields("metadata.name=a").exact("metadata.name") == "a"
    assert parse_fields("metadata.name!=a").exact("metadata.name") is None
    assert parse_fields("metadata.namespace=a").exact("metadata.name") is None
