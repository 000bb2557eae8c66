"""The manifests against each other and against the code, without a cluster."""

import subprocess
from typing import Any

import pytest
import yaml
from fakes.demo import KUBECTL, ROOT

from apiserver.cli.flags import parse
from apiserver.cli.serve_config import serve_config
from apiserver.documents.resources import RESOURCES
from storage.model.names import OPTIONS_GROUP

MANIFESTS = ROOT / "manifests"
OVERLAYS = sorted(each.name for each in (MANIFESTS / "overlays").iterdir())
READ_VERBS = {"get", "list", "watch"}


def built(folder: str) -> list[dict[str, Any]]:
    """The objects of a kustomization."""
    command = [str(KUBECTL), "kustomize", str(MANIFESTS / folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return [each for each in yaml.safe_load_all(done.stdout) if each]


def of_kind(documents: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    """The objects of a kind."""
    return [each for each in documents if each["kind"] == kind]


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_service_and_apiservice_lead_to_the_container(overlay: str) -> None:
    """Contract 1.16: names and numbers of ports must agree all the way."""
    documents = built(f"overlays/{overlay}")
    (api_service,) = of_kind(documents, "APIService")
    (service,) = of_kind(documents, "Service")
    (deployment,) = of_kind(documents, "Deployment")
    assert api_service["metadata"]["name"] == f"v1alpha1.{OPTIONS_GROUP}"
    target = api_service["spec"]["service"]
    metadata = service["metadata"]
    assert (target["name"], target["namespace"]) == (metadata["name"], metadata["namespace"])
    (port,) = service["spec"]["ports"]
    assert target["port"] == port["port"]
    template = deployment["spec"]["template"]
    labels = template["metadata"]["labels"]
    assert service["spec"]["selector"].items() <= labels.items()
    (container,) = template["spec"]["containers"]
    (exposed,) = container["ports"]
    assert exposed["name"] == port["targetPort"]
    assert f"--secure-port={exposed['containerPort']}" in container["args"]


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_the_flags_of_the_deployment_are_those_of_serve(overlay: str) -> None:
    """A flag that does not exist would end every pod with 2."""
    (deployment,) = of_kind(built(f"overlays/{overlay}"), "Deployment")
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    line = parse(container["args"])
    assert (line.command, line.unknown) == ("serve", ())
    files = ("--tls-cert-file=", "--tls-private-key-file=")  # of the pod, and not here
    elsewhere = [each for each in container["args"] if not each.startswith(files)]
    config = serve_config(parse(elsewhere).flags())
    grace = deployment["spec"]["template"]["spec"]["terminationGracePeriodSeconds"]
    assert grace > config.requests.shutdown_delay + config.requests.seconds


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_kube_apiserver_is_told_whom_to_believe(overlay: str) -> None:
    """Only the lab goes without verification; no overlay leaves it open."""
    (api_service,) = of_kind(built(f"overlays/{overlay}"), "APIService")
    spec = api_service["spec"]
    annotations = api_service["metadata"].get("annotations", {})
    verified = "caBundle" in spec or "cert-manager.io/inject-ca-from" in annotations
    assert verified != spec.get("insecureSkipTLSVerify", False)
    assert verified or overlay == "lab"


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_no_secret_is_readable_but_those_that_are_named(overlay: str) -> None:
    """Contract 12.3: by resourceNames, to be listed and watched."""
    for role in of_kind(built(f"overlays/{overlay}"), "ClusterRole"):
        for rule in role["rules"]:
            assert "*" not in (*rule["resources"], *rule["apiGroups"], *rule["verbs"])
            if "secrets" in rule["resources"]:
                assert rule["resourceNames"]
                assert rule["verbs"] == ["list", "watch"]
            assert set(rule["verbs"]) <= READ_VERBS


def test_readers_of_the_served_group_may_read_what_is_served() -> None:
    """Contract 12.4: aggregated into the platform's roles and into Kubernetes' own."""
    roles = {each["metadata"]["name"]: each for each in of_kind(built("base"), "ClusterRole")}
    served = set()
    for role in roles.values():
        for rule in role["rules"]:
            if rule["apiGroups"] == [OPTIONS_GROUP]:
                assert set(rule["verbs"]) == READ_VERBS
                served |= set(rule["resources"])
    assert served == {resource.plural for resource in RESOURCES}
    assert roles["gpuclass-options-view"]["metadata"]["labels"].items() >= {
        ("rbac.cozystack.io/aggregate-to-tenant-view", "true"),
        ("rbac.authorization.k8s.io/aggregate-to-view", "true"),
        ("rbac.authorization.k8s.io/aggregate-to-edit", "true"),
        ("rbac.authorization.k8s.io/aggregate-to-admin", "true"),
    }


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_the_pod_asks_for_no_privilege(overlay: str) -> None:
    """Contract 12.9, 12.10: it runs under the restricted standard, and is evicted last."""
    (deployment,) = of_kind(built(f"overlays/{overlay}"), "Deployment")
    pod = deployment["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert pod["securityContext"]["runAsNonRoot"]
    assert pod["priorityClassName"] == "system-cluster-critical"
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert container["readinessProbe"]["httpGet"]["path"] == "/readyz"
    assert container["livenessProbe"]["httpGet"]["path"] == "/livez"


def test_production_has_two_replicas_on_two_nodes() -> None:
    """Contract 12.8: and one of them may be taken away at a time."""
    for overlay in OVERLAYS:
        documents = built(f"overlays/{overlay}")
        (deployment,) = of_kind(documents, "Deployment")
        if overlay == "lab":
            continue
        assert deployment["spec"]["replicas"] == 2
        (budget,) = of_kind(documents, "PodDisruptionBudget")
        labels = deployment["spec"]["template"]["metadata"]["labels"]
        assert budget["spec"]["selector"]["matchLabels"].items() <= labels.items()
        (spread,) = deployment["spec"]["template"]["spec"]["topologySpreadConstraints"]
        assert spread["topologyKey"] == "kubernetes.io/hostname"


def test_every_component_is_used_or_named_in_the_readme() -> None:
    """A component that nobody finds is no component."""
    used = {
        each.rpartition("/")[2]
        for overlay in OVERLAYS
        for each in yaml.safe_load(
            (MANIFESTS / "overlays" / overlay / "kustomization.yaml").read_text()
        )["components"]
    }
    readme = (ROOT / "README.md").read_text()
    for component in (MANIFESTS / "components").iterdir():
        assert component.name in used or f"components/{component.name}" in readme
