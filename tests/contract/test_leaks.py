"""Nothing that a user of the demo can reach tells of nodes, devices, Secrets or other tenants
(3.6).
"""

import csv
import itertools
import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from fakes.demo import GROUP_PATH, ROOT, Demo, Response, running_demo

DATA = ROOT / "manifests" / "demo"
OBJECTS: list[dict[str, Any]] = [
    document
    for file in sorted(DATA.glob("*.yaml"))
    for document in yaml.safe_load_all(file.read_text())
    if document
]
TENANTS = sorted(each["metadata"]["name"] for each in OBJECTS if each["kind"] == "GPUTenant")
USERS = {row[1]: row[0] for row in csv.reader((DATA / "tokens.csv").read_text().splitlines())}
MISSING = "tenant-missing"

FORMS = [
    "application/json",
    "application/yaml",
    "application/json;as=Table;v=v1;g=meta.k8s.io",
    "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
    "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io",
    "text/html",
]
PLAIN_PATHS = [
    *("/", "/api", "/apis", "/apis/options.gpu.cozystack.io", GROUP_PATH, "/openapi/v2"),
    *("/openapi/v3", f"/openapi/v3{GROUP_PATH}", "/version", "/healthz", "/livez?verbose"),
    *("/readyz?verbose", "/readyz/informer-sync", "/metrics", "/nope", "/apis/gpu.cozystack.io"),
]
QUERIES = [
    *("", "?includeObject=Object", "?labelSelector=gpu.cozystack.io/mode=vgpu", "?limit=x"),
    *("?fieldSelector=spec.x=y", "?resourceVersion=999999999999999999", "?watch=true"),
    "?resourceVersionMatch=Exact&resourceVersion=1",
]


def secrets_of_the_hoster() -> set[str]:
    """Names that must not be told: of devices, taints, tolerations and Secrets."""
    names = set()
    for each in OBJECTS:
        match each["kind"]:
            case "GPUClass":
                names.add(each["spec"]["resourceName"])
                names |= {toleration["key"] for toleration in each["spec"].get("tolerations", ())}
                names |= set(each["spec"].get("license", {}).values())
            case "Node":
                names |= {taint["key"] for taint in each.get("spec", {}).get("taints", ())}
            case "Secret":
                names.add(each["metadata"]["name"])
    return names | {"zq-"}


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Demo]:
    """The demo that comes with the program."""
    with running_demo(tmp_path_factory.mktemp("leaks") / "state") as running:
        yield running


def paths_in(namespace: str) -> list[str]:
    """Every path of a namespace: lists, objects, what does not exist."""
    root = f"{GROUP_PATH}/namespaces/{namespace}"
    return [
        *(f"{root}/gpuclassoptions{query}" for query in QUERIES),
        *(f"{root}/gpuclassoptions/{name}" for name in ("l40s", "l40s-24q", "h200", "nope")),
        *(f"{root}/options{query}" for query in QUERIES),
        *(f"{root}/options/gpuclass", f"{root}/options/nope", f"{root}/gpuclassoffers"),
        *(f"{root}/nope", f"{root}/gpuclassoptions/l40s/status"),
    ]


CLUSTER_PATHS = [
    *(f"{GROUP_PATH}/gpuclassoffers{query}" for query in QUERIES),
    *(f"{GROUP_PATH}/gpuclassoffers/{name}" for name in ("l40s", "nope")),
    *(f"{GROUP_PATH}/gpuclassoptions{query}" for query in QUERIES),
    f"{GROUP_PATH}/options",
]


def ask(demo: Demo, user: str, path: str, accept: str, method: str = "GET") -> Response:
    """Send one request as a user."""
    return demo.request(path, token=USERS[user], method=method, headers={"Accept": accept})


def own_namespaces(demo: Demo, user: str) -> set[str]:
    """The tenants whose options a user may list."""
    return {
        tenant
        for tenant in TENANTS
        if ask(demo, user, paths_in(tenant)[0], "application/json").code == 200
    }


