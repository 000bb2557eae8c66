"""Usage by intent: who is charged for what, by the worked examples of domain 3.7."""

import pytest
from fakes.worlds import (
    RESOURCE,
    a_class,
    a_garbled_vmi,
    a_node,
    a_pod,
    a_tenant,
    a_view,
    a_vmi,
)

from storage.model.objects import VMI, Pod
from storage.model.snapshot import Change, Drop, Object, Put, Source, Tick
from storage.pool.usage import UsageLedger
from storage.pool.view import PoolView

K = "l40s"
NS = "tenant-a"
OTHER = "nvidia.com/other"


def used(*objects: Object, class_name: str = K, now_ms: int = 0) -> int:
    """Return the units that the tenant is charged for in its pool."""
    return charged(_view(*objects, now_ms=now_ms), class_name)


def charged(view: PoolView, class_name: str = K) -> int:
    """Return the same of a view."""
    figures = view.pool(NS, class_name)
    assert figures is not None
    return figures.used


def free(view: PoolView, class_name: str = K) -> int | None:
    """Return the class's free units."""
    return view.capacity(class_name).free


def _view(*objects: Object, now_ms: int = 0) -> PoolView:
    tenant = a_tenant(NS, {K: 4, "other": 4})
    return a_view(a_class(K), a_class("other", OTHER), tenant, *objects, now_ms=now_ms)


def _launcher(vmi: VMI, count: int, node: str | None = "zq-node", name: str = "launcher") -> Pod:
    return a_pod(NS, {RESOURCE: count}, name=name, node=node, vmi=vmi)


def test_a_class_that_was_deleted_stays_charged() -> None:
    """E12: usage is kept by name, whether or not there is such a class."""
    view = _view(a_vmi(NS, {K: 2}))
    view.apply(Drop(Source.CLASSES, K))
    assert charged(view) == 2


def test_a_renamed_resource_leaves_the_charge_with_the_class() -> None:
    """E13: charged 2 to the class; the old resource stays held, free counts the new one only."""
    vmi = a_vmi(NS, {K: 2}, raw=[RESOURCE] * 2)
    view = _view(vmi, _launcher(vmi, 2), a_node(allocatable={RESOURCE: 8, "nvidia.com/R2": 3}))
    view.apply(Put(a_class(K, "nvidia.com/R2")))
    assert charged(view) == 2
    assert free(view) == 3


def test_a_new_class_on_the_old_resource_is_not_charged_for_the_old_vm() -> None:
    """E14: by annotation it is its own class's; what its pod holds is the new one's capacity."""
    vmi = a_vmi(NS, {K: 2}, raw=[RESOURCE] * 2)
    view = _view(vmi, _launcher(vmi, 2), a_node(allocatable={RESOURCE: 8}))
    view.apply(Put(a_class(K, "nvidia.com/R2")))
    view.apply(Put(a_class("other", RESOURCE)))
    assert (charged(view), charged(view, "other")) == (2, 0)
    assert free(view, "other") == 6


def test_a_raw_unit_is_charged_to_every_class_on_its_resource() -> None:
    """E15: two classes, one resource, a raw VM of 1, whatever order they came in."""
    view = _view(a_vmi(NS, raw=[RESOURCE]))
    view.apply(Put(a_class("other", RESOURCE, terminating=True)))
    assert (charged(view), charged(view, "other")) == (1, 1)
    view.apply(Put(a_class("other", OTHER)))
    assert (charged(view), charged(view, "other")) == (1, 0)


def test_raw_and_class_entries_are_charged_to_one_budget() -> None:
    """E16: budget 4, raw 1, class entries 2."""
    view = _view(a_vmi(NS, {K: 2}), a_vmi(NS, name="raw", raw=[RESOURCE]))
    assert view.budget(NS, K).remaining == 1


@pytest.mark.parametrize("devices", [[RESOURCE, RESOURCE, OTHER], [RESOURCE] * 2])
def test_each_raw_device_is_a_unit(devices: list[str]) -> None:
    """Domain 3.2: gpus and hostDevices alike, by their deviceName."""
    assert used(a_vmi(NS, raw=devices)) == 2


def test_an_annotated_vmi_is_charged_what_it_names_alone() -> None:
    """Domain 3.2: its devices are what admission made of the entries."""
    vmi = a_vmi(NS, {K: 1}, raw=[RESOURCE, OTHER])
    assert (used(vmi), used(vmi, class_name="other")) == (1, 0)


