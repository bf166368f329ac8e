"""What the pipeline left in the database for the people of a benchmark."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection
from typing import Any

import numpy as np

from benchmarks.judging import Remembered

ATOMIC = "atomic"
LONG_TERM = "long-term"


def count_memories(users: Collection[str]) -> dict[str, dict[str, int]]:
    """Return the number of memories by kind and status."""
    from apps.memory.models import AtomicMemory, LongTermMemory

    return {
        kind: dict(Counter(model.objects.filter(user__username__in=users).values_list("status", flat=True)))
        for kind, model in ((ATOMIC, AtomicMemory), (LONG_TERM, LongTermMemory))
    }


def list_active(users: Collection[str]) -> list[Remembered]:
    """Return the active memories of both kinds, with the message each came from."""
    from apps.memory.models import AtomicMemory, LongTermMemory

    atomic = _select_active(AtomicMemory, users)
    long_term = _select_active(LongTermMemory, users)
    return [_describe(row, kind=ATOMIC, text=row.content) for row in atomic] + [
        _describe(row, kind=LONG_TERM, text=f"{row.key}: {json.dumps(row.value, ensure_ascii=False)}")
        for row in long_term
    ]


def list_superseded(users: Collection[str]) -> list[tuple[str, str]]:
    """Return each atomic memory that is superseded and the one that took its place: did it have to go?"""
    from apps.memory.models import AtomicMemory

    rows = AtomicMemory.objects.filter(user__username__in=users, status="superseded", superseded_by__isnull=False)
    return list(rows.values_list("content", "superseded_by__content"))


def _select_active(model: Any, users: Collection[str]) -> Any:
    rows = model.objects.filter(user__username__in=users, status="active")
    return rows.select_related("user", "message").prefetch_related("embeddings")


def _describe(row: Any, *, kind: str, text: str) -> Remembered:
    vectors = [np.asarray(embedding.embedding, dtype=np.float32) for embedding in row.embeddings.all()]
    return Remembered(
        user=row.user.username,
        kind=kind,
        text=text,
        said=row.message.content if row.message else None,
        vector=vectors[0] if vectors else None,
    )


def count_messages(users: Collection[str]) -> int:
    """Return the number of messages that are to be embedded: all that are complete, summaries included."""
    from apps.conversations.models import Message

    return Message.objects.filter(user__username__in=users, status="complete").count()


def count_embedded_messages(users: Collection[str]) -> int:
    """Return how many of them have a vector."""
    from apps.memory.models import ConversationEmbedding

    rows = ConversationEmbedding.objects.filter(user__username__in=users)
    return rows.values("message_id").distinct().count()


def count_failed_work() -> dict[str, int]:
    """Return the work given up for good: its kind and error, and how often."""
    from apps.conversations.models import Work

    failed = Work.objects.filter(state=Work.State.FAILED).values_list("kind", "error")
    return dict(Counter(f"{kind}: {error}" for kind, error in failed))
