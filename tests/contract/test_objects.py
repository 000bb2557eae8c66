"""Get and list over the wire: forms, freshness, selectors (contract 3 and 4)."""

import gzip
import json
from dataclasses import dataclass, replace
from typing import Any

import aiohttp
import pytest
import yaml
from fakes.http_client import ACME, GROUP, GV, TABLE, Client, assert_status
from fakes.http_fakes import (
    ADMITTED_UP_TO,
    CREATED,
    CURRENT_REVISION,
    Certificates,
    FakeWorld,
    a_meta,
    running,
)

from storage.views.revisions import EPOCH_MS, RevisionLine

PARTIAL = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
PARTIAL_LIST = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"
KUBECTL = f"{TABLE},application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json"

OPTIONS = f"{ACME}/gpuclassoptions"
OPTION = f"{OPTIONS}/l40s"


@dataclass(frozen=True)
class Line:
    """A revision line of the program's as its readers see it."""

    line: RevisionLine
    generation: int = 1

    def list_revision(self) -> int:
        """Return the line's."""
        return self.line.list_revision()

    def admit(self, revision: int) -> bool:
        """Return the line's answer."""
        return self.line.admit(revision)


def names(listed: dict[str, Any]) -> list[str]:
    """Return namespace/name of each item."""
    metas = [item["metadata"] for item in listed["items"]]
    return [f"{meta.get('namespace', '')}/{meta['name']}" for meta in metas]


async def test_a_list_has_kind_revision_and_whole_items(client: Client) -> None:
    """Contract 3.31, WA-03: a decimal revision on the list and on every item, never 0."""
    reply = await client.get(OPTIONS)
    assert reply.code == 200
    assert reply.headers["Content-Type"] == "application/json"
    assert reply.headers["Cache-Control"] == "no-cache, private"
    assert reply.body.endswith(b"}\n")
    assert reply.json["kind"] == "GPUClassOptionList"
    assert reply.json["apiVersion"] == f"{GROUP}/v1alpha1"
    assert reply.json["metadata"] == {"resourceVersion": str(CURRENT_REVISION)}
    assert names(reply.json) == ["tenant-acme/h200", "tenant-acme/l40s"]
    for item in reply.json["items"]:
        assert (item["kind"], item["apiVersion"]) == ("GPUClassOption", f"{GROUP}/v1alpha1")
        assert item["metadata"]["resourceVersion"].isdecimal()
        assert item["metadata"]["resourceVersion"] != "0"
        assert item["metadata"]["uid"]
        assert item["metadata"]["creationTimestamp"] == CREATED


async def test_a_list_of_everything_is_by_namespace_and_name(client: Client) -> None:
    """Contract 4.9, 4.10."""
    assert names((await client.get(f"{GV}/gpuclassoptions")).json) == [
        *("tenant-acme/h200", "tenant-acme/l40s", "tenant-beta/h200", "tenant-beta/l40s")
    ]


async def test_one_object_is_itself(client: Client) -> None:
    """A GET gives what the list has as item."""
    reply = await client.get(OPTION)
    assert reply.code == 200
    assert reply.json == (await client.get(OPTIONS)).json["items"][1]


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        (f"{GV}/gpuclassoffers", "GPUClassOfferList"),
        (f"{GV}/gpuclassoffers/l40s", "GPUClassOffer"),
        (f"{ACME}/options", "OptionList"),
        (f"{ACME}/options/gpuclass", "Option"),
    ],
)
async def test_every_resource_is_served(client: Client, path: str, kind: str) -> None:
    """Design 2: three resources, one of them cluster-scoped."""
    reply = await client.get(path)
    assert (reply.code, reply.json["kind"]) == (200, kind)


async def test_a_namespace_without_objects_has_an_empty_list(client: Client) -> None:
    """Contract 4.9: 200 with items []."""
    for namespace in ("tenant-none", "UPPER", "a" * 64):
        reply = await client.get(f"{GV}/namespaces/{namespace}/gpuclassoptions")
        assert (reply.code, reply.json["items"]) == (200, [])
        assert reply.json["metadata"]["resourceVersion"] == str(CURRENT_REVISION)
        gone = await client.get(f"{GV}/namespaces/{namespace}/gpuclassoptions/l40s")
        assert_status(gone, 404, "NotFound")


