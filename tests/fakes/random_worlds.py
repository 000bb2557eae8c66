"""Clusters at random, and the changes that befall them.

They are drawn from few names, so that everything meets everything: double owners, loops, shared
resource names, pods of VMIs that are not there.
"""

from dataclasses import replace
from typing import Final

from fakes.worlds import CREATED, MutableWorld, a_class, a_node, a_tenant
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from storage.model.entries import ClassEntry
from storage.model.objects import (
    VMI,
    GPUClass,
    KubeVirt,
    Node,
    PCIRow,
    Pod,
    Taint,
    TenantRecord,
    Toleration,
)
from storage.model.snapshot import (
    Change,
    ClusterSnapshot,
    Drop,
    Known,
    Licenses,
    Object,
    Policy,
    Put,
    Source,
    Tick,
    key_of,
)


def examples(count: int) -> settings:
    """Return how often a property is tried; a machine that is busy elsewhere is no failure."""
    return settings(max_examples=count, deadline=None, suppress_health_check=[HealthCheck.too_slow])


# Names that random worlds are drawn from.
NAMESPACES: Final = (
    "tenant-root",
    "tenant-a",
    "tenant-a-b",
    "tenant-a-b-c",
    "tenant-a-b-c-d",
    "tenant-a-e",
    "tenant-f",
    "tenant-f-g-h",
    "default",
)
#: Beside these, namespaces that nothing is ever recorded of or found in.
ASKED: Final = (*NAMESPACES, "tenant-f-g", "tenant-a-b-x", "tenant-y", "tenant-y-z")
CLASS_NAMES: Final = ("k1", "k2", "k3")
RESOURCES: Final = ("nvidia.com/R1", "nvidia.com/R2", "nvidia.com/R3")
NODES: Final = ("zq-1", "zq-2", "zq-3")
SECRETS: Final = ("license-1", "license-2")
UIDS: Final = ("u1", "u2", "u3", "u4")

_TAINTS: Final = tuple(
    Taint(key=key, value="v", effect=effect)
    for key in ("dedicated", "broken")
    for effect in ("NoSchedule", "PreferNoSchedule", "NoExecute")
)
_TOLERATIONS: Final = tuple(
    Toleration(key="dedicated", exists=exists, value="" if exists else value, effect=effect)
    for exists, value in ((True, ""), (False, "v"), (False, "w"))
    for effect in ("", "NoSchedule", "NoExecute")
)

_RARELY: Final = st.sampled_from((False, False, False, False, False, True))
_MOSTLY: Final = _RARELY.map(lambda rare: not rare)


def classes() -> st.SearchStrategy[GPUClass]:
    """Draw a class; now and then two name one resource."""
    return st.builds(
        a_class,
        name=st.sampled_from(CLASS_NAMES),
        resource=st.sampled_from(RESOURCES),
        max_count=st.integers(1, 12),
        allowed=st.none(),
        vgpu=st.booleans(),
        tolerations=st.lists(st.sampled_from(_TOLERATIONS), max_size=2).map(tuple),
        license_secret=st.none() | st.sampled_from(SECRETS),
        terminating=_RARELY,
    ).flatmap(_with_allowed)


def _with_allowed(gpu_class: GPUClass) -> st.SearchStrategy[GPUClass]:
    counts = st.sets(st.integers(1, gpu_class.max_count), min_size=1, max_size=4)
    allowed = st.none() | counts.map(lambda each: tuple(sorted(each)))
    return allowed.map(lambda each: replace(gpu_class, allowed_counts=each))


def kubevirts() -> st.SearchStrategy[KubeVirt]:
    """Draw a KubeVirt object: one of two names, one of two ages, rows of any selector."""
    rows = st.builds(
        PCIRow,
        vendor_selector=st.sampled_from(("10DE:26B9", "1002:7408", "15B3:101E", "10de:1", "")),
        resource_name=st.sampled_from(RESOURCES),
    )
    return st.builds(
        KubeVirt,
        namespace=st.just("kubevirt"),
        name=st.sampled_from(("one", "two")),
        created=st.sampled_from((CREATED, "2025-01-01T00:00:00Z")),
        pci=st.lists(rows, max_size=4).map(tuple),
        mediated=st.lists(st.sampled_from(RESOURCES), max_size=2).map(tuple),
    )


def tenants() -> st.SearchStrategy[TenantRecord]:
    """Draw a record: any parent, now and then a second owner or something unreadable."""
    budgets = st.dictionaries(st.sampled_from(CLASS_NAMES), st.integers(0, 12), max_size=3)
    return st.builds(
        a_tenant,
        namespace=st.sampled_from(NAMESPACES),
        budgets=budgets,
        parent=st.none() | st.none() | st.sampled_from(ASKED),
        entitlements=st.sets(st.sampled_from(CLASS_NAMES)).map(lambda names: tuple(sorted(names))),
        key=st.none() | st.none() | st.none() | st.sampled_from(("second", "third")),
        readable=_MOSTLY,
        budget_readable=_MOSTLY,
    )


