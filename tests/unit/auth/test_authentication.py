"""Bearer tokens, the chain, and the groups that everybody is in."""

import pytest

from auth.authentication.anonymous import ANONYMOUS_USER
from auth.authentication.bearer import bearer_token
from auth.authentication.chain import AuthenticatorChain
from auth.authentication.groups import with_authenticated_group
from auth.authentication.port import Authenticator, Credentials
from auth.errors import UnauthenticatedError
from auth.identity import User

NOTHING = Credentials()


@pytest.mark.parametrize(
    ("authorization", "token"),
    [
        ((), None),
        (("Bearer abc",), "abc"),
        (("bearer abc",), "abc"),
        (("BEARER abc",), "abc"),
        (("  Bearer abc  ",), "abc"),
        (("Bearer abc def",), "abc"),
        (("Bearer",), None),
        (("Bearer ",), None),
        (("Bearer  abc",), None),
        (("Basic abc",), None),
        (("",), None),
        (("abc",), None),
    ],
)
def test_a_bearer_token_is_read_as_upstream_does(
    authorization: tuple[str, ...], token: str | None
) -> None:
    """Contract 6.40: the scheme in any case, one space, an empty token is none."""
    assert bearer_token(Credentials(authorization=authorization)) == token


def test_two_authorization_lines_are_refused() -> None:
    """Whoever is before us may have believed the other one."""
    with pytest.raises(UnauthenticatedError):
        bearer_token(Credentials(authorization=("Bearer a", "Bearer b")))


@pytest.mark.parametrize(
    ("user", "groups"),
    [
        (User("a"), ("system:authenticated",)),
        (User("a", groups=("x", "y", "z")), ("x", "y", "z", "system:authenticated")),
        (User("a", groups=("system:authenticated", "x")), ("system:authenticated", "x")),
        (User("a", groups=("system:unauthenticated",)), ("system:unauthenticated",)),
        (ANONYMOUS_USER, ("system:unauthenticated",)),
        (User("system:anonymous"), ()),
    ],
)
def test_everybody_but_the_anonymous_is_authenticated_once(
    user: User, groups: tuple[str, ...]
) -> None:
    """AU-09: all groups are kept, and system:authenticated is among them, without any too."""
    assert with_authenticated_group(user).groups == groups


class Knows:
    """Knows one user, whatever is presented."""

    def __init__(self, user: User | None) -> None:
        self._user = user

    async def authenticate(self, credentials: Credentials) -> User | None:
        """Return the user."""
        return self._user


class Refuses:
    """Refuses whatever is presented."""

    async def authenticate(self, credentials: Credentials) -> User | None:
        """Refuse."""
        raise UnauthenticatedError


NOBODY: Authenticator = Knows(None)
ALICE: Authenticator = Knows(User("alice"))
BOB: Authenticator = Knows(User("bob"))
REFUSES: Authenticator = Refuses()


@pytest.mark.parametrize(
    ("chain", "name"),
    [
        ([], "system:anonymous"),
        ([NOBODY], "system:anonymous"),
        ([ALICE, BOB], "alice"),
        ([NOBODY, BOB], "bob"),
        ([REFUSES, BOB], "bob"),
        ([ALICE, REFUSES], "alice"),
    ],
)
async def test_the_first_who_knows_the_caller_wins(chain: list[Authenticator], name: str) -> None:
    """Contract 6.1: a refusal does not stop the others; nothing presented is anonymous."""
    user = await AuthenticatorChain(chain).authenticate(NOTHING)
    assert user.name == name
    expected = "unauthenticated" if name == "system:anonymous" else "authenticated"
    assert user.groups == (f"system:{expected}",)


@pytest.mark.parametrize("chain", [[REFUSES], [REFUSES, NOBODY], [NOBODY, REFUSES]])
async def test_a_refusal_never_becomes_anonymous(chain: list[Authenticator]) -> None:
    """Contract 6.2."""
    with pytest.raises(UnauthenticatedError):
        await AuthenticatorChain(chain).authenticate(NOTHING)
