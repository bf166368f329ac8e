"""Conversations to be summarised, said through the services that a turn uses."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta

import pytest
from django.utils import timezone

from apps.conversations.models import Session
from apps.conversations.rounds import close_round, open_round
from apps.summaries.services import prepare_summaries, store_summaries
from tests.support.scripted_model import ScriptedModel

Say = Callable[..., None]
ANSWER = json.dumps({"title": "租房", "snippet": "谈了租房。", "summary": "用户谈了租房的事。"}, ensure_ascii=False)


@pytest.fixture
def say() -> Say:
    """Say messages in a session, each with its reply: pairs, or texts that are answered with 好的。

    What has no reply in its pair waits for it.
    """

    def say(session: Session, texts: Iterable[str | tuple[str, str | None]], *, now: datetime | None = None) -> None:
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
            if reply is not None:
                close_round(opened=opened, reply=reply, emotion=None, now=now)

    return say


@pytest.fixture
def model(model: ScriptedModel) -> ScriptedModel:
    """A model server that answers every request for a summary with `ANSWER`."""
    model.default = lambda _request: ANSWER
    return model


def summarize(session: Session) -> None:
    """What a worker does for the session."""
    prepared = prepare_summaries(user=session.user, session_id=session.id)
    store_summaries(user=session.user, prepared=prepared, now=timezone.now())
