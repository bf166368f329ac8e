"""Strategies and turns in the admin site: what is entered there works, and records stay as they were."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from apps.accounts.models import User
from apps.chat.models import Strategy
from tests.panel.conftest import read

pytestmark = [
    pytest.mark.usefixtures("root"),
    pytest.mark.long_except("test_who_has_no_permission_reads_the_table_only"),
]

STRATEGIES = "admin:chat_strategy"


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


def rows_of_form(**changes: Any) -> dict[str, Any]:
    """The table as a browser sends it, with the row of `happy` changed."""
    strategies = list(Strategy.objects.order_by("category", "emotion"))
    data: dict[str, Any] = {"form-TOTAL_FORMS": len(strategies), "form-INITIAL_FORMS": len(strategies), "_save": "1"}
    names = ("tone", "max_length", "use_memory", "proactive_question", "formality", "emoji_allowed")
    for number, strategy in enumerate(strategies):
        values = {name: getattr(strategy, name) for name in names}
        values |= changes if strategy.emotion == "happy" else {}
        data |= {f"form-{number}-{name}": value for name, value in values.items() if value is not False}
        data[f"form-{number}-emotion"] = strategy.emotion
    return data


@pytest.mark.spec("E2", "M5")
def test_rows_are_edited_in_the_table_and_told_in_words(client: Client) -> None:
    page = reverse(f"{STRATEGIES}_changelist")
    assert "Warm, casual, about 250 characters, with memories, asks follow-up questions" in read(client, page)
    assert client.post(page, rows_of_form(max_length=120, emoji_allowed="on", use_memory=False)).status_code == 302
    happy = Strategy.objects.get(emotion="happy")
    assert (happy.max_length, happy.emoji_allowed, happy.tone) == (120, True, "warm")
    assert "Warm, casual, about 120 characters, without memories, asks follow-up questions, uses emoji" in read(
        client, page
    )
    refused = client.post(page, rows_of_form(max_length=0))
    assert refused.status_code == 200
    assert Strategy.objects.get(emotion="happy").max_length == 120


@pytest.mark.spec("M7")
def test_who_has_no_permission_reads_the_table_only(client: Client) -> None:
    client.force_login(User.objects.create_user("tang", is_staff=True))
    page = reverse(f"{STRATEGIES}_changelist")
    assert "form-0-tone" not in read(client, page)
    client.post(page, rows_of_form(max_length=1))
    assert Strategy.objects.get(emotion="happy").max_length == 250
