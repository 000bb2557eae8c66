"""The rules of GPUClass."""

from typing import Any

import pytest
from fakes.objects import CREATED, a_class, in_json, merged

from storage.cluster.classes import decode_class
from storage.model.objects import GPUClass, Mode, Toleration


def class_of(value: dict[str, Any]) -> GPUClass:
    """Return what a class decodes to."""
    decoded = decode_class(in_json(value))
    assert isinstance(decoded.value, GPUClass), decoded.problem
    return decoded.value


def problem_of(value: dict[str, Any]) -> str:
    """Return why a class is left out."""
    decoded = decode_class(in_json(value))
    assert decoded.value is None
    return decoded.problem


def toleration(**fields: Any) -> list[dict[str, Any]]:
    """Return the tolerations of a class, one with these fields."""
    return [{"key": "x.com/gpu", **fields}]


def test_a_class_is_read_whole() -> None:
    """Everything that an option or an admission needs comes out."""
    value = a_class(
        mode="vgpu",
        allowedCounts=[4, 1],
        memoryPerUnit="48Gi",
        displayName="L40S",
        description="A card.",
        tolerations=[
            {"key": "a", "operator": "Equal", "value": "b", "effect": "NoSchedule"},
            {"key": "c", "operator": "Exists"},
            {"key": "d"},
        ],
        license={"secretName": "gpu-license"},
    )
    value["metadata"]["deletionTimestamp"] = CREATED
    assert class_of(value) == GPUClass(
        name="l40s",
        uid="uid-l40s",
        created=CREATED,
        vendor="nvidia",
        mode=Mode.VGPU,
        resource_name="nvidia.com/AD102GL_L40S",
        max_count=4,
        allowed_counts=(1, 4),
        memory_per_unit="48Gi",
        display_name="L40S",
        description="A card.",
        tolerations=(
            Toleration(key="a", exists=False, value="b", effect="NoSchedule"),
            Toleration(key="c", exists=True),
            Toleration(key="d", exists=False),
        ),
        license_secret="gpu-license",
        terminating=True,
    )


@pytest.mark.parametrize(
    "spec",
    [
        {"maxCount": 1},
        {"maxCount": 1024},
        {"vendor": "amd", "resourceName": "amd.com/MI300X"},
        {"vendor": "intel", "mode": "vgpu"},
        {"resourceName": "x/y"},
        {"resourceName": "x.com/" + "y" * 63},
        {"allowedCounts": [1, 2, 3, 4]},
        {"allowedCounts": []},
        {"memoryPerUnit": 48},
        {"displayName": "é" * 80, "description": "x" * 400},
        {"tolerations": toleration(operator="Exists", value="")},
        {"license": {"secretName": "a.b-c"}},
    ],
)
def test_what_the_rules_allow_is_taken(spec: dict[str, Any]) -> None:
    """A rule is not stricter than domain 2.2 has it."""
    assert class_of(a_class(**spec)).name == "l40s"


