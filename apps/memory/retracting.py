"""Taking back what messages taught, as they were edited; undone, it is known again."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from uuid import UUID

from django.db import transaction

from apps.accounts.models import User
from apps.core.errors import Conflict, NotFound
from apps.memory.history.undo import undo_operation
from apps.memory.locking import lock_memories
from apps.memory.models import Change

_LEARNED = (Change.Origin.TURN, Change.Origin.EXTRACTION, Change.Origin.COMMAND)


@transaction.atomic
def retract_learned(*, user: User, message_ids: Collection[UUID], now: datetime) -> list[UUID]:
    """Undo what these messages alone led to, the newest first; return the operations that do it.

    What has been changed, confirmed by hand or deleted since stays as it is. The memories may be learned again.
    """
    lock_memories(user)
    changes = Change.objects.filter(
        user=user, message__in=message_ids, origin__in=_LEARNED, undone_by=None, after__isnull=False
    )
    changes = changes.exclude(action__in=[Change.Action.UNDO, Change.Action.DELETE])
    operations = dict.fromkeys(changes.order_by("-id").values_list("operation", flat=True))
    return _undo_each(user, list(operations), may_return=True, now=now)


@transaction.atomic
def restore_retracted(*, user: User, operations: Sequence[UUID], now: datetime) -> int:
    """Undo what `retract_learned` returned, as far as nothing stands against it now; return how many operations."""
    lock_memories(user)
    return len(_undo_each(user, list(reversed(operations)), may_return=False, now=now))


def _undo_each(user: User, operations: Sequence[UUID], *, may_return: bool, now: datetime) -> list[UUID]:
    undoing = []
    for operation in operations:
        try:
            with transaction.atomic():
                undoing.append(undo_operation(user=user, operation=operation, now=now, may_return=may_return))
        except (Conflict, NotFound):
            continue
    return undoing
