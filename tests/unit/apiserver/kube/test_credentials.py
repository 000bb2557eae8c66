"""Tokens that are rotated."""

import asyncio
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from apiserver.kube.credentials import (
    Credentials,
    FixedCredentials,
    NoCredentialsError,
    PluginCredentials,
    TokenFile,
)

NOON = datetime(2026, 11, 3, 12, tzinfo=UTC)


class Clock:
    """A clock that stands until it is moved."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now

    def wall(self) -> datetime:
        """The same as a time of day."""
        return NOON + timedelta(seconds=self.now - 1000.0)


class Plugin:
    """A credential plugin; an exception is what it fails with."""

    def __init__(self, *answers: Mapping[str, Any] | Exception) -> None:
        self.answers = list(answers)
        self.runs = 0

    async def run(self) -> Mapping[str, Any]:
        """Give the next answer; the last one again when there are no more."""
        answer = self.answers[min(self.runs, len(self.answers) - 1)]
        self.runs += 1
        await asyncio.sleep(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


async def test_a_token_file_is_read_once_a_minute(tmp_path: Path) -> None:
    """Stripped, and whatever it is caught as, its last good token stays (PC-06)."""
    path, clock = tmp_path / "token", Clock()
    path.write_text("one\n")
    token: Credentials = TokenFile(path, clock)
    assert await token.header() == "Bearer one"
    path.write_text("two")
    clock.now += 59
    assert await token.header() == "Bearer one"
    clock.now += 1
    assert await token.header() == "Bearer two"
    for content in (b"", b"\n", b"a b", b"a\nb", "ä".encode(), b"\xff", b"a\x00b"):
        path.write_bytes(content)
        clock.now += 61
        assert await token.header() == "Bearer two"
    path.unlink()
    clock.now += 61
    assert await token.header() == "Bearer two"


async def test_a_token_file_that_was_never_good_is_an_error(tmp_path: Path) -> None:
    """Nothing is sent rather than nonsense; it is found once it is there."""
    clock = Clock()
    token = TokenFile(tmp_path / "token", clock)
    with pytest.raises(NoCredentialsError):
        await token.header()
    (tmp_path / "token").write_text("one")
    clock.now += 61
    assert await token.header() == "Bearer one"


async def test_a_refusal_reads_the_token_file_once(tmp_path: Path) -> None:
    """Many refusals at once are one reading, and the same token is no reason to ask again."""
    path, clock = tmp_path / "token", Clock()
    path.write_text("one")
    token = TokenFile(path, clock)
    await token.header()
    path.write_text("two")
    assert not await token.renew()  # it was just read
    clock.now += 2
    assert await token.renew()
    assert not await token.renew()
    assert await token.header() == "Bearer two"


async def test_an_unusable_token_file_is_said_once_a_minute(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A storm of refusals fills no log."""
    clock = Clock()
    token = TokenFile(tmp_path / "token", clock)
    for _ in range(60):
        await token.renew()
        clock.now += 1.5
    assert len(caplog.records) == 2


async def test_a_plugin_runs_when_its_token_is_about_to_expire() -> None:
    """A token without an expiry is kept; the plugin is not run for each request (runtime 8)."""
    clock = Clock()
    expires = (NOON + timedelta(seconds=300)).isoformat()
    plugin = Plugin({"token": "one", "expirationTimestamp": expires}, {"token": "two"})
    token: Credentials = PluginCredentials(plugin.run, clock, clock.wall)
    assert [await token.header() for _ in range(3)] == ["Bearer one"] * 3
    clock.now += 239
    assert await token.header() == "Bearer one"
    assert plugin.runs == 1
    clock.now += 2
    assert await token.header() == "Bearer two"
    clock.now += 10_000
    assert await token.header() == "Bearer two"
    assert plugin.runs == 2


@pytest.mark.parametrize(
    "answer",
    [
        OSError("zq"),
        RuntimeError("zq"),
        {},
        {"token": 7},
        {"token": ""},
        {"token": "a\nb"},
        {"token": "x", "expirationTimestamp": "zq"},
    ],
)
async def test_a_plugin_that_fails_is_asked_again_not_too_often(
    answer: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """Its last token stays, its text is in no line at default level (PC-06)."""
    clock = Clock()
    plugin = Plugin(answer, {"token": "one"}, answer)
    token = PluginCredentials(plugin.run, clock, clock.wall)
    for _ in range(3):
        with pytest.raises(NoCredentialsError):
            await token.header()
    assert plugin.runs == 1
    clock.now += 10
    assert await token.header() == "Bearer one"
    clock.now += 10
    assert not await token.renew()
    assert await token.header() == "Bearer one"
    assert plugin.runs == 3
    assert "zq" not in "".join(record.getMessage() for record in caplog.records)


async def test_requests_at_once_share_one_run_of_a_plugin() -> None:
    """A process is started once, however many ask (PC-06: no storm)."""
    clock = Clock()
    plugin = Plugin({"token": "one"})
    token = PluginCredentials(plugin.run, clock, clock.wall)
    async with asyncio.TaskGroup() as tasks:
        waiting = [tasks.create_task(token.header()) for _ in range(5)]
    assert [each.result() for each in waiting] == ["Bearer one"] * 5
    assert plugin.runs == 1


async def test_a_request_that_is_given_up_stops_no_run_of_a_plugin() -> None:
    """A plugin may be slower than the first who asks is patient; the next has its token."""
    goes_on = asyncio.Event()

    async def run() -> Mapping[str, Any]:
        await goes_on.wait()
        return {"token": "slow"}

    token = PluginCredentials(run, Clock())
    impatient = asyncio.create_task(token.header())
    patient = asyncio.create_task(token.header())
    await asyncio.sleep(0)
    impatient.cancel()
    await asyncio.wait([impatient])
    assert impatient.cancelled()
    goes_on.set()
    assert await patient == "Bearer slow"


async def test_a_fixed_value_has_no_other() -> None:
    """A refusal of it is final."""
    token: Credentials = FixedCredentials("Basic x")
    assert await token.header() == "Basic x"
    assert not await token.renew()
    assert await FixedCredentials(None).header() is None
