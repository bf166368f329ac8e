"""How many things wait for a decision, on the menu of every page."""

from __future__ import annotations

from typing import Any, cast

from django.http import HttpRequest

from apps.accounts.models import User
from apps.panel.owned import sees_everybody
from apps.panel.review.queue import count_pending

MOST_SHOWN = 99


def count_badge(request: HttpRequest) -> dict[str, Any]:
    """What makes a badge of a menu item, as django-unfold takes it; nothing while nothing waits. One query."""
    owner = None if sees_everybody(request) else cast(User, request.user)
    count = sum(count_pending(owner).values())
    if not count:
        return {}
    return {"badge": str(count) if count <= MOST_SHOWN else f"{MOST_SHOWN}+", "badge_variant": "primary"}
