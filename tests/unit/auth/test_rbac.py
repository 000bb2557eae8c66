"""Rights from RBAC objects: upstream's behaviour, row by row."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from auth.attributes import Attributes, SelectorRequirement
from auth.authorization.port import Authorizer, Decision, Ruling
from auth.authorization.rbac import RBACAuthorizer
from auth.identity import User

GROUP = "options.gpu.cozystack.io"
ALICE = User("alice", groups=("dev", "system:authenticated"))
Value = dict[str, Any]


def rule(**fields: Any) -> Value:
    """Return a rule for a namespace's options; arguments replace its members."""
    base = {"verbs": ["get", "list"], "apiGroups": [GROUP], "resources": ["gpuclassoptions"]}
    return {key: value for key, value in {**base, **fields}.items() if value is not None}


def urls(*paths: str) -> Value:
    """Return a rule for paths."""
    return {"verbs": ["get"], "nonResourceURLs": list(paths)}


def cluster_role(name: str, *rules: Value, **more: Any) -> Value:
    """Return a ClusterRole."""
    labels = more.pop("labels", {})
    metadata = {"name": name, "labels": labels}
    return {"kind": "ClusterRole", "metadata": metadata, "rules": list(rules), **more}


def role(namespace: str, name: str, *rules: Value) -> Value:
    """Return a Role."""
    metadata = {"name": name, "namespace": namespace}
    return {"kind": "Role", "metadata": metadata, "rules": list(rules)}


def user(name: str = "alice") -> Value:
    """Return a user as a subject."""
    return {"kind": "User", "name": name, "apiGroup": "rbac.authorization.k8s.io"}


def cluster_binding(role: str, *subjects: Value) -> Value:
    """Return a ClusterRoleBinding, for alice unless said otherwise."""
    return {
        "kind": "ClusterRoleBinding",
        "metadata": {"name": "b"},
        "roleRef": {"kind": "ClusterRole", "name": role},
        "subjects": list(subjects) or [user()],
    }


def binding(namespace: str, role: str, *subjects: Value, kind: str = "ClusterRole") -> Value:
    """Return a RoleBinding, for alice unless said otherwise."""
    return {
        "kind": "RoleBinding",
        "metadata": {"name": "b", "namespace": namespace},
        "roleRef": {"kind": kind, "name": role},
        "subjects": list(subjects) or [user()],
    }


def asked(**fields: Any) -> Attributes:
    """Return a list of tenant-a's options; arguments replace its attributes."""
    base: dict[str, Any] = {
        "verb": "list",
        "resource_request": True,
        "group": GROUP,
        "version": "v1alpha1",
        "resource": "gpuclassoptions",
        "namespace": "tenant-a",
    }
    return Attributes(**{**base, **fields})


async def allows(objects: list[Value], attributes: Attributes, who: User = ALICE) -> bool:
    """Whether these objects grant a request."""
    authorizer: Authorizer = RBACAuthorizer(objects)
    ruling = await authorizer.authorize(who, attributes)
    assert ruling.reason == ""
    assert ruling.decision is not Decision.DENY
    return ruling.decision is Decision.ALLOW


