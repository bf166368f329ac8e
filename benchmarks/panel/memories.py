"""Memories of both kinds, some of them history, and the audit record of their changes."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Any
from uuid import uuid4

from apps.conversations.models import Message
from apps.memory.atomic.text import set_content
from apps.memory.long_term.audit import snapshot
from apps.memory.long_term.ledger import set_text
from apps.memory.models import AtomicMemory, Category, Change, LongTermMemory, Source
from benchmarks.panel.copying import copy_rows
from benchmarks.panel.texts import THINGS, draw_time, time_of

STEPS = 200
"""Changes of the first memory; of the others there are few each."""


def fill_long_term(
    user: Any, count: int, messages: Sequence[Message], *, pending: float, draw: random.Random
) -> list[LongTermMemory]:
    """Store long-term memories, each from a message of the person's; `pending`: the share that waits for review."""
    rows = [
        _make_long_term(user, number, draw.choice(messages), _draw_status(number, pending, draw), draw)
        for number in range(count)
    ]
    copy_rows(rows)
    return rows


def _make_long_term(user: Any, number: int, message: Message, status: str, draw: random.Random) -> LongTermMemory:
    made_at = draw_time(draw)
    memory = LongTermMemory(
        user=user,
        session_id=message.session_id,
        message_id=message.id,
        category=draw.choice(Category.values),
        source=draw.choice(Source.values),
        status=status,
        confidence=round(draw.random(), 2),
        created_at=made_at,
        updated_at=made_at,
        last_accessed=made_at + timedelta(minutes=draw.randrange(10_000)),
        access_count=draw.randrange(50),
    )
    thing = draw.choice(THINGS)
    if number % 2:
        set_text(memory, key=f"第{number}号{thing}", value=f"喜欢{thing}，每天都要")
    else:
        set_text(memory, key=f"favourite {thing} {number}", value=thing)
    return memory


def fill_atomic(
    user: Any, count: int, messages: Sequence[Message], *, pending: float, draw: random.Random
) -> list[AtomicMemory]:
    """Store atomic memories, each from a message of the person's; `pending`: the share that waits for review."""
    rows = [
        _make_atomic(user, number, draw.choice(messages), _draw_status(number, pending, draw), draw)
        for number in range(count)
    ]
    copy_rows(rows)
    return rows


def _make_atomic(user: Any, number: int, message: Message, status: str, draw: random.Random) -> AtomicMemory:
    said_at = draw_time(draw)
    thing = draw.choice(THINGS)
    memory = AtomicMemory(
        user=user,
        session_id=message.session_id,
        message_id=message.id,
        tags=[thing],
        timestamp=said_at,
        event_start=said_at if number % 3 else None,
        status=status,
        create_time=said_at,
        updated_at=said_at,
    )
    text = f"用户第{number}次说起{thing}。" if number % 2 else f"The user spoke of {thing} on day {number}."
    set_content(memory, text)
    return memory


def _draw_status(number: int, pending: float, draw: random.Random) -> str:
    """The first memory is active; of the others that do not wait nine in ten are."""
    if number and draw.random() < pending:
        return "pending"
    return draw.choices(("active", "superseded", "rejected"), weights=(90, 8, 1))[0] if number else "active"


def fill_changes(user: Any, memories: Sequence[LongTermMemory], count: int, draw: random.Random) -> None:
    """Store the audit record: a tenth each of edits together and deletions, the rest new memories."""
    copy_rows(_make_changes(user, memories, count, draw))


def _make_changes(user: Any, memories: Sequence[LongTermMemory], count: int, draw: random.Random) -> Iterator[Change]:
    operation = uuid4()
    for number in range(count):
        memory = memories[0] if number % (count // min(STEPS, count)) == 0 else draw.choice(memories)
        state = snapshot(memory)
        before: Any = None
        after: Any = state
        action = Change.Action.CREATE
        if number % 10 == 1 or memory is memories[0]:
            action, before = Change.Action.EDIT, {**state, "confidence": round(draw.random(), 2)}
        elif number % 10 == 2:
            action, after = Change.Action.DELETE, None
        operation = operation if number % 10 == 1 else uuid4()
        yield Change(
            user=user,
            actor=user if number % 2 else None,
            origin=Change.Origin.PANEL if number % 2 else Change.Origin.EXTRACTION,
            action=action,
            kind=Change.Kind.LONG_TERM,
            object_id=memory.id,
            before=before,
            after=after,
            operation=operation,
            created_at=time_of(number / count),
        )
