"""What the directory has to ask of another server, which holds a person's data (docs/shards.md)."""

from __future__ import annotations

from typing import Any

import httpx2
import structlog
from django.conf import settings

from apps.accounts.models import User
from apps.accounts.services.placement import PERSON_HEADER, Moved, write_note
from apps.core.errors import Unavailable

logger = structlog.get_logger(__name__)

TIMEOUT_SECONDS = 60.0


class ShardAway(Unavailable):
    """503: the server that holds the person's data does not answer, so nothing was erased or deleted."""

    def __init__(self, shard: str) -> None:
        super().__init__(f"The server {shard!r}, which holds this person's data, does not answer. Try again.")


def erase_elsewhere(user: User) -> dict[str, Any]:
    """Have the person's shard erase all that is remembered; returns its receipt.

    It does so by itself, as if the person had asked for it. Does not answer, or answers otherwise: `ShardAway`.
    """
    shard = settings.SHARDS.get(user.shard)
    if shard is None:
        raise Moved
    confirmation = user.external_id if user.service_id else user.get_username()
    try:
        response = httpx2.post(
            f"{shard['url']}/memory/erase",
            json={"confirm": confirmation},
            headers={PERSON_HEADER: write_note(user)},
            timeout=TIMEOUT_SECONDS,
        )
        response.raise_for_status()
        receipt: dict[str, Any] = response.json()
    except (httpx2.HTTPError, ValueError) as error:
        logger.error("shard.away", shard=user.shard, cause=type(error).__name__)
        raise ShardAway(user.shard) from None
    return receipt


def forget_copies(user: User) -> None:
    """Delete the copies of an account's row that shards keep, once nothing there refers to them."""
    for name in settings.SHARDS:
        User.objects.using(f"shard_{name}").filter(pk=user.pk).delete()