@pytest.mark.parametrize(
    ("granted", "request_", "allowed"),
    [
        (rule(), asked(), True),
        (rule(), asked(verb="watch"), False),
        (rule(verbs=["*"]), asked(verb="watch"), True),
        (rule(), asked(group="other"), False),
        (rule(apiGroups=["*"]), asked(group="other"), True),
        (rule(apiGroups=[""]), asked(), False),
        (rule(apiGroups=[""]), asked(group=""), True),
        (rule(), asked(resource="options"), False),
        (rule(resources=["options", "gpuclassoptions"]), asked(), True),
        (rule(resources=["*"]), asked(), True),
        (rule(resources=["*"]), asked(subresource="status"), True),
        (rule(), asked(subresource="status"), False),
        (rule(resources=["gpuclassoptions/status"]), asked(subresource="status"), True),
        (rule(resources=["gpuclassoptions/status"]), asked(), False),
        (rule(resources=["gpuclassoptions/status"]), asked(subresource="scale"), False),
        (rule(resources=["*/status"]), asked(subresource="status"), True),
        (rule(resources=["*/status"]), asked(subresource="scale"), False),
        (rule(resources=["*/status"]), asked(), False),
        (rule(resources=["gpuclassoptions/*"]), asked(subresource="status"), False),
        (rule(resourceNames=["l40s"]), asked(verb="get", name="l40s"), True),
        (rule(resourceNames=["l40s"]), asked(verb="get", name="h200"), False),
        (rule(resourceNames=["l40s"]), asked(), False),
        (rule(resourceNames=["l40s"]), asked(name="l40s"), True),
        (rule(resourceNames=[]), asked(name="l40s"), True),
        (rule(), asked(version="v9"), True),
        (urls("/apis"), asked(), False),
        (urls("*"), asked(), False),
        (urls("/apis"), Attributes(verb="get", path="/apis"), True),
        (urls("/apis"), Attributes(verb="get", path="/apis/"), False),
        (urls("/apis"), Attributes(verb="post", path="/apis"), False),
        (urls("/apis/*"), Attributes(verb="get", path="/apis/x/y"), True),
        (urls("/apis/*"), Attributes(verb="get", path="/apis"), False),
        (urls("/apis*"), Attributes(verb="get", path="/apis"), True),
        (urls("/a/**"), Attributes(verb="get", path="/a/b"), True),
        (urls("/*/x"), Attributes(verb="get", path="/a/x"), False),
        (urls("*"), Attributes(verb="get", path="/anything"), True),
        (rule(resources=["*"]), Attributes(verb="get", path="/apis"), False),
    ],
)
async def test_a_rule_grants_what_upstreams_would(
    granted: Value, request_: Attributes, allowed: bool
) -> None:
    """Verbs, groups, resources, subresources, names and paths."""
    objects = [cluster_role("r", granted), cluster_binding("r")]
    assert await allows(objects, request_) is allowed


@pytest.mark.parametrize(
    ("objects", "request_", "allowed"),
    [
        ([role("tenant-a", "r", rule()), binding("tenant-a", "r", kind="Role")], asked(), True),
        ([cluster_role("r", rule()), binding("tenant-a", "r")], asked(), True),
        (
            [cluster_role("r", rule()), binding("tenant-a", "r")],
            asked(namespace="tenant-b"),
            False,
        ),
        ([cluster_role("r", rule()), binding("tenant-a", "r")], asked(namespace=""), False),
        ([cluster_role("r", rule()), cluster_binding("r")], asked(namespace=""), True),
        ([cluster_role("r", rule()), binding("tenant-a", "r", kind="Role")], asked(), False),
        ([role("tenant-b", "r", rule()), binding("tenant-a", "r", kind="Role")], asked(), False),
        ([role("tenant-a", "r", rule()), binding("tenant-a", "r")], asked(), False),
        ([role("tenant-a", "r", rule()), cluster_binding("r")], asked(), False),
        ([cluster_binding("missing")], asked(), False),
        (
            [cluster_role("r", urls("/x")), binding("tenant-a", "r")],
            Attributes(verb="get", path="/x"),
            False,
        ),
        ([cluster_role("r", rule())], asked(), False),
        ([], asked(), False),
    ],
)
async def test_a_binding_reaches_as_far_as_its_kind(
    objects: list[Value], request_: Attributes, allowed: bool
) -> None:
    """A RoleBinding gives rights in its namespace, whichever role it names."""
    assert await allows(objects, request_) is allowed


@pytest.mark.parametrize(
    ("subject", "who", "allowed"),
    [
        (user(), ALICE, True),
        ({"kind": "User", "name": "alice"}, ALICE, True),
        (user("bob"), ALICE, False),
        (user("dev"), ALICE, False),
        ({"kind": "Group", "name": "dev"}, ALICE, True),
        ({"kind": "Group", "name": "alice"}, ALICE, False),
        ({"kind": "Group", "name": "system:authenticated"}, ALICE, True),
        (
            {"kind": "ServiceAccount", "name": "sa", "namespace": "n"},
            User("system:serviceaccount:n:sa"),
            True,
        ),
        (
            {"kind": "ServiceAccount", "name": "sa"},
            User("system:serviceaccount:tenant-a:sa"),
            True,
        ),
        (
            {"kind": "ServiceAccount", "name": "sa", "namespace": "n"},
            User("system:serviceaccount:m:sa"),
            False,
        ),
        ({"kind": "ServiceAccount", "name": "alice", "namespace": "n"}, ALICE, False),
        ({"kind": "Group", "name": "third"}, User("u", groups=("first", "second", "third")), True),
    ],
)
async def test_a_subject_is_a_user_a_group_or_a_service_account(
    subject: Value, who: User, allowed: bool
) -> None:
    """AU-09: a binding on the third of three groups counts."""
    objects = [cluster_role("r", rule()), binding("tenant-a", "r", subject)]
    assert await allows(objects, asked(), who) is allowed


