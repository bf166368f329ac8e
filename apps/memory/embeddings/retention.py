"""How long vectors of messages are kept (R1). The messages stay, and so do the vectors of summaries.

What was deleted is not made again: work embeds a message once, and `reembed` only what has a vector.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import QuerySet

from apps.accounts.models import Setting, User
from apps.accounts.selectors import get_settings
from apps.accounts.types import PREFIX
from apps.conversations.models import Role
from apps.memory.models import ConversationEmbedding

BATCH = 1_000
KEY = f"{PREFIX}embedding_retention_days"


@dataclass(frozen=True, slots=True)
class Retention:
    """Of whose messages the vectors go that were said before when."""

    user: User
    before: datetime


def list_retentions(*, now: datetime) -> Iterator[Retention]:
    """Yield what everybody's setting, or the global one, comes to at this moment."""
    everybody = get_settings(None).embedding_retention_days
    own = dict(Setting.objects.filter(key=KEY, user__isnull=False).values_list("user_id", "value"))
    for user in User.objects.order_by("id").iterator():
        yield Retention(user=user, before=now - timedelta(days=own.get(user.pk, everybody)))


def count_expired(retention: Retention) -> int:
    """Return how many vectors `delete_expired` would delete."""
    return _expired(retention).count()


def delete_expired(retention: Retention) -> int:
    """Delete a person's vectors that are too old, a batch at a time so that nobody waits; returns how many."""
    deleted = 0
    while ids := list(_expired(retention).values_list("id", flat=True)[:BATCH]):
        deleted += ConversationEmbedding.objects.filter(id__in=ids).delete()[0]
    return deleted


def apply_retention(*, now: datetime) -> int:
    """Delete everybody's vectors that are too old; returns how many."""
    return sum(delete_expired(retention) for retention in list_retentions(now=now))


def _expired(retention: Retention) -> QuerySet[ConversationEmbedding]:
    return ConversationEmbedding.objects.filter(
        user=retention.user, created_at__lt=retention.before, message_type__in=(Role.USER, Role.ASSISTANT)
    )
