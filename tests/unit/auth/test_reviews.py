"""What is asked of the cluster, and how long its answers are kept (contract 6.40 to 6.42, 7)."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import pytest

from auth.attributes import Attributes, SelectorRequirement
from auth.authentication.port import Credentials
from auth.authentication.token_review import TokenReview, TokenReviewAuthenticator
from auth.authorization.access_review import AccessReview, AccessReviewAuthorizer
from auth.authorization.port import Decision
from auth.errors import ReviewUnavailableError, UnauthenticatedError
from auth.identity import User

MARIA = User("maria", "u-1", ("acme",), (("scopes", ("a",)),))
LIST = Attributes(
    verb="list",
    path="/apis/g/v/namespaces/ns/r",
    resource_request=True,
    group="g",
    version="v",
    resource="r",
    namespace="ns",
)


HERS = TokenReview(MARIA)
YES = AccessReview(allowed=True)


@dataclass
class Tokens:
    """Reviews tokens as a test says, and remembers what it was asked."""

    answer: TokenReview | Exception = HERS
    asked: list[tuple[str, Sequence[str]]] = field(default_factory=list)
    held: asyncio.Event | None = None
    now: float = 0.0

    async def review(self, token: str, audiences: Sequence[str]) -> TokenReview:
        """Answer, or fail."""
        self.asked.append((token, audiences))
        if self.held is not None:
            await self.held.wait()
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


@dataclass
class Rights:
    """Reviews requests likewise."""

    answer: AccessReview | Exception = YES
    asked: list[tuple[User, Attributes]] = field(default_factory=list)
    held: asyncio.Event | None = None
    entered: asyncio.Event = field(default_factory=asyncio.Event)
    now: float = 0.0

    async def review(self, user: User, attributes: Attributes) -> AccessReview:
        """Answer, or fail."""
        self.asked.append((user, attributes))
        self.entered.set()
        if self.held is not None:
            await self.held.wait()
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def knowing(tokens: Tokens, *audiences: str, deadline: float = 10.0) -> TokenReviewAuthenticator:
    """An authenticator that keeps answers for ten seconds."""
    return TokenReviewAuthenticator(
        tokens, audiences=audiences, ttl=10.0, clock=lambda: tokens.now, deadline=deadline
    )


def deciding(rights: Rights, deadline: float = 10.0) -> AccessReviewAuthorizer:
    """An authorizer that keeps a yes for ten seconds and a no for five."""
    return AccessReviewAuthorizer(
        rights, allowed_ttl=10.0, denied_ttl=5.0, clock=lambda: rights.now, deadline=deadline
    )


def bearing(token: str) -> Credentials:
    """What somebody with a token presents."""
    return Credentials(authorization=(f"Bearer {token}",))


async def test_a_token_is_its_users() -> None:
    """Contract 6.40: the whole user; no audiences asked for unless configured."""
    tokens = Tokens()
    assert await knowing(tokens).authenticate(bearing("t")) == MARIA
    assert tokens.asked == [("t", ())]


async def test_without_a_token_nobody_is_asked() -> None:
    """Contract 6.40: no opinion."""
    tokens = Tokens()
    for credentials in (Credentials(), Credentials(authorization=("Basic x",))):
        assert await knowing(tokens).authenticate(credentials) is None
    assert tokens.asked == []


@pytest.mark.parametrize(
    ("answered", "known"),
    [(("ours",), True), (("theirs", "ours"), True), (("theirs",), False), ((), False)],
)
async def test_au_11_a_token_is_for_our_audience_or_nobodys(
    answered: tuple[str, ...], known: bool
) -> None:
    """AU-11: for another audience, and an answer without any, are refused."""
    tokens = Tokens(TokenReview(MARIA, answered))
    authenticator = knowing(tokens, "ours", "and mine")
    if known:
        assert await authenticator.authenticate(bearing("t")) == MARIA
    else:
        with pytest.raises(UnauthenticatedError):
            await authenticator.authenticate(bearing("t"))
    assert tokens.asked == [("t", ("ours", "and mine"))]


@pytest.mark.parametrize("answer", [TokenReview(None), TokenReview(MARIA)])
async def test_answers_about_tokens_are_kept_for_a_while(answer: TokenReview) -> None:
    """Contract 6.42: yes and no alike; each token by itself."""
    tokens = Tokens(answer)
    authenticator = knowing(tokens)

    async def known(token: str) -> bool:
        try:
            return await authenticator.authenticate(bearing(token)) is not None
        except UnauthenticatedError:
            return False

    for now, count in ((0, 1), (9.9, 1), (10.1, 2)):
        tokens.now = now
        assert await known("t") is (answer.user is not None)
        assert len(tokens.asked) == count
    await known("T")
    assert len(tokens.asked) == 3


async def test_a_failure_to_review_a_token_is_401_and_not_kept() -> None:
    """Contract 6.41, 6.42: never anonymous."""
    tokens = Tokens(ReviewUnavailableError())
    authenticator = knowing(tokens)
    with pytest.raises(UnauthenticatedError):
        await authenticator.authenticate(bearing("t"))
    tokens.answer = TokenReview(MARIA)
    assert await authenticator.authenticate(bearing("t")) == MARIA


async def test_au_11_a_review_that_never_ends_is_401() -> None:
    """AU-11: the wait has an end, and what it finds out later is kept."""
    tokens = Tokens(held=asyncio.Event())
    authenticator = knowing(tokens, deadline=0.0)
    with pytest.raises(UnauthenticatedError):
        await authenticator.authenticate(bearing("t"))
    await authenticator.close()


async def test_tokens_are_not_kept() -> None:
    """Contract 6.42: neither in what is remembered nor in a representation."""
    tokens = Tokens()
    authenticator = knowing(tokens)
    await authenticator.authenticate(bearing("very-secret"))
    tokens.asked.clear()
    assert "very-secret" not in repr(vars(authenticator))


async def test_a_token_of_any_bytes_can_be_asked_about() -> None:
    """Bytes that are no UTF-8 arrive escaped."""
    assert await knowing(Tokens()).authenticate(bearing("t\udcff")) == MARIA


@pytest.mark.parametrize(
    ("review", "decision"),
    [
        (AccessReview(allowed=True), Decision.ALLOW),
        (AccessReview(allowed=False), Decision.NO_OPINION),
        (AccessReview(allowed=False, denied=True), Decision.DENY),
    ],
)
async def test_a_review_is_a_ruling(review: AccessReview, decision: Decision) -> None:
    """Contract 7.1, 7.6: no reason of the cluster's is passed on."""
    rights = Rights(review)
    ruling = await deciding(rights).authorize(MARIA, LIST)
    assert (ruling.decision, ruling.reason) == (decision, "")
    assert rights.asked == [(MARIA, LIST)]