def selector(**labels: str) -> Value:
    """Return an aggregation rule with one selector."""
    return {"clusterRoleSelectors": [{"matchLabels": labels}]}


def expression(key: str, operator: str, *values: str) -> Value:
    """Return an aggregation rule with one term of matchExpressions."""
    term = {"key": key, "operator": operator, "values": list(values)}
    return {"clusterRoleSelectors": [{"matchExpressions": [term]}]}


@pytest.mark.parametrize(
    ("aggregation", "labels", "allowed"),
    [
        (selector(view="true"), {"view": "true"}, True),
        (selector(view="true"), {"view": "false"}, False),
        (selector(view="true", x="y"), {"view": "true"}, False),
        (selector(), {}, True),
        ({"clusterRoleSelectors": []}, {}, False),
        ({}, {}, False),
        (expression("a", "In", "1", "2"), {"a": "2"}, True),
        (expression("a", "In", "1"), {}, False),
        (expression("a", "NotIn", "1"), {"a": "2"}, True),
        (expression("a", "NotIn", "1"), {"a": "1"}, False),
        (expression("a", "NotIn", "1"), {}, True),
        (expression("a", "Exists"), {"a": ""}, True),
        (expression("a", "Exists"), {}, False),
        (expression("a", "DoesNotExist"), {}, True),
        (expression("a", "DoesNotExist"), {"a": ""}, False),
        (
            {
                "clusterRoleSelectors": [
                    {"matchLabels": {"a": "1"}},
                    {"matchLabels": {"b": "1"}},
                ]
            },
            {"b": "1"},
            True,
        ),
    ],
)
async def test_an_aggregating_role_gathers_by_label(
    aggregation: Value, labels: dict[str, str], allowed: bool
) -> None:
    """Any of its selectors, all terms of one; an empty selector matches everything."""
    objects = [
        cluster_role("all", aggregationRule=aggregation),
        cluster_role("part", rule(), labels=labels),
        cluster_binding("all"),
    ]
    assert await allows(objects, asked()) is allowed


async def test_an_aggregating_role_has_no_rules_of_its_own() -> None:
    """Upstream's controller overwrites them."""
    aggregating = cluster_role("all", rule(), aggregationRule=selector(view="true"))
    assert not await allows([aggregating, cluster_binding("all")], asked())


async def test_roles_gather_through_others_that_gather() -> None:
    """A loop of them ends, and gives what is in it."""
    objects = [
        cluster_role("admin", aggregationRule=selector(admin="1"), labels={"view": "1"}),
        cluster_role("view", aggregationRule=selector(view="1"), labels={"admin": "1"}),
        cluster_role("base", rule(), labels={"view": "1"}),
        cluster_binding("admin"),
    ]
    assert await allows(objects, asked())


@pytest.mark.parametrize(
    "broken",
    [
        {"kind": "ClusterRole", "metadata": 5},
        {"kind": "ClusterRole", "metadata": {"name": 5}},
        {"kind": "ClusterRole"},
        cluster_role("r", {"verbs": "get"}),
        cluster_role("r", rule(), rule(verbs=[])),
        cluster_role("r", rule(), rule(verbs=None)),
        cluster_role("r", rule(), rule(apiGroups=None)),
        cluster_role("r", rule(), rule(resources=[])),
        cluster_role("r", rule(), rule(nonResourceURLs=["/x"])),
        cluster_role("r", rule(), aggregationRule=5),
        cluster_role("r", rule(), aggregationRule=expression("a", "In")),
        cluster_role("r", rule(), aggregationRule=expression("a", "Exists", "x")),
        cluster_role("r", rule(), aggregationRule=expression("a", "Like", "x")),
    ],
)
async def test_a_malformed_role_grants_nothing(
    broken: Value, caplog: pytest.LogCaptureFixture
) -> None:
    """It is left out whole, and logged; everything else counts as before."""
    good = [cluster_role("good", urls("/x")), cluster_binding("good")]
    assert not await allows([broken, cluster_binding("r"), *good], asked())
    assert await allows([broken, *good], Attributes(verb="get", path="/x"))
    assert {record.message for record in caplog.records} == {"malformed object grants nothing"}


