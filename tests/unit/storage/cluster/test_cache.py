"""The cluster as it is known."""

import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from fakes.objects import (
    a_class,
    a_kubevirt,
    a_node,
    a_pod,
    a_quota,
    a_release,
    a_secret,
    a_tenant,
    a_vmi,
    in_json,
    merged,
)
from hypothesis import given
from hypothesis import strategies as st

from storage.cluster.cache import ClusterCache
from storage.cluster.decode import decode
from storage.cluster.decoded import Decoded, Ref
from storage.cluster.kinds import Kind
from storage.cluster.list_watch import Bookmark, Changed, Event, Feed, Gone, Listed
from storage.cluster.tenants import CozystackReader, GPUTenantReader, TenantReader
from storage.model.objects import Node, TenantRecord
from storage.model.snapshot import (
    Change,
    ClusterSnapshot,
    Drop,
    Known,
    Licenses,
    Object,
    Put,
    Source,
    key_of,
)

Value = dict[str, Any]


class Clock:
    """A clock that stands until it is moved."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class World:
    """A cache with its clock, told of objects by kind."""

    def __init__(self, tenants: TenantReader | None = None) -> None:
        self.clock = Clock()
        self.cache = ClusterCache(
            tenants=tenants or GPUTenantReader(), clock=self.clock, stale_after=180
        )

    def listed(self, kind: Kind, *values: Value, name: str = "") -> tuple[Change, ...]:
        """Tell of a complete list."""
        objects = tuple(decoded(kind, value) for value in values)
        return self.cache.apply(Listed(Feed(kind, name), objects))

    def changed(self, kind: Kind, value: Value, name: str = "") -> tuple[Change, ...]:
        """Tell of one object."""
        return self.cache.apply(Changed(Feed(kind, name), decoded(kind, value)))

    def gone(self, kind: Kind, namespace: str, name: str) -> tuple[Change, ...]:
        """Tell that one object has gone."""
        return self.cache.apply(Gone(Feed(kind), Ref(namespace, name)))


def decoded(kind: Kind, value: Value) -> Decoded:
    """Return an object as it arrives."""
    return decode(kind, in_json(value))


def named(value: Value, name: str) -> Value:
    """Return an object under another name."""
    return merged(value, {"metadata": {"name": name}})


def test_at_first_nothing_is_known() -> None:
    """An empty cluster and one that was not read yet are different."""
    snapshot = World().cache.snapshot(7)
    assert snapshot == ClusterSnapshot(known=frozenset(), now_ms=7)


@pytest.mark.parametrize(
    ("kind", "source", "value", "key"),
    [
        (Kind.GPU_CLASS, Source.CLASSES, a_class(), "l40s"),
        (Kind.KUBEVIRT, Source.KUBEVIRT, a_kubevirt({}), "kubevirt/kubevirt"),
        (Kind.VMI, Source.VMIS, a_vmi(), "tenant-a/vm"),
        (Kind.POD, Source.PODS, a_pod(), "tenant-a/pod"),
        (Kind.NODE, Source.NODES, a_node(), "zq-node"),
        (Kind.GPU_TENANT, Source.TENANTS, a_tenant("tenant-a"), "GPUTenant/tenant-a"),
    ],
)
def test_a_list_puts_its_objects_and_makes_its_source_known(
    kind: Kind, source: Source, value: Value, key: str
) -> None:
    """Objects first, then that they can be believed; the next list drops what is not in it."""
    world = World()
    put, known = world.listed(kind, value)
    assert isinstance(put, Put)
    assert key_of(put.obj) == (source, key)
    assert known == Known(source, True)
    assert world.listed(kind, value) == ()
    assert world.listed(kind) == (Drop(source, key),)
    assert world.cache.snapshot().known == {source}


def test_only_real_changes_come_out() -> None:
    """A status update that says nothing new costs nothing downstream."""
    world = World()
    world.listed(Kind.NODE, a_node())
    assert world.changed(Kind.NODE, a_node(metadata={"resourceVersion": "2"})) == ()
    (put,) = world.changed(Kind.NODE, a_node(spec={"unschedulable": True}))
    assert isinstance(put, Put)
    assert isinstance(put.obj, Node)
    assert put.obj.unschedulable
    assert world.gone(Kind.NODE, "", "zq-other") == ()
    assert world.gone(Kind.NODE, "", "zq-node") == (Drop(Source.NODES, "zq-node"),)


def test_a_watch_before_its_list_makes_nothing_known() -> None:
    """What it told may be a part only."""
    world = World()
    (put,) = world.changed(Kind.NODE, a_node())
    assert isinstance(put, Put)
    assert world.listed(Kind.NODE, a_node()) == (Known(Source.NODES, True),)


def test_an_object_that_breaks_is_dropped_and_comes_back() -> None:
    """A class that an edit made wrong is left out until it is mended."""
    world = World()
    world.listed(Kind.GPU_CLASS, a_class())
    assert world.changed(Kind.GPU_CLASS, a_class(maxCount=0)) == (Drop(Source.CLASSES, "l40s"),)
    assert world.changed(Kind.GPU_CLASS, a_class(maxCount=-1)) == ()
    assert len(world.changed(Kind.GPU_CLASS, a_class())) == 1


def test_a_pod_that_stops_asking_for_devices_is_dropped() -> None:
    """And one that never did leaves no trace."""
    world = World()
    idle = a_pod(spec={"containers": []})
    world.listed(Kind.POD, a_pod(), named(idle, "idle"))
    assert world.cache.objects()[Kind.POD] == 1
    assert world.changed(Kind.POD, idle) == (Drop(Source.PODS, "tenant-a/pod"),)


def test_a_source_that_is_not_heard_of_is_not_believed() -> None:
    """Design 9: after stale-after its figures are unknown, and right again once it is heard of."""
    world = World()
    world.listed(Kind.NODE, a_node())
    world.listed(Kind.POD)
    world.clock.now += 100
    world.cache.apply(Bookmark(Feed(Kind.POD)))
    world.clock.now += 80
    assert world.cache.expire(world.clock.now) == ()
    world.clock.now += 1
    assert world.cache.expire(world.clock.now) == (Known(Source.NODES, False),)
    assert world.cache.expire(world.clock.now) == ()
    assert len(world.cache.snapshot().nodes) == 1
    assert world.cache.apply(Bookmark(Feed(Kind.NODE))) == (Known(Source.NODES, True),)


def test_figures_about_the_cache_name_the_kinds_that_are_read() -> None:
    """The platform's kinds only with its reader."""
    own = World().cache
    assert set(own.objects()) == set(Kind) - {Kind.HELM_RELEASE, Kind.RESOURCE_QUOTA}
    platform = World(CozystackReader()).cache
    for figures in (platform.objects(), platform.undecodable()):
        assert set(figures) == set(Kind)
        assert set(figures.values()) == {0}