async def test_yes_and_no_at_once_is_no_answer() -> None:
    """Contract 7.6: never allowed, and not kept."""
    rights = Rights(AccessReview(allowed=True, denied=True))
    authorizer = deciding(rights)
    for count in (1, 2):
        with pytest.raises(ReviewUnavailableError):
            await authorizer.authorize(MARIA, LIST)
        assert len(rights.asked) == count


@pytest.mark.parametrize(("allowed", "seconds"), [(True, 10.0), (False, 5.0)])
async def test_answers_are_kept_as_long_as_flags_say(allowed: bool, seconds: float) -> None:
    """Contract 7.8: a yes and a no each for their own time."""
    rights = Rights(AccessReview(allowed=allowed))
    authorizer = deciding(rights)
    for now, count in ((0.0, 1), (seconds - 0.1, 1), (seconds + 0.1, 2)):
        rights.now = now
        await authorizer.authorize(MARIA, LIST)
        assert len(rights.asked) == count


SELECTOR = (SelectorRequirement("a", "In", ("b",)),)


@pytest.mark.parametrize(
    ("user", "attributes"),
    [
        (replace(MARIA, name="m"), LIST),
        (replace(MARIA, uid="u-2"), LIST),
        (replace(MARIA, groups=("acme", "b")), LIST),
        (replace(MARIA, extra=()), LIST),
        (MARIA, replace(LIST, verb="watch")),
        (MARIA, replace(LIST, namespace="other")),
        (MARIA, replace(LIST, namespace="")),
        (MARIA, replace(LIST, name="n")),
        (MARIA, replace(LIST, subresource="s")),
        (MARIA, replace(LIST, group="h")),
        (MARIA, replace(LIST, version="w")),
        (MARIA, replace(LIST, resource="q")),
        (MARIA, replace(LIST, field_selector=SELECTOR)),
        (MARIA, replace(LIST, label_selector=SELECTOR)),
        (MARIA, Attributes(verb="list", path=LIST.path)),
    ],
)
async def test_an_answer_counts_for_its_question_only(user: User, attributes: Attributes) -> None:
    """Contract 7.8: kept by everything that was asked."""
    rights = Rights()
    authorizer = deciding(rights)
    await authorizer.authorize(MARIA, LIST)
    rights.answer = AccessReview(allowed=False)
    ruling = await authorizer.authorize(user, attributes)
    assert ruling.decision is Decision.NO_OPINION
    assert rights.asked[1:] == [(user, attributes)]


@pytest.mark.parametrize(
    "attributes",
    [
        replace(LIST, name="n" * 10_000),
        replace(LIST, name="ä" * 5_000),
        replace(LIST, namespace="n" * 10_000),
        Attributes(verb="get", path="/" + "p" * 10_000),
        replace(LIST, label_selector=(SelectorRequirement("k", "In", ("v" * 10_000,)),)),
        replace(LIST, field_selector=(SelectorRequirement("k" * 10_000, "In", ("v",)),)),
    ],
)
async def test_long_questions_are_not_kept(attributes: Attributes) -> None:
    """Contract 7.8: callers cannot fill the memory."""
    rights = Rights()
    authorizer = deciding(rights)
    for _ in range(2):
        await authorizer.authorize(MARIA, attributes)
    assert len(rights.asked) == 2


async def test_a_failure_never_allows_and_is_not_kept() -> None:
    """Design 7."""
    rights = Rights(ReviewUnavailableError())
    authorizer = deciding(rights)
    with pytest.raises(ReviewUnavailableError):
        await authorizer.authorize(MARIA, LIST)
    rights.answer = AccessReview(allowed=True)
    assert (await authorizer.authorize(MARIA, LIST)).decision is Decision.ALLOW


async def test_a_review_that_never_ends_is_unavailable() -> None:
    """Design 7: the wait has an end."""
    rights = Rights(held=asyncio.Event())
    authorizer = deciding(rights, deadline=0.0)
    with pytest.raises(ReviewUnavailableError):
        await authorizer.authorize(MARIA, LIST)
    await authorizer.close()


async def test_hs_02_equals_share_a_review_and_survive_who_leaves() -> None:
    """HS-02, issue 4: one review for all of them, whoever goes away meanwhile."""
    rights = Rights(held=asyncio.Event())
    assert rights.held is not None
    authorizer = deciding(rights)
    async with asyncio.TaskGroup() as group:
        first = group.create_task(authorizer.authorize(MARIA, LIST))
        others = [group.create_task(authorizer.authorize(MARIA, LIST)) for _ in range(20)]
        await rights.entered.wait()
        first.cancel()
        await asyncio.wait([first])
        rights.held.set()
    assert {each.result().decision for each in others} == {Decision.ALLOW}
    assert len(rights.asked) == 1
