"""Which paths and methods lead where: discovery, documents, everything else (contract 1, 2, 5)."""

import json
from uuid import UUID

import pytest
from fakes.http_client import ACME, GROUP, GV, Client, assert_status, parsed
from fakes.http_fakes import FakeWorld, exchange

V2 = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
V2BETA1 = V2.replace("v=v2", "v=v2beta1")

DOCUMENTS = [
    *("/apis", f"/apis/{GROUP}", GV, "/openapi/v2", "/openapi/v3", f"/openapi/v3{GV}", "/version")
]
OPEN = [*DOCUMENTS, "/healthz", "/livez", "/readyz"]
METHODS = ["POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"]
OBJECTS = [
    *(f"{ACME}/gpuclassoptions", f"{ACME}/gpuclassoptions/l40s", f"{GV}/gpuclassoptions"),
    *(f"{GV}/gpuclassoffers", f"{GV}/gpuclassoffers/l40s", f"{ACME}/options/gpuclass"),
]

NOT_FOUND = "the server could not find the requested resource"
NOT_ALLOWED = "the server does not allow this method on the requested resource"


@pytest.mark.parametrize("path", OPEN)
@pytest.mark.parametrize("token", [None, "forged", "maria"])
async def test_constant_paths_are_served_whatever_authentication_says(
    world: FakeWorld, client: Client, path: str, token: str | None
) -> None:
    """Design 7, OA-01, contract 1.14: no identity, no review and no source can hold them up."""
    world.options.ready = False

    async def fail() -> None:
        raise ZeroDivisionError

    world.authorizer.before = fail
    assert (await client.get(path, token=token)).code == 200
    assert world.authenticator.seen == []
    assert world.authorizer.asked == []


async def test_discovery_does_not_depend_on_data(world: FakeWorld, client: Client) -> None:
    """AD-02: no class, no node, no tenant, and the resources are all there."""
    for resource in (world.options, world.offers, world.console):
        resource.metas.clear()
    listed = (await client.get(GV)).json
    options = next(r for r in listed["resources"] if r["name"] == "gpuclassoptions")
    assert options["kind"] == "GPUClassOption"
    assert options["singularName"] == "gpuclassoption"
    assert options["namespaced"] is True
    assert options["verbs"] == ["get", "list"]
    assert (await client.get(f"{GV}/gpuclassoptions")).json["items"] == []


@pytest.mark.parametrize(
    ("accept", "aggregated"),
    [
        (V2, True),
        (f"{V2},{V2BETA1},application/json", True),
        (f"{V2};profile=nopeer", True),
        (f"{V2BETA1},application/json", False),
        ("application/json", False),
        ("", False),
    ],
)
async def test_aggregated_discovery_is_typed_as_what_it_is(
    client: Client, accept: str, aggregated: bool
) -> None:
    """Contract 1.7, 1.8: never a body of one kind under the type of the other."""
    reply = await client.get("/apis", Accept=accept)
    kind = "APIGroupDiscoveryList" if aggregated else "APIGroupList"
    assert reply.headers["Content-Type"] == (V2 if aggregated else "application/json")
    assert reply.headers["Vary"] == "Accept"
    assert reply.headers["Cache-Control"] == ("public" if aggregated else "no-cache, private")
    assert reply.json["kind"] == kind


async def test_the_probe_of_the_aggregator_gets_json(client: Client) -> None:
    """Contract 1.15: it sends no Accept at all."""
    request = f"GET {GV} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
    reply = parsed(await exchange(client.port, client.trust, request.encode()))
    assert (reply.code, reply.json["kind"]) == (200, "APIResourceList")


@pytest.mark.parametrize("path", DOCUMENTS)
async def test_a_document_that_is_known_is_not_sent_again(client: Client, path: str) -> None:
    """Contract 1.12, 2.4: the tag in quotes and capitals; 304 without a body."""
    accept = V2 if path == "/apis" else "application/json"
    first = await client.get(path, Accept=accept)
    tag = first.headers["ETag"]
    assert len(tag) == 130
    assert tag == tag.upper()
    again = await client.get(path, Accept=accept, If_None_Match=f'"x", {tag}')
    assert (again.code, again.body) == (304, b"")
    assert again.headers["ETag"] == tag
    assert "Content-Type" not in again.headers
    assert "Content-Length" not in again.headers
    other = await client.get(path, Accept=accept, If_None_Match='"x"')
    assert (other.code, other.body) == (200, first.body)


