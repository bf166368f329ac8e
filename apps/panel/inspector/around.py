"""What happened around a turn: the turns before and after it, and what background work made of its message."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import IntegerField, Value

from apps.chat.models import Turn
from apps.conversations.models import Work
from apps.core.db import fetch_rows
from apps.memory.atomic.selectors import DERIVED_FIELDS
from apps.memory.models import SEARCH_FIELDS, AtomicMemory, LongTermMemory


@dataclass(frozen=True, slots=True)
class Neighbours:
    """IDs of the turns before and after in the session, and the emotion of the one before."""

    previous: uuid.UUID | None = None
    following: uuid.UUID | None = None
    emotion: dict[str, Any] | None = None


def find_neighbours(turn: Turn) -> Neighbours:
    """Return the turns beside this one in its session; one query."""
    turns = Turn.objects.filter(session_id=turn.session_id, user_id=turn.user_id)
    position = turn.assistant_message.position
    sides = [
        turns.filter(assistant_message__position__lt=position).order_by("-assistant_message__position"),
        turns.filter(assistant_message__position__gt=position).order_by("assistant_message__position"),
    ]
    before, after = (
        rows.annotate(side=Value(side, IntegerField())).values_list("side", "pk", "emotion")[:1]
        for side, rows in enumerate(sides)
    )
    found = {side: (pk, emotion) for side, pk, emotion in before.union(after, all=True)}
    previous, emotion = found.get(0, (None, None))
    following, _emotion = found.get(1, (None, None))
    return Neighbours(previous=previous, following=following, emotion=emotion)


# One statement, as the page of a turn has many to make.
_LEFT = """
SELECT 'work', id::text, kind, state, error FROM work WHERE message_id = ANY(%(messages)s)
UNION ALL
SELECT 'proposal', id::text, section, text, status FROM profile_proposal WHERE message_id = ANY(%(messages)s)
UNION ALL
SELECT 'embedded', '', '', count(DISTINCT message_id)::text, ''
FROM conversation_embeddings WHERE message_id = ANY(%(messages)s)
"""


@dataclass(frozen=True, slots=True)
class WorkLeft:
    """Background work that is still to be done, or has failed, for a message."""

    id: str
    title: str
    failed: bool
    error: str


@dataclass(frozen=True, slots=True)
class Proposed:
    """The profile proposals that a message led to."""

    id: str
    section: str
    text: str
    status: str


@dataclass(frozen=True, slots=True)
class Aftermath:
    """What came of a turn's messages in the background. `embedded`: how many of them can be found by meaning."""

    long_term: Sequence[LongTermMemory]
    atomic: Sequence[AtomicMemory]
    proposals: Sequence[Proposed]
    work: Sequence[WorkLeft]
    embedded: int


def find_aftermath(turn: Turn) -> Aftermath:
    """Return what was learned from a turn's messages, and the work that is left on them; three queries."""
    messages = [key for key in (turn.user_message_id, turn.assistant_message_id) if key]
    mine: dict[str, Any] = {"user_id": turn.user_id, "message_id__in": messages}
    rows = fetch_rows(_LEFT, {"messages": messages})
    return Aftermath(
        long_term=list(LongTermMemory.objects.filter(**mine).defer(*SEARCH_FIELDS).order_by("created_at", "id")),
        atomic=list(AtomicMemory.objects.filter(**mine).defer(*DERIVED_FIELDS).order_by("create_time", "id")),
        proposals=[Proposed(*row) for what, *row in rows if what == "proposal"],
        work=[
            WorkLeft(
                id=key,
                title=f"{Work.Kind(kind).label}: {Work.State(state).label}",
                failed=state == Work.State.FAILED,
                error=error,
            )
            for what, key, kind, state, error in rows
            if what == "work"
        ],
        embedded=next(int(count) for what, _key, _kind, count, _error in rows if what == "embedded"),
    )
