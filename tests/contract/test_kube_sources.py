"""Kinds that are not there, may not be read, or hold nothing: KV-02, PC-08, design 9."""

import logging
from pathlib import Path
from typing import Any

import pytest
from fakes.kube_cluster import GPU, PERMITTED, Setting, followed, small_world
from fakes.objects import a_class, a_kubevirt, a_node, a_pod, a_quota, a_release, a_vmi
from fakes.stub_api import StubAPI
from fakes.stub_store import (
    CLASSES,
    KUBEVIRTS,
    NODES,
    PODS,
    QUOTAS,
    RELEASES,
    SECRETS,
    VMIS,
)

from storage.cluster.kinds import Kind
from storage.cluster.reflector import CHUNK
from storage.cluster.tenants import CozystackReader
from storage.cluster.watch_state import Reason
from storage.model.snapshot import Source


def condition(cluster: Any, name: str) -> tuple[str, str]:
    """Return status and reason of a condition of the option."""
    for each in cluster.option().conditions:
        if each.type == name:
            return each.status, each.reason
    raise AssertionError(name)


@pytest.fixture
def stub() -> StubAPI:
    """A stub that holds a small world."""
    stub = StubAPI()
    small_world(stub)
    return stub


@pytest.mark.parametrize(
    ("tables", "usable"),
    [
        ([], False),
        ([{"namespace": "elsewhere", "table": PERMITTED}], True),
        ([{"namespace": "a", "table": PERMITTED}, {"namespace": "b", "table": {}}], True),
        ([{"namespace": "a", "table": None}], False),
        ([{"namespace": "a", "table": {"mediatedDevices": [{"resourceName": GPU}]}}], True),
        ([{"namespace": "a", "table": {"usb": [{"resourceName": GPU}]}}], False),
    ],
    ids=["none", "another namespace", "two, the older counts", "null", "mediated", "usb only"],
)
async def test_kv_02_wherever_kubevirt_is_configured(
    stub: StubAPI, tmp_path: Path, tables: list[dict[str, Any]], usable: bool
) -> None:
    """No table crashes anything, and the option says why a class is unusable (KV-02)."""
    stub.delete(KUBEVIRTS, "kubevirt", "kubevirt")
    for number, each in enumerate(tables):
        metadata = {
            "namespace": each["namespace"],
            "creationTimestamp": f"202{number}-01-01T00:00:00Z",
        }
        stub.put(KUBEVIRTS, a_kubevirt(each["table"], metadata=metadata))
    async with followed(stub, tmp_path) as cluster:
        await cluster.settled()
        status, reason = condition(cluster, "Requestable")
        assert (status == "True") == usable
        assert reason
        assert cluster.faults.counts() == {}


async def test_kv_02_edits_of_the_table_are_seen_live(stub: StubAPI, tmp_path: Path) -> None:
    """A device that is permitted, or not any more, shows without a restart (KV-02)."""
    async with followed(stub, tmp_path) as cluster:
        await cluster.settled()
        assert condition(cluster, "Requestable")[0] == "True"
        stub.put(KUBEVIRTS, a_kubevirt({}))
        await cluster.until(lambda: condition(cluster, "Requestable")[0] == "False")
        stub.put(KUBEVIRTS, a_kubevirt(PERMITTED))
        await cluster.until(lambda: condition(cluster, "Requestable")[0] == "True")


