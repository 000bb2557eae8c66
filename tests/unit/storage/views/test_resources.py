"""The three resources as values (domain 4.1 to 4.5)."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from fakes.worlds import a_class, a_kubevirt, a_node, a_tenant, a_vmi

from storage.model.snapshot import ClusterSnapshot, Policy, Source
from storage.pool.verdict import CapacityDetail
from storage.pool.view import PoolView
from storage.views.gpuclassoffers import GPUClassOffers
from storage.views.gpuclassoptions import GPUClassOptions, can_be_namespace
from storage.views.identity import uid_of
from storage.views.objects import ConsoleOption, GPUClassOffer, GPUClassOption
from storage.views.options import ConsoleOptions
from storage.views.published import Published
from storage.views.resource import Key, Resource
from storage.views.revisions import EPOCH_MS, RevisionLine

RESOURCE = "nvidia.com/L40S"
VGPU = "nvidia.com/L40S-24Q"

CLUSTER = ClusterSnapshot(
    classes=(
        a_class(max_count=4),
        a_class("l40s-24q", VGPU, vgpu=True, max_count=1, license_secret="lic"),
    ),
    kubevirts=(a_kubevirt(RESOURCE, VGPU),),
    tenants=(
        a_tenant("tenant-root", {"l40s": 10}),
        a_tenant("tenant-a", {"l40s": 2}, parent="tenant-root", entitlements=("l40s-24q",)),
        a_tenant("tenant-b", parent="tenant-root"),
    ),
    vmis=(a_vmi("tenant-a", {"l40s": 1}),),
    nodes=(a_node("n1", {RESOURCE: 8, VGPU: 16}),),
    licenses={"lic": frozenset({"tenant-a"})},
)


def published(
    snapshot: ClusterSnapshot = CLUSTER,
    policy: Policy | None = None,
    detail: CapacityDetail = CapacityDetail.FULL,
) -> Published:
    """Publish a cluster."""
    line = RevisionLine(lambda: EPOCH_MS + 1_000_000, 1)
    return Published(PoolView.of(snapshot, policy or Policy()), line, detail)


def the_option(state: Published, namespace: str = "tenant-a", name: str = "l40s") -> GPUClassOption:
    """Read one option."""
    options: Resource[GPUClassOption] = GPUClassOptions(state)
    key = options.find(namespace, name)
    assert key is not None
    return options.compose(key)


def the_offer(state: Published, name: str = "l40s") -> GPUClassOffer:
    """Read one offer."""
    offers: Resource[GPUClassOffer] = GPUClassOffers(state)
    key = offers.find("", name)
    assert key is not None
    return offers.compose(key)


def the_console(state: Published, namespace: str = "tenant-a") -> ConsoleOption:
    """Read the console's object."""
    console: Resource[ConsoleOption] = ConsoleOptions(state)
    key = console.find(namespace, "gpuclass")
    assert key is not None
    return console.compose(key)


def names(keys: Sequence[Key]) -> list[tuple[str, str]]:
    """Namespace and name of each key."""
    return [(key.namespace, key.name) for key in keys]


def without(*sources: Source) -> ClusterSnapshot:
    """The cluster with some sources that cannot be read."""
    return replace(CLUSTER, known=frozenset(Source) - set(sources))


def reasons(option: GPUClassOption) -> list[str]:
    """The reasons of both conditions."""
    return [condition.reason for condition in option.conditions]


def test_a_list_of_all_namespaces_holds_the_recorded_tenants() -> None:
    """By namespace, then name: the order in which clients page and print (design 2)."""
    state = published()
    assert names(GPUClassOptions(state).keys(None)) == [
        (namespace, name)
        for namespace in ("tenant-a", "tenant-b", "tenant-root")
        for name in ("l40s", "l40s-24q")
    ]
    assert names(ConsoleOptions(state).keys(None)) == [
        (namespace, "gpuclass") for namespace in ("tenant-a", "tenant-b", "tenant-root")
    ]
    assert names(GPUClassOffers(state).keys(None)) == [("", "l40s"), ("", "l40s-24q")]


