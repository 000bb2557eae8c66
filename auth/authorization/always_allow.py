"""What is allowed without a look at any rule: groups and paths (contract 7.1, 7.3)."""

from collections.abc import Iterable
from typing import Final

from auth.attributes import Attributes
from auth.authorization.port import Decision, Ruling
from auth.identity import MASTERS_GROUP, User

DEFAULT_PATHS: Final = ("/healthz", "/readyz", "/livez")

_ALLOW: Final = Ruling(Decision.ALLOW)
_NO_OPINION: Final = Ruling(Decision.NO_OPINION)


class InvalidPathError(ValueError):
    """A path with `*` elsewhere than at its end."""


class AlwaysAllowGroups:
    """Allows the members of some groups everything."""

    def __init__(self, groups: Iterable[str] = (MASTERS_GROUP,)) -> None:
        self._groups = frozenset(groups)

    async def authorize(self, user: User, attributes: Attributes) -> Ruling:
        """Allow members; no opinion on anybody else."""
        del attributes
        return _NO_OPINION if self._groups.isdisjoint(user.groups) else _ALLOW


class AlwaysAllowPaths:
    """Allows everybody some paths, with any verb."""

    def __init__(self, paths: Iterable[str] = DEFAULT_PATHS) -> None:
        """Take paths that count exactly, or up to a `*` at their end; a leading slash is implied.

        Raises InvalidPathError.
        """
        exact: set[str] = set()
        prefixes: list[str] = []
        for given in paths:
            path = given.removeprefix("/")
            if "*" in path[:-1]:
                raise InvalidPathError(given)
            if path.endswith("*"):
                prefixes.append(path[:-1])
            else:
                exact.add(path)
        self._exact = frozenset(exact)
        self._prefixes = tuple(prefixes)

    async def authorize(self, user: User, attributes: Attributes) -> Ruling:
        """Allow requests for these paths that are for no resource; no opinion on others."""
        del user
        if attributes.resource_request:
            return _NO_OPINION
        path = attributes.path.removeprefix("/")
        allowed = path in self._exact or path.startswith(self._prefixes)
        return _ALLOW if allowed else _NO_OPINION
