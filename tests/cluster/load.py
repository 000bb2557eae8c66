"""Requests one after the other, ten a second, while something is changed."""

import json
import ssl
import threading
import urllib.error
import urllib.request
from collections.abc import Callable
from types import TracebackType
from typing import Any, Final, Self, TypeAlias

from cluster.control_plane.cluster import HOST, MASTERS, ControlPlane
from cluster.registered import Registration
from fakes.matrix import ITEMS

Send: TypeAlias = Callable[[], tuple[int, bytes]]
Judge: TypeAlias = Callable[[int, bytes], str]

_EVERY: Final = 0.1
_WAIT_SECONDS: Final = 120.0


class Load:
    """Sends requests while the block runs; `failures` has what the judge says to answers."""

    def __init__(self, send: Send, judge: Judge) -> None:
        """Take what sends a request, and what says what is wrong with an answer; "" for nothing."""
        self.failures: list[str] = []
        self._send = send
        self._judge = judge
        self._answered = 0
        self._progress = threading.Condition()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        self.wait_for_more(1)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._ended.set()
        self._thread.join()

    def wait_for_more(self, count: int) -> None:
        """Wait until so many more requests have been answered."""
        with self._progress:
            wanted = self._answered + count
            assert self._progress.wait_for(lambda: self._answered >= wanted, _WAIT_SECONDS)

    def wait_for_seconds(self, seconds: float) -> None:
        """Let requests run for a while: for what others do by their own clock only."""
        self._ended.wait(seconds)

    def _run(self) -> None:
        while not self._ended.wait(_EVERY):
            try:
                failure = self._judge(*self._send())
            except OSError as error:
                failure = repr(error)
            with self._progress:
                if failure:
                    self.failures.append(failure)
                self._answered += 1
                self._progress.notify_all()


def through_kube_apiserver(control_plane: ControlPlane, path: str, user: str = "admin") -> Send:
    """Return what asks for a path as a user, the way all callers do."""
    return lambda: control_plane.request("GET", path, user=user)


def straight(registration: Registration, port: int, path: str) -> Send:
    """Return what asks one process of ours as the front proxy does, for a member of the masters."""
    pair = registration.control_plane.new_proxy_pair()
    context = ssl.create_default_context(cafile=str(registration.serving_ca.file))
    context.load_cert_chain(pair.certificate, pair.key)
    headers = {"X-Remote-User": "admin", "X-Remote-Group": MASTERS}
    request = urllib.request.Request(f"https://{HOST}:{port}{path}", headers=headers)

    def send() -> tuple[int, bytes]:
        try:
            with urllib.request.urlopen(request, context=context, timeout=30) as answer:  # noqa: S310
                return answer.status, answer.read()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read()

    return send


def must_be_ok(code: int, body: bytes) -> str:
    """Judge that nothing may fail."""
    return "" if code == 200 else f"{code} {body[:300].decode()}"


def must_not_be_wrong(code: int, body: bytes) -> str:
    """Judge that tenant-acme's options are the expected ones, or say that they are unknown."""
    if code != 200:
        return must_be_ok(code, body)
    items = json.loads(body)["items"]
    expected = {item["metadata"]["name"]: item["status"] for item in ITEMS}
    wrong = [
        f"{item['metadata']['name']}: {item['status']}"
        for item in items
        if not _agrees(item["status"], expected[item["metadata"]["name"]])
    ]
    return "; ".join(wrong) if len(items) == len(ITEMS) else f"{len(items)} options"


def _agrees(status: dict[str, Any], expected: dict[str, Any]) -> bool:
    return all(
        status[part] == expected[part] or status[part] == {"state": "Unknown"}
        for part in ("capacity", "budget")
    ) and all(
        status.get(count) in (None, expected.get(count))
        for count in ("requestableCount", "startableCount")
    )