def test_options_exist_in_every_namespace_that_is_asked_for() -> None:
    """Whether a namespace is there is nobody's business; one that cannot be has nothing."""
    options = GPUClassOptions(published())
    assert names(options.keys("kube-system")) == [
        ("kube-system", "l40s"),
        ("kube-system", "l40s-24q"),
    ]
    assert options.keys("No_Namespace") == []
    assert ConsoleOptions(published()).keys("No_Namespace") == []
    assert options.find("tenant-a", "unknown") is None
    assert ConsoleOptions(published()).find("tenant-a", "gpu") is None


@pytest.mark.parametrize(
    ("name", "possible"),
    [
        ("a", True),
        ("tenant-a", True),
        ("9", True),
        ("a" * 63, True),
        ("a" * 64, False),
        ("", False),
        ("-a", False),
        ("a-", False),
        ("a.b", False),
        ("A", False),
        ("a\n", False),
        ("\u00e4", False),
    ],
)
def test_a_namespace_is_a_dns_label(name: str, possible: bool) -> None:
    """What Kubernetes would never create has no options."""
    assert can_be_namespace(name) is possible


def test_e34_a_namespace_of_no_tenant_is_unbounded_and_entitled_to_nothing() -> None:
    """E34: passthrough is usable there, vgpu is not (domain 2.4)."""
    state = published()
    assert the_option(state, "kube-system").budget.state == "Unbounded"
    assert the_option(state, "kube-system").requestable_count == 4
    vgpu = the_option(state, "kube-system", "l40s-24q")
    assert (vgpu.entitlement, vgpu.requestable_count) == ("Missing", 0)
    assert reasons(vgpu) == ["NotEntitled", "NotRequestable"]


def test_e37_without_nodes_capacity_is_unknown_and_the_budget_stands() -> None:
    """E37: one input that fails leaves the rest of the answer right (D14)."""
    option = the_option(published(without(Source.NODES)))
    assert (option.capacity.state, option.capacity.free) == ("Unknown", None)
    assert (option.budget.state, option.budget.remaining) == ("Bounded", 1)
    assert (option.requestable_count, option.startable_count) == (1, None)
    assert reasons(option) == ["Allowed", "CapacityUnknown"]


def test_e38_without_tenants_the_budget_is_unknown_and_both_counts_are_absent() -> None:
    """E38: unknown is never shown as zero."""
    option = the_option(published(without(Source.TENANTS)))
    assert option.budget.state == "Unknown"
    assert (option.requestable_count, option.startable_count) == (None, None)
    assert reasons(option) == ["BudgetUnknown", "RequestableUnknown"]
    assert the_option(published(without(Source.TENANTS)), name="l40s-24q").entitlement is None


@pytest.mark.parametrize("source", [Source.VMIS, Source.PODS])
def test_without_usage_bounded_budgets_are_unknown_and_unbounded_ones_stand(
    source: Source,
) -> None:
    """Unbounded needs the tenants alone (domain 4.5)."""
    state = published(without(source))
    assert the_option(state).budget.state == "Unknown"
    assert the_option(state, "tenant-b", "l40s-24q").budget.state == "Unbounded"


def test_without_kubevirt_nobody_can_tell_whether_a_class_is_offered() -> None:
    """ClassUnknown, in the option and in the offer."""
    state = published(without(Source.KUBEVIRT))
    assert reasons(the_option(state)) == ["ClassUnknown", "RequestableUnknown"]
    (startable,) = the_offer(state).conditions
    assert (startable.status, startable.reason) == ("Unknown", "ClassUnknown")
    assert the_offer(state).startable_count is None


def test_without_the_license_source_a_licensed_class_is_unknown() -> None:
    """LicenseUnknown, not LicenseNotReady: nobody looked (design 2)."""
    option = the_option(published(replace(CLUSTER, licenses={"lic": None})), name="l40s-24q")
    assert reasons(option) == ["LicenseUnknown", "RequestableUnknown"]


def test_disabled_admission_is_said_everywhere() -> None:
    """No class can be asked for, and the offer says so as well (domain 4.1)."""
    state = published(policy=Policy(admission_disabled=True))
    option = the_option(state)
    assert reasons(option) == ["AdmissionDisabled", "NotRequestable"]
    assert (option.requestable_count, option.startable_count) == (0, 0)
    offer = the_offer(state)
    assert offer.startable_count == 0
    assert offer.conditions[0].message == "GPU classes are not enabled on this cluster"