def test_a_finished_vmi_is_not_charged_though_its_pod_holds() -> None:
    """E17, QB-02: Succeeded, with the pod still running."""
    vmi = a_vmi(NS, {K: 1}, final=True)
    view = _view(vmi, _launcher(vmi, 1), a_node(allocatable={RESOURCE: 8}))
    assert (charged(view), free(view)) == (0, 7)


def test_a_vmi_without_a_pod_is_charged_and_holds_nothing() -> None:
    """E18, GC-04: Pending, its disk being imported; still charged once when the pod appears."""
    vmi = a_vmi(NS, {K: 2})
    view = _view(vmi, a_node(allocatable={RESOURCE: 8}))
    assert (charged(view), free(view)) == (2, 8)
    view.apply(Put(_launcher(vmi, 2)))
    assert (charged(view), free(view)) == (2, 6)


def test_an_unbound_launcher_holds_nothing() -> None:
    """E19: charged 1 through its VMI."""
    vmi = a_vmi(NS, {K: 1})
    view = _view(vmi, _launcher(vmi, 1, node=None), a_node(allocatable={RESOURCE: 8}))
    assert (charged(view), free(view)) == (1, 8)


def test_a_migrating_vm_is_charged_once_and_holds_twice() -> None:
    """E20, QB-03: used 2; free down by 4 while both pods hold, by 2 after."""
    vmi = a_vmi(NS, {K: 2})
    nodes = [a_node("zq-1", {RESOURCE: 8}), a_node("zq-2", {RESOURCE: 8})]
    source, target = _launcher(vmi, 2, "zq-1"), _launcher(vmi, 2, "zq-2", "target")
    view = _view(vmi, source, target, *nodes)
    assert (charged(view), free(view)) == (2, 12)
    view.apply(Drop(Source.PODS, f"{NS}/{source.name}"))
    assert (charged(view), free(view)) == (2, 14)


def test_a_volume_binding_pod_is_a_launcher_too() -> None:
    """E21: charged 1 throughout; the temporary pod holds 1 while it runs."""
    vmi = a_vmi(NS, {K: 1})
    view = _view(vmi, _launcher(vmi, 1, name="binding"), a_node(allocatable={RESOURCE: 8}))
    assert (charged(view), free(view)) == (1, 7)
    view.apply(Drop(Source.PODS, f"{NS}/binding"))
    view.apply(Put(_launcher(vmi, 1)))
    assert (charged(view), free(view)) == (1, 7)


def test_a_hotplug_pod_neither_charges_nor_holds() -> None:
    """E22: it requests no device and is owned by a pod, not by the VMI."""
    view = _view(a_pod(NS, node="zq-node"), a_node(allocatable={RESOURCE: 8}))
    assert (charged(view), free(view)) == (0, 8)


def test_a_pod_outside_kubevirt_is_charged_to_its_tenant() -> None:
    """E23, KV-03: and takes from what VMs could have, for everybody."""
    pod = a_pod(NS, {RESOURCE: 2}, node="zq-node")
    view = _view(pod, a_node(allocatable={RESOURCE: 8}))
    assert (charged(view), free(view)) == (2, 6)


def test_a_pod_outside_kubevirt_in_a_system_namespace_holds_only() -> None:
    """E24, KV-03: charged to nobody, holds 1."""
    pod = a_pod("cozy-gpu-operator", {RESOURCE: 1}, node="zq-node")
    view = _view(pod, a_node(allocatable={RESOURCE: 8}))
    assert (charged(view), free(view)) == (0, 7)


def test_a_pod_past_its_grace_period_is_not_charged_and_still_holds() -> None:
    """E25, QB-02: charged until the grace period has ended, at that very moment too."""
    pod = a_pod(NS, {RESOURCE: 1}, node="zq-node", charged_until_ms=1000)
    view = _view(pod, a_node(allocatable={RESOURCE: 8}), now_ms=1000)
    assert (charged(view), free(view), view.next_expiry_ms()) == (1, 7, 1001)
    view.apply(Tick(1001))
    assert (charged(view), free(view), view.next_expiry_ms()) == (0, 7, None)


