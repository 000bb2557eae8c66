"""VMIs and pods as they are decoded."""

from typing import Any

import pytest
from fakes.objects import a_pod, a_vmi, in_json

from storage.cluster.decoded import Ref
from storage.cluster.workloads import decode_pod, decode_vmi
from storage.model.entries import ClassEntry
from storage.model.objects import VMI, Pod

GPU = "x.com/gpu"


def vmi_of(value: dict[str, Any]) -> VMI:
    """Return what a VMI decodes to."""
    decoded = decode_vmi(in_json(value)).value
    assert isinstance(decoded, VMI)
    return decoded


def pod_of(value: dict[str, Any]) -> Pod:
    """Return what a pod decodes to."""
    decoded = decode_pod(in_json(value)).value
    assert isinstance(decoded, Pod)
    return decoded


def container(requests: object = None, limits: object = None, **more: object) -> dict[str, object]:
    """Return a container with these resources of one device."""
    amounts = {"requests": requests, "limits": limits}
    resources = {key: {GPU: value} for key, value in amounts.items() if value is not None}
    return {"resources": resources, **more}


def test_a_vmi_is_what_its_annotation_and_its_devices_say() -> None:
    """Entries, device names and place come out; other annotations do not matter."""
    devices = {
        "gpus": [{"name": "class-l40s-0", "deviceName": "x.com/gpu"}],
        "hostDevices": [{"name": "nic", "deviceName": "y.com/nic"}],
    }
    value = a_vmi('[{"className":"l40s","count":1}]', spec={"domain": {"devices": devices}})
    assert vmi_of(value) == VMI(
        namespace="tenant-a",
        name="vm",
        uid="uid-vm",
        annotated=True,
        entries=(ClassEntry("l40s", 1),),
        devices=("x.com/gpu", "y.com/nic"),
    )


def test_a_device_that_is_a_claim_has_no_device_name() -> None:
    """KV-08: counting ignores entries with a claim."""
    value = a_vmi(spec={"domain": {"devices": {"gpus": [{"name": "a", "claimName": "c"}]}}})
    assert vmi_of(value).devices == ()


@pytest.mark.parametrize("annotation", ["", "[]", "x", '[{"className":"l40s","count":1025}]'])
def test_an_unreadable_annotation_is_told_apart_from_none(annotation: str) -> None:
    """E35: the names of its units are kept, to be charged by."""
    gpus = [{"name": "class-l40s-0", "deviceName": GPU}, {"name": "class-l40s-1"}]
    decoded = decode_vmi(in_json(a_vmi(annotation, spec={"domain": {"devices": {"gpus": gpus}}})))
    assert isinstance(decoded.value, VMI)
    assert decoded.value.annotated
    assert decoded.value.entries is None
    assert decoded.value.unit_names == ("class-l40s-0", "class-l40s-1")
    assert decoded.value.readable
    assert decoded.problem == "the class annotation cannot be read"


@pytest.mark.parametrize(
    ("phase", "final"),
    [
        ("Succeeded", True),
        ("Failed", True),
        ("Pending", False),
        ("Scheduling", False),
        ("Scheduled", False),
        ("Running", False),
        ("WaitingForSync", False),
        ("Unknown", False),
        ("", False),
    ],
)
def test_only_two_phases_are_final(phase: str, final: bool) -> None:
    """QB-02: VMIs and pods that have finished are told, whatever else they look like."""
    assert vmi_of(a_vmi(status={"phase": phase})).final is final
    assert pod_of(a_pod(status={"phase": phase})).final is final
    assert pod_of(a_pod(status={"phase": phase, "reason": "Evicted"})).final is final


def test_gc_04_a_gated_pod_is_an_unbound_one() -> None:
    """GC-04: a scheduling gate changes nothing about what it is charged for."""
    unbound = a_pod(spec={"nodeName": None})
    gated = a_pod(spec={"nodeName": None, "schedulingGates": [{"name": "x"}]})
    assert pod_of(gated) == pod_of(unbound)
    assert pod_of(gated).node is None


