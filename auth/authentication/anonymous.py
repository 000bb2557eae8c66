"""Who asks without presenting anything (contract 6.1, 6.5)."""

from typing import Final

from auth.identity import ANONYMOUS, UNAUTHENTICATED_GROUP, User

ANONYMOUS_USER: Final = User(name=ANONYMOUS, groups=(UNAUTHENTICATED_GROUP,))