async def test_kubectl_gets_a_table(client: Client) -> None:
    """WA-08: one cell per column, each row with its metadata, a revision on the Table."""
    reply = await client.get(OPTIONS, Accept=KUBECTL)
    table = reply.json
    assert reply.headers["Content-Type"] == "application/json"
    assert (table["kind"], table["apiVersion"]) == ("Table", "meta.k8s.io/v1")
    assert table["metadata"] == {"resourceVersion": str(CURRENT_REVISION)}
    assert table["columnDefinitions"][0]["name"] == "Name"
    assert table["columnDefinitions"][0]["format"] == "name"
    for row, name in zip(table["rows"], ("h200", "l40s"), strict=True):
        assert len(row["cells"]) == len(table["columnDefinitions"])
        assert row["cells"][0] == name
        assert row["object"]["kind"] == "PartialObjectMetadata"
        assert row["object"]["apiVersion"] == "meta.k8s.io/v1"
        assert row["object"]["metadata"]["namespace"] == "tenant-acme"


async def test_a_table_of_one_object_has_its_revision(client: Client) -> None:
    """Contract 3.20: a named GET as Table is one row."""
    table = (await client.get(OPTION, Accept=TABLE)).json
    assert [row["cells"][0] for row in table["rows"]] == ["l40s"]
    assert table["metadata"] == {"resourceVersion": "700"}


@pytest.mark.parametrize(
    ("include", "kind"),
    [
        ("", "PartialObjectMetadata"),
        ("Metadata", "PartialObjectMetadata"),
        ("Object", "GPUClassOption"),
        ("None", None),
    ],
)
async def test_rows_carry_what_was_asked_for(
    client: Client, include: str, kind: str | None
) -> None:
    """Contract 3.21: `--sort-by` needs whole objects, `-o name` metadata."""
    query = f"?includeObject={include}" if include else ""
    for path in (OPTIONS, OPTION):
        for row in (await client.get(path + query, Accept=TABLE)).json["rows"]:
            assert row.get("object", {}).get("kind") == kind


async def test_metadata_alone_can_be_had(client: Client) -> None:
    """Contract 3.5: what metadata informers ask for, in both versions."""
    listed = (await client.get(OPTIONS, Accept=PARTIAL_LIST)).json
    assert (listed["kind"], listed["apiVersion"]) == (
        *("PartialObjectMetadataList", "meta.k8s.io/v1"),
    )
    assert [set(item) for item in listed["items"]] == [{"kind", "apiVersion", "metadata"}] * 2
    old = (await client.get(OPTION, Accept=PARTIAL.replace("v=v1", "v=v1beta1"))).json
    assert (old["kind"], old["apiVersion"]) == ("PartialObjectMetadata", "meta.k8s.io/v1beta1")


async def test_the_single_form_of_a_list_is_not_acceptable(client: Client) -> None:
    """Contract 3.5: and the other way round."""
    assert_status(
        await client.get(OPTIONS, Accept=PARTIAL),
        406,
        "NotAcceptable",
        "you requested PartialObjectMetadata, but the requested object is a list"
        " (GPUClassOptionList)",
    )
    assert_status(
        await client.get(OPTION, Accept=PARTIAL_LIST),
        406,
        "NotAcceptable",
        "you requested PartialObjectMetadataList, but the requested object is not a list"
        " (GPUClassOption)",
    )


async def test_yaml_says_what_json_says(client: Client) -> None:
    """Contract 3.2."""
    for path in (OPTIONS, OPTION):
        reply = await client.get(path, Accept="application/yaml")
        assert reply.headers["Content-Type"] == "application/yaml"
        assert yaml.safe_load(reply.body) == (await client.get(path)).json


