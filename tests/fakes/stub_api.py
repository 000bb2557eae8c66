"""A stub of kube-apiserver on a real socket with TLS: lists, watches, and every way to misbehave.

Use it on the loop of a test (`running`), or on a thread of its own (`StubThread`), for programs
that run beside the test. Everything but `call` must be called on its loop. `routes` adds what it
does not serve by itself: (method, path) to an aiohttp handler.
"""

import asyncio
import ssl
import threading
from base64 import urlsafe_b64encode
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any, Final, TypeVar
from urllib.parse import urlsplit

import msgspec
import trustme
from aiohttp import web
from fakes.stub_store import (
    ALL,
    ExpiredError,
    Happened,
    Resource,
    Selection,
    Store,
    Stored,
    Value,
    clauses,
    event_of,
    partial,
)

T = TypeVar("T")
Handler = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]

_END: Final = b""  # ends a watch politely
_CUT: Final = b"\0"  # ends it by closing the connection


@dataclass(frozen=True, slots=True)
class Call:
    """A request as it came."""

    method: str
    path: str
    query: Mapping[str, str]
    token: str
    at: float  # seconds of the stub's clock
    accept: str

    @property
    def watches(self) -> bool:
        """Whether it asks for a stream."""
        return self.query.get("watch") in ("true", "1")


@dataclass(slots=True)
class Fault:
    """How requests of one path are refused."""

    status: int
    times: int | None
    retry_after: str | None
    watch: bool | None  # whether watches or the rest alone; None: both


@dataclass(slots=True, eq=False)
class Watch:
    """An open watch."""

    path: str
    resource: Resource
    selection: Selection
    metadata_only: bool
    lines: asyncio.Queue[bytes]
    deaf: bool = False  # nothing is forwarded any more

    def tell(self, happened: Happened) -> None:
        """Send what happened, if it is of interest."""
        event = event_of(happened, self.selection)
        if event is not None:
            self.send(line(event[0], self.form(event[1])))

    def form(self, stored: Stored) -> bytes:
        """Return an object as it is asked for."""
        return stored.partial() if self.metadata_only else stored.payload

    def send(self, raw: bytes) -> None:
        """Send bytes as they are."""
        if not self.deaf:
            self.lines.put_nowait(raw)


