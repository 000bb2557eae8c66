"""The class annotation: what is accepted, and that everything else is refused for its reason."""

import json
import tracemalloc
from pathlib import Path

import pytest
import yaml
from fakes.random_worlds import examples
from hypothesis import given
from hypothesis import strategies as st

from storage.model.entries import (
    MAX_ANNOTATION_BYTES,
    ClassEntriesError,
    ClassEntry,
    MalformedClassEntriesError,
    TooManyUnitsError,
    parse_class_entries,
)

SAMPLES = yaml.safe_load(
    (Path(__file__).parents[3] / "data/samples/81-annotations.yaml").read_text()
)
TOO_MANY = {
    '[{"className":"l40s","count":1025}]',
    '[{"className":"l40s","count":600},{"className":"h200","count":600}]',
    '[{"className":"l40s","count":99999999999999999999}]',
}


@pytest.mark.parametrize(
    ("text", "entries"),
    list(
        zip(
            SAMPLES["accepted"],
            [
                (ClassEntry("l40s", 1),),
                (ClassEntry("l40s", 2), ClassEntry("h200", 1)),
                (ClassEntry("l40s", 1),),
            ],
            strict=True,
        )
    ),
)
def test_a_sample_is_accepted(text: str, entries: tuple[ClassEntry, ...]) -> None:
    """S29: samples 81, what every consumer must read alike, in the order in which it is written."""
    assert parse_class_entries(text) == entries


@pytest.mark.parametrize("text", SAMPLES["refused"])
def test_a_sample_is_refused(text: str) -> None:
    """S25: samples 81, each for the reason that is marked there."""
    with pytest.raises(ClassEntriesError) as caught:
        parse_class_entries(text)
    expected = TooManyUnitsError if text in TOO_MANY else MalformedClassEntriesError
    assert type(caught.value) is expected


@pytest.mark.parametrize(
    "text",
    [
        "[" * 2000 + "]" * 2000,
        '[{"className":' * 150 + "1" + "}]" * 150,
        '[{"className":"l40s","count":[1]}]',
        '[{"className":"l40s","count":null}]',
        '[{"className":"l40s","count":Infinity}]',
        '[{"className":"l40s","count":-Infinity}]',
        '[{"className":"l40s","count":-0}]',
        '[{"className":"l40s","count":01}]',
        '[{"className":"l40s","count":+1}]',
        '[{"className":"l40s","count":-99999999999999999999}]',
        '[{"className":["l40s"],"count":1}]',
        '[{"className":null,"count":1}]',
        '[{"className":1,"count":1}]',
        '[{"className":"-l40s","count":1}]',
        '[{"className":"l40s-","count":1}]',
        '[{"className":"l40s\\u0000","count":1}]',
        '[{"className":"l40s\\n","count":1}]',
        '[{"className":"\\ud800","count":1}]',
        '[{"className":"\ud800","count":1}]',
        '[{"classname":"l40s","count":1}]',
        '[{"className":"l40s","className":"l40s","count":1}]',
        '[{"className":"l40s","count":1},null]',
        '[{"className":"l40s","count":1}][]',
        "[{'className':'l40s','count':1}]",
        '[{"className":"l40s","count":1} // one\n]',
        '\ufeff[{"className":"l40s","count":1}]',
        '[{"className":"l40s","count":1}]\x0b',
        "1",
        '"l40s"',
        "true",
        "NaN",
        " ",
        "\x00",
    ],
)
def test_what_is_not_the_form_is_malformed(text: str) -> None:
    """Domain 2.5: nothing that Python's parser forgives gets past, and nothing makes it crash."""
    with pytest.raises(MalformedClassEntriesError):
        parse_class_entries(text)


@pytest.mark.parametrize("count", ["1025", "10000", "9" * 4000])
def test_a_count_beyond_the_bound_is_too_many_however_long(count: str) -> None:
    """S19: a number's digits are counted before it is converted."""
    with pytest.raises(TooManyUnitsError):
        parse_class_entries(f'[{{"className":"l40s","count":{count}}}]')


def test_the_bound_itself_is_granted() -> None:
    """S17: 1024 passes, in one entry or in two."""
    assert parse_class_entries('[{"className":"a","count":1024}]')[0].count == 1024
    assert len(parse_class_entries(_entries(("a", 1023), ("b", 1)))) == 2


def test_the_sum_over_all_entries_is_bounded() -> None:
    """S17: 600 and 600 are too many, though each alone is not."""
    with pytest.raises(TooManyUnitsError):
        parse_class_entries(_entries(("a", 1023), ("b", 2)))


def test_a_malformed_entry_beside_too_many_units_is_malformed() -> None:
    """The sum means something only where every entry does."""
    with pytest.raises(MalformedClassEntriesError):
        parse_class_entries(_entries(("a", 2000), ("a", 1)))


def test_a_class_name_has_at_most_forty_characters() -> None:
    """D11: the unit's name becomes a libvirt alias."""
    assert parse_class_entries(_entries(("a" * 40, 1)))[0].class_name == "a" * 40
    with pytest.raises(MalformedClassEntriesError):
        parse_class_entries(_entries(("a" * 41, 1)))


@pytest.mark.parametrize("letter", ["x", "é"])
def test_the_bound_of_length_is_in_bytes(letter: str) -> None:
    """Domain 2.5: at most 4096 bytes, not characters."""
    entry = _entries(("l40s", 1))
    room = MAX_ANNOTATION_BYTES - len(entry)
    assert parse_class_entries(entry + " " * room)
    with pytest.raises(MalformedClassEntriesError):
        parse_class_entries(entry + " " * (room + 1))
    padding = letter * ((MAX_ANNOTATION_BYTES + 1) // len(letter.encode()))
    with pytest.raises(MalformedClassEntriesError):
        parse_class_entries(f'[{{"className":"{padding}","count":1}}]')


def test_a_great_number_of_units_is_refused_without_room_for_them() -> None:
    """S19: the bound exists to bound memory; nothing is expanded before it has been checked."""
    text = _entries(("l40s", 10**20))
    tracemalloc.start()
    with pytest.raises(TooManyUnitsError):
        parse_class_entries(text)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1 << 20


def test_an_error_carries_nothing_of_the_text() -> None:
    """An annotation is a tenant's; neither messages nor logs repeat it, and no cause hangs on."""
    for text in ('[{"zq-secret":1}]', "zq-secret", '[{"className":"a","count":9999}]'):
        with pytest.raises(ClassEntriesError) as caught:
            parse_class_entries(text)
        assert not caught.value.args
        assert caught.value.__cause__ is None


@given(st.text() | st.text(st.sampled_from('[]{}:,"0123456789ecountlasNme. -')))
@examples(100)
def test_any_text_is_read_or_refused(text: str) -> None:
    """S25: no text makes the parser fail in another way."""
    try:
        entries = parse_class_entries(text)
    except ClassEntriesError:
        return
    assert entries


@given(
    st.dictionaries(
        st.from_regex(r"[a-z]([-a-z0-9]{0,38}[a-z0-9])?", fullmatch=True),
        st.integers(1, 100),
        min_size=1,
        max_size=10,
    )
)
@examples(100)
def test_what_is_written_as_it_should_be_is_read_back(counts: dict[str, int]) -> None:
    """Whatever a chart writes is what admission reads."""
    expected = tuple(ClassEntry(name, count) for name, count in counts.items())
    assert parse_class_entries(_entries(*counts.items())) == expected


def _entries(*entries: tuple[str, int]) -> str:
    return json.dumps([{"className": name, "count": count} for name, count in entries])
