"""Why a caller gets no further."""


class UnauthenticatedError(Exception):
    """Credentials were presented and none of them proved an identity. Answered 401."""


class ReviewUnavailableError(Exception):
    """Whether the caller may cannot be found out now. Answered 503; it never grants anything."""