def vmis() -> st.SearchStrategy[VMI]:
    """Draw a VMI: annotated, raw, garbled or unreadable."""
    entries = st.dictionaries(
        st.sampled_from(CLASS_NAMES), st.integers(1, 4), min_size=1, max_size=2
    ).map(lambda counts: tuple(ClassEntry(name, count) for name, count in counts.items()))
    units = st.builds("class-{}-{}".format, st.sampled_from(CLASS_NAMES), st.integers(0, 3))
    annotation = st.one_of(
        st.fixed_dictionaries({"annotated": st.just(True), "entries": entries}),
        st.fixed_dictionaries({"annotated": st.just(False)}),
        st.fixed_dictionaries(
            {
                "annotated": st.just(True),
                "unit_names": st.lists(units | st.just("gpu1"), max_size=3).map(tuple),
            }
        ),
    )
    common = st.fixed_dictionaries(
        {
            "namespace": st.sampled_from(NAMESPACES),
            "name": st.sampled_from(("vm-1", "vm-2")),
            "uid": st.sampled_from(UIDS),
            "final": _RARELY,
            "devices": st.lists(st.sampled_from(RESOURCES), max_size=3).map(tuple),
            "readable": _MOSTLY,
        }
    )
    return st.builds(lambda one, other: VMI(**one, **other), common, annotation)


def pods() -> st.SearchStrategy[Pod]:
    """Draw a pod: plain, a launcher of a VMI that may be there, or unreadable."""
    requests = st.dictionaries(st.sampled_from(RESOURCES), st.integers(1, 4), max_size=2)
    return st.builds(
        Pod,
        namespace=st.sampled_from(NAMESPACES),
        name=st.sampled_from(("pod-1", "pod-2", "pod-3")),
        uid=st.just("uid"),
        node=st.none() | st.sampled_from(NODES),
        final=_RARELY,
        charged_until_ms=st.none() | st.integers(0, 20),
        vmi_uid=st.none() | st.sampled_from(UIDS),
        requests=requests.map(lambda counts: tuple(sorted(counts.items()))),
        readable=_MOSTLY,
        astray=_RARELY.flatmap(lambda rare: _RARELY if rare else st.just(False)),
    )


def nodes() -> st.SearchStrategy[Node]:
    """Draw a node, more often fit than not."""
    return st.builds(
        a_node,
        name=st.sampled_from(NODES),
        allocatable=st.dictionaries(st.sampled_from(RESOURCES), st.integers(0, 8)),
        unschedulable=_RARELY,
        deleting=_RARELY,
        ready=_MOSTLY,
        kubevirt_schedulable=_MOSTLY,
        taints=st.lists(st.sampled_from(_TAINTS), max_size=2).map(tuple),
    )


def objects() -> st.SearchStrategy[Object]:
    """Draw any object."""
    return st.one_of(classes(), kubevirts(), tenants(), vmis(), pods(), nodes())


def licenses() -> st.SearchStrategy[frozenset[str] | None]:
    """Draw the namespaces that hold a Secret."""
    return st.none() | st.frozensets(st.sampled_from(ASKED))


def policies() -> st.SearchStrategy[Policy]:
    """Draw what flags decide."""
    return st.builds(Policy, admission_disabled=_RARELY)


def snapshots() -> st.SearchStrategy[ClusterSnapshot]:
    """Draw a state of a cluster; now and then a source is not known."""
    return st.builds(
        lambda drawn, held, unknown, now_ms: MutableWorld(
            {key_of(each): each for each in drawn}, held, set(Source) - unknown, now_ms
        ).snapshot(),
        st.tuples(
            *(
                st.lists(kind, max_size=size)
                for kind, size in (
                    (classes(), 4),
                    (kubevirts(), 2),
                    (tenants(), 9),
                    (vmis(), 7),
                    (pods(), 6),
                    (nodes(), 4),
                )
            )
        ).map(lambda lists: [each for some in lists for each in some]),
        st.dictionaries(st.sampled_from(SECRETS), licenses()),
        st.just(frozenset()) | st.just(frozenset()) | st.frozensets(st.sampled_from(Source)),
        st.integers(0, 20),
    )


def drops() -> st.SearchStrategy[Drop]:
    """Draw the end of an object that may be there."""
    return objects().map(lambda obj: Drop(*key_of(obj)))


def changes() -> st.SearchStrategy[Change]:
    """Draw a change, most often of an object."""
    return st.one_of(
        objects().map(Put),
        objects().map(Put),
        drops(),
        st.builds(Known, st.sampled_from(Source), _MOSTLY),
        st.builds(Licenses, st.sampled_from(SECRETS), licenses()),
        st.builds(Tick, st.integers(0, 20)),
    )
