"""What every authorizer is given and gives."""

from dataclasses import dataclass
from enum import Enum
from typing import Protocol

from auth.attributes import Attributes
from auth.identity import User


class Decision(Enum):
    """Allow and deny end the chain; no opinion passes on, and at its end means no."""

    ALLOW = "allow"
    DENY = "deny"
    NO_OPINION = "no opinion"


@dataclass(frozen=True, slots=True)
class Ruling:
    """A decision and its reason, which goes into logs and the caller's 403: it names no rule."""

    decision: Decision
    reason: str = ""


class Authorizer(Protocol):
    """One way to decide."""

    async def authorize(self, user: User, attributes: Attributes) -> Ruling:
        """Return the ruling. Raises ReviewUnavailableError where it cannot be found out."""
        ...
