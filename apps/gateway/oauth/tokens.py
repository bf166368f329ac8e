"""What tokens look like. The prefix tells them from API tokens, so that either costs one query."""

from __future__ import annotations

import secrets
from typing import Any

from apps.accounts.services.limits import digest_token, note_valid

ACCESS_PREFIX, REFRESH_PREFIX = "jiyi_at_", "jiyi_rt_"


def make_access_token(_request: Any, refresh_token: bool = False) -> str:
    """Return a new access token; only its digest is stored."""
    token = ACCESS_PREFIX + secrets.token_urlsafe(32)
    note_valid(digest_token(token))
    return token


def make_refresh_token(_request: Any, refresh_token: bool = True) -> str:
    """Return a new refresh token; only its digest is stored."""
    return REFRESH_PREFIX + secrets.token_urlsafe(32)
