"""Method and target to request info: upstream's own tables, and what they leave out."""

import pytest

from apiserver.http.errors import BadRequestError
from apiserver.http.request_info import request_info, with_selectors
from auth.attributes import SelectorRequirement

GV = "/apis/options.gpu.cozystack.io/v1alpha1"


@pytest.mark.parametrize(
    ("target", "path"),
    [
        ("/", "/"),
        ("/index.html", "/index.html"),
        ("/apis", "/apis"),
        ("/apis/", "/apis"),
        ("/apis/g", "/apis/g"),
        ("/apis/g/v1/", "/apis/g/v1"),
        ("/api", "/api"),
        ("/api/v1", "/api/v1"),
        ("/readyz/ping?verbose", "/readyz/ping"),
        ("/APIS/g/v1/r", "/APIS/g/v1/r"),
        ("https://host:1/apis?x=y#z", "/apis"),
        ("http://host", "/"),
        ("https://evil?x=/livez", "/"),
        ("https://evil#/livez", "/"),
        ("https://evil?x=/livez#/livez", "/"),
        ("https://evil/apis#?/livez", "/apis"),
        ("/gr%C3%B6n", "/grön"),
    ],
)
def test_a_path_that_is_no_resources_keeps_path_and_method(target: str, path: str) -> None:
    """Contract 0.4; a slash at the end does not matter."""
    info = request_info(target, "GET")
    assert not info.attributes.resource_request
    assert (info.attributes.verb, info.attributes.path) == ("get", path)


@pytest.mark.parametrize(
    ("target", "namespace", "resource", "name", "subresource"),
    [
        (f"{GV}/r", "", "r", "", ""),
        (f"{GV}/r/", "", "r", "", ""),
        (f"{GV}/r/n", "", "r", "n", ""),
        (f"{GV}/namespaces/ns/r", "ns", "r", "", ""),
        (f"{GV}/namespaces/ns/r/n", "ns", "r", "n", ""),
        (f"{GV}/namespaces/ns/r/n/status", "ns", "r", "n", "status"),
        (f"{GV}/namespaces/ns/r/n/proxy/a/b", "ns", "r", "n", "proxy"),
        (f"{GV}/namespaces", "", "namespaces", "", ""),
        (f"{GV}/namespaces/ns", "ns", "namespaces", "ns", ""),
        (f"{GV}/namespaces/ns/status", "ns", "namespaces", "ns", "status"),
        (f"{GV}/namespaces/ns/finalize", "ns", "namespaces", "ns", "finalize"),
        (f"{GV}/r/a%2Fb", "", "r", "a/b", ""),
    ],
)
def test_a_resources_path_is_taken_apart(
    target: str, namespace: str, resource: str, name: str, subresource: str
) -> None:
    """Contract 0.6, on the raw path: an encoded slash does not divide."""
    attributes = request_info(target, "GET").attributes
    assert attributes.resource_request
    assert (attributes.group, attributes.version) == ("options.gpu.cozystack.io", "v1alpha1")
    assert attributes.namespace == namespace
    assert attributes.resource == resource
    assert attributes.name == name
    assert attributes.subresource == subresource


def test_the_group_without_a_name_has_its_own_prefix() -> None:
    """/api/v1/… is a resource's path too, for authorization and metrics."""
    attributes = request_info("/api/v1/namespaces/ns/pods/p", "GET").attributes
    assert (attributes.group, attributes.version, attributes.resource) == ("", "v1", "pods")
    assert (attributes.namespace, attributes.name) == ("ns", "p")


@pytest.mark.parametrize(
    ("method", "of_collection", "of_object"),
    [
        ("GET", "list", "get"),
        ("HEAD", "list", "get"),
        ("POST", "create", "create"),
        ("PUT", "update", "update"),
        ("PATCH", "patch", "patch"),
        ("DELETE", "deletecollection", "delete"),
        ("OPTIONS", "", ""),
        ("PROPFIND", "", ""),
    ],
)
def test_methods_become_verbs(method: str, of_collection: str, of_object: str) -> None:
    """Contract 0.5."""
    assert request_info(f"{GV}/r", method).attributes.verb == of_collection
    assert request_info(f"{GV}/r/n", method).attributes.verb == of_object


@pytest.mark.parametrize(
    ("target", "verb"),
    [
        (f"{GV}/r?watch=true", "watch"),
        (f"{GV}/r?watch", "watch"),
        (f"{GV}/r?watch=0", "list"),
        (f"{GV}/r?watch=true&limit=x", "watch"),
        (f"{GV}/r/n?watch=true", "get"),
        (f"{GV}/watch/r", "watch"),
        (f"{GV}/watch/namespaces/ns/r/n", "watch"),
        (f"{GV}/watch", "list"),
    ],
)
def test_a_watch_is_told_from_a_list_by_the_query(target: str, verb: str) -> None:
    """Contract 0.5: on a named object `watch` means nothing, and a bad query hides no watch."""
    assert request_info(target, "GET").attributes.verb == verb