async def test_a_schema_asked_for_by_its_hash_may_be_kept(client: Client) -> None:
    """Contract 2.9: the path of /openapi/v3 leads to a document that may be kept for a year."""
    root = (await client.get("/openapi/v3")).json
    url = root["paths"][f"apis/{GROUP}/v1alpha1"]["serverRelativeURL"]
    kept = await client.get(url)
    assert kept.headers["Cache-Control"] == "public, immutable"
    assert "Expires" in kept.headers
    assert kept.headers["Vary"] == "Accept"
    assert kept.headers["ETag"] == f'"{url.rpartition("=")[2]}"'


async def test_a_schema_asked_for_by_another_hash_is_the_present_one(client: Client) -> None:
    """Contract 2.9: replicas differ while they are rolled out; a redirect would not pass."""
    reply = await client.get(f"/openapi/v3{GV}?hash=0123")
    assert reply.code == 200
    assert reply.headers["Cache-Control"] == "no-cache, private"
    assert "Expires" not in reply.headers


@pytest.mark.parametrize("path", [*OBJECTS, *OPEN, "/", "/metrics", "/readyz/ping"])
@pytest.mark.parametrize("method", METHODS)
async def test_every_other_method_is_not_allowed(client: Client, path: str, method: str) -> None:
    """AD-06, contract 5.3: HEAD and OPTIONS too, with and without a body; nothing changes."""
    before = (await client.get(f"{ACME}/gpuclassoptions")).json["items"]
    for data in (None, b'{"kind":"DeleteOptions"}'):
        reply = await client.send(method, path, data=data)
        if method == "HEAD":
            assert (reply.code, reply.body) == (405, b"")
            assert reply.headers["Content-Type"] == "application/json"
        else:
            assert_status(reply, 405, "MethodNotAllowed", NOT_ALLOWED, {})
    assert (await client.get(f"{ACME}/gpuclassoptions")).json["items"] == before


async def test_an_invented_method_is_not_allowed(client: Client) -> None:
    """What the parser knows as a method is answered like any other."""
    reply = await client.send("PROPFIND", f"{ACME}/gpuclassoptions")
    assert_status(reply, 405, "MethodNotAllowed", NOT_ALLOWED, {})


@pytest.mark.parametrize(
    "path",
    [
        *("/nope", "/api", "/api/v1", "/api/v1/pods", "/apis/other", "/apis/other/v1"),
        *(f"/apis/{GROUP}/v1", f"/apis/{GROUP}/v1/gpuclassoptions", f"{GV}/nope"),
        *(f"{GV}/namespaces", f"{GV}/namespaces/tenant-acme", f"{ACME}/nope"),
        *(f"{ACME}/gpuclassoptions/l40s/status", f"{ACME}/gpuclassoptions/l40s/a/b"),
        *(f"{GV}/gpuclassoptions/l40s", f"{ACME}/gpuclassoffers", f"{ACME}/gpuclassoffers/l40s"),
        *(f"{GV}/watch/gpuclassoptions", f"{GV}/watch/namespaces/x/gpuclassoptions/l40s"),
        *("/readyz/nope", "/openapi", "/openapi/v3/apis", "/debug/pprof/", "/metrics/slis"),
    ],
)
@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_a_path_that_is_not_served_is_not_found(
    client: Client, path: str, method: str
) -> None:
    """Contract 5.4: the same text for an unknown group, version, resource and subresource."""
    assert_status(await client.send(method, path), 404, "NotFound", NOT_FOUND, {})


@pytest.mark.parametrize("name", ["none", "L40S", "l40s%2F", "%25", "a%20b", "%3Cb%3E"])
async def test_a_name_that_is_not_there_is_not_found(client: Client, name: str) -> None:
    """Contract 5.6; a slash within a name leads nowhere."""
    reply = await client.get(f"{ACME}/gpuclassoptions/{name}")
    if "%2F" in name:
        assert_status(reply, 404, "NotFound", NOT_FOUND, {})
        return
    status = assert_status(reply, 404, "NotFound")
    assert status["message"].startswith(f'gpuclassoptions.{GROUP} "')
    assert status["message"].endswith('" not found')
    assert status["details"]["group"] == GROUP
    assert status["details"]["kind"] == "gpuclassoptions"


