"""kubectl against the demo cluster: the resources behave as built-in ones do."""

import json
from collections.abc import Iterator

import pytest
from fakes.demo import Demo, running_demo

LABEL = "gpu.cozystack.io/mode"


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Demo]:
    """The demo that comes with the program."""
    with running_demo(tmp_path_factory.mktemp("demo") / "state") as running:
        yield running


def test_wa_08_the_default_columns_are_those_of_the_specification(demo: Demo) -> None:
    """WA-08: no blank names, one cell per column."""
    header, *rows = demo.kubectl("get", "gco", "-n", "tenant-acme").splitlines()
    assert header.split() == [
        *("NAME", "MODE", "FREE", "MAX/VM", "LEFT", "REQUESTABLE", "STARTABLE", "REASON"),
    ]
    assert all(len(row.split()) == 8 for row in rows)


def test_wide_adds_the_columns_of_the_specification(demo: Demo) -> None:
    """`-o wide`; AGE is a duration, as everywhere."""
    header, *rows = demo.kubectl("get", "gco", "-n", "tenant-acme", "-o", "wide").splitlines()
    assert header.split()[8:] == [
        *("VENDOR", "MEMORY", "ENTITLEMENT", "LARGEST-FIT", "DISPLAY", "NAME", "AGE"),
    ]
    assert all(row.split()[-1][-1] in "smhdy" for row in rows)
    assert all("T" not in row.split()[-1] for row in rows)


def test_names_headers_labels_and_namespaces_print_as_usual(demo: Demo) -> None:
    """WA-08: `-o name`, `--no-headers`, `--show-labels`, `-A`."""
    assert demo.kubectl("get", "gco", "l40s", "-n", "tenant-acme", "-o", "name") == (
        "gpuclassoption.options.gpu.cozystack.io/l40s\n"
    )
    labels = demo.rows("gco", "l40s", "-n", "tenant-acme", "--show-labels")[0][-1]
    assert labels == "gpu.cozystack.io/mode=passthrough,gpu.cozystack.io/vendor=nvidia"
    namespaces = [row[0] for row in demo.rows("gco", "-A")]
    assert namespaces == sorted(namespaces)
    assert "tenant-acme" in namespaces


def test_sort_by_works_on_fields_of_the_status(demo: Demo) -> None:
    """WA-08: kubectl asks for whole objects in the rows then."""
    rows = demo.rows("gco", "-n", "tenant-acme", "--sort-by=.status.capacity.free")
    free = [int(row[2]) for row in rows]
    assert len(free) > 1
    assert free == sorted(free)


def test_selectors_choose_by_label_and_by_name(demo: Demo) -> None:
    """Labels for what they are there for; the two field selectors that every kind has."""
    assert {row[1] for row in demo.rows("gco", "-n", "tenant-acme", "-l", f"{LABEL}=vgpu")} == {
        "vgpu"
    }
    chosen = demo.rows("gco", "-A", "--field-selector", "metadata.name=l40s")
    assert {row[1] for row in chosen} == {"l40s"}
    refused = demo.run_kubectl("get", "gco", "-A", "--field-selector", "status.x=1")
    assert 'only "metadata.name", "metadata.namespace"' in refused.stderr


def test_short_names_singular_names_and_the_category_are_known(demo: Demo) -> None:
    """Discovery has all of them; `all` is not among the categories."""
    plural = demo.rows("gpuclassoptions", "-n", "tenant-acme")
    assert demo.rows("gpuclassoption", "-n", "tenant-acme") == plural
    assert demo.rows("gco", "-n", "tenant-acme") == plural
    assert demo.rows("gcoff") == demo.rows("gpuclassoffer")
    kinds = {row[0].split(".")[0] for row in demo.rows("gpu", "-n", "tenant-acme") if row}
    assert kinds == {"gpuclassoption", "gpuclassoffer", "option"}
    assert demo.run_kubectl("get", "all", "-n", "tenant-acme").returncode != 0


def test_api_resources_lists_the_group(demo: Demo) -> None:
    """As for any built-in group."""
    listed = demo.kubectl(
        "api-resources", "--api-group=options.gpu.cozystack.io", "-o", "wide", "--no-headers"
    )
    assert [line.split() for line in listed.splitlines()] == [
        [name, *short, "options.gpu.cozystack.io/v1alpha1", scoped, kind, "get,list", "gpu"]
        for name, short, scoped, kind in (
            ("gpuclassoffers", ["gcoff"], "false", "GPUClassOffer"),
            ("gpuclassoptions", ["gco"], "true", "GPUClassOption"),
            ("options", [], "true", "Option"),
        )
    ]


