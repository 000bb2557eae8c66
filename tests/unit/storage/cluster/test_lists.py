"""Pages and lines, from bytes."""

from typing import Any

import pytest
from fakes.objects import a_pod, a_secret, in_json
from msgspec import Raw

from storage.cluster.kinds import Kind
from storage.cluster.lists import (
    Deleted,
    Erred,
    GarbageError,
    Marked,
    Put,
    read_line,
    read_page,
    version_of,
)

PARTIAL = {"kind": "PartialObjectMetadata", "metadata": {"name": "a", "resourceVersion": "9"}}


def page(kind: str, **metadata: Any) -> bytes:
    """Return a page of one item."""
    return in_json({"kind": kind, "metadata": metadata, "items": [a_pod()]})


def line(kind: str, value: object) -> bytes:
    """Return a line of a watch."""
    return in_json({"type": kind, "object": value})


def test_a_page_gives_its_items_as_they_came_and_where_to_go_on() -> None:
    """Items are decoded later, a few at a time."""
    read = read_page(Kind.POD, page("PodList", resourceVersion="9", **{"continue": "t"}))
    assert [bytes(each) for each in read.items or ()] == [in_json(a_pod())]
    assert (read.metadata.resource_version, read.metadata.next) == ("9", "t")
    assert read_page(Kind.POD, b'{"metadata":{"resourceVersion":"9"},"items":null}').items is None


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"zq",
        b"[]",
        b'{"items":[]}',
        b'{"metadata":{"resourceVersion":""},"items":[]}',
        b'{"metadata":{"resourceVersion":"9"},"items":{}}',
        b"[" * 100_000,
    ],
)
def test_what_is_no_page_is_garbage(body: bytes) -> None:
    """A list without a version cannot be gone on from; nothing raises but the one error."""
    with pytest.raises(GarbageError):
        read_page(Kind.POD, body)


def test_lines_are_told_apart() -> None:
    """Objects, bookmarks and errors each are what they are, whatever is inside."""
    pod = a_pod()
    assert read_line(Kind.POD, line("ADDED", pod)) == Put(Raw(in_json(pod)))
    assert read_line(Kind.POD, line("MODIFIED", pod)) == Put(Raw(in_json(pod)))
    assert read_line(Kind.POD, line("DELETED", pod)) == Deleted(Raw(in_json(pod)))
    assert read_line(Kind.POD, line("BOOKMARK", PARTIAL)) == Marked("9", initial_end=False)
    ended = {
        "metadata": {"resourceVersion": "9", "annotations": {"k8s.io/initial-events-end": "true"}}
    }
    assert read_line(Kind.POD, line("BOOKMARK", ended)) == Marked("9", initial_end=True)
    assert read_line(Kind.POD, line("BOOKMARK", {})) == Marked("", initial_end=False)
    assert read_line(Kind.POD, line("ERROR", {"code": 410})) == Erred(410)
    assert read_line(Kind.POD, line("ERROR", {})) == Erred(500)


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"{",
        b"null",
        b'{"type":"ADDED"}',
        b'{"object":{}}',
        line("SYNCED", {}),
        line("ERROR", {"code": "zq"}),
        line("BOOKMARK", {"metadata": "zq"}),
        line("BOOKMARK", []),
    ],
)
def test_what_is_no_line_is_garbage(raw: bytes) -> None:
    """A line that cannot be read is a reason to list anew, never a crash."""
    with pytest.raises(GarbageError):
        read_line(Kind.POD, raw)


@pytest.mark.parametrize(
    "value", [{}, {"metadata": None}, {"metadata": {}}, {"metadata": []}, "zq"]
)
def test_an_object_without_a_version_is_garbage(value: object) -> None:
    """There is nothing to go on from."""
    with pytest.raises(GarbageError):
        version_of(Raw(in_json(value)))


def test_of_secrets_nothing_is_taken_but_metadata() -> None:
    """A whole Secret is thrown away unread, however it came (design 2)."""
    listed = page("PartialObjectMetadataList", resourceVersion="9")
    assert read_page(Kind.SECRET, listed).metadata.resource_version == "9"
    assert isinstance(read_line(Kind.SECRET, line("ADDED", PARTIAL)), Put)
    with pytest.raises(GarbageError):
        read_page(Kind.SECRET, page("SecretList", resourceVersion="9"))
    with pytest.raises(GarbageError):
        read_page(Kind.SECRET, page("", resourceVersion="9"))
    for kind in ("ADDED", "MODIFIED", "DELETED"):
        with pytest.raises(GarbageError):
            read_line(Kind.SECRET, line(kind, a_secret("tenant-a", "zq")))