@pytest.mark.parametrize("path", [*OPEN, *OBJECTS, "/metrics", "/readyz/ping"])
async def test_no_spelling_of_a_path_is_redirected(client: Client, path: str) -> None:
    """AD-07, contract 1.31: 200 or 404, never 3xx; a slash at the end is the plain form."""
    plain = await client.get(path)
    slashed = await client.get(f"{path}/")
    assert slashed.code == 200
    if path in DOCUMENTS:
        assert slashed.body == plain.body
    spellings = [
        *(f"/{path}", path.replace("/", "//"), f"/.{path}", f"{path}/.", f"{path}/.."),
        *(
            f"/x/..{path}",
            path.upper(),
            f"/{path[1:].replace('/', '%2f')}",
        ),
        *(f"{path}%2F", f"{path};a=b", f"{path}%00"),
    ]
    for spelling in spellings:
        reply = await client.get(spelling)
        assert "Location" not in reply.headers
        if reply.code != 200:
            assert_status(reply, 404, "NotFound")


async def test_the_index_lists_what_is_served(client: Client) -> None:
    """Contract 5.5."""
    for path in ("/", "/index.html"):
        paths = (await client.get(path)).json["paths"]
        assert paths == sorted(paths)
        assert {*OPEN, "/metrics", "/readyz/informer-sync"} <= set(paths)
        for each in paths:
            assert (await client.get(each)).code == 200


async def test_answers_have_no_name_of_the_software_and_a_date(client: Client) -> None:
    """Nothing tells which framework answers; RFC 9110 wants a Date."""
    for path in ("/apis", f"{ACME}/gpuclassoptions", "/nope"):
        headers = (await client.get(path)).headers
        assert "Server" not in headers
        assert headers["Date"].endswith(" GMT")


async def test_audit_ids_do_not_tell_how_many_were_given(client: Client) -> None:
    """Contract 8.5: each is a UUID of chance alone; one that counts tells how much others ask."""
    drawn = [UUID((await client.get("/apis")).headers["Audit-Id"]) for _ in range(20)]
    assert {each.version for each in drawn} == {4}
    for part in ("time_low", "node"):
        assert len({getattr(each, part) for each in drawn}) == 20


@pytest.mark.parametrize(
    ("given", "kept"),
    [("8d5f-1", True), ("a" * 64, True), ("a" * 65, False), ("a b", False), ('a"b', False)],
)
async def test_an_audit_id_is_kept_if_it_is_one(client: Client, given: str, kept: bool) -> None:
    """Contract 8.5: the caller's goes through to the answer, unless it is no plain word."""
    reply = await client.get("/apis", Audit_ID=given)
    assert (reply.headers["Audit-Id"] == given) is kept
    assert len({(await client.get("/apis")).headers["Audit-Id"] for _ in range(3)}) == 3


async def test_one_connection_serves_request_after_request(client: Client) -> None:
    """Keep-alive, pipelined, of both versions of HTTP/1."""
    request = f"GET {GV} HTTP/1.1\r\nHost: x\r\n\r\n"
    last = "GET /version HTTP/1.0\r\n\r\n"
    answers = await exchange(client.port, client.trust, (request * 20 + last).encode())
    assert answers.count(b"HTTP/1.1 200 OK") == 21
    assert answers.count(b"Connection: close") == 1
    kept = "GET /version HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"
    answers = await exchange(client.port, client.trust, (kept + last).encode())
    assert answers.count(b"Connection: keep-alive") == 1
    assert answers.count(b"HTTP/1.1 200 OK") == 2


@pytest.mark.parametrize("target", ["https://evil?x=/livez", "http://evil?/readyz", "https://evil"])
async def test_a_query_is_no_path(client: Client, target: str) -> None:
    """RFC 9112, 3.2: the host of an absolute target ends at its query too."""
    request = f"GET {target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
    reply = parsed(await exchange(client.port, client.trust, request.encode()))
    assert_status(reply, 401, "Unauthorized", "Unauthorized")


async def test_every_answer_is_json_that_can_be_read(client: Client) -> None:
    """Contract 5.10: never HTML, whatever is accepted."""
    for path in ("/nope", f"{ACME}/gpuclassoptions/none", "/apis/"):
        reply = await client.get(path, Accept="text/html,*/*;q=0.1")
        assert json.loads(reply.body)
