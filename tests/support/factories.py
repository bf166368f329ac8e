"""Rows for tests, made the way production makes them: a memory goes through its service, with its derived forms."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import factory
from django.utils import timezone
from factory.django import DjangoModelFactory

from apps.accounts.models import User
from apps.conversations.models import Session
from apps.conversations.rounds import open_round
from apps.conversations.types import OpenRound
from apps.memory.entries import create_memory
from apps.memory.models import LongTermMemory


class UserFactory(DjangoModelFactory[User]):
    class Meta:
        model = User

    username = factory.Sequence(lambda number: f"user{number}")


class SessionFactory(DjangoModelFactory[Session]):
    class Meta:
        model = Session

    user = factory.SubFactory(UserFactory)


class LongTermMemoryFactory(DjangoModelFactory[LongTermMemory]):
    """An active memory its owner wrote. Other statuses come about by what brings them about."""

    class Meta:
        model = LongTermMemory

    user = factory.SubFactory(UserFactory)
    category = "preference"
    key = factory.Sequence(lambda number: f"key {number}")
    value = "value"
    now = factory.LazyFunction(timezone.now)

    @classmethod
    def _create(cls, model_class: type[LongTermMemory], *args: Any, **kwargs: Any) -> LongTermMemory:
        memory, _action = create_memory(**kwargs)
        return memory


def open_message(session: Session, content: str = "你好", *, lease: timedelta = timedelta(minutes=1)) -> OpenRound:
    """What a turn does first: a message of the session that nobody has answered yet."""
    now = timezone.now()
    opened, _earlier = open_round(
        user=session.user,
        session_id=session.id,
        content=content,
        idempotency_key=None,
        window_limit=20,
        said_at=now,
        now=now,
        lease=lease,
    )
    return opened
