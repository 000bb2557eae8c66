"""Lines out of pieces."""

from hypothesis import given
from hypothesis import strategies as st

from apiserver.kube.lines import LineSplitter

CONTENT = st.lists(st.binary(min_size=1).filter(lambda line: b"\n" not in line))


@given(CONTENT, st.binary().filter(lambda rest: b"\n" not in rest), st.data())
def test_lines_come_out_however_they_were_cut(
    lines: list[bytes], rest: bytes, data: st.DataObject
) -> None:
    """Nothing is lost or joined wrongly; what is not complete waits."""
    sent = b"".join(line + b"\n" for line in lines) + rest
    cuts = sorted(data.draw(st.lists(st.integers(0, len(sent)), max_size=8)))
    pieces = [sent[a:b] for a, b in zip([0, *cuts], [*cuts, len(sent)], strict=True)]
    splitter = LineSplitter()
    assert [line for piece in pieces for line in splitter.feed(piece)] == lines
    assert splitter.feed(b"\n") == ([rest] if rest else [])


def test_empty_lines_are_left_out() -> None:
    """They say nothing."""
    assert LineSplitter().feed(b"\n\na\n\n") == [b"a"]


def test_a_line_without_end_is_handed_on_before_it_takes_all_memory() -> None:
    """Whoever reads it finds garbage, and begins anew."""
    splitter = LineSplitter(longest=10)
    assert splitter.feed(b"x" * 6) == []
    assert splitter.feed(b"x" * 6) == [b"x" * 12]
    assert splitter.feed(b"y\n") == [b"y"]
