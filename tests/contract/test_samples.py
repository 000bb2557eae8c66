"""The sample cluster through the whole server, asked by a real kubectl."""

from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from fakes.demo import SAMPLES, Demo, a_directory, running_demo
from fakes.matrix import ITEMS, ROWS, printed_rows


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Demo]:
    """The sample cluster, served."""
    root = tmp_path_factory.mktemp("samples")
    with running_demo(root / "state", str(a_directory(root / "cluster"))) as running:
        yield running


def read(demo: Demo, *arguments: str) -> Any:
    """Return what kubectl prints as YAML."""
    return yaml.safe_load(demo.kubectl("get", "-o", "yaml", *arguments))


def test_the_options_of_acme_are_the_expected_ones(demo: Demo) -> None:
    """`-o yaml` agrees with the expected list in every field that is not opaque."""
    items = read(demo, "gpuclassoptions", "-n", "tenant-acme")["items"]
    for item in items:
        for opaque in ("uid", "resourceVersion", "creationTimestamp"):
            assert item["metadata"].pop(opaque)
    assert items == ITEMS


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row[0]}-{row[1]}")
def test_every_row_of_the_matrix_agrees(demo: Demo, row: list[Any]) -> None:
    """All 15 rows: figures, entitlement and reason of each namespace and class."""
    namespace, name, free, fit, remaining, entitlement, requestable, startable, reason = row
    option = read(demo, "gco", name, "-n", namespace)
    status = option["status"]
    assert status["capacity"] == {"state": "Known", "free": free, "largestFit": fit}
    bounded = {"state": "Bounded", "remaining": remaining}
    assert status["budget"] == ({"state": "Unbounded"} if remaining == "unbounded" else bounded)
    assert status["entitlement"] == entitlement
    assert (status["requestableCount"], status["startableCount"]) == (requestable, startable)
    requestable_condition, startable_condition = status["conditions"]
    first = (
        startable_condition if requestable_condition["status"] == "True" else requestable_condition
    )
    assert first["reason"] == reason


def test_the_whole_matrix_is_what_kubectl_prints_for_all_namespaces(demo: Demo) -> None:
    """`kubectl get gco -A`: the same rows, as a person reads them."""
    assert sorted(demo.rows("gco", "-A")) == printed_rows()


def test_the_consoles_object_is_the_expected_one(demo: Demo) -> None:
    """The same answer in the console's shape (samples/91)."""
    expected = yaml.safe_load((SAMPLES / "91-expected-console-option.yaml").read_text())
    shown = read(demo, "options", "gpuclass", "-n", "tenant-acme")
    assert shown["metadata"].pop("resourceVersion")
    assert shown["metadata"].pop("uid")
    del expected["metadata"]["resourceVersion"]
    assert shown == expected


def test_offers_show_the_class_without_any_budget(demo: Demo) -> None:
    """The offer's columns (domain 4.1)."""
    assert demo.rows("gpuclassoffers") == [
        ["h200", "passthrough", "0", "8", "0", "NoCapacity"],
        ["l40s", "passthrough", "7", "4", "4", "Fits"],
        ["l40s-24q", "vgpu", "16", "1", "1", "Fits"],
    ]


def test_a_second_class_on_one_resource_makes_both_unusable(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """(a) to (d) of the edge classes: conflict, not permitted, terminating, refused."""
    root = tmp_path_factory.mktemp("edge")
    samples = ("10", "20", "30", "31", "40", "50", "60", "70")
    with running_demo(root / "state", str(a_directory(root / "cluster", *samples))) as demo:
        reasons = {row[0]: row[-1] for row in demo.rows("gco", "-n", "tenant-acme")}
        assert reasons == {
            "h200": "NoCapacity",
            "l40s": "ResourceNameConflict",
            "l40s-24q": "Fits",
            "l40s-cheap": "ResourceNameConflict",
            "mi300x": "ResourceNotPermitted",
        }
        left_out = [line for line in demo.log.lines if "bad-comma" in line]
        assert len(left_out) == 1
        assert "resourceName" in left_out[0]


def test_the_platforms_own_storage_of_tenants_gives_the_same_budget(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """`--tenant-source=cozystack`: HelmRelease and ResourceQuota (samples/41)."""
    root = tmp_path_factory.mktemp("cozystack")
    samples = ("10", "20", "30", "41", "50", "60")
    directory = a_directory(root / "cluster", *samples)
    with running_demo(root / "state", str(directory), "--tenant-source=cozystack") as demo:
        assert demo.rows("gco", "l40s", "-n", "tenant-acme-prod") == [
            ["l40s", "passthrough", "7", "4", "1", "1", "1", "Fits"]
        ]
