"""Errors to Status objects: codes, reasons, and upstream's texts to the letter."""

import json
from typing import Any

import pytest

from apiserver.documents.resources import GPU_CLASS_OPTIONS
from apiserver.http import errors
from apiserver.http.status import UNEXPECTED, status_of
from auth.attributes import Attributes
from auth.errors import ReviewUnavailableError, UnauthenticatedError
from auth.identity import User
from storage.views.resource import NotReadyError

GROUP = "options.gpu.cozystack.io"
USER = User("maria")


@pytest.mark.parametrize(
    ("error", "code", "reason", "message", "details"),
    [
        (UnauthenticatedError(), 401, "Unauthorized", "Unauthorized", None),
        (
            ReviewUnavailableError("dial tcp 10.0.0.1: refused"),
            503,
            "ServiceUnavailable",
            "whether this is allowed cannot be found out at the moment, please try again",
            {"retryAfterSeconds": 1},
        ),
        (
            NotReadyError(),
            503,
            "ServiceUnavailable",
            "GPU classes have not been read yet, please try again",
            {"retryAfterSeconds": 1},
        ),
        (errors.BadRequestError("why"), 400, "BadRequest", "why", None),
        (
            errors.PathNotFoundError(),
            404,
            "NotFound",
            "the server could not find the requested resource",
            {},
        ),
        (
            errors.NotFoundError(GPU_CLASS_OPTIONS, "x"),
            404,
            "NotFound",
            f'gpuclassoptions.{GROUP} "x" not found',
            {"name": "x", "group": GROUP, "kind": "gpuclassoptions"},
        ),
        (
            errors.MethodNotAllowedError(),
            405,
            "MethodNotAllowed",
            "the server does not allow this method on the requested resource",
            {},
        ),
        (
            errors.WatchNotSupportedError(GPU_CLASS_OPTIONS),
            405,
            "MethodNotAllowed",
            f'watch is not supported on resources of kind "gpuclassoptions.{GROUP}"',
            {"group": GROUP, "kind": "gpuclassoptions"},
        ),
        (errors.NotAcceptableError("only …"), 406, "NotAcceptable", "only …", None),
        (
            errors.ExpiredError(),
            410,
            "Expired",
            "The resourceVersion for the provided list is too old.",
            None,
        ),
        (
            errors.BodyTooLargeError(),
            413,
            "RequestEntityTooLarge",
            "Request entity too large: limit is 3145728",
            None,
        ),
        (
            errors.TooManyRequestsError(),
            429,
            "TooManyRequests",
            "Too many requests, please try again later.",
            {"retryAfterSeconds": 1},
        ),
        (
            errors.ShuttingDownError(),
            503,
            "ServiceUnavailable",
            "apiserver is shutting down",
            {"retryAfterSeconds": 1},
        ),
        (
            TimeoutError(),
            504,
            "Timeout",
            "Timeout: request did not complete within the allotted timeout",
            {},
        ),
        (
            errors.TooLargeRevisionError(9, 7),
            504,
            "Timeout",
            "Timeout: Too large resource version: 9, current: 7",
            {
                "causes": [
                    {
                        "reason": "ResourceVersionTooLarge",
                        "message": "Too large resource version",
                    }
                ],
                "retryAfterSeconds": 1,
            },
        ),
    ],
)
def test_every_error_has_its_status(
    error: Exception, code: int, reason: str, message: str, details: dict[str, Any] | None
) -> None:
    """Contract 5.1 to 5.8; what an error was raised with upstream of us is told to nobody."""
    status = status_of(error)
    assert status is not None
    expected = {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": message,
        "reason": reason,
        "details": details,
        "code": code,
    }
    if details is None:
        del expected["details"]
    assert json.loads(status.body()) == expected
    assert status.body().endswith(b"}\n")


def forbidden(attributes: Attributes, reason: str = "", user: User = USER) -> dict[str, Any]:
    """Return the Status of a refusal."""
    status = status_of(errors.ForbiddenError(user, attributes, reason))
    assert status is not None
    body: dict[str, Any] = json.loads(status.body())
    assert (body["code"], body["reason"]) == (403, "Forbidden")
    return body