def test_no_allowed_counts_means_any() -> None:
    """An empty list says no more than an absent one."""
    assert class_of(a_class(allowedCounts=[])).allowed_counts is None


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        ({"vendor": "matrox"}, "spec.vendor must be one of nvidia, amd, intel"),
        ({"vendor": None}, "spec.vendor is missing"),
        ({"mode": "shared"}, "spec.mode must be one of passthrough, vgpu"),
        ({"mode": 5}, "spec.mode does not have the expected type"),
        ({"resourceName": "cpu"}, "spec.resourceName must be a domain, a slash and a name"),
        ({"resourceName": "nvidia.com"}, "spec.resourceName must be a domain"),
        ({"resourceName": "nvidia.com/a,nvidia.com/b"}, "spec.resourceName must be a domain"),
        ({"resourceName": "x/y\n"}, "spec.resourceName must be a domain"),
        ({"resourceName": "x" * 300 + ".com/" + "y" * 20}, "at most 308 characters"),
        ({"resourceName": "kubernetes.io/x"}, "must not be in a domain of kubernetes.io"),
        ({"resourceName": "a.kubernetes.io/x"}, "must not be in a domain of kubernetes.io"),
        ({"resourceName": "requests.nvidia.com/x"}, "must not begin with requests."),
        ({"resourceName": "x.com/" + "y" * 64}, "at most 63 characters after the slash"),
        ({"maxCount": 0}, "spec.maxCount must be 1 to 1024"),
        ({"maxCount": 1025}, "spec.maxCount must be 1 to 1024"),
        ({"maxCount": "2"}, "spec.maxCount does not have the expected type"),
        ({"maxCount": True}, "spec.maxCount does not have the expected type"),
        ({"maxCount": None}, "spec.maxCount is missing"),
        ({"maxCount": 2, "allowedCounts": [3]}, "spec.allowedCounts must be from 1 to"),
        ({"allowedCounts": [0]}, "spec.allowedCounts must be from 1 to"),
        ({"allowedCounts": [1, 1]}, "spec.allowedCounts must not repeat"),
        ({"maxCount": 20, "allowedCounts": [*range(1, 18)]}, "spec.allowedCounts must have at"),
        ({"tolerations": [{"operator": "Exists"}]}, "spec.tolerations[0].key is required"),
        ({"tolerations": toleration(key="")}, "spec.tolerations[0].key is required"),
        (
            {"tolerations": toleration(key="node.kubernetes.io/not-ready")},
            "spec.tolerations[0].key must not begin with node.kubernetes.io/",
        ),
        ({"tolerations": toleration(operator="Gt")}, "spec.tolerations[0].operator must be"),
        (
            {"tolerations": toleration(operator="Exists", value="v")},
            "spec.tolerations[0].value must be absent",
        ),
        ({"tolerations": toleration(effect="Never")}, "spec.tolerations[0].effect must be"),
        ({"tolerations": toleration() * 17}, "spec.tolerations must have at most 16"),
        ({"mode": "vgpu"}, "spec.license is required"),
        (
            {"vendor": "amd", "license": {"secretName": "x"}},
            "spec.license must be absent unless vendor is nvidia",
        ),
        ({"license": {}}, "spec.license.secretName is missing"),
        ({"license": {"secretName": "A_b"}}, "spec.license.secretName must be a DNS subdomain"),
        ({"license": {"secretName": "a" * 254}}, "spec.license.secretName must be a DNS"),
        ({"memoryPerUnit": "48 GB"}, "spec.memoryPerUnit must be a quantity"),
        ({"displayName": "x" * 81}, "spec.displayName must have at most 80 characters"),
        ({"displayName": "a\nb"}, "spec.displayName must have at most 80 characters and no line"),
        ({"description": "a\u2028b"}, "spec.description must have at most 400 characters and no"),
        ({"description": "x" * 401}, "spec.description must have at most 400 characters"),
    ],
)
def test_a_class_that_breaks_a_rule_is_left_out(spec: dict[str, Any], problem: str) -> None:
    """Each rule of domain 2.2 holds for objects that never met a CRD, and says so."""
    assert problem in problem_of(a_class(**spec))


@pytest.mark.parametrize("name", ["l40s.24q", "L40S", "4090", "a-", "a" * 41, "é"])
def test_the_name_of_a_class_is_a_short_label(name: str) -> None:
    """It becomes part of a libvirt alias (D11)."""
    assert "metadata.name" in problem_of(merged(a_class(), {"metadata": {"name": name}}))


@pytest.mark.parametrize("created", ["yesterday", ""])
def test_the_time_of_creation_is_a_time(created: str) -> None:
    """It is shown as it stands."""
    value = merged(a_class(), {"metadata": {"creationTimestamp": created}})
    assert "metadata.creationTimestamp" in problem_of(value)


def test_every_broken_rule_is_named_at_once() -> None:
    """One line tells all there is to mend."""
    problem = problem_of(a_class(vendor="matrox", maxCount=0))
    assert "spec.vendor" in problem
    assert "spec.maxCount" in problem


def test_no_value_gets_into_a_problem() -> None:
    """Problems are logged; what somebody wrote into a field is not."""
    for spec in ({"vendor": "zq-secret"}, {"resourceName": "zq-secret"}, {"maxCount": "zq-secret"}):
        assert "zq-secret" not in problem_of(a_class(**spec))