LICENSED = a_class(license={"secretName": "lic"})


def test_a_license_is_the_namespaces_that_hold_its_secret() -> None:
    """Only for names that a class gives; unknown until Secrets can be read."""
    world = World()
    world.listed(Kind.GPU_CLASS, LICENSED)
    assert world.cache.snapshot().licenses == {"lic": None}
    secrets = (a_secret("tenant-a", "lic"), a_secret("tenant-b", "other"))
    assert world.listed(Kind.SECRET, *secrets) == (Licenses("lic", frozenset({"tenant-a"})),)
    both = frozenset({"tenant-a", "tenant-c"})
    assert world.changed(Kind.SECRET, a_secret("tenant-c", "lic")) == (Licenses("lic", both),)
    assert world.changed(Kind.SECRET, a_secret("tenant-d", "other")) == ()
    assert world.cache.snapshot().licenses == {"lic": both}
    assert world.gone(Kind.SECRET, "tenant-c", "lic") == (Licenses("lic", frozenset({"tenant-a"})),)


def test_licenses_follow_what_classes_name() -> None:
    """A class that starts naming a Secret brings it, one that stops lets it go."""
    world = World()
    world.listed(Kind.SECRET, a_secret("tenant-a", "lic"), a_secret("tenant-b", "new"))
    world.listed(Kind.GPU_CLASS, a_class())
    assert world.cache.license_secrets() == frozenset()
    assert Licenses("lic", frozenset({"tenant-a"})) in world.changed(Kind.GPU_CLASS, LICENSED)
    other = a_class(license={"secretName": "new"})
    changes = world.changed(Kind.GPU_CLASS, other)
    assert changes[1:] == (Licenses("lic", None), Licenses("new", frozenset({"tenant-b"})))
    assert world.cache.license_secrets() == {"new"}
    assert world.gone(Kind.GPU_CLASS, "", "l40s")[1:] == (Licenses("new", None),)
    assert world.cache.snapshot().licenses == {}


