"""The manifests against each other and against the code, without a cluster."""

import base64
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from fakes.demo import KUBECTL, ROOT
from fakes.manifests import MANIFESTS, OVERLAYS, with_ca
from fakes.readme import blocks

from apiserver.cli.flags import parse
from apiserver.cli.serve_config import serve_config
from apiserver.documents.resources import RESOURCES
from storage.cluster.kinds import DIRECT_SOURCES, Kind
from storage.cluster.tenants import READERS
from storage.model.names import OPTIONS_GROUP

READ_VERBS = {"get", "list", "watch"}
CA = b"-----BEGIN CERTIFICATE-----\nMA==\n-----END CERTIFICATE-----\n" * 5

(_YOURS,) = blocks("yaml")

Documents = list[dict[str, Any]]


def kustomize(folder: Path) -> "subprocess.CompletedProcess[str]":
    """Build a kustomization, whatever comes of it."""
    command = [str(KUBECTL), "kustomize", str(folder)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def built(folder: Path) -> Documents:
    """The objects of a kustomization."""
    done = kustomize(folder)
    assert done.returncode == 0, done.stderr
    return [each for each in yaml.safe_load_all(done.stdout) if each]


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The manifests, with a CA where one has to be put."""
    return with_ca(tmp_path_factory.mktemp("prepared"), CA)


@pytest.fixture(scope="module", params=OVERLAYS)
def overlay(request: pytest.FixtureRequest) -> str:
    """The name of each overlay."""
    return str(request.param)


@pytest.fixture(scope="module")
def documents(prepared: Path, overlay: str) -> Documents:
    """The objects of an overlay."""
    return built(prepared / "overlays" / overlay)


def of_kind(documents: Documents, kind: str) -> Documents:
    """The objects of a kind."""
    return [each for each in documents if each["kind"] == kind]


def test_service_and_apiservice_lead_to_the_container(documents: Documents) -> None:
    """Contract 1.16: names and numbers of ports must agree all the way."""
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


def test_the_flags_of_the_deployment_are_those_of_serve(documents: Documents) -> None:
    """A flag that does not exist would end every pod with 2."""
    (deployment,) = of_kind(documents, "Deployment")
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    line = parse(container["args"])
    assert (line.command, line.unknown) == ("serve", ())
    files = ("--tls-cert-file=", "--tls-private-key-file=")  # of the pod, and not here
    elsewhere = [each for each in container["args"] if not each.startswith(files)]
    config = serve_config(parse(elsewhere).flags())
    grace = deployment["spec"]["template"]["spec"]["terminationGracePeriodSeconds"]
    assert grace > config.requests.shutdown_delay + config.requests.seconds


def test_kube_apiserver_is_told_whom_to_believe(overlay: str, documents: Documents) -> None:
    """Only the lab goes without verification; no overlay leaves it open."""
    (api_service,) = of_kind(documents, "APIService")
    spec = api_service["spec"]
    annotations = api_service["metadata"].get("annotations", {})
    verified = "caBundle" in spec or "cert-manager.io/inject-ca-from" in annotations
    assert verified != spec.get("insecureSkipTLSVerify", False)
    assert verified or overlay == "lab"


def test_no_secret_is_readable_but_those_that_are_named(documents: Documents) -> None:
    """Contract 12.3: by resourceNames, to be listed and watched."""
    for role in of_kind(documents, "ClusterRole"):
        for rule in role["rules"]:
            assert "*" not in (*rule["resources"], *rule["apiGroups"], *rule["verbs"])
            if "secrets" in rule["resources"]:
                assert rule["resourceNames"]
                assert rule["verbs"] == ["list", "watch"]
            assert set(rule["verbs"]) <= READ_VERBS


def test_readers_of_the_served_group_may_read_what_is_served() -> None:
    """Contract 12.4: aggregated into the platform's roles and into Kubernetes' own."""
    base = of_kind(built(MANIFESTS / "base"), "ClusterRole")
    roles = {each["metadata"]["name"]: each for each in base}
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


def test_the_pod_asks_for_no_privilege(documents: Documents) -> None:
    """Contract 12.9, 12.10: it runs under the restricted standard, and is evicted last."""
    (deployment,) = of_kind(documents, "Deployment")
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


def test_production_has_two_replicas_on_two_nodes(overlay: str, documents: Documents) -> None:
    """Contract 12.8: and one of them may be taken away at a time."""
    (deployment,) = of_kind(documents, "Deployment")
    template = deployment["spec"]["template"]
    if overlay == "lab":
        assert deployment["spec"]["replicas"] == 1
        return
    assert deployment["spec"]["replicas"] == 2
    (budget,) = of_kind(documents, "PodDisruptionBudget")
    labels = template["metadata"]["labels"].items()
    assert budget["spec"]["selector"]["matchLabels"].items() <= labels
    (spread,) = template["spec"]["topologySpreadConstraints"]
    assert spread["topologyKey"] == "kubernetes.io/hostname"
    assert spread["labelSelector"]["matchLabels"].items() <= labels


def test_all_that_is_ours_is_found_by_one_label(documents: Documents) -> None:
    """Whoever removes it selects by that label; classes and tenants are not ours to remove."""
    label = ("app.kubernetes.io/part-of", "gpuclass-apiserver")
    for each in documents:
        labelled = label in each["metadata"].get("labels", {}).items()
        assert labelled == (each["kind"] != "CustomResourceDefinition"), each["metadata"]["name"]


def test_the_rights_on_sources_are_the_kinds_that_are_read(prepared: Path) -> None:
    """One kind too few is Unknown for ever; one too many is a right that nobody needs."""
    own = yaml.safe_load(_YOURS) | {"components": ["../../components/cozystack-tenants"]}
    roles = of_kind(_beside(prepared, own), "ClusterRole")
    granted = {
        (group, resource)
        for role in roles
        if role["metadata"]["name"].startswith("gpuclass-apiserver-")
        for rule in role["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
    }
    of_tenants = {kind for reader in READERS.values() for kind in reader().kinds}
    read = {*DIRECT_SOURCES, *of_tenants, Kind.SECRET}
    assert granted == {(kind.group, _plural(kind.kind.lower())) for kind in read}


def test_own_ca_hands_the_ca_to_kube_apiserver_and_nothing_else(prepared: Path) -> None:
    """As the file has it; the Secret that makes base64 of it is not applied."""
    documents = built(prepared / "overlays" / "own-ca")
    (api_service,) = of_kind(documents, "APIService")
    assert base64.b64decode(api_service["spec"]["caBundle"]) == CA
    assert of_kind(documents, "Secret") == []


def test_own_ca_without_a_ca_is_not_built() -> None:
    """An APIService that trusts nobody holds up every namespace deletion (contract 1.14)."""
    done = kustomize(MANIFESTS / "overlays" / "own-ca")
    assert done.returncode != 0
    assert "ca.crt" in done.stderr


def test_cert_manager_signs_for_the_service_that_kube_apiserver_asks(prepared: Path) -> None:
    """Contract 10.1: the name in the certificate, its Secret, and whose CA is injected."""
    documents = built(prepared / "overlays" / "cert-manager")
    (api_service,) = of_kind(documents, "APIService")
    service = api_service["spec"]["service"]
    injected = api_service["metadata"]["annotations"]["cert-manager.io/inject-ca-from"]
    certificates = {
        f"{each['metadata']['namespace']}/{each['metadata']['name']}": each["spec"]
        for each in of_kind(documents, "Certificate")
    }
    serving = certificates[injected]
    assert f"{service['name']}.{service['namespace']}.svc" in serving["dnsNames"]
    (deployment,) = of_kind(documents, "Deployment")
    volumes = deployment["spec"]["template"]["spec"]["volumes"]
    mounted = [each["secret"]["secretName"] for each in volumes if "secret" in each]
    assert mounted == [serving["secretName"]]
    issuers = {each["metadata"]["name"] for each in of_kind(documents, "Issuer")}
    assert {each["issuerRef"]["name"] for each in certificates.values()} == issuers


def test_an_overlay_of_ones_own_is_built_as_the_readme_has_it(prepared: Path) -> None:
    """Its image runs, and the Secrets that it names are the readable ones."""
    documents = _beside(prepared, yaml.safe_load(_YOURS))
    (deployment,) = of_kind(documents, "Deployment")
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    assert container["image"] == "registry.example.com/gpuclass-apiserver:0.1"
    rules = [rule for role in of_kind(documents, "ClusterRole") for rule in role["rules"]]
    (secrets,) = (rule for rule in rules if "secrets" in rule["resources"])
    assert secrets["resourceNames"] == ["gpu-license-vws", "gpu-license-vpc"]


def test_tenants_of_the_platform_are_read_where_the_component_is_used(prepared: Path) -> None:
    """The flag comes with the rights."""
    own = yaml.safe_load(_YOURS) | {"components": ["../../components/cozystack-tenants"]}
    (deployment,) = of_kind(_beside(prepared, own), "Deployment")
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    line = parse(container["args"])
    assert line.unknown == ()
    assert line.values["tenant-source"] == ["cozystack"]


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


def _beside(prepared: Path, kustomization: dict[str, Any]) -> Documents:
    """The objects of an overlay beside ours."""
    folder = prepared / "overlays" / "here"
    folder.mkdir(exist_ok=True)
    (folder / "kustomization.yaml").write_text(yaml.safe_dump(kustomization))
    return built(folder)


def _plural(name: str) -> str:
    return f"{name}es" if name.endswith("s") else f"{name}s"