@pytest.mark.parametrize("missing", ["status", "spec"])
def test_what_is_absent_from_a_vmi_is_no_fault(missing: str) -> None:
    """A VMI that was just made has no status, and one without devices has none."""
    assert vmi_of(a_vmi(**{missing: None})).readable


@pytest.mark.parametrize(
    "changes",
    [
        {"metadata": {"annotations": {"gpu.cozystack.io/classes": 5}}},
        {"metadata": {"annotations": ["x"]}},
        {"spec": {"domain": {"devices": {"gpus": "x"}}}},
        {"spec": {"domain": 5}},
        {"status": "x"},
    ],
)
def test_a_vmi_without_its_shape_is_handed_on_as_not_readable(changes: dict[str, Any]) -> None:
    """A VMI that vanished would make the figures of its namespace too good."""
    decoded = decode_vmi(in_json(a_vmi(**changes)))
    assert decoded.value == VMI(namespace="tenant-a", name="vm", uid="uid-vm", readable=False)
    assert decoded.problem


def test_a_pod_is_its_place_its_node_and_its_request() -> None:
    """Only devices are kept of what it requests."""
    resources = {"requests": {GPU: "2", "cpu": "1", "devices.kubevirt.io/kvm": "1"}}
    assert pod_of(a_pod(spec={"containers": [{"resources": resources}]})) == Pod(
        namespace="tenant-a",
        name="pod",
        uid="uid-pod",
        node="zq-node",
        requests=((GPU, 2),),
    )


@pytest.mark.parametrize(
    "containers", [[], [{"resources": {"requests": {"cpu": "1"}}}], [container("0")], [{}]]
)
def test_a_pod_that_asks_for_no_device_is_not_kept(containers: list[object]) -> None:
    """E22: a hotplug pod charges and holds nothing; most pods of a cluster are like it."""
    decoded = decode_pod(in_json(a_pod(spec={"containers": containers})))
    assert decoded.value is None
    assert not decoded.counts


@pytest.mark.parametrize(
    ("init", "main", "overhead", "request_"),
    [
        pytest.param([], [container("2"), container("1")], None, 3, id="containers add up"),
        pytest.param([container("4")], [container("2")], None, 4, id="E36"),
        pytest.param([container("1")], [container("2")], None, 2, id="init smaller"),
        pytest.param(
            [container("3"), container("4")], [container("2")], None, 4, id="inits one by one"
        ),
        pytest.param(
            [container("1", restartPolicy="Always")], [container("2")], None, 3, id="sidecar"
        ),
        pytest.param(
            [container("1", restartPolicy="Always"), container("4")],
            [container("2")],
            None,
            5,
            id="init beside the sidecar before it",
        ),
        pytest.param(
            [container("4"), container("1", restartPolicy="Always")],
            [container("2")],
            None,
            4,
            id="init before the sidecar",
        ),
        pytest.param([container("4")], [container("2")], {GPU: "1"}, 5, id="overhead"),
        pytest.param([], [container(limits="2")], None, 2, id="limits only"),
        pytest.param([], [container("1", "2")], None, 1, id="requests win"),
        pytest.param([], [container("500m"), container("500m")], None, 1, id="exact sum"),
        pytest.param([], [container("1500m")], None, 2, id="rounded up"),
        pytest.param([], [container(2)], None, 2, id="a number"),
    ],
)
def test_the_effective_request_of_a_pod(
    init: list[object], main: list[object], overhead: object, request_: int
) -> None:
    """E36 and domain 3.2: as the scheduler counts, restartable init containers included."""
    spec: dict[str, Any] = {"initContainers": init, "containers": main}
    if overhead:
        spec["overhead"] = overhead
    assert pod_of(a_pod(spec=spec)).requests == ((GPU, request_),)


@pytest.mark.parametrize(
    ("metadata", "until"),
    [
        ({"deletionTimestamp": "1970-01-01T00:00:10Z", "deletionGracePeriodSeconds": 30}, 40_000),
        ({"deletionTimestamp": "1970-01-01T00:00:10Z", "deletionGracePeriodSeconds": 0}, 10_000),
        ({"deletionTimestamp": "1970-01-01T00:00:10Z"}, None),
        ({"deletionGracePeriodSeconds": 30}, None),
        ({}, None),
    ],
)
def test_a_deleted_pod_is_charged_until_its_grace_ends(
    metadata: dict[str, Any], until: int | None
) -> None:
    """E25, QB-02: deletion and grace together, as Kubernetes' own quota counts."""
    assert pod_of(a_pod(metadata=metadata)).charged_until_ms == until