def test_a_feed_by_name_knows_its_license_alone() -> None:
    """In a cluster each name is read by itself; one that grows stale is unknown again."""
    world = World()
    world.listed(Kind.GPU_CLASS, LICENSED, named(a_class(license={"secretName": "two"}), "b"))
    assert world.listed(Kind.SECRET, a_secret("tenant-a", "lic"), name="lic") == (
        Licenses("lic", frozenset({"tenant-a"})),
    )
    assert world.cache.snapshot().licenses["two"] is None
    world.clock.now += 181
    world.cache.apply(Bookmark(Feed(Kind.GPU_CLASS)))
    assert world.cache.expire(world.clock.now) == (Licenses("lic", None),)
    assert world.cache.apply(Bookmark(Feed(Kind.SECRET, "lic"))) == (
        Licenses("lic", frozenset({"tenant-a"})),
    )


def test_the_platforms_tenants_need_all_its_kinds() -> None:
    """Half a tree is no tree."""
    world = World(CozystackReader())
    world.listed(Kind.HELM_RELEASE)
    world.listed(Kind.RESOURCE_QUOTA)
    assert world.listed(Kind.GPU_TENANT) == (Known(Source.TENANTS, True),)
    world.clock.now += 181
    world.cache.apply(Bookmark(Feed(Kind.HELM_RELEASE)))
    assert world.cache.expire(world.clock.now) == (Known(Source.TENANTS, False),)


def platform(world: World) -> TenantRecord:
    """Return the one record of a world."""
    (record,) = world.cache.snapshot().tenants
    return record


def test_the_platforms_tenant_follows_each_of_its_objects() -> None:
    """Also the classes: a resource that is renamed moves the budget to who names it."""
    world = World(CozystackReader())
    quota = a_quota("tenant-a", {"requests.nvidia.com/AD102GL_L40S": "4"})
    world.changed(Kind.RESOURCE_QUOTA, quota)
    (put,) = world.changed(Kind.HELM_RELEASE, a_release("tenant-root", "tenant-a"))
    assert isinstance(put, Put)
    assert platform(world).budgets == ()
    changes = world.changed(Kind.GPU_CLASS, a_class())
    assert [type(each) for each in changes] == [Put, Put]
    assert platform(world).budgets == (("l40s", 4),)
    world.changed(Kind.GPU_CLASS, named(a_class(), "cheap"))
    assert platform(world).budgets == (("cheap", 4), ("l40s", 4))
    assert len(world.changed(Kind.GPU_CLASS, a_class(maxCount=2))) == 1
    world.changed(Kind.GPU_CLASS, a_class(resourceName="x.com/new"))
    assert platform(world).budgets == (("cheap", 4),)
    entitled = a_tenant("tenant-a", entitlements=[{"className": "l40s"}])
    world.changed(Kind.GPU_TENANT, entitled)
    assert platform(world).entitlements == ("l40s",)
    assert world.gone(Kind.HELM_RELEASE, "tenant-root", "tenant-a") == (
        Drop(Source.TENANTS, "HelmRelease/tenant-root/tenant-a"),
    )


