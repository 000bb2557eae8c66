"""One server over fakes, on the event loop of production."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping

import aiohttp
import pytest
import uvloop
from fakes.http_client import Client
from fakes.http_fakes import Certificates, FakeWorld, new_certificates, running


def pytest_asyncio_loop_factories() -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    """Return the loop that the program runs on."""
    return {"uvloop": uvloop.new_event_loop}


@pytest.fixture(scope="session")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    """A serving certificate, made once."""
    return new_certificates(tmp_path_factory.mktemp("tls"))


@pytest.fixture
def world() -> FakeWorld:
    """What the server serves, for a test to change."""
    return FakeWorld()


@pytest.fixture
async def client(world: FakeWorld, certificates: Certificates) -> AsyncIterator[Client]:
    """A client of a server over that world."""
    connector = aiohttp.TCPConnector(ssl=certificates.trust)
    async with (
        running(world, certificates.files) as port,
        aiohttp.ClientSession(connector=connector) as session,
    ):
        yield Client(session, port, certificates.trust)