@pytest.mark.parametrize(
    "broken",
    [
        role("tenant-a", "r", rule(), urls("/x")),
        {**role("tenant-a", "r", rule()), "aggregationRule": selector(a="b")},
    ],
)
async def test_a_role_of_a_namespace_speaks_of_resources_only(broken: Value) -> None:
    """An API server refuses the rest."""
    assert not await allows([broken, binding("tenant-a", "r", kind="Role")], asked())


def changed(value: Value, **members: Any) -> Value:
    """Return an object with members replaced."""
    return {**value, **members}


BOUND = cluster_binding("r")


@pytest.mark.parametrize(
    "broken",
    [
        changed(BOUND, roleRef={"kind": "Role", "name": "r"}),
        changed(BOUND, roleRef={"kind": "ClusterRole", "name": "r", "apiGroup": "x"}),
        changed(BOUND, roleRef={"kind": "ClusterRole", "name": ""}),
        changed(BOUND, roleRef=None),
        changed(BOUND, subjects="alice"),
        changed(BOUND, subjects=[user(), {"kind": "Robot", "name": "x"}]),
        changed(BOUND, subjects=[{"kind": "User", "name": "alice", "apiGroup": "x"}]),
        changed(BOUND, subjects=[user(), {"kind": "User", "name": ""}]),
        changed(BOUND, subjects=[user(), {"kind": "ServiceAccount", "name": "sa"}]),
        changed(binding("tenant-a", "r"), roleRef={"kind": "Other", "name": "r"}),
    ],
)
async def test_a_malformed_binding_grants_nothing(broken: Value) -> None:
    """Not even to the subjects of it that are well-formed."""
    objects = [cluster_role("r", rule()), broken]
    assert not await allows(objects, asked())
    assert not await allows(objects, asked(), User("system:serviceaccount::sa"))


async def test_a_binding_without_a_namespace_gives_nothing_at_cluster_scope() -> None:
    """It belongs to no namespace; what is asked for in none is not its."""
    lost = changed(binding("", "r"), metadata={"name": "b"})
    assert not await allows([cluster_role("r", rule()), lost], asked(namespace=""))


async def test_a_binding_without_subjects_is_nobodys() -> None:
    """It is well-formed."""
    empty = changed(BOUND, subjects=None)
    assert not await allows([cluster_role("r", rule()), empty], asked())


async def test_another_set_of_objects_takes_the_place_of_the_first_at_once() -> None:
    """Decisions that were kept are forgotten with the rules."""
    authorizer = RBACAuthorizer()
    assert (await authorizer.authorize(ALICE, asked())).decision is Decision.NO_OPINION
    authorizer.replace([cluster_role("r", rule()), cluster_binding("r")])
    assert (await authorizer.authorize(ALICE, asked())) == Ruling(Decision.ALLOW)
    authorizer.replace([])
    assert (await authorizer.authorize(ALICE, asked())).decision is Decision.NO_OPINION


async def test_selectors_and_long_names_do_not_change_a_decision() -> None:
    """They only decide whether it is kept."""
    objects = [cluster_role("r", rule()), cluster_binding("r")]
    term = SelectorRequirement("metadata.name", "In", ("l40s",))
    assert await allows(objects, asked(field_selector=(term,), label_selector=(term,)))
    assert await allows(objects, asked(name="x" * 5000))


async def test_objects_of_other_kinds_are_passed_over() -> None:
    """Without a word."""
    assert not await allows([{"kind": "Pod"}, {"kind": ["Role"]}, {}], asked())


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(st.sampled_from(["kind", "name", "rules", "verbs"]), inner, max_size=2)
    ),
    max_leaves=4,
)


@given(
    field=st.sampled_from(["metadata", "rules", "aggregationRule", "roleRef", "subjects"]),
    kind=st.sampled_from(["Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding"]),
    junk=JUNK,
)
async def test_junk_in_an_object_neither_raises_nor_grants(
    field: str, kind: str, junk: object
) -> None:
    """Bad input: a file with it takes effect as far as it is well-formed."""
    whole = {**cluster_role("r", rule()), **cluster_binding("r"), "kind": kind}
    authorizer = RBACAuthorizer([{**whole, field: junk}])
    request = Attributes(verb="get", path="/anything")
    ruling = await authorizer.authorize(User("somebody else"), request)
    assert ruling.decision is Decision.NO_OPINION