def test_two_owners_of_one_namespace_come_and_go() -> None:
    """E11: the second is a record of its own; when the first goes the second stays."""
    world = World(CozystackReader())
    world.listed(
        Kind.HELM_RELEASE, a_release("tenant-root", "tenant-a-b"), a_release("tenant-a", "tenant-b")
    )
    assert len(world.cache.snapshot().tenants) == 2
    world.gone(Kind.HELM_RELEASE, "tenant-root", "tenant-a-b")
    assert platform(world).parent == "tenant-a"


def test_kinds_that_nobody_reads_change_nothing(caplog: pytest.LogCaptureFixture) -> None:
    """A directory has them all, whatever tenants are read from; nothing follows from them."""
    world = World(GPUTenantReader())
    broken = merged(a_release("tenant-root", "tenant-b"), {"metadata": {"labels": 5}})
    assert world.listed(Kind.HELM_RELEASE, a_release("tenant-root", "tenant-a"), broken) == ()
    assert world.cache.snapshot().tenants == ()
    assert caplog.records == []


@pytest.mark.parametrize(
    ("kind", "value", "shown"),
    [
        (Kind.GPU_CLASS, a_class(maxCount=0), True),
        (Kind.VMI, a_vmi("[]"), True),
        (Kind.POD, a_pod(status=5), True),
        (Kind.POD, a_pod(metadata={"name": "proxy-zq-node"}, status=5), False),
        (Kind.POD, a_pod(metadata={"name": "debug-zq-node-x"}, status=5), False),
        (Kind.POD, a_pod(metadata={"name": "proxy-zq-node"}, spec=5), False),
        (Kind.NODE, a_node(status=5), False),
        (Kind.NODE, a_node(status={"allocatable": {"x.com/gpu": "x"}}), False),
    ],
)
def test_what_is_not_understood_is_counted_and_logged_once(
    kind: Kind, value: Value, shown: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """Design 2: with kind and name, but never the name of a node, which own pods hold."""
    caplog.set_level(logging.INFO)
    world = World()
    world.listed(kind, value)
    world.changed(kind, value)
    world.listed(kind, value)
    assert world.cache.undecodable()[kind] == 1
    (record,) = caplog.records
    assert record.levelno == logging.WARNING
    assert record.__dict__["object_kind"] == kind.kind
    assert ("object_name" in record.__dict__) is shown
    assert "zq-" not in str(record.__dict__)
    world.gone(kind, value["metadata"].get("namespace", ""), value["metadata"]["name"])
    assert world.cache.undecodable()[kind] == 0
    gone = caplog.records[1]
    assert (gone.levelno, gone.message) == (
        logging.INFO,
        "object that was not understood has gone",
    )
    assert "zq-" not in str(gone.__dict__)


@pytest.mark.parametrize(
    ("kind", "value", "consequence"),
    [
        (Kind.GPU_CLASS, a_class(maxCount=0), "it is left out"),
        (Kind.GPU_TENANT, a_tenant("x", parent=5), "it is left out"),
        (
            Kind.GPU_TENANT,
            a_tenant("tenant-a", parent=5),
            "its tenant is treated as ambiguous",
        ),
        (
            Kind.HELM_RELEASE,
            merged(a_release("tenant-root", "tenant-a"), {"metadata": {"labels": 5}}),
            "its tenant is treated as ambiguous",
        ),
        (
            Kind.RESOURCE_QUOTA,
            a_quota("tenant-a", {"requests.x.com/gpu": "x"}),
            "the budgets of its namespace are unknown",
        ),
        (Kind.KUBEVIRT, a_kubevirt({}, spec=5), "rows of its table of devices are left out"),
        (Kind.VMI, a_vmi("[]"), "the VMI is charged by its devices and their names"),
        (Kind.VMI, a_vmi(spec=5), "the budgets of its namespace are unknown"),
        (
            Kind.POD,
            a_pod(status=5),
            "the budgets of its namespace are unknown and its node has nothing free",
        ),
        (Kind.NODE, a_node(status=5), "it is left out"),
        (
            Kind.NODE,
            a_node(status={"allocatable": {"x.com/gpu": "x"}}),
            "devices of the node are left out",
        ),
    ],
)
def test_what_is_not_understood_is_logged_with_what_follows(
    kind: Kind, value: Value, consequence: str, caplog: pytest.LogCaptureFixture
) -> None:
    """One sentence for each kind: what an operator has to reckon with (design 2)."""
    world = World(CozystackReader())
    world.listed(kind, value)
    (record,) = caplog.records
    assert record.message == f"object not understood, {consequence}"
    assert "origin" not in record.__dict__


def test_where_an_object_is_written_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    """Of objects from files."""
    broken = replace(decoded(Kind.GPU_CLASS, a_class(maxCount=0)), origin="a.yaml, document 1")
    World().cache.apply(Changed(Feed(Kind.GPU_CLASS), broken))
    assert caplog.records[0].__dict__["origin"] == "a.yaml, document 1"


@pytest.mark.parametrize(
    ("kind", "broken", "mended"),
    [
        (Kind.GPU_CLASS, a_class(maxCount=0), a_class()),
        (Kind.NODE, a_node(status=5), a_node()),
        (
            Kind.POD,
            a_pod(metadata={"name": "proxy-zq-node"}, status=5),
            a_pod(metadata={"name": "proxy-zq-node"}, spec={"containers": []}),
        ),
    ],
)
def test_it_is_logged_once_that_an_object_is_understood_again(
    kind: Kind, broken: Value, mended: Value, caplog: pytest.LogCaptureFixture
) -> None:
    """Whoever mended it sees that it counts; a node's name stays out of it."""
    caplog.set_level(logging.INFO)
    world = World()
    world.listed(kind, mended)
    world.changed(kind, broken)
    for _ in range(2):
        world.changed(kind, mended)
    levels = [(record.levelname, record.message.partition(",")[0]) for record in caplog.records]
    assert levels == [
        ("WARNING", "object not understood"),
        ("INFO", "object is understood again"),
    ]
    assert "zq-" not in str([record.__dict__ for record in caplog.records])


def test_a_source_that_falls_silent_is_logged_once_and_when_it_is_back(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Design 9: its figures are unknown meanwhile; the first list is no return."""
    caplog.set_level(logging.INFO)
    world = World()
    world.listed(Kind.NODE, a_node())
    world.listed(Kind.POD)
    assert caplog.records == []
    for _ in range(2):
        world.clock.now += 181
        world.cache.apply(Bookmark(Feed(Kind.POD)))
        for _ in range(2):
            world.cache.expire(world.clock.now)
        for _ in range(2):
            world.cache.apply(Bookmark(Feed(Kind.NODE)))
    told = [(record.levelname, record.message) for record in caplog.records]
    assert (
        told
        == [
            ("WARNING", "source not heard of, its figures are unknown"),
            ("INFO", "source heard of again"),
        ]
        * 2
    )
    assert {record.__dict__["object_kind"] for record in caplog.records} == {"Node"}


def test_a_kind_of_several_feeds_is_back_with_the_last(caplog: pytest.LogCaptureFixture) -> None:
    """Licenses are read by name: one line for all of them, without their names."""
    caplog.set_level(logging.INFO)
    world = World()
    feeds = [Feed(Kind.SECRET, "lic-a"), Feed(Kind.SECRET, "lic-b")]
    for feed in feeds:
        world.listed(Kind.SECRET, name=feed.name)
    world.clock.now += 181
    world.cache.expire(world.clock.now)
    world.cache.apply(Bookmark(feeds[0]))
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    world.cache.apply(Bookmark(feeds[1]))
    assert [record.levelname for record in caplog.records] == ["WARNING", "INFO"]
    assert "lic-" not in str([record.__dict__ for record in caplog.records])


FACES: dict[Kind, Sequence[Value]] = {
    Kind.GPU_CLASS: (a_class(), LICENSED, a_class(maxCount=0), named(LICENSED, "b")),
    Kind.GPU_TENANT: (a_tenant("tenant-a"), a_tenant("tenant-b", parent=5), a_tenant("x")),
    Kind.HELM_RELEASE: (
        a_release("tenant-root", "tenant-a-b"),
        a_release("tenant-a", "tenant-b"),
        a_release("tenant-root", "tenant-a"),
    ),
    Kind.RESOURCE_QUOTA: (
        a_quota("tenant-a", {"requests.nvidia.com/AD102GL_L40S": "1"}),
        a_quota("tenant-a", {"requests.nvidia.com/AD102GL_L40S": "x"}),
        a_quota("tenant-a-b", {}),
    ),
    Kind.POD: (a_pod(), a_pod(spec={"containers": []}), a_pod(status=5)),
    Kind.NODE: (a_node(), a_node(status=5), a_node("zq-b")),
    Kind.SECRET: (a_secret("tenant-a", "lic"), a_secret("tenant-b", "lic")),
}


@st.composite
def events(draw: st.DrawFn) -> Event | None:
    """Draw an event of any kind; None: time passes."""
    kind = draw(st.sampled_from([*FACES]))
    face = st.sampled_from(FACES[kind]).map(lambda value: decoded(kind, value))
    feed = Feed(kind)
    event: Event | None = draw(
        st.one_of(
            st.lists(face, max_size=3, unique_by=lambda each: each.ref).map(
                lambda found: Listed(feed, tuple(found))
            ),
            face.map(lambda each: Changed(feed, each)),
            face.map(lambda each: Gone(feed, each.ref)),
            st.just(Bookmark(feed)),
            st.none(),
        )
    )
    return event


@given(steps=st.lists(events(), max_size=25), platforms=st.booleans())
def test_changes_lead_from_snapshot_to_snapshot(steps: list[Event | None], platforms: bool) -> None:
    """Whoever applies the changes has what the cache has, and is told nothing twice."""
    world = World(CozystackReader() if platforms else GPUTenantReader())
    objects: dict[tuple[Source, str], object] = {}
    known: set[Source] = set()
    licenses: dict[str, frozenset[str] | None] = {}
    for step in steps:
        if step is None:
            world.clock.now += 100
            changes = world.cache.expire(world.clock.now)
        else:
            changes = world.cache.apply(step)
        for change in changes:
            follow(change, objects, known, licenses)
    snapshot = world.cache.snapshot()
    kept: tuple[Object, ...] = (
        *snapshot.classes,
        *snapshot.kubevirts,
        *snapshot.tenants,
        *snapshot.vmis,
        *snapshot.pods,
        *snapshot.nodes,
    )
    assert {key_of(each): each for each in kept} == objects
    assert snapshot.known == known
    assert {name: found for name, found in snapshot.licenses.items() if found is not None} == {
        name: found for name, found in licenses.items() if found is not None
    }


def follow(
    change: Change,
    objects: dict[tuple[Source, str], object],
    known: set[Source],
    licenses: dict[str, frozenset[str] | None],
) -> None:
    """Apply a change, which must change something."""
    match change:
        case Put(obj):
            assert objects.get(key_of(obj)) != obj
            objects[key_of(obj)] = obj
        case Drop(source, key):
            del objects[source, key]
        case Known(source, is_known):
            assert (source in known) != is_known
            (known.add if is_known else known.remove)(source)
        case Licenses(name, namespaces):
            assert licenses.get(name) != namespaces
            licenses[name] = namespaces
