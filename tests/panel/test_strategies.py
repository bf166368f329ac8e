"""Strategies and turns in the admin site: what is entered there works, and records stay as they were."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from apps.accounts.models import User
from apps.chat.models import Strategy, Turn
from apps.conversations.services import record_assistant_message
from tests.support.factories import SessionFactory

STRATEGIES = "admin:chat_strategy"


@pytest.fixture
def client(db: None, client: Client) -> Client:
    client.force_login(User.objects.create_superuser(username="staff"))
    return client


def form(emotion: str) -> dict[str, Any]:
    return {"emotion": emotion, "category": "positive", "tone": "warm", "max_length": 200, "formality": "casual"}


@pytest.mark.spec("E2")
def test_an_emotion_is_kept_as_answers_are_looked_up(client: Client) -> None:
    assert client.post(reverse(f"{STRATEGIES}_add"), form("Proud")).status_code == 302
    assert Strategy.objects.filter(emotion="proud", tone="warm").exists()


@pytest.mark.spec("E2", "E4")
@pytest.mark.parametrize("emotion", ["unknown", "Unknown", "Happy", "very happy", ""])
def test_an_emotion_that_could_not_be_told_from_another_is_refused(client: Client, emotion: str) -> None:
    response = client.post(reverse(f"{STRATEGIES}_add"), form(emotion))
    assert response.status_code == 200
    assert list(response.context["adminform"].form.errors) == ["emotion"]
    assert Strategy.objects.count() == 12


@pytest.mark.spec("E2")
def test_the_neutral_strategy_stays(client: Client) -> None:
    assert client.post(reverse(f"{STRATEGIES}_delete", args=["neutral"]), {"post": "yes"}).status_code == 403
    selected = {"action": "delete_selected", "_selected_action": ["neutral", "sad"], "post": "yes"}
    client.post(reverse(f"{STRATEGIES}_changelist"), selected)
    assert Strategy.objects.count() == 12


def test_a_turn_is_neither_changed_nor_deleted_by_itself(client: Client) -> None:
    session = SessionFactory.create()
    reply = record_assistant_message(user=session.user, session_id=session.id, content="好", now=timezone.now())
    turn = Turn.objects.create(assistant_message=reply, session=session, user=session.user, model="m")
    page = reverse("admin:chat_turn_change", args=[turn.pk])
    assert client.get(page).status_code == 200
    assert client.post(page, {}).status_code == 403
    assert client.post(reverse("admin:chat_turn_delete", args=[turn.pk]), {"post": "yes"}).status_code == 403
    assert Turn.objects.get() == turn
