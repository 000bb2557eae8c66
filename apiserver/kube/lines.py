"""Lines out of a stream of bytes, however long (aiohttp's own reader ends at 4 MiB)."""

from typing import Final

#: A line longer than this is handed on as it is: it cannot be an object that etcd would hold.
LONGEST: Final = 64 << 20


class LineSplitter:
    """Puts lines together from pieces."""

    def __init__(self, longest: int = LONGEST) -> None:
        self._longest = longest
        self._pieces: list[bytes] = []
        self._length = 0

    def feed(self, data: bytes) -> list[bytes]:
        """Return the lines that are complete now, without their ends; empty ones are left out."""
        head, newline, rest = data.partition(b"\n")
        self._pieces.append(head)
        self._length += len(head)
        if not newline:
            return [self._take()] if self._length > self._longest else []
        first = self._take()
        *lines, last = rest.split(b"\n")
        if last:
            self._pieces.append(last)
            self._length = len(last)
        return [line for line in (first, *lines) if line]

    def _take(self) -> bytes:
        line = b"".join(self._pieces)
        self._pieces, self._length = [], 0
        return line
