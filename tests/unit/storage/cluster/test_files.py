"""The directory of objects, followed."""

import asyncio
import logging
import os
from pathlib import Path

import pytest

from storage.cluster.decoded import Ref
from storage.cluster.documents import Parsed, parse
from storage.cluster.files import FilesError, FileSource, Update
from storage.cluster.kinds import Kind
from storage.cluster.list_watch import Batch, Bookmark, Changed, Feed, Gone, Listed, ListWatch
from storage.model.objects import Node


def node(name: str, gpus: int = 8) -> str:
    """Return a node in YAML."""
    return (
        f"apiVersion: v1\nkind: Node\nmetadata: {{name: {name}}}\n"
        f'status: {{allocatable: {{x.com/gpu: "{gpus}"}}}}\n'
    )


#: A file that is there, and that even root cannot read from its beginning.
UNREADABLE = Path("/proc/self/mem")

ROLE = "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: r}\n"


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """Return a directory with two nodes, a role and tokens."""
    (tmp_path / "nodes.yaml").write_text(f"{node('zq-a')}---\n{node('zq-b')}")
    (tmp_path / "rbac.yml").write_text(ROLE)
    (tmp_path / "tokens.csv").write_text("t,u,1\n")
    return tmp_path


@pytest.fixture
def source(directory: Path) -> FileSource:
    """Return the source of the directory, loaded."""
    source = FileSource(directory)
    source.load()
    return source


def look(source: FileSource) -> Update:
    """Look as often as it takes to believe what changed."""
    source.poll()
    return source.poll()


def told(update: Update) -> dict[str, int | None]:
    """Return the devices of the nodes that an update tells of; None: it has gone."""
    nodes: dict[str, int | None] = {}
    for event in update.events:
        if isinstance(event, Gone):
            nodes[event.ref.name] = None
        elif isinstance(event, Changed) and isinstance(event.object.value, Node):
            nodes[event.object.ref.name] = event.object.value.allocatable[0][1]
    return nodes


def test_the_directory_is_listed_at_start(directory: Path) -> None:
    """Every feed is listed, also what has no objects; rights and tokens come as they are."""
    update = FileSource(directory).load()
    listed = {event.feed.kind: event for event in update.events if isinstance(event, Listed)}
    assert set(listed) == set(Kind)
    assert [each.ref for each in listed[Kind.NODE].objects] == [Ref("", "zq-a"), Ref("", "zq-b")]
    assert listed[Kind.POD].objects == ()
    assert update.rbac is not None
    assert [each["kind"] for each in update.rbac] == ["ClusterRole"]
    assert update.tokens == b"t,u,1\n"


def test_an_idle_directory_is_heard_of_and_says_nothing(source: FileSource) -> None:
    """Every feed gets its bookmark: the files are as fresh as the look at them."""
    update = source.poll()
    assert update == Update(events=tuple(Bookmark(Feed(kind)) for kind in Kind))


def test_an_edit_is_told_once_and_only_what_it_changed(source: FileSource, directory: Path) -> None:
    """The second look after an edit has it; the other node of the file has not changed."""
    (directory / "nodes.yaml").write_text(f"{node('zq-a', 4)}---\n{node('zq-b')}")
    assert told(source.poll()) == {}
    assert told(source.poll()) == {"zq-a": 4}
    assert told(look(source)) == {}


def test_files_come_and_go(source: FileSource, directory: Path) -> None:
    """So do their objects; a file that vanishes is believed gone at the second look."""
    (directory / "more.json").write_text(
        '{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "zq-c"},'
        ' "status": {"allocatable": {"x.com/gpu": 1}}}'
    )
    assert told(look(source)) == {"zq-c": 1}
    (directory / "more.json").unlink()
    assert told(source.poll()) == {}
    assert told(source.poll()) == {"zq-c": None}


def test_a_file_that_is_replaced_by_rename_is_an_edit(source: FileSource, directory: Path) -> None:
    """As careful editors write."""
    (directory / ".new").write_text(node("zq-a", 2))
    (directory / ".new").rename(directory / "nodes.yaml")
    assert told(look(source)) == {"zq-a": 2, "zq-b": None}


