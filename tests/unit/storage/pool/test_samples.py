"""The fixture cluster of the samples, built by hand, against its expected matrix (domain 3.7)."""

from pathlib import Path
from typing import Final

import pytest
import yaml
from fakes.worlds import a_class, a_kubevirt, a_node, a_pod, a_tenant, a_view, a_vmi

from storage.model.objects import Taint, Toleration
from storage.pool.answers import BudgetState, PoolFigures, Requestable, Startable, Status
from storage.pool.verdict import CapacityDetail, judge
from storage.pool.view import PoolView

L40S: Final = "nvidia.com/AD102GL_L40S"
VGPU: Final = "nvidia.com/L40S-24Q"
H200: Final = "nvidia.com/GH100_H200_SXM_141GB"

_DOCUMENTS: Final = list(
    yaml.safe_load_all(
        (Path(__file__).parents[3] / "data/samples/90-expected-options.yaml").read_text()
    )
)
MATRIX: Final = _DOCUMENTS[1]["matrix"][1:]

DEDICATED: Final = "gpu.example.com/dedicated"
_TAINT: Final = Taint(key=DEDICATED, value="zq-vm", effect="NoSchedule")
_FIRMWARE: Final = Taint(key="maintenance", value="zq-window", effect="NoExecute")


def the_cluster() -> PoolView:
    """Return the view of samples 10 to 70."""
    exists = (Toleration(key=DEDICATED, exists=True, effect="NoSchedule"),)
    equal = (Toleration(key=DEDICATED, exists=False, value="zq-vm", effect="NoSchedule"),)
    train = a_vmi("tenant-acme", {"l40s": 2}, name="train1")
    notebook = a_vmi("tenant-acme-dev", {"l40s": 1}, name="nb")
    infer = a_vmi("tenant-acme-prod", {"l40s": 3}, name="infer")
    batch = a_vmi("tenant-acme", {"l40s": 1}, name="batch", final=True)
    raw = a_vmi("tenant-zeta", name="raw", raw=[L40S])
    desk = a_vmi("tenant-acme", {"l40s-24q": 1}, name="desk")
    taints = (_TAINT,)
    return a_view(
        a_class("l40s", L40S, max_count=4, tolerations=equal),
        a_class(
            "l40s-24q",
            VGPU,
            max_count=1,
            vgpu=True,
            tolerations=exists,
            license_secret="gpu-license-vws",
        ),
        a_class("h200", H200, max_count=8, allowed=(1, 2, 4, 8), tolerations=exists),
        a_kubevirt(L40S, VGPU, H200, "nvidia.com/GH100_H100_NVSWITCH", "mellanox.com/CX6DX_VF"),
        a_tenant("tenant-root", {"l40s": 20}),
        a_tenant(
            "tenant-acme",
            {"l40s": 8, "l40s-24q": 4},
            parent="tenant-root",
            entitlements=("l40s-24q",),
        ),
        a_tenant("tenant-acme-dev", parent="tenant-acme"),
        a_tenant("tenant-acme-prod", {"l40s": 4}, parent="tenant-acme"),
        a_tenant("tenant-zeta", parent="tenant-root"),
        *(train, notebook, infer, batch, raw, desk),
        a_pod("tenant-acme", {L40S: 2}, name="train1", vmi=train, node="zq-alder"),
        a_pod("tenant-acme-dev", {L40S: 1}, name="nb", vmi=notebook),
        a_pod("tenant-acme-prod", {L40S: 3}, name="infer", vmi=infer, node="zq-birch"),
        a_pod("tenant-acme", {L40S: 1}, name="batch", vmi=batch, node="zq-alder", final=True),
        a_pod("tenant-zeta", {L40S: 1}, name="raw", vmi=raw, node="zq-alder"),
        a_pod("tenant-acme", {VGPU: 1}, name="desk-1", vmi=desk, node="zq-dogwood"),
        a_pod("tenant-acme", {VGPU: 1}, name="desk-2", vmi=desk, node="zq-gorse"),
        a_pod("tenant-zeta", {L40S: 1}, name="cuda", node="zq-birch", charged_until_ms=10**13),
        a_pod("cozy-gpu-operator", {L40S: 1}, name="probe", node="zq-alder", final=True),
        a_pod("tenant-acme", name="hp", node="zq-alder"),
        a_node("zq-alder", {L40S: 8}, taints=taints),
        a_node("zq-birch", {L40S: 6}, taints=taints),
        a_node("zq-cedar", {L40S: 8}, taints=taints, unschedulable=True),
        a_node("zq-dogwood", {VGPU: 16}, taints=taints),
        a_node("zq-elm", {H200: 8}, taints=taints, ready=False),
        a_node("zq-fir", {H200: 8}, taints=(*taints, _FIRMWARE)),
        a_node("zq-gorse", {VGPU: 2}, taints=taints),
        a_node("zq-hazel", {L40S: 8}, taints=taints, kubevirt_schedulable=False),
        a_node("zq-iris"),
        licenses={"gpu-license-vws": frozenset({"tenant-acme"})},
    )


@pytest.mark.parametrize("row", MATRIX, ids=lambda row: f"{row[0]}/{row[1]}")
def test_a_row_of_the_matrix_is_computed(row: list[str | int]) -> None:
    """Samples 90: namespace, class, free, largestFit, remaining, entitlement, counts, reason."""
    namespace, class_name, *expected = map(str, row)
    facts = the_cluster().facts(namespace, class_name)
    assert facts is not None
    judgement = judge(facts, the_cluster().policy, CapacityDetail.FULL)
    unbounded = facts.budget.state is BudgetState.UNBOUNDED
    reason: Requestable | Startable = judgement.startable
    if judgement.requestable_status is not Status.TRUE:
        reason = judgement.requestable[0]
    assert [
        str(facts.capacity.free),
        str(judgement.largest_fit),
        "unbounded" if unbounded else str(facts.budget.remaining),
        facts.entitlement.value,
        str(judgement.requestable_count),
        str(judgement.startable_count),
        reason.value,
    ] == expected


def test_the_matrix_has_every_tenant_and_class() -> None:
    """Five tenants and three classes."""
    assert len(MATRIX) == 15


def test_an_unentitled_tenant_without_a_license_is_told_both() -> None:
    """Domain 4.3: all reasons that hold are in the message."""
    facts = the_cluster().facts("tenant-acme-dev", "l40s-24q")
    assert facts is not None
    assert judge(facts, the_cluster().policy, CapacityDetail.FULL).requestable == (
        Requestable.NOT_ENTITLED,
        Requestable.LICENSE_NOT_READY,
    )


@pytest.mark.parametrize(
    ("root", "figures"),
    [
        ("tenant-root", (20, 8, 12, 2, 8, 0, 10)),
        ("tenant-acme", (8, 4, 4, 3, 6, 0, 1)),
        ("tenant-acme-prod", (4, 0, 4, 3, 3, 0, 1)),
    ],
)
def test_the_pools_of_the_samples_are_as_worked_out(
    root: str, figures: tuple[int, int, int, int, int, int, int]
) -> None:
    """Domain 3.7: budget, carved, shared, used, subtree, overcommit, remaining."""
    budget, carved, shared, used, subtree, overcommit, remaining = figures
    assert the_cluster().pool(root, "l40s") == PoolFigures(
        budget=budget,
        carved=carved,
        shared=shared,
        used=used,
        subtree=subtree,
        overcommit=overcommit,
        remaining=remaining,
    )
