"""Impersonate-* headers: what they take, and whom they make."""

import pytest
from fakes.http_fakes import ADMIN, TENANT, FakeAuthorizer

from apiserver.http.errors import BadRequestError, ForbiddenError
from apiserver.http.impersonation import impersonated
from auth.attributes import Attributes
from auth.errors import ReviewUnavailableError
from auth.identity import User


def impersonate(resource: str, name: str, *, namespace: str = "") -> Attributes:
    """Return what a user must be allowed, in the core group."""
    return Attributes(
        verb="impersonate",
        resource_request=True,
        resource=resource,
        name=name,
        namespace=namespace,
    )


def impersonate_authenticated(resource: str, name: str, subresource: str = "") -> Attributes:
    """Return what a user must be allowed, in the group of authentication."""
    return Attributes(
        verb="impersonate",
        resource_request=True,
        group="authentication.k8s.io",
        version="v1",
        resource=resource,
        subresource=subresource,
        name=name,
    )


async def test_everything_that_is_taken_on_is_asked_for() -> None:
    """Contract 6.6: user, each group, each extra value and the uid, of the real user."""
    authorizer = FakeAuthorizer()
    user = await impersonated(
        ADMIN,
        [
            ("impersonate-user", "jane"),
            ("impersonate-group", "dev"),
            ("impersonate-group", "ops"),
            ("impersonate-uid", "u-9"),
            ("impersonate-extra-scopes", "a"),
            ("impersonate-extra-example.com%2fteam", "x"),
            ("impersonate-extra-scopes", "b"),
            ("impersonate-extra-bad%zz", "y"),
        ],
        authorizer,
    )
    assert user == User(
        "jane",
        uid="u-9",
        groups=("dev", "ops", "system:authenticated"),
        extra=(("scopes", ("a", "b")), ("example.com/team", ("x",)), ("bad%zz", ("y",))),
    )
    assert [attributes for _, attributes in authorizer.asked] == [
        impersonate("users", "jane"),
        impersonate("groups", "dev"),
        impersonate("groups", "ops"),
        impersonate_authenticated("userextras", "a", "scopes"),
        impersonate_authenticated("userextras", "b", "scopes"),
        impersonate_authenticated("userextras", "x", "example.com/team"),
        impersonate_authenticated("userextras", "y", "bad%zz"),
        impersonate_authenticated("uids", "u-9"),
    ]
    assert {user for user, _ in authorizer.asked} == {ADMIN}


async def test_one_thing_that_is_not_allowed_refuses_all() -> None:
    """Who may become a user may not thereby take on a group."""
    authorizer = FakeAuthorizer(lambda _, attributes: attributes.resource == "users")
    headers = [("impersonate-user", "jane"), ("impersonate-group", "system:masters")]
    with pytest.raises(ForbiddenError) as caught:
        await impersonated(TENANT, headers, authorizer)
    assert caught.value.user == TENANT
    assert caught.value.attributes == impersonate("groups", "system:masters")


async def test_a_review_that_fails_grants_nothing() -> None:
    """The failure goes on as it is: 503, not an identity."""

    async def fail() -> None:
        raise ReviewUnavailableError

    with pytest.raises(ReviewUnavailableError):
        await impersonated(TENANT, [("impersonate-user", "jane")], FakeAuthorizer(before=fail))


@pytest.mark.parametrize("header", ["group", "uid", "extra-scopes", "other"])
async def test_nobody_is_impersonated_without_a_name(header: str) -> None:
    """Headers that name no user are refused, never ignored."""
    with pytest.raises(BadRequestError):
        await impersonated(ADMIN, [(f"impersonate-{header}", "x")], FakeAuthorizer())


@pytest.mark.parametrize(
    ("name", "groups", "expected"),
    [
        ("jane", (), ("system:authenticated",)),
        ("jane", ("system:authenticated",), ("system:authenticated",)),
        ("jane", ("system:unauthenticated",), ("system:unauthenticated",)),
        ("system:anonymous", (), ("system:unauthenticated",)),
        ("system:anonymous", ("system:unauthenticated",), ("system:unauthenticated",)),
        (
            "system:serviceaccount:ns:sa",
            (),
            ("system:serviceaccounts", "system:serviceaccounts:ns", "system:authenticated"),
        ),
        ("system:serviceaccount:ns:sa", ("dev",), ("dev", "system:authenticated")),
    ],
)
async def test_groups_follow_from_the_name_where_none_are_given(
    name: str, groups: tuple[str, ...], expected: tuple[str, ...]
) -> None:
    """AU-09: as upstream, for users, anonymous and service accounts."""
    headers = [
        ("impersonate-user", name),
        *(("impersonate-group", group) for group in groups),
    ]
    assert (await impersonated(ADMIN, headers, FakeAuthorizer())).groups == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("system:serviceaccount:ns:sa", impersonate("serviceaccounts", "sa", namespace="ns")),
        ("system:serviceaccount:ns", impersonate("users", "system:serviceaccount:ns")),
        ("system:serviceaccount:a:b:c", impersonate("users", "system:serviceaccount:a:b:c")),
        ("system:serviceaccount::sa", impersonate("users", "system:serviceaccount::sa")),
    ],
)
async def test_a_service_account_is_asked_for_in_its_namespace(
    name: str, expected: Attributes
) -> None:
    """Only a well-formed name is a service account's; any other one is a user's."""
    authorizer = FakeAuthorizer()
    await impersonated(ADMIN, [("impersonate-user", name)], authorizer)
    assert authorizer.asked == [(ADMIN, expected)]