def test_other_files_do_not_count(source: FileSource, directory: Path) -> None:
    """Hidden ones are an editor's own."""
    for name in (".nodes.yaml", "nodes.yaml~", "README.md", "other.csv"):
        (directory / name).write_text("{")
    (directory / "dangling.yaml").symlink_to(directory / "nowhere")
    (directory / "loop.yaml").symlink_to(directory / "loop.yaml")
    (directory / "folder.yaml").mkdir()
    os.mkfifo(directory / "pipe.yaml")
    assert told(look(source)) == {}


def test_a_broken_edit_changes_nothing_and_is_logged_once(
    source: FileSource, directory: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Design 11: the last good state stays; it is said when the file is read again."""
    (directory / "nodes.yaml").write_text("zq-a: [")
    with caplog.at_level(logging.INFO):
        assert told(look(source)) == {}
        (directory / "nodes.yaml").write_text("zq-a: [ ")
        assert told(look(source)) == {}
        (directory / "nodes.yaml").write_text(node("zq-a", 3))
        assert told(look(source)) == {"zq-a": 3, "zq-b": None}
    assert [record.message for record in caplog.records] == [
        "file not read, its last good state stays",
        "file is read again",
    ]
    assert "zq-" not in str([record.__dict__ for record in caplog.records])


def test_a_file_that_grows_is_not_read_before_it_rests(source: FileSource, directory: Path) -> None:
    """An editor that truncates and writes is not caught in the middle."""
    path = directory / "nodes.yaml"
    path.write_text("")
    assert told(source.poll()) == {}
    path.write_text(node("zq-a"))
    assert told(source.poll()) == {}
    path.write_text(f"{node('zq-a')}---\n{node('zq-b')}---\n{node('zq-c')}")
    assert told(source.poll()) == {}
    assert told(source.poll()) == {"zq-c": 8}


def test_an_object_may_move_to_another_file(source: FileSource, directory: Path) -> None:
    """For a while it is in both: the later file waits until the earlier lets go."""
    (directory / "other.yaml").write_text(node("zq-b", 5))
    assert told(look(source)) == {}
    (directory / "nodes.yaml").write_text(node("zq-a"))
    assert told(look(source)) == {"zq-b": 5}


def test_two_edits_at_once_that_disagree_change_nothing(
    source: FileSource, directory: Path
) -> None:
    """Neither is believed; the last good states of both stay."""
    (directory / "nodes.yaml").write_text(f"{node('zq-a')}---\n{node('zq-b')}---\n{node('zq-c')}")
    (directory / "rbac.yml").write_text(f"{ROLE}---\n{node('zq-c')}")
    assert told(look(source)) == {}
    (directory / "rbac.yml").write_text(ROLE)
    assert told(look(source)) == {"zq-c": 8}


def test_a_file_that_is_held_back_may_go(source: FileSource, directory: Path) -> None:
    """Nothing of it is left."""
    (directory / "other.yaml").write_text(node("zq-b", 5))
    look(source)
    (directory / "other.yaml").unlink()
    assert told(look(source)) == {}
    (directory / "nodes.yaml").write_text(node("zq-a"))
    assert told(look(source)) == {"zq-b": None}


def test_rights_are_handed_on_whole_when_one_changes(source: FileSource, directory: Path) -> None:
    """An edit of nodes does not touch them."""
    (directory / "nodes.yaml").write_text(node("zq-a"))
    assert look(source).rbac is None
    (directory / "rbac.yml").write_text(f"{ROLE}---\n{ROLE.replace('name: r', 'name: s')}")
    rbac = look(source).rbac
    assert rbac is not None
    assert [each["metadata"]["name"] for each in rbac] == ["r", "s"]
    (directory / "rbac.yml").unlink()
    assert look(source).rbac == ()


def test_tokens_are_handed_on_when_they_change(source: FileSource, directory: Path) -> None:
    """Nothing is left of them when the file goes."""
    (directory / "tokens.csv").write_text("t,v,1\n")
    assert look(source).tokens == b"t,v,1\n"
    assert look(source).tokens is None
    (directory / "tokens.csv").unlink()
    assert look(source).tokens == b""
    assert look(source).tokens is None


def test_a_tokens_file_that_cannot_be_read_is_reported(
    source: FileSource, directory: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The tokens that were read stay."""
    (directory / "tokens.csv").unlink()
    (directory / "tokens.csv").symlink_to(UNREADABLE)
    assert look(source).tokens is None
    assert "tokens.csv: cannot be read" in caplog.records[-1].__dict__["faults"]


def test_every_fault_is_told_at_start(directory: Path) -> None:
    """Exit code 2 lists them all, with file, document and line."""
    (directory / "bad.yaml").write_text(f"{node('zq-c')}---\na: b: c\n")
    nameless = "apiVersion: v1\nkind: Node\n"
    (directory / "nameless.yaml").write_text(f"a: 1\n---\n{nameless}---\n{node('zq-d')}---\n!a b\n")
    (directory / "rights.json").write_text('{"apiVersion": "v1", "kind": "List", "items": [5, {}]}')
    (directory / "twice.yaml").write_text(f"{node('zq-b')}---\n{node('zq-d')}---\n{ROLE}")
    (directory / "unreadable.yaml").symlink_to(UNREADABLE)
    with pytest.raises(FilesError) as raised:
        FileSource(directory).load()
    assert [str(fault) for fault in raised.value.faults] == [
        "bad.yaml, document 2, line 6: a colon stands where no key can be",
        "nameless.yaml, document 1, line 1: apiVersion and kind are required",
        "nameless.yaml, document 2, line 3: metadata.name is required",
        "nameless.yaml, document 3, line 6: this Node is also in twice.yaml, document 2, line 6",
        "nameless.yaml, document 4, line 11: a tag that is not plain YAML",
        "nodes.yaml, document 2, line 6: this Node is also in twice.yaml, document 1, line 1",
        "rbac.yml, document 1, line 1: ClusterRole r is also in twice.yaml, document 3, line 11",
        "rights.json, document 1, line 1, items[0]: not an object",
        "rights.json, document 1, line 1, items[1]: apiVersion and kind are required",
        "twice.yaml, document 1, line 1: this Node is also in nodes.yaml, document 2, line 6",
        "twice.yaml, document 2, line 6: this Node is also in nameless.yaml, document 3, line 6",
        "twice.yaml, document 3, line 11: ClusterRole r is also in rbac.yml, document 1, line 1",
        "unreadable.yaml: cannot be read",
    ]


def test_an_object_that_is_twice_in_one_file_is_a_fault(tmp_path: Path) -> None:
    """Which of them counts could only be guessed."""
    (tmp_path / "a.yaml").write_text(f"{node('zq-a')}---\n{node('zq-a', 1)}")
    with pytest.raises(FilesError, match=r"document 2, line 6: this Node is also in a\.yaml"):
        FileSource(tmp_path).load()


def test_a_name_that_one_of_two_hides_is_not_told(tmp_path: Path) -> None:
    """A pod that names its node, and the same pod without it."""
    pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: proxy-zq-a}\n"
    (tmp_path / "a.yaml").write_text(f"{pod}spec: {{nodeName: zq-a}}\n---\n{pod}spec: {{}}\n")
    with pytest.raises(FilesError) as raised:
        FileSource(tmp_path).load()
    assert len(raised.value.faults) == 2
    assert "zq-" not in str(raised.value)