async def test_large_yaml_is_not_acceptable(world: FakeWorld, client: Client) -> None:
    """Contract 3.2 asks for YAML where it can be had; JSON of any size can."""
    world.options.metas = [a_meta("tenant-acme", f"c{number:04}") for number in range(100)]
    message = "the answer is too large for application/yaml, ask for application/json"
    for accept in ("application/yaml", TABLE.replace("json", "yaml")):
        reply = await client.get(f"{OPTIONS}?includeObject=Object", Accept=accept)
        assert_status(reply, 406, "NotAcceptable", message)
    assert (await client.get(OPTION, Accept="application/yaml")).code == 404
    assert (await client.get(f"{OPTIONS}/c0001", Accept="application/yaml")).code == 200
    assert len((await client.get(OPTIONS)).json["items"]) == 100


@pytest.mark.parametrize(
    ("query", "headers", "pretty"),
    [
        ("?pretty=true", {}, True),
        ("?pretty=1", {}, True),
        ("", {"User_Agent": "curl/8"}, True),
        ("", {"User_Agent": "Mozilla/5.0 (X11)"}, True),
        ("?pretty=false", {"User_Agent": "curl/8"}, False),
        ("?pretty=x", {"User_Agent": "curl/8"}, False),
        ("", {"Accept": "application/json;pretty=1"}, True),
        ("", {}, False),
    ],
)
async def test_an_answer_is_indented_for_people(
    client: Client, query: str, headers: dict[str, str], pretty: bool
) -> None:
    """Contract 3.30: as asked for, else for browsers and curl."""
    reply = await client.get(OPTION + query, **headers)
    assert (b'\n  "metadata": {' in reply.body) is pretty
    assert reply.json == (await client.get(OPTION)).json


async def test_a_large_list_is_compressed_on_demand(world: FakeWorld, client: Client) -> None:
    """Contract 3.32: gzip above 128 KiB, for who accepts it."""
    world.options.metas = [a_meta("tenant-acme", f"c{number:04}") for number in range(400)]
    headers = {"Accept-Encoding": "gzip"}
    reply = await client.send("GET", OPTIONS, headers=headers)
    assert reply.headers["Content-Encoding"] == "gzip"
    assert reply.headers["Vary"] == "Accept-Encoding"
    assert len(json.loads(reply.body)["items"]) == 400  # the client has unpacked it
    assert int(reply.headers["Content-Length"]) < len(reply.body) / 10
    plain = await client.send("GET", OPTIONS, headers={"Accept-Encoding": "identity"})
    assert "Content-Encoding" not in plain.headers
    assert len(gzip.compress(plain.body, 1)) < len(plain.body)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("labelSelector=gpu.cozystack.io/vendor=nvidia", ["h200", "l40s"]),
        ("labelSelector=gpu.cozystack.io/vendor!=nvidia", []),
        ("labelSelector=size%3E48", ["l40s"]),
        ("fieldSelector=metadata.name=l40s", ["l40s"]),
        ("fieldSelector=metadata.name!=l40s", ["h200"]),
        ("fieldSelector=metadata.namespace=tenant-beta", []),
        ("fieldSelector=metadata.name=none", []),
        ("fieldSelector=metadata.name=l40s&labelSelector=size%3C48", []),
    ],
)
async def test_selectors_narrow_a_list(
    world: FakeWorld, client: Client, query: str, expected: list[str]
) -> None:
    """Contract 4.5 to 4.9; the namespace of the path holds whatever a selector says."""
    world.options.metas = [
        a_meta("tenant-acme", "h200", size="40"),
        a_meta("tenant-acme", "l40s", size="49"),
        a_meta("tenant-beta", "l40s", size="49"),
    ]
    listed = (await client.get(f"{OPTIONS}?{query}")).json
    assert [item["metadata"]["name"] for item in listed["items"]] == expected
    assert listed["metadata"]["resourceVersion"] == str(CURRENT_REVISION)
    table = (await client.get(f"{OPTIONS}?{query}", Accept=TABLE)).json
    assert [row["cells"][0] for row in table["rows"]] == expected