def on(verb: str, *, namespace: str = "", name: str = "", subresource: str = "") -> Attributes:
    """Return attributes of a request for options."""
    return Attributes(
        verb=verb,
        resource_request=True,
        group=GROUP,
        version="v1alpha1",
        resource="gpuclassoptions",
        subresource=subresource,
        namespace=namespace,
        name=name,
    )


@pytest.mark.parametrize(
    ("attributes", "message", "details"),
    [
        (
            on("list", namespace="tenant-x"),
            f'gpuclassoptions.{GROUP} is forbidden: User "maria" cannot list resource'
            f' "gpuclassoptions" in API group "{GROUP}" in the namespace "tenant-x"',
            {"group": GROUP, "kind": "gpuclassoptions"},
        ),
        (
            on("get", namespace="tenant-x", name="l40s"),
            f'gpuclassoptions.{GROUP} "l40s" is forbidden: User "maria" cannot get resource'
            f' "gpuclassoptions" in API group "{GROUP}" in the namespace "tenant-x"',
            {"name": "l40s", "group": GROUP, "kind": "gpuclassoptions"},
        ),
        (
            on("watch", subresource="status"),
            f'gpuclassoptions.{GROUP} is forbidden: User "maria" cannot watch resource'
            f' "gpuclassoptions/status" in API group "{GROUP}" at the cluster scope',
            {"group": GROUP, "kind": "gpuclassoptions"},
        ),
        (
            Attributes(verb="get", path="/metrics"),
            'forbidden: User "maria" cannot get path "/metrics"',
            {},
        ),
        (
            Attributes(verb="impersonate", resource_request=True, resource="users", name="x"),
            'users "x" is forbidden: User "maria" cannot impersonate resource "users" in API'
            ' group "" at the cluster scope',
            {"name": "x", "kind": "users"},
        ),
    ],
)
def test_a_refusal_names_user_verb_and_resource(
    attributes: Attributes, message: str, details: dict[str, str]
) -> None:
    """Contract 7.9: kubectl prints it, dashboards parse it."""
    body = forbidden(attributes)
    assert body["message"] == message
    assert body["details"] == details


def test_a_refusal_cannot_be_read_as_html() -> None:
    """Contract 7.9: what the caller chose is escaped, the reason follows."""
    body = forbidden(Attributes(verb="get", path="/<b>&"), "no", User('<script>"'))
    assert body["message"] == (
        'forbidden: User "&lt;script&gt;\\"" cannot get path "/&lt;b&gt;&amp;": no'
    )


def test_options_that_do_not_go_together_are_one_status() -> None:
    """Contract 4.11: one cause is named plainly, several in brackets, equal ones once."""
    one = errors.Cause("a", "FieldValueForbidden", "Forbidden: x")
    two = errors.Cause("b", "FieldValueNotSupported", "Unsupported value: y")
    single = status_of(errors.InvalidOptionsError([one]))
    several = status_of(errors.InvalidOptionsError([one, two, one]))
    assert single is not None
    assert several is not None
    assert single.code == 422
    assert single.reason == "Invalid"
    assert single.message == 'ListOptions.meta.k8s.io "" is invalid: a: Forbidden: x'
    assert single.details == {
        "group": "meta.k8s.io",
        "kind": "ListOptions",
        "causes": [{"reason": "FieldValueForbidden", "message": "Forbidden: x", "field": "a"}],
    }
    assert several.message == (
        'ListOptions.meta.k8s.io "" is invalid: [a: Forbidden: x, b: Unsupported value: y]'
    )


def test_an_error_that_nobody_expected_has_no_status_of_its_own() -> None:
    """Contract 5.9: the caller gets a fixed sentence, never the text of an exception."""
    assert status_of(ZeroDivisionError("secret")) is None
    assert b"secret" not in UNEXPECTED.body()
