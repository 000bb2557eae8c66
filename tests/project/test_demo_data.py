"""The demo's data: a world in which every answer of the API can be seen."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from auth.attributes import Attributes
from auth.authentication.groups import with_authenticated_group
from auth.authentication.static_tokens import StaticToken, read_token_file
from auth.authorization.port import Decision
from auth.authorization.rbac import RBACAuthorizer
from auth.identity import MASTERS_GROUP, User
from storage.cluster.cache import ClusterCache
from storage.cluster.files import FileSource, Update
from storage.cluster.tenants import GPUTenantReader
from storage.model.names import OPTIONS_GROUP, VERSION
from storage.model.objects import VMI
from storage.model.snapshot import ClusterSnapshot, Policy
from storage.pool.answers import Requestable, Startable
from storage.pool.verdict import CapacityDetail, judge
from storage.pool.view import PoolView

MANIFESTS = Path(__file__).parents[2] / "manifests"
DEMO = MANIFESTS / "demo"


@pytest.fixture(scope="module")
def update() -> Update:
    """Return the demo's directory as it is read."""
    return FileSource(DEMO).load()


@pytest.fixture(scope="module")
def cluster(update: Update) -> ClusterSnapshot:
    """Return the demo's cluster; all of it is understood."""
    cache = ClusterCache(tenants=GPUTenantReader(), clock=lambda: 0.0)
    for event in update.events:
        cache.apply(event)
    assert set(cache.undecodable().values()) == {0}
    return cache.snapshot()


@pytest.fixture(scope="module")
def tokens(update: Update) -> dict[str, StaticToken]:
    """Return the demo's tokens by user name."""
    assert update.tokens is not None
    return {each.user.name: each for each in read_token_file(update.tokens)}


@pytest.fixture(scope="module")
def rights(update: Update) -> RBACAuthorizer:
    """Return the demo's rights."""
    assert update.rbac is not None
    return RBACAuthorizer(update.rbac)


async def allowed(rights: RBACAuthorizer, user: User, resource: str, namespace: str = "") -> bool:
    """Whether a user may list a resource."""
    attributes = Attributes(
        verb="list",
        resource_request=True,
        group=OPTIONS_GROUP,
        version=VERSION,
        resource=resource,
        namespace=namespace,
    )
    ruling = await rights.authorize(with_authenticated_group(user), attributes)
    return ruling.decision is Decision.ALLOW


async def may_read(rights: RBACAuthorizer, user: User, path: str) -> bool:
    """Whether a user may get a path."""
    ruling = await rights.authorize(
        with_authenticated_group(user), Attributes(verb="get", path=path)
    )
    return ruling.decision is Decision.ALLOW


@pytest.mark.parametrize("name", ["clusterrole.yaml", "clusterrolebinding.yaml"])
def test_the_demo_has_the_very_roles_that_are_shipped(name: str) -> None:
    """Word for word: what works in the demo works in a cluster."""
    assert (DEMO / name).read_bytes() == (MANIFESTS / "base" / name).read_bytes()


def test_the_shipped_roles_speak_of_what_is_served() -> None:
    """Read-only, all resources of the group, and the labels by which they are gathered."""
    roles: dict[str, Any] = {
        each["metadata"]["name"]: each
        for each in yaml.safe_load_all((MANIFESTS / "base" / "clusterrole.yaml").read_text())
    }
    (rules,) = {str(role["rules"]) for name, role in roles.items() if "options" in name}
    assert "gpuclassoptions" in rules
    for role in roles.values():
        (rule,) = role["rules"]
        assert rule["apiGroups"] == [OPTIONS_GROUP]
        assert rule["verbs"] == ["get", "list", "watch"]
    labels = {name: set(role["metadata"].get("labels", ())) for name, role in roles.items()}
    assert labels == {
        "gpuclass-options-tenant": {"rbac.cozystack.io/aggregate-to-tenant"},
        "gpuclass-options-view": {
            "rbac.cozystack.io/aggregate-to-tenant-view",
            "rbac.authorization.k8s.io/aggregate-to-view",
            "rbac.authorization.k8s.io/aggregate-to-edit",
            "rbac.authorization.k8s.io/aggregate-to-admin",
        },
        "gpuclass-offers-reader": set(),
    }


