"""Files of CAs that flags name, read at the start and again while it runs (contract 6.22, 6.23)."""

import asyncio
import logging
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from fakes.pki import a_ca

from apiserver.cli.access import Access
from apiserver.cli.clients import Clients
from apiserver.cli.flags import parse
from apiserver.cli.reading import ConfigError
from apiserver.cli.serve_config import Waits, serve_config

CLIENTS, PROXIES, OTHERS = a_ca("clients").pem, a_ca("proxies").pem, a_ca("others").pem


@pytest.fixture
def clients(tmp_path: Path) -> Path:
    """The file of --client-ca-file."""
    file = tmp_path / "clients.crt"
    file.write_text(CLIENTS)
    return file


@pytest.fixture
def proxies(tmp_path: Path) -> Path:
    """The file of --requestheader-client-ca-file."""
    file = tmp_path / "proxies.crt"
    file.write_text(PROXIES)
    return file


def an_access(clients: Path, proxies: Path) -> Access:
    """What looks at the files again without a wait in between."""
    flags = [f"--client-ca-file={clients}", f"--requestheader-client-ca-file={proxies}"]
    config = replace(
        serve_config(parse(["serve", *flags]).flags()), waits=replace(Waits(), reload=0.0)
    )
    return Access(config, Clients(config))


@asynccontextmanager
async def followed(access: Access) -> AsyncIterator[None]:
    """Follow the files while the block runs."""
    task = asyncio.create_task(access.follow_files())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait([task])


class Told(logging.Handler):
    """What was logged of files: its level and the flag."""

    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self.lines: list[tuple[str, str]] = []
        self._came = asyncio.Event()

    def emit(self, record: logging.LogRecord) -> None:
        if "CA file" in record.getMessage():
            self.lines.append((record.levelname, record.__dict__["flag"]))
            self._came.set()

    async def until(self, lines: list[tuple[str, str]]) -> None:
        """Wait until these lines came, and no others."""
        async with asyncio.timeout(20):
            while self.lines != lines:
                self._came.clear()
                await self._came.wait()


@pytest.fixture
def told() -> Iterator[Told]:
    """What the log says while the test runs."""
    logger, handler = logging.getLogger("apiserver.cli.access"), Told()
    logger.addHandler(handler)
    before = logger.level
    logger.setLevel(logging.INFO)
    yield handler
    logger.setLevel(before)
    logger.removeHandler(handler)


def write(file: Path, content: str | None) -> None:
    """Put a content in place of a file's; None: the file goes."""
    file.unlink(missing_ok=True)
    if content is not None:
        file.write_text(content)


async def test_a_file_that_turns_bad_is_told_and_hides_no_other(
    clients: Path, proxies: Path, told: Told, caplog: pytest.LogCaptureFixture
) -> None:
    """Contract 6.22: the last good CAs stay, the other file is followed, each is told once."""
    access = an_access(clients, proxies)
    changed = asyncio.Event()
    access.on_trust(changed.set)
    async with followed(access):
        write(clients, "half a file")
        write(proxies, OTHERS)
        await changed.wait()
        assert access.client_cas() == CLIENTS + OTHERS
        flag = "client-ca-file"
        await told.until([("ERROR", flag)])
        write(clients, None)
        write(proxies, PROXIES)
        changed.clear()
        await changed.wait()
        write(clients, CLIENTS)
        await told.until([("ERROR", flag), ("INFO", flag)])
    assert access.client_cas() == CLIENTS + PROXIES
    assert str(clients) not in caplog.text


def test_all_files_that_cannot_be_read_are_told_at_the_start(clients: Path, proxies: Path) -> None:
    """A start that fails says everything that stands against it."""
    clients.write_text("")
    proxies.write_text("no PEM")
    with pytest.raises(ConfigError) as raised:
        an_access(clients, proxies)
    assert [problem.partition(":")[0] for problem in raised.value.problems] == [
        "--client-ca-file",
        "--requestheader-client-ca-file",
    ]
