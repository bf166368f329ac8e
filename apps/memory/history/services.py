"""Writing the audit record of changes (L7), in the transaction of the service that makes them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable
from datetime import datetime
from typing import Any
from uuid import UUID, uuid4

from django.db import connection
from django.db.models import QuerySet

from apps.accounts.models import User
from apps.accounts.services.people import get_program
from apps.conversations.sessions import forget_rounds
from apps.memory.history.authorship import get_author, note_operations
from apps.memory.history.types import ChangeDraft
from apps.memory.models import Change

_REQUESTS = (Change.Origin.API, Change.Origin.TURN)

# Deletions of one call are one operation. One statement for any number of objects.
_FORGET = """
WITH emptied AS (
    UPDATE memory_change SET before = NULL, after = NULL
    WHERE user_id = %(user)s AND kind = %(kind)s AND object_id = ANY (%(ids)s)
)
INSERT INTO memory_change (user_id, actor_id, origin, action, kind, object_id, operation, created_at)
SELECT %(user)s, %(actor)s, %(origin)s, %(action)s, %(kind)s, object_id, %(operation)s, %(now)s
FROM unnest(%(ids)s) AS object_id
"""


def record_changes(*, user: User, changes: Iterable[ChangeDraft], now: datetime) -> dict[str, UUID]:
    """Record what was changed of a person's memory; returns the ID of the operation of each group.

    A change that names its operation joins that one.

    `apps.memory.history.authorship` knows who did it. What is as it was before is no change. One INSERT, or none.
    """
    author = get_author(user)
    via = get_program() if author.origin in _REQUESTS else ""
    operations: defaultdict[str, UUID] = defaultdict(uuid4)
    rows = [
        Change(
            user=user,
            actor_id=author.actor.pk if author.actor else None,
            origin=author.origin,
            action=change.action,
            kind=change.kind,
            object_id=change.object_id,
            before=change.before,
            after=change.after,
            operation=change.operation or operations[change.group],
            session_id=change.session_id,
            message_id=change.message_id,
            via=via,
            created_at=now,
        )
        for change in changes
        if change.before != change.after
    ]
    Change.objects.bulk_create(rows, batch_size=1_000)
    note_operations(dict.fromkeys(row.operation for row in rows))
    return dict(operations)


def stop_recalling_sources(user: User, memories: QuerySet[Any]) -> None:
    """Let no later turn recall the messages that these memories are from: they are about to be deleted (A5, L6).

    Those that said or repeated them, as far as the audit record or the memory itself knows.
    """
    known = dict(memories.values_list("id", "message_id"))
    caused = Change.objects.filter(user=user, object_id__in=known, message__isnull=False)
    forget_rounds(user=user, message_ids={*filter(None, known.values()), *caused.values_list("message_id", flat=True)})


def empty_history(*, user: User, kind: Change.Kind, object_ids: Collection[UUID]) -> None:
    """Empty the records of objects that stay while a text they once held is deleted (L6); records no deletion."""
    Change.objects.filter(user=user, kind=kind, object_id__in=object_ids).update(before=None, after=None)


def forget_history(*, user: User, kind: Change.Kind, object_ids: Collection[UUID], now: datetime) -> None:
    """Empty the records of objects that are being deleted; what stays is who deleted them, when, and their IDs (L7)."""
    if not object_ids:
        return
    author = get_author(user)
    values = {
        "user": user.pk,
        "actor": author.actor.pk if author.actor else None,
        "origin": author.origin,
        "action": Change.Action.DELETE,
        "kind": kind,
        "ids": list(object_ids),
        "operation": uuid4(),
        "now": now,
    }
    with connection.cursor() as cursor:
        cursor.execute(_FORGET, values)