async def test_limit_is_legal_and_everything_is_sent(client: Client) -> None:
    """WA-10: no token, so nothing can be lost between pages."""
    listed = (await client.get(f"{OPTIONS}?limit=1")).json
    assert len(listed["items"]) == 2
    assert set(listed["metadata"]) == {"resourceVersion"}


async def test_a_revision_that_can_be_served_is(world: FakeWorld, client: Client) -> None:
    """Design 6: the line is asked for every revision but "" and 0."""
    for query in ("", "?resourceVersion=", "?resourceVersion=0"):
        assert (await client.get(OPTIONS + query)).code == 200
    assert world.freshness.admitted == []
    for path in (OPTIONS, OPTION):
        assert (await client.get(f"{path}?resourceVersion={ADMITTED_UP_TO}")).code == 200
    assert world.freshness.admitted == [ADMITTED_UP_TO] * 2


@pytest.mark.parametrize("path", [OPTIONS, OPTION, f"{OPTIONS}?resourceVersionMatch=NotOlderThan"])
async def test_a_revision_too_far_ahead_is_a_timeout(client: Client, path: str) -> None:
    """Contract 4.24: the cause by which client-go knows to relist."""
    revision = ADMITTED_UP_TO + 1
    reply = await client.get(f"{path}{'&' if '?' in path else '?'}resourceVersion={revision}")
    message = f"Timeout: Too large resource version: {revision}, current: {CURRENT_REVISION}"
    cause = {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}
    assert_status(reply, 504, "Timeout", message, {"causes": [cause], "retryAfterSeconds": 1})


@pytest.mark.parametrize("changes", [0, 1, 5])
async def test_a_refused_revision_does_not_tell_what_others_do(
    world: FakeWorld, certificates: Certificates, changes: int
) -> None:
    """Domain D9: objects that the caller may not see change, others list; the clock shows alone."""
    now = EPOCH_MS + 1000
    line = RevisionLine(lambda: now, tag=5)
    services = replace(world.services(), freshness=Line(line))
    async with (
        running(world, certificates.files, services) as port,
        aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=certificates.trust)) as session,
    ):
        client = Client(session, port, certificates.trust)
        for _ in range(changes):
            line.mint()
            line.list_revision()
        now += 500
        reply = await client.get(f"{OPTION}?resourceVersion={2**63}")
        told = 1500 << 22 | 5
        message = f"Timeout: Too large resource version: {2**63}, current: {told}"
        assert_status(reply, 504, "Timeout", message)
        assert (await client.get(OPTIONS)).json["metadata"]["resourceVersion"] == str(told)


async def test_an_exact_revision_is_not_held(client: Client) -> None:
    """Design 6: 410, whichever revision it is."""
    for revision in (1, CURRENT_REVISION):
        query = f"?resourceVersionMatch=Exact&resourceVersion={revision}"
        assert_status(
            await client.get(OPTIONS + query),
            410,
            "Expired",
            "The resourceVersion for the provided list is too old.",
        )


async def test_a_change_is_in_the_next_answer(world: FakeWorld, client: Client) -> None:
    """What is kept is never older than what is published."""
    await client.get(OPTIONS)
    world.options.metas[0] = a_meta("tenant-acme", "h200", 701)
    world.freshness.generation += 1
    world.freshness.listed = 1001
    listed = (await client.get(OPTIONS)).json
    assert listed["metadata"]["resourceVersion"] == "1001"
    assert listed["items"][0]["metadata"]["resourceVersion"] == "701"


async def test_what_was_never_read_is_unavailable_and_not_empty(
    world: FakeWorld, client: Client
) -> None:
    """Contract 4.25, design 9: an empty list would look like a mass deletion."""
    world.options.ready = False
    for path in (OPTIONS, OPTION, f"{OPTIONS}?labelSelector=a", f"{GV}/gpuclassoptions"):
        for accept in ("application/json", TABLE):
            status = assert_status(await client.get(path, Accept=accept), 503, "ServiceUnavailable")
            assert status["details"]["retryAfterSeconds"] == 1
