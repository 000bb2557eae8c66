"""When `serve` is ready: once it has read what there is, and after a time whatever it could not.

Contract 9.4 and 1.14, design 9: all over TLS, from a stub of kube-apiserver.
"""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fakes.kube_cluster import QUICK, small_world
from fakes.objects import a_class, a_vmi
from fakes.stub_api import Authority, StubAPI, kubeconfig, running
from fakes.stub_store import CLASSES, CONFIG_MAPS, PODS, TENANTS, VMIS, Resource

from apiserver.cli.flags import parse
from apiserver.cli.real_cluster import RealCluster
from apiserver.cli.serve_config import Waits, serve_config
from apiserver.kube.trust import TrustWaits
from storage.cluster.kinds import Kind

TRUST = {
    "metadata": {"name": "extension-apiserver-authentication", "namespace": "kube-system"},
    "data": {},
}
FOR_EVER = 3600.0


@pytest.fixture
def stub() -> StubAPI:
    """A small world, and the ConfigMap with whom to trust."""
    stub = StubAPI()
    small_world(stub)
    stub.put(CONFIG_MAPS, TRUST)
    return stub


class Followed:
    """What `serve` reads, and how ready it is for it."""

    def __init__(self, cluster: RealCluster) -> None:
        self.cluster = cluster
        self.ready = asyncio.Event()

    async def is_ready(self) -> None:
        """Wait until nothing stands against readiness."""
        async with asyncio.timeout(20):
            await self.ready.wait()
        assert self.cluster.unsynced() is None


class _Ready(logging.Handler):
    def __init__(self, told: Callable[[], None]) -> None:
        super().__init__(logging.INFO)
        self._told = told

    def emit(self, record: logging.LogRecord) -> None:
        if record.getMessage() == "ready":
            self._told()


@asynccontextmanager
async def followed(
    stub: StubAPI, directory: Path, *, sync: float = FOR_EVER
) -> AsyncIterator[Followed]:
    """Follow a stub while the block runs, and be ready after `sync` seconds at the latest."""
    authority = Authority.new(directory)
    async with running(stub, authority) as url:
        file = directory / "kubeconfig"
        file.write_text(kubeconfig(url, authority.ca_file))
        uses = ("", "authentication-", "authorization-")
        flags = parse(["serve", *(f"--{use}kubeconfig={file}" for use in uses)]).flags()
        quick = TrustWaits(first_pause=0.01, longest_pause=0.01)
        waits = Waits(sync=sync, sources=QUICK, trust=quick)
        cluster = RealCluster(replace(serve_config(flags), waits=waits))
        following = Followed(cluster)
        handler = _Ready(following.ready.set)
        logger = logging.getLogger("apiserver.cli.real_cluster")
        logger.addHandler(handler)
        task = asyncio.create_task(cluster.follow())
        try:
            yield following
        finally:
            logger.removeHandler(handler)
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task
            await cluster.close()


@pytest.fixture(autouse=True)
def _logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)


async def test_it_is_ready_once_everything_was_read(
    stub: StubAPI, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Nothing is said of what is missing where nothing is."""
    async with followed(stub, tmp_path) as serve:
        await serve.is_ready()
        assert serve.cluster.published.ready
    assert "though" not in caplog.text


@pytest.mark.parametrize("missing", [PODS, VMIS, TENANTS, CLASSES, CONFIG_MAPS])
@pytest.mark.parametrize("status", [403, 500, 503])
async def test_what_fails_is_waited_for(
    stub: StubAPI, tmp_path: Path, missing: Resource, status: int
) -> None:
    """A replica of which nothing is known must not get requests that another one could answer."""
    path = trust_path() if missing is CONFIG_MAPS else missing.path
    stub.fail(path, status)
    async with followed(stub, tmp_path) as serve:
        await tried(stub, path, 4)
        assert serve.cluster.unsynced() is not None
        assert not serve.ready.is_set()
        stub.heal(path)
        await serve.is_ready()


@pytest.mark.parametrize(
    ("absent", "kind", "present"),
    [(VMIS, Kind.VMI, a_vmi()), (CLASSES, Kind.GPU_CLASS, a_class())],
)
async def test_what_is_not_installed_is_not_waited_for(
    stub: StubAPI, tmp_path: Path, absent: Resource, kind: Kind, present: dict[str, Any]
) -> None:
    """That there is no such resource is an answer; it is found when it comes (domain 4.5)."""
    stub.uninstall(absent)
    async with followed(stub, tmp_path) as serve:
        await serve.is_ready()
        assert serve.cluster.cache.objects()[kind] == 0
        stub.install(absent)
        stub.put(absent, present)
        async with asyncio.timeout(20):
            while not serve.cluster.cache.objects()[kind]:  # noqa: ASYNC110  # nothing tells of it
                await asyncio.sleep(0.01)


async def test_it_is_ready_in_the_end_whatever_fails(
    stub: StubAPI, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Without an endpoint no namespace of the cluster could be deleted (contract 1.14, AU-04)."""
    stub.fail(PODS.path, 403)
    stub.fail(trust_path(), 403)
    async with followed(stub, tmp_path, sync=1.0) as serve:
        await serve.is_ready()
    (line,) = [each for each in caplog.records if "though" in each.message]
    assert line.__dict__["unread"] == "Pod"
    assert "bind Role extension-apiserver-authentication-reader" in caplog.text
    assert "zq-upstream" not in caplog.text


def trust_path() -> str:
    """Where the ConfigMap is listed."""
    return "/api/v1/namespaces/kube-system/configmaps"


async def tried(stub: StubAPI, path: str, times: int) -> None:
    """Wait until a path was asked for so many times."""
    happened = asyncio.Event()
    stub.noticed = happened.set
    async with asyncio.timeout(20):
        while len(stub.requests(path)) < times:
            happened.clear()
            await happened.wait()
