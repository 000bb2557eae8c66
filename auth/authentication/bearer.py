"""The bearer token of a request (contract 6.40)."""

from auth.authentication.port import Credentials
from auth.errors import UnauthenticatedError


def bearer_token(credentials: Credentials) -> str | None:
    """Return the token that was presented; None: none was, or credentials of another scheme.

    The scheme is compared without regard to case, and an empty token is none, as upstream. Several
    Authorization lines are refused: proxies disagree on which one counts.

    Raises UnauthenticatedError.
    """
    if len(credentials.authorization) > 1:
        raise UnauthenticatedError
    for value in credentials.authorization:
        scheme, *rest = value.strip().split(" ", 2)
        if scheme.lower() == "bearer" and rest and rest[0]:
            return rest[0]
    return None
