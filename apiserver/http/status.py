"""Errors in upstream's words: the one table from exception to Status (contract 5.1 to 5.9)."""

from dataclasses import dataclass
from typing import Any, Final

import msgspec

from apiserver.documents.resources import ResourceInfo
from apiserver.http import errors
from auth.attributes import Attributes
from auth.errors import ReviewUnavailableError, UnauthenticatedError
from auth.identity import User
from storage.model.names import OPTIONS_GROUP
from storage.views.quoting import quoted
from storage.views.resource import NotReadyError

#: Most bytes of a request's body that are read.
MAX_BODY_BYTES: Final = 3 * 1024 * 1024

_SANITIZED: Final = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """A failure as clients read it; `details` None: absent."""

    code: int
    reason: str  # "": upstream has no word for it
    message: str
    details: dict[str, Any] | None = None
    retry_after: int = 0  # seconds; 0: the caller is not told to retry

    def body(self) -> bytes:
        """Return the Status object as JSON."""
        details = self.details
        if self.retry_after:
            details = (details or {}) | {"retryAfterSeconds": self.retry_after}
        status: dict[str, Any] = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
        }
        if self.reason:
            status["reason"] = self.reason
        if details is not None:
            status["details"] = details
        return msgspec.json.encode(status | {"code": self.code}) + b"\n"


BROKEN_REQUEST: Final = Status(
    code=400, reason="BadRequest", message="the request could not be read as HTTP/1.1"
)
HEADERS_TOO_LARGE: Final = Status(
    code=431, reason="", message="the headers of the request are too large"
)
TIMED_OUT: Final = Status(
    code=504,
    reason="Timeout",
    message="Timeout: request did not complete within the allotted timeout",
    details={},
)
UNEXPECTED: Final = Status(
    code=500,
    reason="InternalError",
    message="This request caused apiserver to panic. Look in the logs for details.",
)

_FIXED: Final[dict[type[Exception], Status]] = {
    UnauthenticatedError: Status(code=401, reason="Unauthorized", message="Unauthorized"),
    ReviewUnavailableError: Status(
        code=503,
        reason="ServiceUnavailable",
        message="whether this is allowed cannot be found out at the moment, please try again",
        retry_after=1,
    ),
    NotReadyError: Status(
        code=503,
        reason="ServiceUnavailable",
        message="GPU classes have not been read yet, please try again",
        retry_after=1,
    ),
    errors.PathNotFoundError: Status(
        code=404,
        reason="NotFound",
        message="the server could not find the requested resource",
        details={},
    ),
    errors.MethodNotAllowedError: Status(
        code=405,
        reason="MethodNotAllowed",
        message="the server does not allow this method on the requested resource",
        details={},
    ),
    errors.ExpiredError: Status(
        code=410,
        reason="Expired",
        message="The resourceVersion for the provided list is too old.",
    ),
    errors.BodyTooLargeError: Status(
        code=413,
        reason="RequestEntityTooLarge",
        message=f"Request entity too large: limit is {MAX_BODY_BYTES}",
    ),
    errors.TooManyRequestsError: Status(
        code=429,
        reason="TooManyRequests",
        message="Too many requests, please try again later.",
        retry_after=1,
    ),
    errors.ShuttingDownError: Status(
        code=503,
        reason="ServiceUnavailable",
        message="apiserver is shutting down",
        retry_after=1,
    ),
    errors.TurnedAwayError: Status(
        code=429,
        reason="TooManyRequests",
        message="The apiserver is shutting down, please try again later.",
        retry_after=5,
    ),
    TimeoutError: TIMED_OUT,
}


def status_of(error: Exception) -> Status | None:
    """Return the Status of an error, None of one that nobody expected."""
    match error:
        case errors.BadRequestError():
            return Status(code=400, reason="BadRequest", message=str(error))
        case errors.NotAcceptableError():
            return Status(code=406, reason="NotAcceptable", message=str(error))
        case errors.NotFoundError():
            return _not_found(error.resource, error.name)
        case errors.WatchNotSupportedError():
            return _watch_not_supported(error.resource)
        case errors.TooLargeRevisionError():
            return _too_large_revision(error.requested, error.current)
        case errors.ForbiddenError():
            return _forbidden(error.user, error.attributes, error.reason)
        case errors.InvalidOptionsError():
            return _invalid_options(error.causes)
        case _:
            return _FIXED.get(type(error))


def _details(group: str, kind: str, name: str) -> dict[str, Any]:
    fields = {"name": name, "group": group, "kind": kind}
    return {field: value for field, value in fields.items() if value}


def _not_found(resource: ResourceInfo, name: str) -> Status:
    return Status(
        code=404,
        reason="NotFound",
        message=f"{resource.qualified} {quoted(name)} not found",
        details=_details(OPTIONS_GROUP, resource.plural, name),
    )


def _watch_not_supported(resource: ResourceInfo) -> Status:
    return Status(
        code=405,
        reason="MethodNotAllowed",
        message=f"watch is not supported on resources of kind {quoted(resource.qualified)}",
        details=_details(OPTIONS_GROUP, resource.plural, ""),
    )


def _too_large_revision(requested: int, current: int) -> Status:
    cause = {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}
    return Status(
        code=504,
        reason="Timeout",
        message=f"Timeout: Too large resource version: {requested}, current: {current}",
        details={"causes": [cause]},
        retry_after=1,
    )


def _forbidden(user: User, attributes: Attributes, reason: str) -> Status:
    sentence = _what_is_forbidden(user, attributes).translate(_SANITIZED)
    group, resource, name = attributes.group, attributes.resource, attributes.name
    kind = f"{resource}.{group}" if group else resource
    subject = f"{kind} {quoted(name)} is forbidden" if name else f"{kind} is forbidden"
    return Status(
        code=403,
        reason="Forbidden",
        message=": ".join(
            part for part in (subject if kind else "forbidden", sentence, reason) if part
        ),
        details=_details(group, resource, name),
    )


def _what_is_forbidden(user: User, attributes: Attributes) -> str:
    who, verb = quoted(user.name), attributes.verb
    if not attributes.resource_request:
        return f"User {who} cannot {verb} path {quoted(attributes.path)}"
    resource = attributes.resource
    if attributes.subresource:
        resource = f"{resource}/{attributes.subresource}"
    scope = (
        f"in the namespace {quoted(attributes.namespace)}"
        if attributes.namespace
        else "at the cluster scope"
    )
    return (
        f"User {who} cannot {verb} resource {quoted(resource)}"
        f" in API group {quoted(attributes.group)} {scope}"
    )


def _invalid_options(causes: tuple[errors.Cause, ...]) -> Status:
    texts = list(dict.fromkeys(f"{cause.field}: {cause.message}" for cause in causes))
    joined = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
    return Status(
        code=422,
        reason="Invalid",
        message=f'ListOptions.meta.k8s.io "" is invalid: {joined}',
        details={
            "group": "meta.k8s.io",
            "kind": "ListOptions",
            "causes": [
                {"reason": cause.reason, "message": cause.message, "field": cause.field}
                for cause in causes
            ],
        },
    )
