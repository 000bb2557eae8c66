"""Quoting in messages that clients parse."""

import pytest

from storage.views.quoting import quoted


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", '""'),
        ("l40s", '"l40s"'),
        ('say "no"', '"say \\"no\\""'),
        ("back\\slash", '"back\\\\slash"'),
        ("line\nbreak\ttab", '"line\\nbreak\\ttab"'),
        ("\x00\x1b\x7f", '"\\x00\\x1b\\x7f"'),
        ("größe", '"größe"'),
        ("\u200b", '"\\u200b"'),
        ("\U000e0001", '"\\U000e0001"'),
    ],
)
def test_text_is_quoted_as_go_quotes_it(text: str, expected: str) -> None:
    """Messages carry names in upstream's quoting; nothing unprintable gets through."""
    assert quoted(text) == expected
