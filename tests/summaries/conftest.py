"""Conversations to be summarised, said through the services that a turn uses."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime, timedelta

import pytest
from django.utils import timezone

from apps.conversations.models import Session
from apps.conversations.rounds import close_round, open_round
from tests.support.factories import SessionFactory

Say = Callable[..., None]


@pytest.fixture
def session(db: None) -> Session:
    return SessionFactory.create()


@pytest.fixture
def say() -> Say:
    """Say messages in a session, each with its reply: pairs, or texts that are answered with 好的。"""

    def say(session: Session, texts: Iterable[str | tuple[str, str]], *, now: datetime | None = None) -> None:
        now = now or timezone.now()
        for text in texts:
            content, reply = text if isinstance(text, tuple) else (text, "好的。")
            opened, _earlier = open_round(
                user=session.user,
                session_id=session.id,
                content=content,
                idempotency_key=None,
                window_limit=20,
                said_at=now,
                now=now,
                lease=timedelta(minutes=1),
            )
            close_round(opened=opened, reply=reply, emotion=None, now=now)

    return say