def test_every_file_says_what_is_in_it() -> None:
    """A comment at its head; CSV knows none."""
    files = sorted(DEMO.glob("*.yaml"))
    assert files
    assert [file.name for file in files if not file.read_text().startswith("# ")] == []


def test_the_demo_is_read_without_a_word(caplog: pytest.LogCaptureFixture, tmp_path: Path) -> None:
    """No kind that is not read, nothing malformed: whoever starts it sees no warning."""
    shutil.copytree(DEMO, tmp_path / "demo")
    with caplog.at_level("INFO"):
        update = FileSource(tmp_path / "demo").load()
        RBACAuthorizer(update.rbac or ())
        read_token_file(update.tokens or b"")
    assert caplog.records == []


def test_the_world_is_small_but_alive(cluster: ClusterSnapshot) -> None:
    """About twenty nodes, a dozen tenants three levels below the root, a vGPU, a migration."""
    assert len(cluster.nodes) == 20
    assert len(cluster.tenants) == 12
    assert "tenant-acme-prod-eu" in {each.namespace for each in cluster.tenants}
    assert len([each for each in cluster.classes if not each.terminating]) == 5
    assert any(vmi.devices and not vmi.annotated for vmi in cluster.vmis)
    launchers = [pod.vmi_uid for pod in cluster.pods if pod.vmi_uid]
    assert len(launchers) == len(set(launchers)) + 1


def test_names_of_nodes_can_be_searched_for(cluster: ClusterSnapshot) -> None:
    """One substring finds a leak, so it must be in every name and taint."""
    assert all(node.name.startswith("zq-") for node in cluster.nodes)
    taints = {taint.value for node in cluster.nodes for taint in node.taints if taint.value}
    assert all(value.startswith("zq-") for value in taints)


def test_pods_and_vmis_belong_together(cluster: ClusterSnapshot) -> None:
    """Launchers of VMs that are there, on nodes that are there, with what the VM asks for."""
    vmis = {vmi.uid: vmi for vmi in cluster.vmis}
    nodes = {node.name for node in cluster.nodes}
    for pod in cluster.pods:
        assert pod.node in nodes
        if pod.vmi_uid:
            assert launches(pod.requests, vmis[pod.vmi_uid])


def launches(requests: tuple[tuple[str, int], ...], vmi: VMI) -> bool:
    """Whether a launcher asks for the devices of its VMI."""
    counted = {device: vmi.devices.count(device) for device in vmi.devices}
    return dict(requests) == counted


async def visible(
    cluster: ClusterSnapshot, rights: RBACAuthorizer, users: list[User]
) -> set[Requestable | Startable]:
    """Return every reason that one of these users can see in an option."""
    view = PoolView.of(cluster, Policy())
    reasons: set[Requestable | Startable] = set()
    for namespace in {each.namespace for each in cluster.tenants}:
        seen = [await allowed(rights, user, "gpuclassoptions", namespace) for user in users]
        if not any(seen):
            continue
        for name in view.offers():
            facts = view.facts(namespace, name)
            assert facts is not None
            judgement = judge(facts, Policy(), CapacityDetail.FULL)
            reasons |= {judgement.requestable[0], judgement.startable}
    return reasons


async def test_every_reason_of_a_tenant_or_a_class_is_visible_to_a_tenant(
    cluster: ClusterSnapshot, rights: RBACAuthorizer, tokens: dict[str, StaticToken]
) -> None:
    """Domain 4.3, but for what fails inputs or flags."""
    tenants = [each.user for name, each in tokens.items() if name not in ("admin", "viewer")]
    assert await visible(cluster, rights, tenants) == {
        Requestable.TENANT_AMBIGUOUS,
        Requestable.RESOURCE_NAME_CONFLICT,
        Requestable.RESOURCE_NOT_PERMITTED,
        Requestable.NOT_ENTITLED,
        Requestable.LICENSE_NOT_READY,
        Requestable.BUDGET_EXHAUSTED,
        Requestable.ALLOWED,
        Startable.REQUESTABLE_UNKNOWN,
        Startable.NOT_REQUESTABLE,
        Startable.NO_CAPACITY,
        Startable.FITS,
    }


