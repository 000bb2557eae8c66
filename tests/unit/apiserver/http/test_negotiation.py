"""Which form an Accept header gets."""

import pytest

from apiserver.http.errors import NotAcceptableError
from apiserver.http.negotiation import Encoding, Kind, Negotiated, Purpose, negotiate

TABLE = "as=Table;v=v1;g=meta.k8s.io"
KUBECTL = (
    f"application/json;{TABLE},application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json"
)
V2 = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"

JSON = Negotiated()
YAML = Negotiated(Encoding.YAML)


@pytest.mark.parametrize(
    ("accept", "expected"),
    [
        ("", JSON),
        ("*/*", JSON),
        ("*", JSON),
        ("application/*", JSON),
        ("application/json", JSON),
        (" application/json ; charset=utf-8 ", JSON),
        ("application/yaml", YAML),
        ("application/vnd.kubernetes.protobuf,application/json", JSON),
        ("application/json;q=0.5,application/yaml", YAML),
        ("*/*,application/yaml", YAML),
        ("text/html,application/xhtml+xml,*/*;q=0.8", JSON),
        ("application/json;q=0", JSON),
        ("application/yaml;q=x,application/json", JSON),
        ("application/json;q=nan,application/yaml;q=0.1", YAML),
        ("nonsense,application/a/b,,application/yaml", YAML),
        ("application/json;pretty=1", Negotiated(pretty=True)),
        ("application/json;stream=watch", JSON),
        ("application/json;stream=other,application/yaml", YAML),
        ("application/json;sv=1,application/yaml", YAML),
        (f"application/json;{TABLE}", Negotiated(kind=Kind.TABLE)),
        (f"application/yaml;{TABLE}", Negotiated(Encoding.YAML, Kind.TABLE)),
        (KUBECTL, Negotiated(kind=Kind.TABLE)),
        (
            "application/json;as=Table;v=v1beta1;g=meta.k8s.io",
            Negotiated(kind=Kind.TABLE, version="v1beta1"),
        ),
        ("application/json;as=Table;v=v2;g=meta.k8s.io,application/yaml", YAML),
        ("application/json;as=Table;v=v1;g=other,application/yaml", YAML),
        ("application/json;as=Table,application/yaml", YAML),
        (
            "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
            Negotiated(kind=Kind.PARTIAL),
        ),
        (
            "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1",
            Negotiated(kind=Kind.PARTIAL_LIST),
        ),
        (f"application/json,application/json;{TABLE}", JSON),
        (f"{'text/html,' * 63}application/yaml", YAML),
        (f"application/json{';a=b' * 15};pretty=1", Negotiated(pretty=True)),
    ],
)
def test_objects_are_sent_in_the_first_form_that_can_be_met(
    accept: str, expected: Negotiated
) -> None:
    """Contract 3.1 to 3.6: by quality, the specific first; what cannot be met is skipped."""
    assert negotiate(accept, Purpose.OBJECTS) == expected


@pytest.mark.parametrize(
    ("accept", "aggregated"),
    [
        ("", False),
        ("application/json", False),
        (V2, True),
        (f"{V2},application/json", True),
        (f"application/json,{V2}", False),
        (f"{V2};profile=nopeer", True),
        (V2.replace("v=v2", "v=v2beta1") + ",application/json", False),
        ("application/json;as=APIGroupDiscoveryList;v=v2;g=apidiscovery.k8s.io", True),
    ],
)
def test_aggregated_discovery_is_sent_to_who_prefers_it(accept: str, aggregated: bool) -> None:
    """Contract 1.7 and 1.11: parameters in any order; v2beta1 falls through to the next clause."""
    kind = negotiate(accept, Purpose.DISCOVERY).kind
    assert (kind is Kind.AGGREGATED_DISCOVERY) is aggregated


@pytest.mark.parametrize(
    ("accept", "purpose", "accepted"),
    [
        ("text/html", Purpose.OBJECTS, "application/json, application/yaml"),
        (
            f"{'text/html,' * 64}application/json",
            Purpose.OBJECTS,
            "application/json, application/yaml",
        ),
        (
            "application/json;as=Table;v=v9;g=x",
            Purpose.OBJECTS,
            "application/json, application/yaml",
        ),
        ("*/json", Purpose.OBJECTS, "application/json, application/yaml"),
        ("application/yaml", Purpose.DOCUMENT, "application/json"),
        (V2, Purpose.DOCUMENT, "application/json"),
        (V2.replace("v=v2", "v=v2beta1"), Purpose.DISCOVERY, "application/json"),
        (V2.replace("json", "yaml"), Purpose.DISCOVERY, "application/json"),
    ],
)
def test_where_nothing_is_acceptable_the_caller_learns_what_is(
    accept: str, purpose: Purpose, accepted: str
) -> None:
    """Contract 3.7 and 2.5: 406 names the media types that can be had."""
    with pytest.raises(NotAcceptableError) as caught:
        negotiate(accept, purpose)
    assert str(caught.value) == f"only the following media types are accepted: {accepted}"
