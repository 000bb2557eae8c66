"""The embedded cluster's source of objects: a directory of files, followed (design 11).

Files are told apart by what `stat` says of them. One that changed is read once two looks in a row
saw it alike, and one that vanished is believed gone on the second look: an editor that truncates
and writes, or renames away and creates, is not caught in the middle. A file that cannot be parsed
keeps its last good state.
"""

import asyncio
import logging
import stat
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from storage.cluster.decode import decode
from storage.cluster.decoded import Decoded
from storage.cluster.documents import (
    MAX_FILE_BYTES,
    FileFault,
    FileFaultError,
    Parsed,
    by_place,
    parse,
)
from storage.cluster.kinds import Kind
from storage.cluster.list_watch import Bookmark, Changed, Event, Feed, Gone, Listed
from storage.cluster.manifests import Identity, Manifest, manifest_of

logger = logging.getLogger(__name__)

TOKENS_FILE: Final = "tokens.csv"

#: Seconds between two looks at the directory: an edit is in the answers within a second.
FOLLOW_INTERVAL: Final = 0.25

#: Faults of one file that a log line tells; a file that is there twice has one for each object.
_FAULTS_TOLD: Final = 10

_SUFFIXES: Final = frozenset({".yaml", ".yml", ".json"})
_BOOKMARKS: Final[tuple[Event, ...]] = tuple(Bookmark(Feed(kind)) for kind in Kind)

Signature = tuple[int, int, int, int]
Manifests = tuple[Manifest, ...]
Faults = tuple[FileFault, ...]


class FilesError(Exception):
    """The directory cannot be served; every fault found in it."""

    def __init__(self, faults: Faults) -> None:
        super().__init__("; ".join(str(fault) for fault in faults))
        self.faults = faults


@dataclass(frozen=True, slots=True, kw_only=True)
class Update:
    """What a look at the directory found."""

    events: tuple[Event, ...] = ()
    # Every Role, ClusterRole and binding, when one of them changed; None: none did.
    rbac: tuple[Mapping[str, Any], ...] | None = None
    tokens: bytes | None = None  # what tokens.csv holds, when it changed; empty when it went


