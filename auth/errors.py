"""Why a caller gets no further."""


class UnauthenticatedError(Exception):
    """Nobody in particular asks: no credentials, or none that proves an identity. Answered 401."""


class ReviewUnavailableError(Exception):
    """Whether the caller may cannot be found out now. Answered 503; it never grants anything."""