def test_the_main_tenant_tells_a_story(cluster: ClusterSnapshot) -> None:
    """What the README shows: tenant-acme can have cards, a desktop, and waits for an H200."""
    view = PoolView.of(cluster, Policy())
    rows: list[tuple[str, int | None, int | None, str]] = []
    for name in view.offers():
        facts = view.facts("tenant-acme", name)
        assert facts is not None
        found = judge(facts, Policy(), CapacityDetail.FULL)
        reason = found.requestable[0].value
        if found.requestable == (Requestable.ALLOWED,):
            reason = found.startable.value
        rows.append((name, found.requestable_count, found.startable_count, reason))
    assert rows == [
        ("a100", 0, 0, "ResourceNameConflict"),
        ("h200", 4, 0, "NoCapacity"),
        ("l40s", 3, 3, "Fits"),
        ("l40s-24q", 1, 1, "Fits"),
        ("mi300x", 0, 0, "ResourceNotPermitted"),
    ]


def test_the_first_user_may_do_everything(update: Update) -> None:
    """It is the one that the kubeconfig starts with."""
    assert update.tokens is not None
    first = read_token_file(update.tokens)[0].user
    assert first.name == "admin"
    assert MASTERS_GROUP in first.groups


SEES: dict[str, set[str]] = {
    "alice": {"tenant-acme", "tenant-acme-dev", "tenant-acme-prod", "tenant-acme-prod-eu"},
    "bob": {"tenant-acme-dev"},
    "carol": {"tenant-acme-prod", "tenant-acme-prod-eu", "tenant-corvus"},
    "dave": {"tenant-borealis", "tenant-borealis-lab", "tenant-borealis-lab-a"},
    "erin": {"tenant-delta"},
    "frank": {"tenant-echo"},
    "prometheus": set(),
    "system:serviceaccount:tenant-acme:tenant-acme": {
        "tenant-acme",
        "tenant-acme-dev",
        "tenant-acme-prod",
        "tenant-acme-prod-eu",
    },
    "nobody": set(),
}


@pytest.mark.parametrize("name", SEES)
@pytest.mark.parametrize("resource", ["gpuclassoptions", "options"])
async def test_a_user_sees_the_tenants_that_the_platform_gives(
    name: str,
    resource: str,
    cluster: ClusterSnapshot,
    rights: RBACAuthorizer,
    tokens: dict[str, StaticToken],
) -> None:
    """Those of the group and below, by roles that gather through roles; never all at once."""
    user = tokens[name].user
    namespaces = [each.namespace for each in cluster.tenants] + ["tenant-missing", "kube-system"]
    seen = {each for each in namespaces if await allowed(rights, user, resource, each)}
    assert seen == SEES[name]
    assert not await allowed(rights, user, resource)


async def test_a_viewer_sees_all_tenants_at_once(
    rights: RBACAuthorizer, tokens: dict[str, StaticToken]
) -> None:
    """Through Kubernetes' own role `view`."""
    assert await allowed(rights, tokens["viewer"].user, "gpuclassoptions")


def everybody(tokens: dict[str, StaticToken]) -> Iterator[User]:
    """Yield every user but the one who may do everything."""
    yield from (each.user for name, each in tokens.items() if name != "admin")


async def test_everybody_may_discover_and_read_offers(
    rights: RBACAuthorizer, tokens: dict[str, StaticToken]
) -> None:
    """Whoever is authenticated, bound to anything or not (S54)."""
    for user in everybody(tokens):
        assert await allowed(rights, user, "gpuclassoffers")
        for path in ("/apis", "/apis/x/y", "/openapi/v2", "/openapi/v3/z", "/version", "/healthz"):
            assert await may_read(rights, user, path)


async def test_only_monitoring_reads_metrics(
    rights: RBACAuthorizer, tokens: dict[str, StaticToken]
) -> None:
    """They tell the size of the world."""
    readers = {user.name for user in everybody(tokens) if await may_read(rights, user, "/metrics")}
    assert readers == {"prometheus"}
