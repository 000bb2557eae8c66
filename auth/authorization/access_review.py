"""Rights, asked of the cluster: one SubjectAccessReview for each request (contract 7.2 to 7.8)."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Protocol, TypeAlias

from cachetools import TLRUCache

from auth.attributes import Attributes, SelectorRequirement
from auth.authorization.port import Decision, Ruling
from auth.errors import ReviewUnavailableError
from auth.identity import User
from auth.single_flight import SingleFlight

_KEPT: Final = 8192
_IN_FLIGHT: Final = 400

#: Most bytes of what callers write freely, for an answer to be kept.
_KEPT_BYTES: Final = 10_000

_ALLOW: Final = Ruling(Decision.ALLOW)
_DENY: Final = Ruling(Decision.DENY)
_NO_OPINION: Final = Ruling(Decision.NO_OPINION)

_Question: TypeAlias = tuple[User, Attributes]


@dataclass(frozen=True, slots=True)
class AccessReview:
    """What a review says. Its reasons are not kept: they name roles, and are shown to nobody."""

    allowed: bool
    denied: bool = False


class AccessReviews(Protocol):
    """Where rights are reviewed."""

    async def review(self, user: User, attributes: Attributes) -> AccessReview:
        """Review one request. Raises ReviewUnavailableError."""
        ...


class AccessReviewAuthorizer:
    """Asks the cluster, and keeps its answers for a while; failures are not kept."""

    def __init__(
        self,
        reviews: AccessReviews,
        *,
        allowed_ttl: float,
        denied_ttl: float,
        clock: Callable[[], float],
        deadline: float = 10.0,
    ) -> None:
        """Take where to ask; all times are in seconds, the clock is monotonic."""
        self._reviews = reviews
        self._deadline = deadline

        def expires(question: _Question, ruling: Ruling, now: float) -> float:
            del question
            return now + (allowed_ttl if ruling is _ALLOW else denied_ttl)

        self._kept: TLRUCache[_Question, Ruling] = TLRUCache(_KEPT, expires, timer=clock)
        self._flights: SingleFlight[_Question, Ruling] = SingleFlight(_IN_FLIGHT)

    async def authorize(self, user: User, attributes: Attributes) -> Ruling:
        """Return the ruling. Raises ReviewUnavailableError."""
        question = user, attributes
        ruling = self._kept.get(question)
        return await self._asked(question) if ruling is None else ruling

    async def close(self) -> None:
        """End the reviews in flight."""
        await self._flights.close()

    async def _asked(self, question: _Question) -> Ruling:
        async def ask() -> Ruling:
            ruling = _ruling(await self._reviews.review(*question))
            if _is_kept(question[1]):
                self._kept[question] = ruling
            return ruling

        try:
            async with asyncio.timeout(self._deadline):
                return await self._flights.share(question, ask)
        except TimeoutError:
            raise ReviewUnavailableError from None


def _ruling(review: AccessReview) -> Ruling:
    """Return what a review means. One that says both yes and no is no answer (contract 7.6)."""
    if review.denied:
        if review.allowed:
            raise ReviewUnavailableError
        return _DENY
    return _ALLOW if review.allowed else _NO_OPINION


def _is_kept(attributes: Attributes) -> bool:
    """Whether an answer is kept: what callers write freely must not fill the memory."""
    texts = (
        *(attributes.path, attributes.resource, attributes.subresource),
        *(attributes.namespace, attributes.name, attributes.group, attributes.version),
        *_selector_texts(attributes.field_selector),
        *_selector_texts(attributes.label_selector),
    )
    return sum(len(text.encode(errors="surrogatepass")) for text in texts) <= _KEPT_BYTES


def _selector_texts(selector: tuple[SelectorRequirement, ...] | None) -> tuple[str, ...]:
    return tuple(
        text for term in selector or () for text in (term.key, term.operator, *term.values)
    )
