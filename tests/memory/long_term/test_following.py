"""Long-term memory follows what atomic memory finds ended, and no further."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from apps.accounts.models import User
from apps.conversations.models import Message, Role
from apps.memory.atomic.recording import record_memories
from apps.memory.atomic.types import ExtractedMemory
from apps.memory.long_term.following import follow_memories
from apps.memory.models import AtomicMemory, LongTermMemory, Status
from apps.memory.services import create_memory
from tests.support.factories import SessionFactory, UserFactory

pytestmark = [pytest.mark.django_db, pytest.mark.spec("A3", "L3")]

NOW = datetime(2026, 11, 22, 10, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("known", "said", "left"),
    [
        ("用户养了一只猫和一条狗。", "用户的猫死了。", ["狗"]),
        ("用户养了一只猫。", "用户的猫死了。", ["狗"]),
    ],
)
def test_what_is_left_of_an_ended_memory_stays_in_the_list(known: str, said: str, left: list[str]) -> None:
    user = UserFactory()
    before = NOW - timedelta(days=9)
    create_memory(user=user, category="fact", key="宠物", value=["猫", "狗"], now=before)
    _record(user, known, said_at=before)
    memories = _record(user, said, said_at=NOW)
    assert AtomicMemory.objects.get(content=known).status == Status.SUPERSEDED
    follow_memories(user=user, memories=memories, auto_accept_confidence=0.7, now=NOW)
    assert LongTermMemory.objects.get(user=user, status=Status.ACTIVE).value == left


def _record(user: User, content: str, *, said_at: datetime) -> list[AtomicMemory]:
    session = SessionFactory(user=user)
    message = Message.objects.create(
        session=session, user=user, role=Role.USER, content=content, create_time=said_at, position=1
    )
    draft = ExtractedMemory(content=content, said_at=said_at, message_id=message.id, session_id=None)
    return record_memories(user=user, drafts=[draft], max_length=500, auto_accept_confidence=0.7, now=NOW)
