"""The queue of background work, in PostgreSQL: what is to be done for messages after the reply (see `Work`)."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import datetime
from functools import partial

from django.db import transaction

from apps.conversations.models import Message, Work
from apps.core.queue import send_task

TASKS = {
    Work.Kind.EMBED: "apps.pipeline.tasks.embed",
    Work.Kind.EXTRACT: "apps.pipeline.tasks.extract",
    Work.Kind.SUMMARIZE: "apps.pipeline.tasks.summarize",
}
"""Which task does which work. A task is sent without arguments: it asks PostgreSQL what is due."""


def add_work(*, messages: Iterable[Message], kinds: Collection[str], now: datetime, recorded: bool = False) -> None:
    """Leave work of these kinds for each message, in the caller's transaction; workers are woken when it commits."""
    rows = [
        Work(
            kind=kind,
            user_id=message.user_id,
            session_id=message.session_id,
            message=message,
            recorded=recorded,
            due_at=now,
            created_at=now,
        )
        for message in messages
        for kind in kinds
    ]
    Work.objects.bulk_create(rows, ignore_conflicts=True)
    wake_workers(kinds)


def wake_workers(kinds: Collection[str]) -> None:
    """Tell the workers, once the transaction commits, that work of these kinds is due; a lost call costs only time."""
    for kind in kinds:
        transaction.on_commit(partial(send_task, TASKS[Work.Kind(kind)]))
