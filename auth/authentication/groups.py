"""The groups that every user is in (contract 6.1)."""

from dataclasses import replace

from auth.identity import ANONYMOUS, AUTHENTICATED_GROUP, UNAUTHENTICATED_GROUP, User


def with_authenticated_group(user: User) -> User:
    """Return the user as a member of system:authenticated, once.

    The anonymous user, and one who is said to be unauthenticated, stay as they are, as upstream.
    """
    if user.name == ANONYMOUS:
        return user
    if AUTHENTICATED_GROUP in user.groups or UNAUTHENTICATED_GROUP in user.groups:
        return user
    return replace(user, groups=(*user.groups, AUTHENTICATED_GROUP))