def test_oa_01_explain_describes_every_field(demo: Demo) -> None:
    """OA-01: kind, description and fields, recursively."""
    for kind in ("gpuclassoptions", "gpuclassoffers", "options"):
        assert "GROUP:      options.gpu.cozystack.io" in demo.kubectl("explain", kind)
    told = demo.kubectl("explain", "gpuclassoptions", "--recursive")
    for field in ("requestableCount", "startableCount", "remaining", "largestFit", "maxCount"):
        assert field in told
    budget = demo.kubectl("explain", "gpuclassoptions.status.budget")
    assert "What is left in the budget that this namespace draws from." in budget
    assert "Units left; 0 when nothing is left." in budget


def test_oa_01_the_schema_of_version_2_is_json_and_says_so(demo: Demo) -> None:
    """kubectl's old explain asks kube-apiserver for protobuf; an extension serves JSON (2.4)."""
    proto = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"
    path, token = "/openapi/v2", "demo-admin-token"
    assert demo.request(path, token=token, headers={"Accept": proto}).code == 406
    assert json.loads(demo.request(path, token=token).body)["swagger"] == "2.0"


def test_oa_01_explain_prints_every_field(demo: Demo) -> None:
    """OA-01: recursively, for all three kinds."""
    path = "/openapi/v3/apis/options.gpu.cozystack.io/v1alpha1"
    schemas = json.loads(demo.kubectl("get", "--raw", path))["components"]["schemas"]
    fields = {field for schema in schemas.values() for field in schema["properties"]}
    told = "".join(
        demo.kubectl("explain", kind, "--recursive")
        for kind in ("gpuclassoptions", "gpuclassoffers", "options")
    )
    printed = {line.split()[0] for line in told.splitlines() if "\t<" in line}
    assert printed == fields


def test_describe_shows_an_option(demo: Demo) -> None:
    """No error although there are no events to be had."""
    told = demo.kubectl("describe", "gco", "l40s", "-n", "tenant-acme")
    assert "Requestable Count:" in told
    assert "GPUClassOption" in told


def test_an_unknown_name_is_not_found(demo: Demo) -> None:
    """As for any built-in resource."""
    missing = demo.run_kubectl("get", "gco", "nope", "-n", "tenant-acme", "-v=8")
    assert missing.returncode == 1
    assert "NotFound" in missing.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ("delete", "gco", "l40s", "-n", "tenant-acme"),
        ("label", "gco", "l40s", "-n", "tenant-acme", "a=b"),
        ("patch", "gco", "l40s", "-n", "tenant-acme", "-p", "{}"),
    ],
)
def test_ad_06_nothing_can_be_written(demo: Demo, arguments: tuple[str, ...]) -> None:
    """AD-06: 405 for every verb that is not served."""
    refused = demo.run_kubectl(*arguments)
    assert refused.returncode == 1
    assert "MethodNotAllowed" in refused.stderr or "doesn't support" in refused.stderr


def test_watch_is_refused_cleanly_until_it_is_served(demo: Demo) -> None:
    """Contract 4.39: the rows, then a clear word instead of a hang."""
    watched = demo.run_kubectl("get", "gco", "-n", "tenant-acme", "-w")
    assert watched.returncode == 1
    assert "watch is not supported on resources of kind" in watched.stderr


def test_version_and_probes_answer(demo: Demo) -> None:
    """`kubectl version` parses what it gets."""
    assert "Server Version: v" in demo.kubectl("version")
    assert demo.kubectl("get", "--raw", "/readyz") == "ok"
    told = demo.kubectl("get", "--raw", "/readyz?verbose")
    assert "[+]informer-sync ok" in told


def test_wa_10_a_limit_is_ignored_and_everything_is_sent(demo: Demo) -> None:
    """WA-10: no page is lost, since there is one."""
    every = demo.rows("gco", "-A")
    assert demo.rows("gco", "-A", "--chunk-size=3") == every
    one = demo.kubectl(
        "get", "--raw", "/apis/options.gpu.cozystack.io/v1alpha1/gpuclassoptions?limit=1"
    )
    listed = json.loads(one)
    assert len(listed["items"]) == len(every)
    assert "continue" not in listed["metadata"]
