"""The chain of authorizers, and what is always allowed."""

import pytest

from auth.attributes import Attributes
from auth.authorization.always_allow import AlwaysAllowGroups, AlwaysAllowPaths, InvalidPathError
from auth.authorization.chain import AuthorizerChain
from auth.authorization.port import Authorizer, Decision, Ruling
from auth.errors import ReviewUnavailableError
from auth.identity import User

ALICE = User("alice", groups=("a", "system:authenticated"))
READ = Attributes(verb="get", resource_request=True, resource="x")


def path(value: str, verb: str = "get") -> Attributes:
    """Return a request for a path."""
    return Attributes(verb=verb, path=value)


class Rules:
    """Gives one ruling, whatever is asked."""

    def __init__(self, decision: Decision, reason: str = "") -> None:
        self._ruling = Ruling(decision, reason)

    async def authorize(self, user: User, attributes: Attributes) -> Ruling:
        """Return the ruling."""
        return self._ruling


class Unavailable:
    """Cannot tell."""

    async def authorize(self, user: User, attributes: Attributes) -> Ruling:
        """Raise."""
        raise ReviewUnavailableError


ALLOW: Authorizer = Rules(Decision.ALLOW)
DENY: Authorizer = Rules(Decision.DENY, "no")
NONE: Authorizer = Rules(Decision.NO_OPINION)
UNAVAILABLE: Authorizer = Unavailable()


@pytest.mark.parametrize(
    ("chain", "decision"),
    [
        ([], Decision.NO_OPINION),
        ([NONE], Decision.NO_OPINION),
        ([NONE, ALLOW], Decision.ALLOW),
        ([ALLOW, DENY], Decision.ALLOW),
        ([DENY, ALLOW], Decision.DENY),
        ([UNAVAILABLE, ALLOW], Decision.ALLOW),
        ([ALLOW, UNAVAILABLE], Decision.ALLOW),
        ([UNAVAILABLE, DENY], Decision.DENY),
    ],
)
async def test_the_first_opinion_ends_the_chain(
    chain: list[Authorizer], decision: Decision
) -> None:
    """Contract 7.1."""
    assert (await AuthorizerChain(chain).authorize(ALICE, READ)).decision is decision


@pytest.mark.parametrize("chain", [[UNAVAILABLE], [UNAVAILABLE, NONE], [NONE, UNAVAILABLE]])
async def test_what_cannot_be_found_out_is_not_a_no(chain: list[Authorizer]) -> None:
    """Design 7: an error never allows, and is no denial either."""
    with pytest.raises(ReviewUnavailableError):
        await AuthorizerChain(chain).authorize(ALICE, READ)


async def test_reasons_add_up_where_nobody_has_an_opinion() -> None:
    """They go into the 403."""
    chain = [Rules(Decision.NO_OPINION, "one"), NONE, Rules(Decision.NO_OPINION, "two")]
    ruling = await AuthorizerChain(chain).authorize(ALICE, READ)
    assert ruling == Ruling(Decision.NO_OPINION, "one\ntwo")


@pytest.mark.parametrize(
    ("groups", "decision"),
    [
        (("system:masters",), Decision.ALLOW),
        (("x", "system:masters"), Decision.ALLOW),
        (("masters", "system:authenticated"), Decision.NO_OPINION),
        ((), Decision.NO_OPINION),
    ],
)
async def test_masters_may_do_everything(groups: tuple[str, ...], decision: Decision) -> None:
    """Contract 7.1: by group, never by name."""
    authorizer: Authorizer = AlwaysAllowGroups()
    user = User("system:masters", groups=groups)
    assert (await authorizer.authorize(user, READ)).decision is decision


@pytest.mark.parametrize(
    ("paths", "request_", "allowed"),
    [
        (None, path("/healthz"), True),
        (None, path("/readyz", "post"), True),
        (None, path("/livez"), True),
        (None, path("/livez/"), False),
        (None, path("/readyz/ping"), False),
        (None, path("/metrics"), False),
        (None, path("/"), False),
        (None, Attributes(verb="get", path="/healthz", resource_request=True), False),
        (["healthz"], path("/healthz"), True),
        (["/a/*"], path("/a/b/c"), True),
        (["/a/*"], path("/a/"), True),
        (["/a/*"], path("/a"), False),
        (["*"], path("/anything"), True),
        (["/"], path("/"), True),
        ([], path("/"), False),
    ],
)
async def test_some_paths_are_everybodys(
    paths: list[str] | None, request_: Attributes, allowed: bool
) -> None:
    """Contract 7.3: exact, or up to a star at the end; never a resource."""
    authorizer: Authorizer = AlwaysAllowPaths() if paths is None else AlwaysAllowPaths(paths)
    ruling = await authorizer.authorize(ALICE, request_)
    assert (ruling.decision is Decision.ALLOW) is allowed


@pytest.mark.parametrize("bad", ["/a/*/b", "**", "/*a"])
def test_a_star_stands_at_the_end_only(bad: str) -> None:
    """Upstream refuses it at start."""
    with pytest.raises(InvalidPathError):
        AlwaysAllowPaths([bad])