class FileSource:
    """A directory of objects and tokens. Not for two threads at once."""

    def __init__(
        self,
        directory: Path,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        parse: Callable[[str, bytes], Parsed] = parse,
    ) -> None:
        self._directory = directory
        self._sleep = sleep
        self._parse = parse
        self._loaded = False
        self._seen: dict[str, Signature] = {}  # at the last look
        self._read: dict[str, Signature] = {}  # when last read
        self._good: dict[str, Manifests] = {}  # by file: its last good state
        self._held_back: dict[str, Manifests] = {}  # parsed, but at odds with another file
        self._faults: dict[str, Faults] = {}  # last logged
        self._unreadable = False  # the directory, at the last look
        self._skipped: set[str] = set()  # kinds that were logged as not read

    def load(self) -> Update:
        """Read the whole directory. Raises FilesError with every fault in it."""
        try:
            self._seen = self._look()
        except OSError as error:
            fault = FileFault(str(self._directory), "not a directory that can be read")
            raise FilesError((fault,)) from error
        self._read = dict(self._seen)
        faults: list[FileFault] = []
        tokens = None
        for name in self._seen:
            if name != TOKENS_FILE:
                self._good[name], found = self._parsed(name)
                faults += found
                continue
            try:
                tokens = self._content(name)
            except FileFaultError as error:
                faults.append(error.fault)
        for repeated in _repeated(self._good).values():
            faults += repeated
        if faults:
            raise FilesError(by_place(faults))
        self._loaded = True
        return Update(events=self._listed(), rbac=self._rbac(), tokens=tokens)

    def poll(self) -> Update:
        """Look once more; return what changed since, and that the feeds were heard of.

        Cheap while nothing changes. A directory that cannot be read is not heard of.
        """
        try:
            seen = self._look()
        except OSError:
            self._report_directory(unreadable=True)
            return Update()
        self._report_directory(unreadable=False)
        settled = {name for name in seen if seen[name] == self._seen.get(name)}
        changed = {name for name in settled if seen[name] != self._read.get(name)}
        gone = self._read.keys() - seen.keys() - self._seen.keys()
        self._seen = seen
        if not changed and not gone:
            return Update(events=_BOOKMARKS)
        tokens = self._take_tokens(changed, gone)
        before = _world(self._good)
        self._take(changed - {TOKENS_FILE}, gone - {TOKENS_FILE})
        after = _world(self._good)
        differ = {
            identity
            for identity in before.keys() | after.keys()
            if _payload(before, identity) != _payload(after, identity)
        }
        events = _events(differ, before, after)
        rbac_changed = any((before.get(i) or after[i]).kind is None for i in differ)
        return Update(
            events=(*events, *_BOOKMARKS),
            rbac=self._rbac() if rbac_changed else None,
            tokens=tokens,
        )

    async def follow(self) -> AsyncIterator[Update]:
        """Yield the whole directory first, unless `load` gave it, then what changes, for ever.

        Files are read in a thread. Raises FilesError at the start only.
        """
        if not self._loaded:
            yield await asyncio.to_thread(self.load)
        while True:
            await self._sleep(FOLLOW_INTERVAL)
            yield await asyncio.to_thread(self.poll)

    def _look(self) -> dict[str, Signature]:
        """Return the files that count, by name, with what tells a change. Raises OSError."""
        found: dict[str, Signature] = {}
        for path in sorted(self._directory.iterdir()):
            # Editors keep their own files beside, hidden.
            if path.name.startswith("."):
                continue
            if path.name != TOKENS_FILE and path.suffix not in _SUFFIXES:
                continue
            try:
                status = path.stat()
            except OSError:
                # It went meanwhile, or is a link to nowhere.
                continue
            if stat.S_ISREG(status.st_mode):
                found[path.name] = (
                    status.st_ino,
                    status.st_size,
                    status.st_mtime_ns,
                    status.st_ctime_ns,
                )
        return found

    def _content(self, name: str) -> bytes:
        try:
            with (self._directory / name).open("rb") as file:
                return file.read(MAX_FILE_BYTES + 1)
        except OSError as error:
            raise FileFaultError(FileFault(name, "cannot be read")) from error

    def _parsed(self, name: str) -> tuple[Manifests, Faults]:
        """Return what a file holds of the kinds that are read, and its faults.

        Whatever goes wrong with one file is a fault of that file: others are read on.
        """
        try:
            return self._parsed_strictly(name)
        except FileFaultError as error:
            return (), (error.fault,)
        except Exception:
            logger.debug("unexpected fault of a file", exc_info=True)
            return (), (FileFault(name, "a value cannot be read"),)

    def _parsed_strictly(self, name: str) -> tuple[Manifests, Faults]:
        """Do the work of `_parsed`. Raises FileFaultError where the file cannot be read."""
        parsed = self._parse(name, self._content(name))
        manifests: list[Manifest] = []
        faults = list(parsed.faults)
        for found in parsed.objects:
            try:
                manifest = manifest_of(found)
            except FileFaultError as error:
                faults.append(error.fault)
                continue
            if manifest is not None:
                manifests.append(manifest)
            elif (skipped := f"{found.api_version} {found.kind}") not in self._skipped:
                self._skipped.add(skipped)
                logger.info("objects of a kind that is not read", extra={"object_kind": skipped})
        return tuple(manifests), by_place(faults)

    def _take_tokens(self, changed: set[str], gone: set[str]) -> bytes | None:
        if TOKENS_FILE in gone:
            self._faults.pop(TOKENS_FILE, None)
            del self._read[TOKENS_FILE]
            return b""
        if TOKENS_FILE not in changed:
            return None
        self._read[TOKENS_FILE] = self._seen[TOKENS_FILE]
        try:
            content = self._content(TOKENS_FILE)
        except FileFaultError as error:
            self._report(TOKENS_FILE, (error.fault,))
            return None
        self._report(TOKENS_FILE, ())
        return content

    def _take(self, changed: set[str], gone: set[str]) -> None:
        """Bring the last good states up to date."""
        for name in gone:
            self._faults.pop(name, None)
            del self._read[name]
            self._good.pop(name, None)
            self._held_back.pop(name, None)
        candidates = {name: held for name, held in self._held_back.items() if name not in changed}
        for name in changed:
            self._read[name] = self._seen[name]
            manifests, faults = self._parsed(name)
            if faults:
                self._report(name, faults)
            else:
                candidates[name] = manifests
        self._settle(candidates)

    def _settle(self, candidates: dict[str, Manifests]) -> None:
        """Accept the candidates that agree with everything else; hold the others back.

        An object that moves from one file to another is for a while in both, or in the wrong order:
        a file that is held back is tried again with every change. Ends, for the last good states
        agree among themselves.
        """
        self._held_back = {}
        while faults := _repeated({**self._good, **candidates}):
            for name in faults.keys() & candidates.keys():
                self._held_back[name] = candidates.pop(name)
                self._report(name, faults[name])
        for name, manifests in candidates.items():
            self._good[name] = manifests
            self._report(name, ())

    def _report(self, name: str, faults: Faults) -> None:
        """Log what is wrong with a file, once while it stays the same, and that it is over."""
        if self._faults.get(name, ()) == faults:
            return
        if not faults:
            del self._faults[name]
            logger.info("file is read again", extra={"file": name})
            return
        self._faults[name] = faults
        told = "; ".join(str(fault) for fault in faults[:_FAULTS_TOLD])
        more = max(0, len(faults) - _FAULTS_TOLD)
        logger.error(
            "file not read, its last good state stays",
            extra={"faults": f"{told}; and {more} more" if more else told},
        )

    def _report_directory(self, *, unreadable: bool) -> None:
        """Log that the directory cannot be read, once, and that it is over."""
        if self._unreadable == unreadable:
            return
        self._unreadable = unreadable
        extra = {"directory": str(self._directory)}
        if unreadable:
            logger.error(
                "directory cannot be read; if this lasts, figures become unknown", extra=extra
            )
        else:
            logger.info("directory is read again", extra=extra)

    def _listed(self) -> tuple[Event, ...]:
        objects: dict[Kind, list[Manifest]] = {kind: [] for kind in Kind}
        for manifest in _world(self._good).values():
            if manifest.kind is not None:
                objects[manifest.kind].append(manifest)
        return tuple(
            Listed(Feed(kind), tuple(_decoded(kind, each) for each in found))
            for kind, found in objects.items()
        )

    def _rbac(self) -> tuple[Mapping[str, Any], ...]:
        return tuple(each.value for each in _world(self._good).values() if each.kind is None)


