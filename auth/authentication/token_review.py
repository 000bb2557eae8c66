"""Bearer tokens, proven by the cluster's TokenReview (contract 6.40 to 6.44)."""

import asyncio
import hashlib
import hmac
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from cachetools import TTLCache

from auth.authentication.bearer import bearer_token
from auth.authentication.port import Credentials
from auth.errors import ReviewUnavailableError, UnauthenticatedError
from auth.identity import User
from auth.single_flight import SingleFlight

_KEPT: Final = 32_768
_IN_FLIGHT: Final = 200


@dataclass(frozen=True, slots=True)
class TokenReview:
    """What a review says of a token; `user` None: it is nobody's."""

    user: User | None
    audiences: tuple[str, ...] = ()


class TokenReviews(Protocol):
    """Where tokens are reviewed."""

    async def review(self, token: str, audiences: Sequence[str]) -> TokenReview:
        """Review a token. Raises ReviewUnavailableError."""
        ...


class TokenReviewAuthenticator:
    """Knows whom the cluster's tokens belong to.

    Answers of either kind are kept for a while, failures to get one are not. Tokens are kept as a
    keyed hash only.
    """

    def __init__(
        self,
        reviews: TokenReviews,
        *,
        audiences: Sequence[str],
        ttl: float,
        clock: Callable[[], float],
        deadline: float = 10.0,
    ) -> None:
        """Take the audiences that a token must be for (none: the API server's own).

        `ttl` and `deadline` are in seconds, the clock is monotonic.
        """
        self._reviews = reviews
        self._audiences = tuple(audiences)
        self._deadline = deadline
        self._key: Final = secrets.token_bytes(32)
        self._kept: TTLCache[bytes, User | None] = TTLCache(_KEPT, ttl, timer=clock)
        self._flights: SingleFlight[bytes, User | None] = SingleFlight(_IN_FLIGHT)

    async def authenticate(self, credentials: Credentials) -> User | None:
        """Return the token's user; None without a token.

        Raises UnauthenticatedError for a token that is nobody's, for other audiences, or that
        cannot be reviewed now (contract 6.41).
        """
        token = bearer_token(credentials)
        if token is None:
            return None
        digest = hmac.digest(self._key, token.encode(errors="surrogateescape"), hashlib.sha256)
        try:
            user = self._kept[digest]
        except KeyError:
            user = await self._reviewed(digest, token)
        if user is None:
            raise UnauthenticatedError
        return user

    async def close(self) -> None:
        """End the reviews in flight."""
        await self._flights.close()

    async def _reviewed(self, digest: bytes, token: str) -> User | None:
        async def review() -> User | None:
            reviewed = await self._reviews.review(token, self._audiences)
            user = reviewed.user if self._is_for_us(reviewed) else None
            self._kept[digest] = user
            return user

        try:
            async with asyncio.timeout(self._deadline):
                return await self._flights.share(digest, review)
        except (ReviewUnavailableError, TimeoutError):
            raise UnauthenticatedError from None

    def _is_for_us(self, reviewed: TokenReview) -> bool:
        return not self._audiences or not set(self._audiences).isdisjoint(reviewed.audiences)
