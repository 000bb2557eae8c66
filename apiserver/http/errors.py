"""Why a request gets no object: flat errors that carry data; `status` puts them into words."""

from collections.abc import Sequence
from dataclasses import dataclass

from apiserver.documents.resources import ResourceInfo
from auth.attributes import Attributes
from auth.identity import User


class BadRequestError(Exception):
    """The request cannot be understood; the text says why, and is the answer's."""


class PathNotFoundError(Exception):
    """Nothing is served at this path (contract 5.4)."""


class MethodNotAllowedError(Exception):
    """Something is served at this path, but not by this method (contract 5.3)."""


class ExpiredError(Exception):
    """The state that was asked for exactly is not held (contract 4.12)."""


class BodyTooLargeError(Exception):
    """The body exceeds what is read (contract 5.8)."""


class TooManyRequestsError(Exception):
    """As many requests as allowed are in flight (contract 8.1)."""


class ShuttingDownError(Exception):
    """The server takes no more requests (contract 9.6)."""


class TurnedAwayError(Exception):
    """The server is about to end, and another one takes requests by now (contract 9.6)."""


class NotAcceptableError(Exception):
    """No form that the caller accepts can be given; the text says which can (contract 3.7)."""


class NotFoundError(Exception):
    """There is no object of this name (contract 5.6)."""

    def __init__(self, resource: ResourceInfo, name: str) -> None:
        super().__init__()
        self.resource = resource
        self.name = name


class WatchNotSupportedError(Exception):
    """The resource has no watch (contract 4.39)."""

    def __init__(self, resource: ResourceInfo) -> None:
        super().__init__()
        self.resource = resource


class TooLargeRevisionError(Exception):
    """The revision asked for lies too far ahead (contract 4.24)."""

    def __init__(self, requested: int, current: int) -> None:
        super().__init__()
        self.requested = requested
        self.current = current


class ForbiddenError(Exception):
    """The user may not do this (contract 7.9)."""

    def __init__(self, user: User, attributes: Attributes, reason: str) -> None:
        super().__init__()
        self.user = user
        self.attributes = attributes
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Cause:
    """One violated rule: the query parameter, upstream's kind of error, and the text."""

    field: str
    reason: str  # FieldValueForbidden or FieldValueNotSupported
    message: str


class InvalidOptionsError(Exception):
    """Query parameters that do not go together (contract 4.11)."""

    def __init__(self, causes: Sequence[Cause]) -> None:
        super().__init__()
        self.causes = tuple(causes)
