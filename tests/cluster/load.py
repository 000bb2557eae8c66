"""Requests through kube-apiserver one after the other, ten a second, while something is changed."""

import threading
from types import TracebackType
from typing import Final, Self

from cluster.control_plane.cluster import ControlPlane

_EVERY: Final = 0.1
_WAIT_SECONDS: Final = 120.0


class Load:
    """Sends requests as admin while the block runs; `failures` has what was not 200."""

    def __init__(self, control_plane: ControlPlane, path: str) -> None:
        self.failures: list[str] = []
        self._control_plane = control_plane
        self._path = path
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
                code, body = self._control_plane.request("GET", self._path)
                failure = "" if code == 200 else f"{code} {body[:300].decode()}"
            except OSError as error:
                failure = repr(error)
            with self._progress:
                if failure:
                    self.failures.append(failure)
                self._answered += 1
                self._progress.notify_all()