def told(answer: Response) -> str:
    """Everything of an answer that a caller sees."""
    return "\n".join((*(f"{k}: {v}" for k, v in answer.headers.items()), answer.body.decode()))


@pytest.mark.parametrize("user", USERS)
def test_no_answer_names_a_node_a_device_a_secret_or_another_tenant(demo: Demo, user: str) -> None:
    """Every path, form and error that a user of the demo can reach."""
    own = own_namespaces(demo, user)
    everything = user in ("admin", "viewer")
    forbidden = secrets_of_the_hoster() | (set() if everything else set(TENANTS) - own)
    # A name may be part of one's own, so names are searched as whole words.
    leak = re.compile(
        "|".join(rf"(?<![-a-z0-9]){re.escape(each)}(?![-a-z0-9])" for each in forbidden - {"zq-"})
        + "|zq-"
    )
    paths = [*PLAIN_PATHS, *CLUSTER_PATHS, *itertools.chain.from_iterable(map(paths_in, own))]
    for path, accept in itertools.product(paths, FORMS):
        answer = told(ask(demo, user, path, accept))
        assert not (found := leak.search(answer)), (path, accept, found)
    for path, method in itertools.product(paths_in(MISSING)[:1], ("POST", "PUT", "DELETE", "HEAD")):
        answer = told(ask(demo, user, path, FORMS[0], method))
        assert not (found := leak.search(answer)), (path, method, found)


@pytest.mark.parametrize("user", USERS)
def test_an_existing_and_a_missing_foreign_namespace_answer_alike(demo: Demo, user: str) -> None:
    """The same code, headers and text but for the name that was asked for."""
    own = own_namespaces(demo, user)
    foreign = next((tenant for tenant in TENANTS if tenant not in own), None)
    if foreign is None:
        assert user in ("admin", "viewer")
        return
    missing = "x" * len(foreign)
    for existing_path, missing_path in zip(paths_in(foreign), paths_in(missing), strict=True):
        for accept, method in itertools.product(FORMS, ("GET", "DELETE")):
            answers = [
                ask(demo, user, path, accept, method) for path in (existing_path, missing_path)
            ]
            alike = [
                (answer.code, *comparable(answer, name))
                for answer, name in zip(answers, (foreign, missing), strict=True)
            ]
            assert alike[0] == alike[1], existing_path
            # Who may read the offers is told in any namespace that they are not to be had there.
            allowed = {403, 404} if "gpuclassoffers" in existing_path else {403}
            assert answers[0].code in allowed


def comparable(answer: Response, name: str) -> tuple[dict[str, str], str]:
    """An answer without what differs between any two requests, and without the name asked for."""
    headers = {k: v for k, v in answer.headers.items() if k not in ("Audit-Id", "Date")}
    return headers, answer.body.decode().replace(name, "NAMESPACE")


def test_the_demo_shows_every_reason_that_is_per_tenant_or_class(demo: Demo) -> None:
    """The demo is for trying the product: all these can be seen by some user (domain 4.3)."""
    listed = json.loads(demo.request(f"{GROUP_PATH}/gpuclassoptions", token=USERS["admin"]).body)
    shown = {
        condition["reason"]
        for item in listed["items"]
        for condition in item["status"]["conditions"]
    }
    assert shown >= {
        *("Allowed", "TenantAmbiguous", "ResourceNameConflict", "ResourceNotPermitted"),
        *("NotEntitled", "LicenseNotReady", "BudgetExhausted", "NoCapacity", "Fits"),
        *("NotRequestable", "RequestableUnknown"),
    }


def test_no_default_log_line_names_a_node_a_device_or_a_secret(demo: Demo) -> None:
    """Logs at the default level go to more people than the cluster's operators (domain 3.6)."""
    for line in demo.log.lines:
        assert not any(name in line for name in secrets_of_the_hoster()), line
