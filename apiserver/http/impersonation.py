"""Acting as another user: what that takes, and who one is then (contract 6.6).

Impersonate-* headers arrive only from direct callers; kube-apiserver has resolved its own.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from apiserver.http.errors import BadRequestError, ForbiddenError
from apiserver.http.query import unescape
from auth.attributes import Attributes
from auth.authentication.groups import with_authenticated_group
from auth.authorization.port import Authorizer, Decision
from auth.identity import ANONYMOUS, UNAUTHENTICATED_GROUP, User

_USER: Final = "impersonate-user"
_GROUP: Final = "impersonate-group"
_UID: Final = "impersonate-uid"
_EXTRA: Final = "impersonate-extra-"

_SERVICE_ACCOUNT: Final = "system:serviceaccount:"
_SERVICE_ACCOUNTS_GROUP: Final = "system:serviceaccounts"
_AUTHENTICATION: Final = ("authentication.k8s.io", "v1")


async def impersonated(
    user: User, headers: Sequence[tuple[str, str]], authorizer: Authorizer
) -> User:
    """Return the user to act as; `headers` are the Impersonate-* lines, names lower-cased.

    Raises BadRequestError, ForbiddenError for the first thing the user may not take on, and
    ReviewUnavailableError.
    """
    name = _first(headers, _USER)
    if not name:
        raise BadRequestError("requested impersonation without a user to impersonate")
    groups = tuple(value for header, value in headers if header == _GROUP)
    uid = _first(headers, _UID)
    extra = _extra(headers)
    for attributes in _required(name, groups, uid, extra):
        ruling = await authorizer.authorize(user, attributes)
        if ruling.decision is not Decision.ALLOW:
            raise ForbiddenError(user, attributes, ruling.reason)
    return _with_standing(User(name=name, uid=uid, groups=groups, extra=extra))


def _first(headers: Sequence[tuple[str, str]], wanted: str) -> str:
    return next((value for header, value in headers if header == wanted), "")


def _extra(headers: Sequence[tuple[str, str]]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    values: dict[str, list[str]] = {}
    for header, value in headers:
        if header.startswith(_EXTRA):
            values.setdefault(_unescaped(header.removeprefix(_EXTRA)), []).append(value)
    return tuple((key, tuple(found)) for key, found in values.items())


def _unescaped(key: str) -> str:
    """Decode a key; a broken escape stays as it is, as upstream keeps it."""
    try:
        return unescape(key)
    except BadRequestError:
        return key


def _required(
    name: str,
    groups: Sequence[str],
    uid: str,
    extra: Sequence[tuple[str, tuple[str, ...]]],
) -> Iterator[Attributes]:
    """Yield what the real user must be allowed, in upstream's order."""
    service_account = _service_account(name)
    if service_account is None:
        yield _impersonate("users", name)
    else:
        namespace, account = service_account
        yield _impersonate("serviceaccounts", account, namespace=namespace)
    for group in groups:
        yield _impersonate("groups", group)
    for key, values in extra:
        for value in values:
            yield _impersonate("userextras", value, subresource=key, api=_AUTHENTICATION)
    if uid:
        yield _impersonate("uids", uid, api=_AUTHENTICATION)


def _impersonate(
    resource: str,
    name: str,
    *,
    namespace: str = "",
    subresource: str = "",
    api: tuple[str, str] = ("", ""),
) -> Attributes:
    group, version = api
    return Attributes(
        verb="impersonate",
        resource_request=True,
        group=group,
        version=version,
        resource=resource,
        subresource=subresource,
        namespace=namespace,
        name=name,
    )


def _service_account(name: str) -> tuple[str, str] | None:
    """Return namespace and name of a service account, None of any other user."""
    namespace, separator, account = name.removeprefix(_SERVICE_ACCOUNT).partition(":")
    valid = name.startswith(_SERVICE_ACCOUNT) and separator and namespace and account
    return (namespace, account) if valid and ":" not in account else None


def _with_standing(user: User) -> User:
    """Add the groups that follow from the name and from having been identified."""
    service_account = _service_account(user.name)
    if service_account is not None and not user.groups:
        of_namespace = f"{_SERVICE_ACCOUNTS_GROUP}:{service_account[0]}"
        user = replace(user, groups=(_SERVICE_ACCOUNTS_GROUP, of_namespace))
    if user.name == ANONYMOUS and UNAUTHENTICATED_GROUP not in user.groups:
        user = replace(user, groups=(*user.groups, UNAUTHENTICATED_GROUP))
    return with_authenticated_group(user)