def test_a_clock_that_jumps_back_charges_again() -> None:
    """E25: the clock is an input like any other; each pod has its own moment."""
    pods = [a_pod(NS, {RESOURCE: 1}, name=f"p{n}", charged_until_ms=n) for n in (30, 10, 20)]
    view = _view(*pods, now_ms=25)
    seen = []
    for now in (25, 5, 15, 31, 20, 11, 10):
        view.apply(Tick(now))
        seen.append((charged(view), view.next_expiry_ms()))
    assert seen == [(1, 31), (3, 11), (2, 21), (0, None), (2, 21), (2, 21), (3, 11)]


def test_a_pod_that_goes_after_its_moment_leaves_nothing() -> None:
    """E25: it was let go already, and is not let go twice."""
    pods = [a_pod(NS, {RESOURCE: 1}, name=f"p{n}", charged_until_ms=10) for n in range(3)]
    view = _view(*pods, now_ms=11)
    view.apply(Drop(Source.PODS, f"{NS}/p1"))
    assert charged(view) == 0
    view.apply(Tick(10))
    assert charged(view) == 2
    view.apply(Drop(Source.PODS, f"{NS}/p0"))
    assert (charged(view), view.next_expiry_ms()) == (1, 11)


def test_a_launchers_end_is_no_moment_to_wake_up_for() -> None:
    """E25: a timer is due only where a charge ends; deleted launchers are everyday."""
    vmi = a_vmi(NS, {K: 1})
    pod = a_pod(NS, {RESOURCE: 1}, vmi=vmi, charged_until_ms=5)
    assert _view(vmi, pod).next_expiry_ms() is None
    assert _view(pod).next_expiry_ms() == 6


def test_a_finished_pod_neither_charges_nor_holds() -> None:
    """E26, QB-02: Succeeded, Failed or evicted."""
    pod = a_pod(NS, {RESOURCE: 1}, node="zq-node", final=True, charged_until_ms=5)
    view = _view(pod, a_node(allocatable={RESOURCE: 8}))
    assert (charged(view), free(view), view.next_expiry_ms()) == (0, 8, None)


def test_finished_objects_are_charged_nowhere() -> None:
    """QB-02: raw, by class and outside KubeVirt."""
    done: list[Object] = [
        a_vmi(NS, {K: 1}, final=True),
        a_vmi(NS, name="raw", raw=[RESOURCE], final=True),
        a_pod(NS, {RESOURCE: 1}, final=True),
    ]
    assert used(*done) == 0


def test_an_unbound_pod_is_charged_and_holds_nothing() -> None:
    """GC-04: a pod with 2 units and no node; gated ones by the same rule."""
    view = _view(a_pod(NS, {RESOURCE: 2}), a_node(allocatable={RESOURCE: 8}))
    assert (charged(view), free(view)) == (2, 8)


@pytest.mark.parametrize(
    ("vmi", "units"),
    [
        (a_garbled_vmi(NS, units=["class-l40s-0", "class-l40s-1"]), 2),
        (a_garbled_vmi(NS, raw=[RESOURCE] * 3), 3),
        (a_garbled_vmi(NS, units=["class-l40s-0"], raw=[RESOURCE] * 3), 3),
        (a_garbled_vmi(NS, units=["class-l40s-0", "class-l40s-9"], raw=[RESOURCE]), 2),
        (a_garbled_vmi(NS, units=["class-l40s-24q-0", "class-l40s-x", "gpu1", "class-l40s-"]), 0),
        (a_garbled_vmi(NS, units=["xclass-l40s-0", "class-l40s-0x"]), 0),
        (a_garbled_vmi(NS), 0),
    ],
)
def test_an_unreadable_annotation_is_charged_by_what_cannot_be_changed(
    vmi: VMI, units: int
) -> None:
    """E35: per class the larger of its unit names and its raw units."""
    assert used(vmi) == units


def test_an_unreadable_annotation_is_charged_to_classes_that_are_not_there() -> None:
    """E12 and E35: by name without a class; raw units follow the resource that a class has now."""
    view = _view(a_garbled_vmi(NS, units=["class-l40s-0"] * 2, raw=[OTHER] * 3))
    view.apply(Drop(Source.CLASSES, K))
    assert charged(view) == 2
    view.apply(Put(a_class("other", "nvidia.com/elsewhere")))
    assert charged(view, "other") == 0
    view.apply(Drop(Source.VMIS, f"{NS}/vm"))
    assert charged(view) == 0