async def test_kv_02_kubevirt_that_is_not_installed_is_a_state_and_found_later(
    stub: StubAPI, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """An absent CRD counts as no VMIs, is no failure, and is looked for again (domain 4.5)."""
    caplog.set_level(logging.INFO)
    stub.uninstall(VMIS)
    stub.uninstall(KUBEVIRTS)
    async with followed(stub, tmp_path) as cluster:
        await cluster.settled()
        assert cluster.option().budget.remaining == 8
        assert cluster.cache.snapshot().known >= {Source.VMIS}
        tries = len(stub.requests(VMIS.path))
        await cluster.until(lambda: len(stub.requests(VMIS.path)) > tries + 2)
        told = [r for r in caplog.records if r.message.startswith("source is not installed")]
        assert len(told) == 2  # one for each kind, however often it is looked for
        stub.install(KUBEVIRTS)
        stub.install(VMIS)
        entries = '[{"className":"l40s","count":3}]'
        stub.put(KUBEVIRTS, a_kubevirt(PERMITTED))
        stub.put(VMIS, a_vmi(entries))
        await cluster.until(lambda: cluster.option().budget.remaining == 5)
        stub.uninstall(VMIS)
        await cluster.until(lambda: cluster.option().budget.remaining == 8)
        assert cluster.cache.snapshot().known >= {Source.VMIS}


async def test_our_own_crds_are_awaited(
    stub: StubAPI, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Without classes nothing is known; once they can be read everything is (design 9)."""
    stub.uninstall(CLASSES)
    async with followed(stub, tmp_path) as cluster:
        await cluster.settled()
        assert Source.CLASSES not in cluster.cache.snapshot().known
        assert cluster.faults.counts()[Kind.GPU_CLASS, Reason.ABSENT] > 0
        assert "install its CustomResourceDefinition" in caplog.text
        stub.install(CLASSES)
        stub.put(CLASSES, a_class(resourceName=GPU))
        await cluster.until(lambda: Source.CLASSES in cluster.cache.snapshot().known)
        assert cluster.free() == 8


async def test_a_source_that_may_not_be_read_is_unknown_and_says_so(
    stub: StubAPI, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """403 on one source: that part Unknown, a log line that helps, a count (issue: bad input)."""
    caplog.set_level(logging.INFO)
    stub.fail(PODS.path, 403)
    async with followed(stub, tmp_path) as cluster:
        await cluster.until(lambda: len(stub.requests(PODS.path)) > 4)
        await cluster.until(lambda: cluster.feeds.unsettled == {Kind.POD})
        assert not cluster.feeds.settled.is_set()
        assert cluster.free() is None
        assert cluster.faults.counts()[Kind.POD, Reason.FORBIDDEN] > 2
        lines = [record for record in caplog.records if "bind the ClusterRole" in record.message]
        assert [record.__dict__["object_kind"] for record in lines] == ["Pod"]
        assert "zq-upstream" not in caplog.text
        stub.heal(PODS.path)
        await cluster.settled()
        assert cluster.free() == 8


async def test_what_the_calculation_passes_over_is_not_sent(stub: StubAPI, tmp_path: Path) -> None:
    """A pod that ends comes as gone, and only quotas and releases of tenants come (domain 3.2)."""
    requests = {"resources": {"requests": {GPU: "2"}}, "name": "main"}
    pod = a_pod(spec={"containers": [requests]})
    stub.put(PODS, pod)
    stub.put(PODS, a_pod(metadata={"name": "ended"}, status={"phase": "Failed"}))
    stub.put(QUOTAS, a_quota("tenant-a", {}), a_quota("tenant-a", {}, name="other"))
    stub.put(RELEASES, a_release("tenant-root", "tenant-a"))
    stub.put(RELEASES, a_release("tenant-root", "redis-b", kind="Redis"))
    async with followed(stub, tmp_path, Setting(tenants=CozystackReader())) as cluster:
        await cluster.settled()
        assert cluster.cache.objects() == {
            **dict.fromkeys((Kind.VMI, Kind.SECRET), 0),
            Kind.GPU_TENANT: 1,
            **dict.fromkeys((Kind.GPU_CLASS, Kind.KUBEVIRT, Kind.NODE, Kind.POD), 1),
            **dict.fromkeys((Kind.HELM_RELEASE, Kind.RESOURCE_QUOTA), 1),
        }
        assert cluster.free() == 6
        stub.put(PODS, pod | {"status": {"phase": "Succeeded"}})
        await cluster.until(lambda: cluster.free() == 8)


@pytest.mark.parametrize("streaming", [True, False], ids=["streaming list", "pages"])
async def test_pc_08_long_lists_are_told_a_few_objects_at_a_time(
    stub: StubAPI, tmp_path: Path, streaming: bool
) -> None:
    """Everything else gets its turn between any two of them, at a relist too (PC-08)."""
    stub.streaming_lists = streaming
    stub.load(PODS, (a_pod(metadata={"name": f"p{number}"}) for number in range(3000)))
    stub.load(NODES, (a_node(f"n{number}") for number in range(1000)))
    async with followed(stub, tmp_path) as cluster:
        await cluster.settled()
        assert cluster.cache.objects()[Kind.POD] == 3000
        assert max(cluster.batches) <= CHUNK
        revision = cluster.option().meta.revision
        stub.expire_watches(PODS)
        await cluster.until(lambda: cluster.lists(Kind.POD) == 2)
        assert max(cluster.batches) <= CHUNK
        assert cluster.option().meta.revision == revision


async def test_a_secret_that_no_class_gives_is_never_asked_for(
    stub: StubAPI, tmp_path: Path
) -> None:
    """There is no list over all Secrets, whatever happens (design 2)."""
    stub.put(SECRETS, {"metadata": {"name": "zq", "namespace": "tenant-a"}})
    async with followed(stub, tmp_path) as cluster:
        await cluster.settled()
        assert not stub.requests(SECRETS.path)