def _world(files: Mapping[str, Manifests]) -> dict[Identity, Manifest]:
    return {each.identity: each for name in sorted(files) for each in files[name]}


def _payload(world: Mapping[Identity, Manifest], identity: Identity) -> bytes | None:
    manifest = world.get(identity)
    return manifest.payload if manifest else None


def _decoded(kind: Kind, manifest: Manifest) -> Decoded:
    """Decode an object; of one that is not understood it is told where it is written."""
    decoded = decode(kind, manifest.payload)
    return replace(decoded, origin=str(manifest.position)) if decoded.problem else decoded


def _repeated(files: Mapping[str, Manifests]) -> dict[str, Faults]:
    """Return, by file, a fault for each object that is there twice."""
    first: dict[Identity, Manifest] = {}
    faults: defaultdict[str, list[FileFault]] = defaultdict(list)
    for name in sorted(files):
        for manifest in files[name]:
            earlier = first.setdefault(manifest.identity, manifest)
            if earlier is not manifest:
                # One title may tell what the other hides.
                agreed = manifest.title == earlier.title
                title = manifest.title if agreed else f"this {manifest.identity.kind}"
                for one, other in ((manifest, earlier), (earlier, manifest)):
                    fault = one.position.fault(f"{title} is also in {other.position}")
                    faults[fault.file].append(fault)
    return {name: by_place(found) for name, found in faults.items()}


def _events(
    differ: set[Identity],
    before: Mapping[Identity, Manifest],
    after: Mapping[Identity, Manifest],
) -> list[Event]:
    events: list[Event] = []
    for identity in sorted(differ):
        manifest = after.get(identity)
        kind = (manifest or before[identity]).kind
        if kind is None:
            continue
        feed = Feed(kind)
        if manifest is None:
            events.append(Gone(feed, identity.ref))
        else:
            events.append(Changed(feed, _decoded(kind, manifest)))
    return events