OWNER = {
    "apiVersion": "kubevirt.io/v1",
    "kind": "VirtualMachineInstance",
    "name": "vm",
    "uid": "uid-vm",
    "controller": True,
}


@pytest.mark.parametrize(
    ("owners", "uid"),
    [
        ([OWNER], "uid-vm"),
        ([{**OWNER, "apiVersion": "kubevirt.io/v1alpha3"}], "uid-vm"),
        ([{"kind": "Node", "name": "n", "uid": "n"}, OWNER], "uid-vm"),
        ([{**OWNER, "controller": False}], None),
        ([{**OWNER, "apiVersion": "evil.io/v1"}], None),
        ([{**OWNER, "apiVersion": "kubevirt.io"}], None),
        ([{**OWNER, "kind": "VirtualMachine"}], None),
        ([{**OWNER, "uid": ""}], None),
        ([], None),
    ],
)
def test_a_launcher_is_told_by_its_controller(owners: list[object], uid: str | None) -> None:
    """Not by a label, which anybody can put on a pod (domain 3.2)."""
    labels = {"kubevirt.io": "virt-launcher"}
    assert pod_of(a_pod(metadata={"ownerReferences": owners, "labels": labels})).vmi_uid == uid


@pytest.mark.parametrize(
    "changes",
    [
        {"spec": {"containers": [container("x")]}},
        {"spec": {"containers": [container("-1")]}},
        {"spec": {"containers": [container([])]}},
        {"spec": {"containers": "x"}},
        {"spec": {"overhead": {GPU: "x"}}},
        {"metadata": {"deletionTimestamp": "soon", "deletionGracePeriodSeconds": 1}},
        {"metadata": {"ownerReferences": 5}},
        {"status": []},
    ],
)
def test_a_pod_without_its_shape_fills_its_node(changes: dict[str, Any]) -> None:
    """It is handed on with its namespace and node: neither may look better for it."""
    decoded = decode_pod(in_json(a_pod(**changes)))
    assert decoded.value == Pod(
        namespace="tenant-a", name="pod", uid="uid-pod", node="zq-node", readable=False
    )
    assert decoded.problem
    assert "zq-" not in decoded.problem


@pytest.mark.parametrize("spec", [["x"], "x", 7, {"nodeName": 0}, {"nodeName": ["zq-node"]}])
def test_a_pod_whose_node_cannot_be_told_may_be_anywhere(spec: object) -> None:
    """Taken for unbound it would free the devices that it holds."""
    pod = decode_pod(in_json({**a_pod(), "spec": spec})).value
    assert isinstance(pod, Pod)
    assert (pod.readable, pod.node, pod.astray) == (False, None, True)


def test_an_unbound_pod_without_its_shape_is_nowhere() -> None:
    """It holds nothing, whatever it asks for."""
    pod = decode_pod(in_json({**a_pod(), "spec": {"containers": "x"}})).value
    assert isinstance(pod, Pod)
    assert (pod.readable, pod.node, pod.astray) == (False, None, False)


def test_a_quantity_that_nobody_counts_may_be_odd() -> None:
    """Only devices are read, so an odd amount of memory spoils nothing."""
    resources = {"requests": {GPU: "1", "memory": "x", "cpu": []}}
    assert pod_of(a_pod(spec={"containers": [{"resources": resources}]})).requests == ((GPU, 1),)


@pytest.mark.parametrize("payload", [b"", b"[]", b"5", b"\xff", b"{", b"[" * 100_000])
def test_bytes_that_are_no_object_do_not_raise(payload: bytes) -> None:
    """What cannot even be placed is still there, not readable."""
    for decode in (decode_vmi, decode_pod):
        decoded = decode(payload)
        assert decoded.ref == Ref("", "")
        assert decoded.problem
