"""Who uses the server, and what their token lets them do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from apps.accounts.models import ApiToken, User
from apps.gateway.oauth.selectors import OAuthAccess


@dataclass(frozen=True, slots=True)
class Access:
    """A person, the scopes of whoever acts for them, and the name under which that one adds to shared contexts."""

    user: User
    scopes: tuple[str, ...]
    author: str


def read_access(user: User, token: Any) -> Access:
    """Return what a request may do, from whom its authentication found and with which token."""
    assert isinstance(token, ApiToken | OAuthAccess)
    return Access(user=user, scopes=tuple(token.scopes), author=token.name or user.get_username())
