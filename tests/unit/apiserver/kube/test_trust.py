"""Following the ConfigMap that says whom to trust, against whatever may happen to it (AU-04)."""

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

from apiserver.kube.api import Reply, Stream, UnreachableError
from apiserver.kube.trust import NAME, PATH, TrustFollower, TrustWaits

SECRET = "node-7 at 10.0.0.7 says no"


class FinishedError(Exception):
    """The script of a test has come to its end."""


def listed(*data: Mapping[str, str] | None, version: str = "7") -> Reply:
    """A list of ConfigMaps."""
    items = [{"metadata": {"name": NAME}, "data": each} for each in data]
    body = {"kind": "ConfigMapList", "metadata": {"resourceVersion": version}, "items": items}
    return Reply(status=200, body=json.dumps(body).encode())


def refused(code: int) -> Reply:
    """A Status that names what nobody may see."""
    return Reply(status=code, body=json.dumps({"message": SECRET}).encode())


def event(kind: str, data: Mapping[str, str] | None = None) -> bytes:
    """A line of a watch."""
    return json.dumps({"type": kind, "object": {"metadata": {}, "data": data}}).encode()


@dataclass
class Opened:
    """A watch that gives some lines, then ends or breaks off."""

    given: Sequence[bytes | Exception] = ()
    status: int = 200
    retry_after: float | None = None

    async def lines(self) -> AsyncIterator[Sequence[bytes]]:
        """Yield the lines one by one."""
        for each in self.given:
            if isinstance(each, Exception):
                raise each
            yield [each]


@dataclass
class Script:
    """An `API` that answers lists and watches in a test's order; then the test is over."""

    answers: list[Reply | Opened | Exception]
    asked: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    pauses: list[float] = field(default_factory=list)
    taken: list[Mapping[str, str]] = field(default_factory=list)
    now: float = 0.0
    step: float = 1.0  # that the clock moves with each pause

    def _next(self, kind: type[Any]) -> Any:
        if not self.answers:
            raise FinishedError
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        assert isinstance(answer, kind), "asked for in another order than the test says"
        return answer

    async def call(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: bytes | None = None,
        accept: str = "application/json",
        seconds: float = 10.0,
    ) -> Reply:
        """Answer a list."""
        del body, accept, seconds
        self.asked.append((f"{method} {path}", dict(query or {})))
        reply: Reply = self._next(Reply)
        return reply

    def stream(
        self,
        path: str,
        *,
        query: Mapping[str, str],
        accept: str = "application/json",
        silence_seconds: float = 90.0,
    ) -> AbstractAsyncContextManager[Stream]:
        """Answer a watch."""
        del accept, silence_seconds

        @asynccontextmanager
        async def opened() -> AsyncIterator[Stream]:
            self.asked.append((f"WATCH {path}", dict(query)))
            yield self._next(Opened)

        return opened()

    async def _sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.now += self.step

    async def followed(self) -> TrustFollower:
        """Follow to the end of the script."""
        waits = TrustWaits(sleep=self._sleep, chance=lambda: 1.0)
        follower = TrustFollower(self, self.taken.append, lambda: self.now, waits)
        with pytest.raises(FinishedError):
            await follower.run()
        return follower


OLD, NEW = {"client-ca-file": "old"}, {"client-ca-file": "new"}


async def test_the_one_name_is_listed_and_watched() -> None:
    """Contract 6.21: by the selector that the stock Role allows, and by nothing else."""
    script = Script([listed(OLD), Opened(), listed(OLD)])
    await script.followed()
    selector = {"fieldSelector": f"metadata.name={NAME}"}
    watch = {**selector, "watch": "true", "resourceVersion": "7", "timeoutSeconds": "50"}
    assert script.asked[:3] == [
        (f"GET {PATH}", selector),
        (f"WATCH {PATH}", watch),
        (f"GET {PATH}", selector),
    ]


async def test_every_state_is_taken() -> None:
    """AU-05: at the list, by each event, at the next list; one that has gone is no state."""
    lines = [event("MODIFIED", NEW), event("DELETED", NEW), event("ADDED", OLD), event("BOOKMARK")]
    script = Script([listed(OLD), Opened(lines), listed(NEW), Opened([event("MODIFIED")])])
    follower = await script.followed()
    assert script.taken == [OLD, NEW, OLD, NEW, {}]
    assert follower.settled.is_set()


