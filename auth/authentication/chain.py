"""The order in which proofs of an identity are tried (contract 6.1, 6.2)."""

from collections.abc import Sequence

from auth.authentication.anonymous import ANONYMOUS_USER
from auth.authentication.groups import with_authenticated_group
from auth.authentication.port import Authenticator, Credentials
from auth.errors import UnauthenticatedError
from auth.identity import User


class AuthenticatorChain:
    """Tries one authenticator after the other; the first that knows the caller wins."""

    def __init__(self, authenticators: Sequence[Authenticator]) -> None:
        self._authenticators = tuple(authenticators)

    async def authenticate(self, credentials: Credentials) -> User:
        """Return the user, a member of system:authenticated; anonymous if nothing was presented.

        A refusal does not stop the others, but where none knows the caller it stands: bad
        credentials never make a caller anonymous. Raises UnauthenticatedError.
        """
        refusal: UnauthenticatedError | None = None
        for authenticator in self._authenticators:
            try:
                user = await authenticator.authenticate(credentials)
            except UnauthenticatedError as error:
                refusal = refusal or error
                continue
            if user is not None:
                return with_authenticated_group(user)
        if refusal is not None:
            raise refusal
        return ANONYMOUS_USER
