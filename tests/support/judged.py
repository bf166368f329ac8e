"""Statements and operations as a judge makes them, said in messages of their own and carried out as production does."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from apps.accounts.models import User
from apps.accounts.types import REMEMBER_ALL, SensitiveHandling
from apps.conversations.models import Message, Role, Session
from apps.memory.changes.records import changed_by
from apps.memory.judge.known import list_known_memories
from apps.memory.judge.types import (
    JudgedOperation,
    JudgedStatement,
    KnownMemory,
    Operation,
    Relation,
    Said,
    Verdict,
)
from apps.memory.judge.verdicts import record_verdicts
from apps.memory.models import AtomicMemory, Change, LongTermMemory

NOW = datetime(2026, 11, 22, 9, tzinfo=UTC)


def say(user: User, text: str, *, days_ago: float = 0) -> Message:
    """A message of the person, in a session of its own."""
    return Message.objects.create(
        session=Session.objects.create(user=user, space_id=user.sight.space),
        user=user,
        role=Role.USER,
        content=text,
        position=1,
        create_time=NOW - timedelta(days=days_ago),
    )


def cite(message: Message) -> Said:
    """The message as the source of what is judged."""
    return Said(message.id, message.session_id, message.create_time, message.content)


def know(user: User) -> list[KnownMemory]:
    """All that is remembered, as a judge is shown it."""
    return list_known_memories(user, said=[], message_ids=[], budget=100_000)


def find_numbers(known: Sequence[KnownMemory], *texts: str) -> tuple[int, ...]:
    """The numbers of known memories, by their texts."""
    numbers = {memory.text: memory.number for memory in known}
    return tuple(numbers[text] for text in texts)


def state(message: Message, content: str, **fields: Any) -> JudgedStatement:
    """A statement of a message; without a verdict it is new."""
    return JudgedStatement(content=content, source=cite(message), **fields)


def learn(
    user: User,
    content: str,
    relation: str = "new",
    *texts: str,
    days_ago: float = 0,
    confidence: float = 0.9,
    left: str | None = None,
    merged: str | None = None,
    message: Message | None = None,
    **fields: Any,
) -> Message:
    """Record one statement whose verdict relates it to the known memories of these texts; returns its message."""
    known = know(user)
    message = message or say(user, content, days_ago=days_ago)
    verdict = Verdict(Relation(relation), find_numbers(known, *texts), confidence, left=left, merged=merged)
    record(user, [state(message, content, verdict=verdict, **fields)], known=known)
    return message


def operate(
    user: User,
    action: str,
    *texts: str,
    said: str,
    text: str | None = None,
    confidence: float = 0.9,
) -> Message:
    """Carry out one operation on the known memories of these texts; returns its message."""
    known = know(user)
    message = say(user, said)
    operation = JudgedOperation(
        operation=Operation(action),
        targets=find_numbers(known, *texts),
        source=cite(message),
        text=text,
        confidence=confidence,
        grounded=True,
    )
    record(user, [], operations=[operation], known=known)
    return message


def record(
    user: User,
    statements: Sequence[JudgedStatement],
    *,
    operations: Sequence[JudgedOperation] = (),
    known: Sequence[KnownMemory] = (),
    max_length: int = 500,
    sensitive: SensitiveHandling = REMEMBER_ALL,
) -> list[AtomicMemory]:
    """Carry out what a judge answered."""
    with changed_by(origin=Change.Origin.EXTRACTION, actor=None):
        return record_verdicts(
            user=user,
            statements=statements,
            operations=operations,
            known=known,
            max_length=max_length,
            auto_accept_confidence=0.7,
            sensitive=sensitive,
            now=NOW,
        )


def show(user: User) -> list[tuple[str, str]]:
    """Status and content of the person's atomic memories, by when they were said, and of one time as they were made."""
    rows = AtomicMemory.objects.filter(user=user).order_by("timestamp", "create_time", "id")
    return list(rows.values_list("status", "content"))


def show_active(user: User) -> set[str]:
    """Contents of the active atomic memories."""
    return set(AtomicMemory.objects.filter(user=user, status="active").values_list("content", flat=True))


def show_entries(user: User) -> dict[str, Any]:
    """Keys and values of the active long-term memories."""
    return dict(LongTermMemory.objects.filter(user=user, status="active").values_list("key", "value"))
