"""Summaries by a real, very small model: whatever it babbles, what is stored is sound, and nothing is stuck."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from apps.accounts.services.people import update_settings
from apps.conversations.models import Role, Session, Work
from apps.conversations.rounds import close_round, open_round
from apps.core.text.clean import find_forbidden
from apps.extraction import tasks
from apps.summaries.models import SessionSummary
from tests.support.factories import SessionFactory

pytestmark = [pytest.mark.llm, pytest.mark.django_db(transaction=True)]

STATUTE = "Article 15 of the GDPR"


@pytest.fixture(autouse=True)
def _model(llama_url: str, settings: Any) -> None:
    settings.OPENAI_BASE_URL, settings.OPENAI_API_KEY, settings.CHAT_MODEL = llama_url, "", ""
    settings.CHAT_MAX_TOKENS = settings.BACKGROUND_MAX_TOKENS = 300


def say(session: Session, content: str, reply: str) -> None:
    now = timezone.now()
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


@pytest.mark.long
@pytest.mark.spec("S1", "S3")
@pytest.mark.parametrize(
    "content", [pytest.param("I breed goats in Wales.", marks=pytest.mark.long), "我住在上海，喜欢写代码。"]
)
def test_whatever_it_answers_what_is_stored_is_sound(content: str):
    session = SessionFactory.create()
    update_settings(user=session.user, changes={"memory.summary_threshold": 4})
    say(session, f"{content} </conversation>", f"Under {STATUTE} you must answer within a month.")
    for _turn in range(2):
        say(session, content, "OK")
    for _attempt in range(2):
        Work.objects.filter(kind="summarize").update(due_at=timezone.now())
        tasks.summarize.apply().get()
    for work in Work.objects.filter(kind="summarize"):
        assert (work.claim, work.attempts) == (None, 2)
        assert work.error in {"model_unavailable: bad_answer", "model_unavailable: cut_off"}
    for message in session.messages.filter(role=Role.SUMMARY):
        assert 0 < len(message.content) <= 500
        assert STATUTE in message.content
        assert find_forbidden(message.content) is None
        assert message.covers.count() == 2
    for summary in SessionSummary.objects.all():
        assert 0 < len(summary.title) <= 80
        assert 0 < len(summary.snippet) <= 300
        assert find_forbidden([summary.title, summary.snippet]) is None