def test_a_launcher_without_its_vmi_is_charged_as_a_plain_pod() -> None:
    """Domain 3.2, a race of lists: in whatever order the two come and go, one is charged."""
    vmi = a_vmi(NS, {K: 1})
    view = _view(_launcher(vmi, 1), _launcher(vmi, 1, name="second"))
    assert charged(view) == 2
    view.apply(Put(vmi))
    assert charged(view) == 1
    view.apply(Drop(Source.VMIS, f"{NS}/{vmi.name}"))
    assert charged(view) == 2


def test_a_launcher_belongs_to_a_vmi_of_its_own_namespace() -> None:
    """Domain 3.2: a uid in another namespace makes nobody's pod free."""
    elsewhere = a_vmi("tenant-b", {K: 1})
    assert used(elsewhere, a_pod(NS, {RESOURCE: 1}, vmi=elsewhere)) == 1


def test_two_vmis_of_one_uid_keep_its_pods_until_both_are_gone() -> None:
    """Odd input: a uid counts as there while any VMI has it."""
    one = VMI(namespace=NS, name="one", uid="same")
    two = VMI(namespace=NS, name="two", uid="same")
    view = _view(one, two, a_pod(NS, {RESOURCE: 1}, vmi=one))
    seen = []
    for name in ("one", "two"):
        view.apply(Drop(Source.VMIS, f"{NS}/{name}"))
        seen.append(charged(view))
    assert seen == [0, 1]


def test_what_is_put_again_is_charged_once() -> None:
    """What a list repeats changes nothing; other content takes the place of the old."""
    view = _view(a_vmi(NS, {K: 2}), a_pod(NS, {RESOURCE: 1}))
    again: list[Change] = [Put(a_vmi(NS, {K: 2})), Put(a_pod(NS, {RESOURCE: 1}))]
    for change in again:
        view.apply(change)
    assert charged(view) == 3
    view.apply(Put(a_vmi(NS, {"other": 1})))
    view.apply(Put(a_pod(NS, {OTHER: 1})))
    assert (charged(view), charged(view, "other")) == (0, 2)


def test_what_is_left_in_a_namespace_is_not_forgotten_with_what_goes() -> None:
    """A pod that cannot be read, and a launcher past its moment whose VMI may come back."""
    unread = a_pod(NS, name="unread", readable=False)
    view = _view(unread, a_pod(NS, name="other"))
    view.apply(Drop(Source.PODS, f"{NS}/other"))
    assert view.budget(NS, K).remaining is None
    vmi = a_vmi(NS, {K: 1})
    view = _view(vmi, a_pod(NS, {RESOURCE: 3}, vmi=vmi, charged_until_ms=5), now_ms=6)
    view.apply(Drop(Source.VMIS, f"{NS}/{vmi.name}"))
    view.apply(Put(vmi))
    view.apply(Tick(5))
    assert charged(view) == 1


def test_a_request_of_nothing_is_nothing() -> None:
    """Odd input raises nothing and is no use."""
    assert used(a_pod(NS, {RESOURCE: 0}, node="zq-node"), a_node(allocatable={RESOURCE: 1})) == 0


def test_a_namespace_that_empties_is_forgotten() -> None:
    """A process that runs for years keeps nothing of what has gone."""
    ledger = UsageLedger(now_ms=0)
    vmi, pod = a_vmi(NS, {K: 1}), a_pod(NS, {RESOURCE: 1}, charged_until_ms=3)
    garbled = a_garbled_vmi(NS, name="garbled", units=["class-l40s-0"])
    launcher = a_pod(NS, {RESOURCE: 1}, name="launcher", vmi=vmi)
    ledger.replace_vmi(None, vmi)
    ledger.replace_vmi(None, garbled)
    ledger.replace_pod(None, pod)
    ledger.replace_pod(None, launcher)
    assert list(ledger.namespaces()) == [NS]
    ledger.replace_vmi(vmi, None)
    ledger.replace_vmi(garbled, None)
    ledger.replace_pod(launcher, None)
    assert list(ledger.namespaces()) == [NS]
    ledger.tick(4)
    assert list(ledger.namespaces()) == []
    ledger.tick(3)
    assert ledger.usage(NS, {RESOURCE: (K,)}).units == {K: 1}
    ledger.replace_pod(pod, None)
    assert list(ledger.namespaces()) == []