def test_every_fault_of_an_edit_is_in_one_line(
    source: FileSource, directory: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """As long as they stay the same; very many are counted. What is right in it waits too."""
    path = directory / "nodes.yaml"
    path.write_text(f"{node('zq-a', 1)}---\na: 1\n---\n!b c\n")
    assert told(look(source)) == {}
    path.write_text(f"{node('zq-a', 2)}---\na: 2\n---\n!b d\n")
    assert told(look(source)) == {}
    path.write_text(f"{node('zq-a', 2)}---\na: 2\n")
    look(source)
    path.write_text("a: 1\n---\n" * 12)
    look(source)
    faults = [record.__dict__["faults"] for record in caplog.records]
    assert faults[:2] == [
        "nodes.yaml, document 2, line 6: apiVersion and kind are required; "
        "nodes.yaml, document 3, line 8: a tag that is not plain YAML",
        "nodes.yaml, document 2, line 6: apiVersion and kind are required",
    ]
    assert faults[2].endswith("document 10, line 19: apiVersion and kind are required; and 2 more")


def test_an_object_that_is_not_understood_says_where_it_is_written(directory: Path) -> None:
    """So that whoever is told of it finds it; others need not say."""
    (directory / "classes.yaml").write_text(
        "# one\n---\napiVersion: gpu.cozystack.io/v1alpha1\nkind: GPUClass\nmetadata: {name: a}\n"
    )
    source = FileSource(directory)
    listed = {
        event.feed.kind: event.objects
        for event in source.load().events
        if isinstance(event, Listed)
    }
    assert [each.origin for each in listed[Kind.GPU_CLASS]] == ["classes.yaml, document 1, line 3"]
    assert {each.origin for each in listed[Kind.NODE]} == {""}
    (directory / "nodes.yaml").write_text(
        "apiVersion: v1\nkind: Node\nmetadata: {name: zq-a}\nstatus: 5"
    )
    changed = [each.object for each in look(source).events if isinstance(each, Changed)]
    assert [each.origin for each in changed] == ["nodes.yaml, document 1, line 1"]


def test_a_directory_that_is_not_there_is_a_fault(tmp_path: Path) -> None:
    """At start it ends the program, with a sentence."""
    with pytest.raises(FilesError, match="not a directory that can be read"):
        FileSource(tmp_path / "nowhere").load()


def test_a_directory_that_vanishes_is_not_heard_of(
    source: FileSource, directory: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """No bookmarks: what it told grows old; it is logged once, and that it is back."""
    caplog.set_level(logging.INFO)
    for _ in range(2):
        directory.rename(directory.with_name("away"))
        assert source.poll() == Update()
        assert source.poll() == Update()
        directory.with_name("away").rename(directory)
        assert source.poll().events
        assert source.poll().events
    assert [(record.levelname, record.message) for record in caplog.records] == [
        ("ERROR", "directory cannot be read; if this lasts, figures become unknown"),
        ("INFO", "directory is read again"),
    ] * 2


def test_kinds_that_are_not_read_are_logged_once_each(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """One line, however many objects there are."""
    config = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"
    (tmp_path / "a.yaml").write_text(f"{config}---\n{config}")
    with caplog.at_level(logging.INFO):
        FileSource(tmp_path).load()
    assert [record.__dict__["object_kind"] for record in caplog.records] == ["v1 ConfigMap"]


async def test_following_yields_the_directory_and_then_each_look(directory: Path) -> None:
    """Unless it was loaded before; it is what a list-watch is."""
    looks: list[float] = []

    async def sleep(seconds: float) -> None:
        looks.append(seconds)
        await asyncio.sleep(0)

    source: ListWatch = FileSource(directory, sleep)
    batches: list[Batch] = []
    async for batch in source.follow():
        batches.append(batch)
        if len(batches) == 3:
            break
    assert isinstance(batches[0].events[0], Listed)
    assert isinstance(batches[1].events[0], Bookmark)
    assert looks == [0.25, 0.25]


async def test_following_what_was_loaded_begins_with_a_look(directory: Path) -> None:
    """The caller has the list already."""
    source = FileSource(directory, lambda seconds: asyncio.sleep(0))
    source.load()
    first = await anext(source.follow())
    assert isinstance(first.events[0], Bookmark)


def test_whatever_goes_wrong_with_a_file_is_a_fault_of_that_file(directory: Path) -> None:
    """A fault that nobody thought of must not end the process that follows the directory."""

    def parse_oddly(name: str, content: bytes) -> Parsed:
        if b"zq-odd" in content:
            raise ZeroDivisionError
        return parse(name, content)

    source = FileSource(directory, parse=parse_oddly)
    source.load()
    (directory / "odd.yaml").write_text(node("zq-odd"))
    (directory / "fine.yaml").write_text(node("zq-c"))
    assert told(look(source)) == {"zq-c": 8}
    (directory / "odd.yaml").write_text(node("zq-d"))
    assert told(look(source)) == {"zq-d": 8}
    (directory / "odd.yaml").write_text(node("zq-odd"))
    with pytest.raises(FilesError, match=r"odd\.yaml: a value cannot be read"):
        FileSource(directory, parse=parse_oddly).load()
