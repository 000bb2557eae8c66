"""The order in which authorizers are asked (contract 7.1)."""

from collections.abc import Sequence

from auth.attributes import Attributes
from auth.authorization.port import Authorizer, Decision, Ruling
from auth.errors import ReviewUnavailableError
from auth.identity import User


class AuthorizerChain:
    """Asks one authorizer after the other; allow and deny end it, no opinion passes on."""

    def __init__(self, authorizers: Sequence[Authorizer]) -> None:
        self._authorizers = tuple(authorizers)

    async def authorize(self, user: User, attributes: Attributes) -> Ruling:
        """Return the first ruling with an opinion, else no opinion with every reason, by line.

        An authorizer that cannot tell does not stop the others. Where none of them has an opinion,
        its failure stands. Raises ReviewUnavailableError.
        """
        failure: ReviewUnavailableError | None = None
        reasons: list[str] = []
        for authorizer in self._authorizers:
            try:
                ruling = await authorizer.authorize(user, attributes)
            except ReviewUnavailableError as error:
                failure = failure or error
                continue
            if ruling.decision is not Decision.NO_OPINION:
                return ruling
            if ruling.reason:
                reasons.append(ruling.reason)
        if failure is not None:
            raise failure
        return Ruling(Decision.NO_OPINION, "\n".join(reasons))