class StubAPI:
    """Objects, who asked for what, and what goes wrong."""

    def __init__(self, resources: tuple[Resource, ...] = ALL) -> None:
        self.store = Store(resources)
        self.calls: list[Call] = []
        self.watches: list[Watch] = []
        self.routes: dict[tuple[str, str], Handler] = {}
        #: Bearer tokens that are taken; None: any request is.
        self.tokens: set[str] | None = None
        self.streaming_lists = True
        self.bookmark_seconds: float | None = None
        #: Whether a version that is too old is told by an event instead of a status.
        self.expired_as_event = False
        #: By path, how many of the next watches end as soon as they are open.
        self.short_watches: Counter[str] = Counter()
        self.continue_expires = 0  # how many of the next continue tokens are refused
        self.connections: Callable[[], int] = lambda: 0
        #: What calls are dated by; None: the loop's clock.
        self.clock: Callable[[], float] | None = None
        #: Called whenever a request has come, or a watch has begun or ended.
        self.noticed: Callable[[], None] = lambda: None
        self._installed = set(resources)
        self._faults: dict[str, list[Fault]] = {}
        self._gates: dict[str, asyncio.Event] = {}
        self._pages: dict[str, tuple[str, list[Stored]]] = {}
        self._numbers = count()

    # What is there.

    def put(self, resource: Resource, *values: Value) -> None:
        """Create or replace objects, and tell the watches."""
        for value in values:
            self._tell(resource, self.store.put(resource, value))

    def load(self, resource: Resource, values: Iterable[Value]) -> None:
        """Hold objects from before the first request: cheaper, and no watch can replay them."""
        for value in values:
            self.store.load(resource, value)

    def delete(self, resource: Resource, name: str, namespace: str = "") -> None:
        """Delete an object, and tell the watches."""
        self._tell(resource, self.store.delete(resource, name, namespace))

    def uninstall(self, resource: Resource) -> None:
        """Let a resource be unknown, with its objects gone, as when its CRD is deleted."""
        self._installed.discard(resource)
        for namespace, name in list(self.store.shelves[resource].objects):
            self.delete(resource, name, namespace)
        self.end_watches(resource.path)

    def install(self, resource: Resource) -> None:
        """Serve a resource."""
        self._installed.add(resource)

    # What goes wrong.

    def fail(
        self,
        path: str,
        status: int,
        times: int | None = None,
        *,
        retry_after: str | None = None,
        watch: bool | None = None,
    ) -> None:
        """Answer requests of a path with a status, so many times; None: until `heal`."""
        self._faults.setdefault(path, []).append(Fault(status, times, retry_after, watch))

    def heal(self, path: str) -> None:
        """Take back `fail` and `hold` of a path."""
        self._faults.pop(path, None)
        if gate := self._gates.pop(path, None):
            gate.set()

    def hold(self, path: str) -> None:
        """Let requests of a path wait until `heal`."""
        self._gates.setdefault(path, asyncio.Event())

    def open_watches(self, path: str) -> list[Watch]:
        """Return the watches that can still tell something."""
        return [watch for watch in self.watches if watch.path == path and not watch.deaf]

    def end_watches(self, path: str) -> None:
        """End open watches as a server does."""
        self.send_raw(path, _END)

    def cut_watches(self, path: str) -> None:
        """Close the connections of open watches in the middle."""
        self.send_raw(path, _CUT)

    def silence(self, path: str) -> None:
        """Forward nothing more on the watches that are open now; they stay open."""
        for watch in self.open_watches(path):
            watch.deaf = True

    def send_raw(self, path: str, raw: bytes) -> None:
        """Send bytes as they are into open watches."""
        for watch in self.open_watches(path):
            watch.send(raw)

    def bookmark(self, path: str, **metadata: Any) -> None:
        """Send a bookmark of the present version."""
        for watch in self.open_watches(path):
            watch.send(self._bookmark(watch, metadata))

    def expire_watches(self, resource: Resource) -> None:
        """Forget history, and tell open watches so by an ERROR event, as etcd compaction does."""
        self.store.forget_history(resource)
        self.send_raw(resource.path, line("ERROR", msgspec.json.encode(a_status(410))))
        self.end_watches(resource.path)

    def requests(self, path: str, *, watches: bool | None = None) -> list[Call]:
        """Return the calls of a path so far."""
        return [
            call
            for call in self.calls
            if call.path == path and (watches is None or call.watches == watches)
        ]

    # How it answers.

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer one request."""
        token = request.headers.get("Authorization", "").removeprefix("Bearer ")
        now = (self.clock or asyncio.get_running_loop().time)()
        accept = request.headers.get("Accept", "")
        call = Call(request.method, request.path, dict(request.query), token, now, accept)
        self.calls.append(call)
        self.noticed()
        if self.tokens is not None and token not in self.tokens:
            return status_answer(401)
        if gate := self._gates.get(request.path):
            await gate.wait()
        if (fault := self._fault(call)) is not None:
            return status_answer(fault.status, retry_after=fault.retry_after)
        if (handler := self.routes.get((request.method, request.path))) is not None:
            return await handler(request)
        found = self._find(request.path)
        if found is None or request.method != "GET":
            return web.Response(status=404, text="404 page not found\n")
        resource, namespace, name = found
        if name:
            return self._object(resource, namespace, name)
        selection = Selection(
            namespace,
            clauses(call.query.get("fieldSelector", "")),
            clauses(call.query.get("labelSelector", "")),
        )
        if call.watches:
            return await self._watch(request, call, resource, selection)
        return self._list(call, resource, selection)

    def _tell(self, resource: Resource, happened: Happened) -> None:
        for watch in self.watches:
            if watch.resource is resource:
                watch.tell(happened)

    def _fault(self, call: Call) -> Fault | None:
        for fault in self._faults.get(call.path, []):
            if fault.times == 0 or fault.watch not in (None, call.watches):
                continue
            if fault.times is not None:
                fault.times -= 1
            return fault
        return None

    def _find(self, path: str) -> tuple[Resource, str, str] | None:
        """Return the resource of a path, its namespace and its name; "" for none."""
        for resource in self._installed:
            if not path.startswith(resource.prefix + "/"):
                continue
            parts = path.removeprefix(resource.prefix + "/").split("/")
            namespace = ""
            if len(parts) > 2 and parts[0] == "namespaces":
                namespace, parts = parts[1], parts[2:]
            if parts[0] == resource.plural and len(parts) <= 2:
                return resource, namespace, parts[1] if len(parts) > 1 else ""
        return None

    def _object(self, resource: Resource, namespace: str, name: str) -> web.Response:
        stored = self.store.shelves[resource].objects.get((namespace, name))
        return status_answer(404) if stored is None else json_answer(stored.payload)

    def _list(self, call: Call, resource: Resource, selection: Selection) -> web.Response:
        token, limit = call.query.get("continue"), int(call.query.get("limit", "0"))
        if token is not None:
            if self.continue_expires or token not in self._pages:
                self.continue_expires = max(self.continue_expires - 1, 0)
                return status_answer(410)
            version, rest = self._pages.pop(token)
        else:
            version, rest = str(self.store.version), list(self.store.selected(resource, selection))
        if call.query.get("resourceVersion") == "0":
            limit = 0  # as the watch cache answers
        page, rest = (rest[:limit], rest[limit:]) if limit else (rest, [])
        metadata: Value = {"resourceVersion": version}
        if rest:
            following = urlsafe_b64encode(b"page %d" % next(self._numbers)).decode()
            self._pages[following] = version, rest
            metadata |= {"continue": following, "remainingItemCount": len(rest)}
        metadata_only = "PartialObjectMetadata" in call.accept
        head = {
            "kind": "PartialObjectMetadataList" if metadata_only else f"{resource.kind}List",
            "apiVersion": "meta.k8s.io/v1" if metadata_only else resource.api_version,
            "metadata": metadata,
        }
        items = b",".join(each.partial() if metadata_only else each.payload for each in page)
        return json_answer(msgspec.json.encode(head)[:-1] + b',"items":[' + items + b"]}\n")

    async def _watch(
        self, request: web.BaseRequest, call: Call, resource: Resource, selection: Selection
    ) -> web.StreamResponse:
        initial = call.query.get("sendInitialEvents") == "true"
        if initial and not self.streaming_lists:
            return status_answer(422)
        metadata_only = "PartialObjectMetadata" in call.accept
        watch = Watch(call.path, resource, selection, metadata_only, asyncio.Queue())
        if initial:
            for stored in self.store.selected(resource, selection):
                watch.send(line("ADDED", watch.form(stored)))
            watch.send(
                self._bookmark(watch, {"annotations": {"k8s.io/initial-events-end": "true"}})
            )
        else:
            try:
                for happened in self.store.since(resource, int(call.query["resourceVersion"])):
                    watch.tell(happened)
            except ExpiredError:
                if not self.expired_as_event:
                    return status_answer(410)
                watch.send(line("ERROR", msgspec.json.encode(a_status(410))))
                watch.send(_END)
        if self.short_watches[call.path]:
            self.short_watches[call.path] -= 1
            watch.send(_END)
        return await self._forward(request, watch, float(call.query.get("timeoutSeconds", "3600")))

    async def _forward(
        self, request: web.BaseRequest, watch: Watch, seconds: float
    ) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        self.watches.append(watch)
        self.noticed()
        ends = asyncio.get_running_loop().time() + seconds
        try:
            await response.prepare(request)
            while True:
                raw = await self._next(watch, ends)
                if raw == _END:
                    await response.write_eof()
                    return response
                if raw == _CUT:
                    assert request.transport is not None
                    request.transport.abort()
                    return response
                await response.write(raw)
        except ConnectionError:  # the client went
            return response
        finally:
            self.watches.remove(watch)
            self.noticed()

    async def _next(self, watch: Watch, ends: float) -> bytes:
        """Return what comes next: all that is waiting at once, a bookmark when it is time."""
        left = ends - asyncio.get_running_loop().time()
        wait = min(left, self.bookmark_seconds or left)
        try:
            async with asyncio.timeout(max(wait, 0)):
                raw = await watch.lines.get()
        except TimeoutError:
            if watch.deaf:
                return await watch.lines.get()
            return _END if wait == left else self._bookmark(watch, {})
        parts = [raw]
        while raw not in (_END, _CUT) and not watch.lines.empty() and len(parts) < 200:
            if watch.lines._queue[0] in (_END, _CUT):  # type: ignore[attr-defined]  # noqa: SLF001 - a look ahead
                break
            parts.append(watch.lines.get_nowait())
        return b"".join(parts)

    def _bookmark(self, watch: Watch, metadata: Value) -> bytes:
        value = {"resourceVersion": str(self.store.version), "creationTimestamp": None, **metadata}
        if watch.metadata_only:
            return line("BOOKMARK", partial(value))
        head = {"kind": watch.resource.kind, "apiVersion": watch.resource.api_version}
        body: Value = {**head, "metadata": value}
        if watch.resource.kind == "Pod":  # as Go writes the empty object (PC-04)
            body |= {"spec": {"containers": None}, "status": {}}
        return line("BOOKMARK", msgspec.json.encode(body))


def line(kind: str, payload: bytes) -> bytes:
    """Return one event of a watch."""
    return b'{"type":"' + kind.encode() + b'","object":' + payload + b"}\n"


def a_status(code: int) -> Value:
    """Return a Status with text that nobody may be shown."""
    reasons = {401: "Unauthorized", 403: "Forbidden", 404: "NotFound", 410: "Expired"}
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": "zq-upstream 10.1.2.3: something about zq-node",
        "reason": reasons.get(code, "InternalError"),
        "code": code,
    }


def json_answer(body: bytes, status: int = 200) -> web.Response:
    """Return an answer in JSON."""
    return web.Response(status=status, body=body, content_type="application/json")


def status_answer(code: int, *, retry_after: str | None = None) -> web.Response:
    """Return a Status as an answer."""
    answer = json_answer(msgspec.json.encode(a_status(code)), code)
    if retry_after is not None:
        answer.headers["Retry-After"] = retry_after
    return answer


@dataclass(frozen=True, slots=True)
class Authority:
    """The certificates of a stub, in files."""

    ca_file: Path
    context: ssl.SSLContext

    @classmethod
    def new(cls, directory: Path, *names: str) -> "Authority":
        """Make a CA and a serving certificate in a directory."""
        ca = trustme.CA()
        ca.cert_pem.write_to_path(directory / "ca.crt")
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        ca.issue_cert(*(names or ("127.0.0.1", "localhost"))).configure_cert(context)
        return cls(directory / "ca.crt", context)


@asynccontextmanager
async def running(stub: StubAPI, authority: Authority, port: int = 0) -> AsyncIterator[str]:
    """Serve a stub while the block runs, and give it the URL."""
    loop = asyncio.get_running_loop()
    server = web.Server(
        stub.handle, access_log=None, keepalive_timeout=3600, handler_cancellation=True
    )
    stub.connections = lambda: len(server.connections)
    listener = await loop.create_server(server, "127.0.0.1", port, ssl=authority.context)
    try:
        yield f"https://127.0.0.1:{listener.sockets[0].getsockname()[1]}"
    finally:
        listener.close()
        transports = [each.transport for each in server.connections]
        await server.shutdown(0.1)
        for transport in transports:
            if transport is not None:  # it would wait for the other end's farewell
                transport.abort()
        await asyncio.sleep(0)  # for the loop to take leave of them


def kubeconfig(url: str, ca_file: Path, **user: Any) -> str:
    """Return a kubeconfig (JSON is YAML) of one user; keywords are members of the user."""
    return msgspec.json.encode(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [
                {"name": "stub", "cluster": {"server": url, "certificate-authority": str(ca_file)}}
            ],
            "users": [{"name": "us", "user": user or {"token": "good"}}],
            "contexts": [{"name": "stub", "context": {"cluster": "stub", "user": "us"}}],
            "current-context": "stub",
        }
    ).decode()


class StubThread:
    """A stub that serves on a thread of its own, for as long as the block runs."""

    def __init__(self, stub: StubAPI, authority: Authority, port: int = 0) -> None:
        self.stub = stub
        self.url = ""
        self._authority = authority
        self._port = port
        self._loop = asyncio.new_event_loop()
        self._started = threading.Event()
        self._thread = threading.Thread(target=self._loop.run_until_complete, args=(self._run(),))

    @property
    def port(self) -> int:
        """The port it listens on."""
        port = urlsplit(self.url).port
        assert port is not None
        return port

    def call(self, work: Callable[[StubAPI], T]) -> T:
        """Do something with the stub on its loop, and return what comes out."""

        async def do() -> T:
            return work(self.stub)

        return asyncio.run_coroutine_threadsafe(do(), self._loop).result(30)

    def __enter__(self) -> "StubThread":
        self._thread.start()
        self._started.wait(30)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(30)
        self._loop.close()

    async def _run(self) -> None:
        self._stop = asyncio.Event()
        async with running(self.stub, self._authority, self._port) as self.url:
            self._started.set()
            await self._stop.wait()