@pytest.mark.parametrize(
    ("selector", "name"),
    [
        ("metadata.name=n", "n"),
        ("metadata.name%3Dn,metadata.namespace=x", "n"),
        ("metadata.name!=n", ""),
        ("metadata.name=a/b", ""),
        ("metadata.name=..", ""),
        ("metadata.name=a%25b", ""),
        ("metadata.name", ""),
    ],
)
def test_a_list_of_one_name_is_authorized_by_that_name(selector: str, name: str) -> None:
    """Contract 0.6 and 7.5: RBAC resourceNames on list work only so."""
    info = with_selectors(request_info(f"{GV}/r?fieldSelector={selector}", "GET"))
    assert info.attributes.name == name
    assert not info.named


def test_selectors_are_given_to_authorizers() -> None:
    """Contract 7.4: In and NotIn of fields; Gt and Lt of labels are dropped."""
    query = "fieldSelector=metadata.name!=a&labelSelector=x=a,y,!z,w>5"
    attributes = with_selectors(request_info(f"{GV}/r?{query}", "GET")).attributes
    assert attributes.field_selector == (SelectorRequirement("metadata.name", "NotIn", ("a",)),)
    assert attributes.label_selector == (
        SelectorRequirement("x", "In", ("a",)),
        SelectorRequirement("y", "Exists"),
        SelectorRequirement("z", "DoesNotExist"),
    )


@pytest.mark.parametrize(
    "target",
    [
        f"{GV}/r?fieldSelector=x&labelSelector=,",
        f"{GV}/r?labelSelector=x>5",
        f"{GV}/r",
        f"{GV}/r/n?fieldSelector=a=b&labelSelector=x=a",
        f"{GV}/watch/r?fieldSelector=a=b&labelSelector=x=a",
    ],
)
def test_selectors_that_say_nothing_are_left_out(target: str) -> None:
    """Contract 7.4: unparsable ones are omitted, never an error here; only collections have any."""
    attributes = with_selectors(request_info(target, "GET")).attributes
    assert attributes.field_selector is None
    assert attributes.label_selector is None


def test_selectors_are_left_alone_until_they_are_asked_for() -> None:
    """Who is nobody makes nobody work: a target's selectors are read when the caller is known."""
    info = request_info(f"{GV}/r?fieldSelector=metadata.name=n&labelSelector=x=a,,", "GET")
    assert info.selectors is None
    assert (info.attributes.name, info.attributes.field_selector) == ("", None)
    read = with_selectors(info).selectors
    assert read is not None
    assert read.name == "n"
    assert read.fault == "found ',', expected: identifier after ','"


def test_a_deletecollection_has_selectors_and_no_name() -> None:
    """Contract 0.6, 7.4: only list and watch are authorized by a selected name."""
    info = with_selectors(request_info(f"{GV}/r?fieldSelector=metadata.name=n", "DELETE"))
    assert info.attributes.name == ""
    assert info.attributes.field_selector == (SelectorRequirement("metadata.name", "In", ("n",)),)


@pytest.mark.parametrize(
    "target",
    [
        "/apis//v1/r",
        f"{GV}/namespaces//r",
        f"{GV}/namespaces/../r",
        f"{GV}/r/.",
        f"{GV}/r/a%2Fb",
        "/readyz%2Fping",
        "/%2e%2e/apis",
    ],
)
def test_a_path_with_a_segment_that_no_name_can_be_leads_nowhere(target: str) -> None:
    """AD-07: empty, dot and slash segments are authorized as they are, and then never routed."""
    assert not request_info(target, "GET").routable


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("*", "the target of the request is not a path"),
        ("host:443", "the target of the request is not a path"),
        ("ftp://host/apis", "the target of the request is not a path"),
        ("/a%zz", 'invalid URL escape "%zz"'),
        ("/a?b=%", 'invalid URL escape "%"'),
        ("/a" * 101, "the path has more than 100 segments"),
        ("/a?" + "b&" * 1001, "the query has more than 1000 parameters"),
        ("/a?" + "b" * 262144, "the URL is longer than 262144 bytes"),
    ],
)
def test_a_target_that_is_no_path_is_refused(target: str, message: str) -> None:
    """A request line that cannot be understood is 400, whoever sends it."""
    with pytest.raises(BadRequestError) as caught:
        request_info(target, "GET")
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("method", "target", "series"),
    [
        ("GET", "/apis", ("GET", "", "", "", "", "")),
        ("BREW", "/apis", ("other", "", "", "", "", "")),
        ("GET", "/apis/g/v/anything", ("LIST", "", "", "", "", "")),
        ("GET", f"{GV}/anything", ("LIST", "", "", "", "", "")),
        ("GET", f"{GV}/options/n/sub", ("GET", "", "", "", "", "")),
        ("GET", f"{GV}/options", ("LIST", "resource", "cluster")),
        ("GET", f"{GV}/namespaces/ns/options", ("LIST", "resource", "namespace")),
        ("GET", f"{GV}/namespaces/ns/options/n", ("GET", "resource", "resource")),
        ("GET", f"{GV}/options?watch=1", ("WATCH", "resource", "cluster")),
        ("DELETE", f"{GV}/options", ("DELETECOLLECTION", "resource", "cluster")),
    ],
)
def test_a_request_counts_in_a_series_that_no_caller_can_invent(
    method: str, target: str, series: tuple[str, ...]
) -> None:
    """Contract 9.10: what is not served collapses to the empty name."""
    found = request_info(target, method).series
    if len(series) == 3:
        series = (series[0], "options.gpu.cozystack.io", "v1alpha1", "options", "", series[2])
    assert tuple(found) == series