@pytest.mark.parametrize(
    ("detail", "state", "free", "fit", "startable", "reason"),
    [
        (CapacityDetail.FULL, "Known", 8, 4, 1, "Fits"),
        (CapacityDetail.FREE, "Known", 8, None, None, "CapacityHidden"),
        (CapacityDetail.NONE, "Hidden", None, None, None, "CapacityHidden"),
    ],
)
def test_the_hoster_decides_how_much_of_free_units_is_shown(
    detail: CapacityDetail,
    state: str,
    free: int | None,
    fit: int | None,
    startable: int | None,
    reason: str,
) -> None:
    """capacityDetail full, free and none (domain 3.6, 4.1)."""
    option = the_option(published(detail=detail))
    assert (option.capacity.state, option.capacity.free) == (state, free)
    assert option.capacity.largest_fit == fit
    assert (option.startable_count, option.conditions[1].reason) == (startable, reason)
    assert option.requestable_count == 1


@pytest.mark.parametrize("detail", list(CapacityDetail))
def test_no_free_unit_at_all_is_said_unless_figures_are_hidden(detail: CapacityDetail) -> None:
    """With `free`, a zero tells that nothing can start, so it is said (domain 4.1)."""
    option = the_option(published(replace(CLUSTER, nodes=()), detail=detail))
    hidden = detail is CapacityDetail.NONE
    assert option.conditions[1].reason == ("CapacityHidden" if hidden else "NoCapacity")
    assert option.startable_count == (None if hidden else 0)


def test_hidden_figures_hide_that_they_cannot_be_read() -> None:
    """What is hidden is hidden for one reason, whatever happens behind it."""
    state = published(without(Source.NODES), detail=CapacityDetail.NONE)
    assert the_option(state).capacity.state == "Hidden"
    assert reasons(the_option(state)) == ["Allowed", "CapacityHidden"]


def test_all_reasons_are_in_the_message_and_the_first_is_the_reason() -> None:
    """Whoever mends one thing learns of the next beforehand (domain 4.3)."""
    option = the_option(published(), "tenant-b", "l40s-24q")
    assert option.conditions[0].reason == "NotEntitled"
    assert option.conditions[0].message == (
        "this tenant is not entitled to this class; "
        "the license for this class is not in place in this namespace"
    )


def test_wa_03_metadata_follows_from_class_and_namespace() -> None:
    """WA-03: uid and creationTimestamp are the same on every replica and after every restart."""
    first, second = the_option(published()).meta, the_option(published()).meta
    assert first == second
    assert first.uid == uid_of("GPUClassOption", "tenant-a", "uid-l40s")
    assert first.created == "2026-01-01T00:00:00Z"
    assert first.labels == {
        "gpu.cozystack.io/vendor": "nvidia",
        "gpu.cozystack.io/mode": "passthrough",
    }
    others = {
        the_option(published(), "tenant-b").meta.uid,
        the_option(published(), name="l40s-24q").meta.uid,
        the_offer(published()).meta.uid,
        the_console(published()).meta.uid,
    }
    assert len(others | {first.uid}) == 5


def test_the_uid_constant_never_changes() -> None:
    """Objects that refer to ours by uid would be garbage collected (contract 4.62)."""
    assert uid_of("GPUClassOption", "tenant-acme", "u") == "caf2b35b-89e4-55ec-9285-45e40672da8f"


def test_a_class_made_again_under_its_name_is_another_object() -> None:
    """--for=delete compares uids (contract 4.57)."""
    again = replace(CLUSTER, classes=(replace(CLUSTER.classes[0], uid="another"),))
    assert the_option(published(again)).meta.uid != the_option(published()).meta.uid


def test_the_console_keeps_what_cannot_be_used_and_says_why() -> None:
    """Leaving a class out looks like a fault (domain 4.4, 7.6)."""
    console = the_console(published(), "tenant-b")
    assert [(item.value, item.label) for item in console.items] == [
        ("l40s", "l40s - up to 4 per VM now"),
        ("l40s-24q", "l40s-24q - not entitled"),
    ]
    assert console.items[1].description == (
        "This tenant is not entitled to this class; "
        "the license for this class is not in place in this namespace."
    )
    assert (console.meta.created, console.meta.labels) == (None, {})


def test_the_console_of_a_cluster_without_classes_is_there_and_empty() -> None:
    """The widget says "No options available" by itself."""
    assert the_console(published(replace(CLUSTER, classes=()))).items == ()
