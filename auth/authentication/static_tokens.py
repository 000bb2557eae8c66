"""Users from a file of tokens, in kube-apiserver's format (design 7; contract 6.40).

A line is `token,user,uid` or `token,user,uid,"group1,group2"`. Tokens are kept as digests under a
key of this process, and never get into a log line, an error or a representation.
"""

import csv
import io
import logging
import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b

from auth.authentication.bearer import bearer_token
from auth.authentication.groups import with_authenticated_group
from auth.authentication.port import Credentials
from auth.errors import UnauthenticatedError
from auth.identity import User

logger = logging.getLogger(__name__)


class TokenFileError(ValueError):
    """The token file cannot be used; `problems` says why, each without a token."""

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__("; ".join(problems))
        self.problems = tuple(problems)


@dataclass(frozen=True, slots=True)
class StaticToken:
    """One usable record of the file."""

    token: str = field(repr=False)
    user: User


def read_token_file(content: bytes) -> tuple[StaticToken, ...]:
    """Return the file's tokens in its order.

    Blank lines are skipped, and records with an empty token, with a warning. Of records with the
    same token the last one counts, with a warning. Raises TokenFileError.
    """
    tokens: dict[str, StaticToken] = {}
    problems: list[str] = []
    for number, record in enumerate(_records(content), start=1):
        if len(record) < 3:
            columns = f"{len(record)} of at least 3 columns (token, user name, user uid)"
            problems.append(f"record {number} has {columns}")
            continue
        token, name, uid = record[:3]
        if not token:
            logger.warning("empty token in the token file", extra={"record": number})
            continue
        if not name:
            problems.append(f"record {number} has no user name")
            continue
        if token in tokens:
            logger.warning("token is in the token file twice", extra={"record": number})
        groups = tuple(group for group in record[3].split(",") if group) if record[3:] else ()
        tokens[token] = StaticToken(token, User(name=name, uid=uid, groups=groups))
    if problems:
        raise TokenFileError(problems)
    return tuple(tokens.values())


class StaticTokenAuthenticator:
    """Knows users by the tokens of a file; each is made a member of system:authenticated once."""

    def __init__(self, tokens: Iterable[StaticToken] = ()) -> None:
        self._key = secrets.token_bytes(32)
        self._users = self._by_digest(tokens)

    def replace(self, tokens: Iterable[StaticToken]) -> None:
        """Forget all tokens and know these, at once for whoever asks next."""
        self._users = self._by_digest(tokens)

    async def authenticate(self, credentials: Credentials) -> User | None:
        """Return the token's user; None: no bearer token. Raises UnauthenticatedError."""
        token = bearer_token(credentials)
        if token is None:
            return None
        user = self._users.get(self._digest(token))
        if user is None:
            raise UnauthenticatedError
        return user

    def _by_digest(self, tokens: Iterable[StaticToken]) -> dict[bytes, User]:
        return {self._digest(each.token): with_authenticated_group(each.user) for each in tokens}

    def _digest(self, token: str) -> bytes:
        """Return what a token is looked up by: how long that takes tells nothing about tokens."""
        # Header values reach us with bytes that are no UTF-8 escaped.
        return blake2b(token.encode("utf-8", "surrogateescape"), key=self._key).digest()


def _records(content: bytes) -> list[list[str]]:
    """Return the records that are not blank. Raises TokenFileError."""
    try:
        text = content.decode("utf-8-sig")
        return [
            record for record in csv.reader(io.StringIO(text, newline=""), strict=True) if record
        ]
    except UnicodeDecodeError as error:
        raise TokenFileError(["not text in UTF-8"]) from error
    except csv.Error as error:
        raise TokenFileError(["not comma-separated values"]) from error
