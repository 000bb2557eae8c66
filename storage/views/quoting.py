"""How errors repeat a caller's text: quoted as Go's `%q` does it, and never at length."""

from typing import Final

_ESCAPES: Final = {
    '"': '\\"',
    "\\": "\\\\",
    "\a": "\\a",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    "\v": "\\v",
}

# of one requirement's values
_TOLD_LENGTH: Final = 128


def excerpt(text: str) -> str:
    """Return as much of a caller's text as an error repeats: all of it, or how it begins."""
    return text if len(text) <= _TOLD_LENGTH else f"{text[:_TOLD_LENGTH]}..."


def quoted(text: str) -> str:
    """Return the text in double quotes, with everything escaped that cannot be printed."""
    return f'"{"".join(map(_escaped, text))}"'


def _escaped(character: str) -> str:
    if character in _ESCAPES:
        return _ESCAPES[character]
    if character.isprintable():
        return character
    point = ord(character)
    if point < 0x80:
        return f"\\x{point:02x}"
    return f"\\u{point:04x}" if point < 0x10000 else f"\\U{point:08x}"