async def test_watches_that_end_at_once_are_not_begun_without_a_pause() -> None:
    """A server that ends each watch is not asked in a loop."""
    script = Script([listed(OLD), Opened(), listed(OLD), Opened([event("ERROR")]), listed(OLD)])
    await script.followed()
    assert script.pauses == [1.0, 1.0]


FAULTS: list[list[Reply | Opened | Exception]] = [
    [refused(403)],
    [refused(404)],
    [refused(500)],
    [listed()],
    [UnreachableError(SECRET)],
    [Reply(status=200, body=b"no JSON")],
    [listed(OLD), Opened(status=403)],
    [listed(OLD), Opened(status=410)],
    [listed(OLD), Opened([b"no JSON"])],
    [listed(OLD), Opened([event("MODIFIED", OLD), UnreachableError(SECRET)])],
    [listed(OLD), UnreachableError(SECRET)],
]


@pytest.mark.parametrize("fault", FAULTS)
async def test_au_04_a_fault_ends_nothing_and_is_told_once_a_minute(
    fault: list[Reply | Opened | Exception], caplog: pytest.LogCaptureFixture
) -> None:
    """AU-04: it is tried again within 20 s, for ever; upstream's words stay out of the log."""
    script = Script([*fault * 10, listed(NEW), Opened([event("MODIFIED", NEW)])], step=10.0)
    with caplog.at_level(logging.INFO):
        follower = await script.followed()
    assert script.pauses[:6] == [1.0, 2.0, 4.0, 8.0, 16.0, 20.0]
    assert max(script.pauses) == 20.0
    assert script.taken[-1] == NEW
    assert follower.settled.is_set()
    messages = [(each.levelname, each.getMessage()) for each in caplog.records]
    assert [level for level, _ in messages].count("ERROR") == 2
    assert messages[-1] == ("INFO", "trust is followed again")
    assert SECRET not in "".join(repr(vars(each)) for each in caplog.records)


@pytest.mark.parametrize("fault", [[refused(403)], [listed(OLD), Opened(status=403)]])
async def test_au_04_a_missing_right_is_told_with_the_role_to_bind(
    fault: list[Reply | Opened | Exception], caplog: pytest.LogCaptureFixture
) -> None:
    """AU-04: whoever reads the line knows what to do."""
    await Script(fault).followed()
    (record,) = caplog.records
    assert "Role extension-apiserver-authentication-reader in kube-system" in record.getMessage()


async def test_pauses_are_short_again_after_it_went_well() -> None:
    """A fault of long ago does not make the next one longer."""
    script = Script([*[refused(500)] * 3, listed(OLD), Opened(), refused(500), listed(OLD)])
    await script.followed()
    assert script.pauses == [1.0, 2.0, 4.0, 1.0, 1.0]


async def test_it_is_known_when_trust_was_last_heard_of() -> None:
    """The age of the trust is a metric."""
    script = Script([refused(500)])
    assert (await script.followed()).heard is None
    script = Script([refused(500), listed(OLD), Opened(status=500)], step=5.0)
    assert (await script.followed()).heard == 5.0


@pytest.mark.parametrize("fault", FAULTS[:6])
async def test_nothing_is_settled_by_a_fault(fault: list[Reply | Opened | Exception]) -> None:
    """Readiness waits for whom to trust: what goes wrong may pass."""
    assert not (await Script([*fault]).followed()).settled.is_set()


async def test_nothing_is_settled_before_an_answer() -> None:
    """Readiness waits for the first answer."""
    entered = asyncio.Event()

    class Silent(Script):
        async def call(self, *args: object, **kwargs: object) -> Reply:
            entered.set()
            await asyncio.Event().wait()
            raise AssertionError

    silent = Silent([])
    follower = TrustFollower(silent, silent.taken.append, lambda: 0.0)
    running = asyncio.ensure_future(follower.run())
    await entered.wait()
    assert not follower.settled.is_set()
    running.cancel()
    await asyncio.wait([running])
