"""The token file."""

import logging

import pytest

from auth.authentication.port import Authenticator, Credentials
from auth.authentication.static_tokens import (
    StaticToken,
    StaticTokenAuthenticator,
    TokenFileError,
    read_token_file,
)
from auth.errors import UnauthenticatedError
from auth.identity import AUTHENTICATED_GROUP, User


def bearer(token: str) -> Credentials:
    """Return credentials with a token."""
    return Credentials(authorization=(f"Bearer {token}",))


@pytest.mark.parametrize(
    ("content", "users"),
    [
        (b"", []),
        (b"\n\n", []),
        (b"t,u,1\n", [User("u", "1")]),
        (b"t,u,1", [User("u", "1")]),
        (b"\xef\xbb\xbft,u,1\r\n", [User("u", "1")]),
        (b"t,u,\n", [User("u")]),
        (b't,u,1,"a,b"\n', [User("u", "1", ("a", "b"))]),
        (b"t,u,1,a\n", [User("u", "1", ("a",))]),
        (b't,u,1,""\n', [User("u", "1")]),
        (b't,u,1,"a",more\n', [User("u", "1", ("a",))]),
        (b't,"a, b",1\n\ns,v,2\n', [User("a, b", "1"), User("v", "2")]),
    ],
)
def test_the_file_is_kube_apiservers(content: bytes, users: list[User]) -> None:
    """token,user,uid and perhaps groups in quotes; blank lines count for nothing."""
    assert [each.user for each in read_token_file(content)] == users


@pytest.mark.parametrize(
    ("content", "problems"),
    [
        (b"t,u\n", ("record 1 has 2 of at least 3 columns (token, user name, user uid)",)),
        (
            b"t\nx,y,z\n,u,1\nt,,1\n",
            (
                "record 1 has 1 of at least 3 columns (token, user name, user uid)",
                "record 4 has no user name",
            ),
        ),
        (b"\xff,u,1\n", ("not text in UTF-8",)),
        (b't,u,1,"a"b\n', ("not comma-separated values",)),
        (b't,u,1,"a', ("not comma-separated values",)),
    ],
)
def test_a_file_that_cannot_be_used_says_why(content: bytes, problems: tuple[str, ...]) -> None:
    """Every problem at once, none with a token."""
    with pytest.raises(TokenFileError) as raised:
        read_token_file(content)
    assert raised.value.problems == problems


def test_empty_and_repeated_tokens_are_warned_of(caplog: pytest.LogCaptureFixture) -> None:
    """As upstream: an empty one is skipped, of two the last one counts; no token is logged."""
    tokens = read_token_file(b",u,1\nsecret,v,2\nsecret,w,3\n")
    assert tokens == (StaticToken("secret", User("w", "3")),)
    assert [(each.levelno, each.__dict__["record"]) for each in caplog.records] == [
        (logging.WARNING, 1),
        (logging.WARNING, 3),
    ]
    assert "secret" not in str([each.__dict__ for each in caplog.records])


def test_a_token_is_not_in_its_representation() -> None:
    """Whoever logs one by accident logs no token."""
    assert "secret" not in repr(StaticToken("secret", User("u")))


async def test_a_user_is_known_by_the_token() -> None:
    """The whole token, nothing but the token."""
    authenticator: Authenticator = StaticTokenAuthenticator(read_token_file(b't,u,1,"a,b"\n'))
    known = User("u", "1", ("a", "b", AUTHENTICATED_GROUP))
    assert await authenticator.authenticate(bearer("t")) == known
    assert await authenticator.authenticate(Credentials()) is None
    for wrong in ("T", "tt", "u", "\udcff", "é"):
        with pytest.raises(UnauthenticatedError):
            await authenticator.authenticate(bearer(wrong))


async def test_tokens_can_be_replaced() -> None:
    """Old ones are worth nothing from then on."""
    authenticator = StaticTokenAuthenticator(read_token_file(b"old,u,1\n"))
    authenticator.replace(read_token_file(b"new,u,1\n"))
    user = User("u", "1", (AUTHENTICATED_GROUP,))
    assert await authenticator.authenticate(bearer("new")) == user
    with pytest.raises(UnauthenticatedError):
        await authenticator.authenticate(bearer("old"))
