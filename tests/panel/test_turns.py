"""Turns in the panel: the context inspector, from what the model was told to what came of it (M6), and strategies."""

from __future__ import annotations

import uuid
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from apps.accounts.models import User
from apps.accounts.services.people import update_settings
from apps.chat.models import Strategy, Turn
from apps.conversations.models import Work
from apps.memory.deletion import delete_memories
from apps.memory.entries import create_memory
from apps.memory.kinds import LONG_TERM
from apps.memory.lifecycle import update_memory
from tests.panel.conftest import browse, read
from tests.support.answers import answer
from tests.support.everything import Everything
from tests.support.http_server import ApiClient
from tests.support.scripted_model import ScriptedModel, call, call_tools

pytestmark = pytest.mark.long_except(
    "test_the_phases_of_a_turn_follow_each_other", "test_who_has_no_permission_reads_the_table_only"
)


def url(reply: str | uuid.UUID) -> str:
    return f"/admin/chat/turn/{reply}/change/"


@pytest.mark.spec("M6")
def test_a_turn_with_everything_takes_few_queries_and_shows_it(
    alice: ApiClient, model: ScriptedModel, django_assert_max_num_queries: Any
) -> None:
    everything = Everything(alice, model)
    update_memory(
        LONG_TERM, user=alice.user, memory_id=everything.memory.id, changes={"value": "红色"}, now=timezone.now()
    )
    delete_memories(LONG_TERM, user=alice.user, ids=[], now=timezone.now())
    browser = browse(alice.user)
    with django_assert_max_num_queries(23):
        page = browser.get(url(everything.reply))
    shown = page.context["page"]
    assert shown["prompt"].exact is True
    assert shown["topic"] == ("认识", "换了话题")
    assert shown["variables"] == [("目的地", "北京", "上海")]
    assert [(name, round(share, 9) > 0) for name, share in ((s.name, s.share) for _layer, s in shown["layers"])] == [
        (f"layer-{index}", True) for index in range(7)
    ]
    assert {memory.kind for memory in shown["used"]} == {"long_term", "atomic"}
    (scored,) = (memory for memory in shown["used"] if memory.kind == "long_term")
    assert sum(part.value for part in scored.parts) == pytest.approx(scored.score, abs=1e-3)
    text = page.content.decode()
    for word in ("(edited since)", "a nurse &amp;lt;b", "Hiking", "说了水果。", "已发函", "芒果"):
        assert word in text, word


@pytest.mark.spec("M6")
def test_what_was_deleted_shows_as_deleted(alice: ApiClient, model: ScriptedModel) -> None:
    everything = Everything(alice, model)
    delete_memories(LONG_TERM, user=alice.user, ids=[everything.memory.id], now=timezone.now())
    text = browse(alice.user).get(url(everything.reply)).content.decode()
    assert "(deleted)" in text
    assert "蓝色" not in text


@pytest.mark.spec("E3")
@pytest.mark.spec("M6")
def test_the_mood_of_the_message_before_explains_the_strategy(alice: ApiClient, model: ScriptedModel) -> None:
    session = alice.new_session()
    emotions = [("sad", 0.9), ("happy", 0.3), ("neutral", 0.9)]
    replies = []
    for primary, confidence in emotions:
        model.script(answer(emotion={"primary": primary, "confidence": confidence, "indicators": ["唉"]}))
        replies.append(alice.say(session, "今天").raise_for_status().json()["assistant_message"]["id"])
    browser = browse(alice.user)
    pages = [browser.get(url(reply), headers={"Accept-Language": "en"}).context["page"] for reply in replies]
    assert "every first turn" in pages[0]["why_strategy"]
    assert "sounded Sad (confidence 90 %), so this reply used the “Sad” strategy" in pages[1]["why_strategy"]
    assert "the confidence of 30 % is below the threshold of 50 %" in pages[2]["why_strategy"]
    assert pages[0]["next_strategy"] == "The next reply uses the “Sad” strategy."
    assert "below the threshold of" in pages[1]["next_strategy"]
    ways = [(page["neighbours"].previous, page["neighbours"].following) for page in pages]
    first, second, third = map(uuid.UUID, replies)
    assert ways == [(None, second), (first, third), (second, None)]


@pytest.mark.spec("M6")
def test_the_phases_of_a_turn_follow_each_other(alice: ApiClient, model: ScriptedModel) -> None:
    reply = alice.say(alice.new_session(), "你好").raise_for_status().json()["assistant_message"]["id"]
    Turn.objects.update(timings={"opening_ms": 20.0, "context_ms": 15.0, "first_token_ms": 40.0, "model_ms": 80.0})
    page = browse(alice.user).get(url(reply)).context["page"]
    assert [(phase.name, phase.value, phase.start, phase.share) for phase in page["phases"]] == [
        ("storing", 5.0, 0.0, 0.05),
        ("context", 15.0, 0.05, 0.15),
        ("first_token", 40.0, 0.2, 0.4),
        ("writing", 40.0, 0.6, 0.4),
    ]
    assert page["total_ms"] == 100.0


@pytest.mark.spec("M6")
def test_what_came_of_the_message_and_what_is_left_to_do(alice: ApiClient, model: ScriptedModel) -> None:
    model.script(answer(entries=[{"category": "fact", "key": "居住地", "value": "上海"}]))
    turn = alice.say(alice.new_session(), "我住在上海").raise_for_status().json()
    Work.objects.filter(kind="extract").update(state="failed", error="ModelUnavailable")
    page = browse(alice.user).get(url(turn["user_message"]["id"]))  # by the message as well as by the reply
    shown = page.context["page"]
    assert [(update["title"], update["text"]) for update in shown["updates"]] == [("New", "居住地: 上海")]
    assert [memory.key for memory in shown["effects"]["long_term"]] == ["居住地"]
    assert "ModelUnavailable" in page.content.decode()
    assert shown["effects"]["embedded"] == 0


@pytest.mark.spec("L9")
@pytest.mark.spec("M6")
def test_what_the_message_asked_of_the_memory_is_shown_with_what_became_of_it(
    alice: ApiClient, model: ScriptedModel
) -> None:
    turn = alice.say(alice.new_session(), "Remember that I ski. Forget my spaceship.").raise_for_status().json()
    page = browse(alice.user).get(url(turn["assistant_message"]["id"]))
    lines = page.context["page"]["commands"]
    assert [(line["status"], line["texts"]) for line in lines] == [
        ("stored", ["I ski."]),
        ("not_found", ["my spaceship"]),
    ]
    assert f"?q={turn['commands'][0]['operation']}" in page.content.decode()


@pytest.mark.spec("L9")
@pytest.mark.spec("M6")
def test_a_reply_that_no_model_made_has_no_prompt(alice: ApiClient, model: ScriptedModel) -> None:
    turn = alice.say(alice.new_session(), "What do you remember about me?").raise_for_status().json()
    content = browse(alice.user).get(url(turn["assistant_message"]["id"])).content.decode()
    assert content.count("No model was asked") == 2
    assert "Full prompt as messages" not in content


@pytest.mark.spec("T1", "M2")
@pytest.mark.spec("M6")
def test_tool_calls_are_shown_with_what_they_found(
    alice: ApiClient, model: ScriptedModel, django_assert_max_num_queries: Any
) -> None:
    update_settings(user=alice.user, changes={"memory.enable_agentic_search": True})
    found, _action = create_memory(
        user=alice.user, category="fact", key="allergy", value="<b>shrimp</b>", now=timezone.now()
    )
    searches = (
        call("search_memories", {"keyword": "allergy"}, id="a"),
        call("search_memories", {"keyword": "paella", "time_range": {"since": "2026-01-01"}}, id="b"),
        call("nonsense", {}, id="c"),
    )
    model.script(call_tools(*searches), answer("No."))
    turn = alice.say(alice.new_session(), "Shall I order paella?").raise_for_status().json()
    browser = browse(alice.user)
    with django_assert_max_num_queries(20):
        page = browser.get(url(turn["assistant_message"]["id"]))
    assert [(title, outcome) for title, outcome, _call in page.context["page"]["calls"]] == [
        ("Search memories", "Done"), ("Search memories", "Done"), ("Unknown tool", "No such tool"),
    ]  # fmt: skip
    html = page.content.decode()
    section = html[html.index("calls-title") :]
    assert "(search terms not kept)" in section
    assert '<q dir="auto">paella</q>' in section
    assert "2026-01-01" in section
    assert "allergy: &lt;b&gt;shrimp&lt;/b&gt;" in section
    assert page.context["page"]["used"] == []

    uses = browser.get(f"/admin/memory/longtermmemory/{found.id}/change/").content.decode()
    assert "found by a search" in uses
    assert url(turn["assistant_message"]["id"]) in uses


STRATEGIES = "admin:chat_strategy"


def form(emotion: str) -> dict[str, Any]:
    return {"emotion": emotion, "category": "positive", "tone": "warm", "max_length": 200, "formality": "casual"}


@pytest.mark.spec("E2")
@pytest.mark.usefixtures("root")
def test_an_emotion_is_kept_as_answers_are_looked_up(client: Client) -> None:
    assert client.post(reverse(f"{STRATEGIES}_add"), form("Proud")).status_code == 302
    assert Strategy.objects.filter(emotion="proud", tone="warm").exists()


@pytest.mark.spec("E2", "E4")
@pytest.mark.parametrize("emotion", ["unknown", "Unknown", "Happy", "very happy", ""])
@pytest.mark.usefixtures("root")
def test_an_emotion_that_could_not_be_told_from_another_is_refused(client: Client, emotion: str) -> None:
    response = client.post(reverse(f"{STRATEGIES}_add"), form(emotion))
    assert response.status_code == 200
    assert list(response.context["adminform"].form.errors) == ["emotion"]
    assert Strategy.objects.count() == 12


@pytest.mark.spec("E2")
@pytest.mark.usefixtures("root")
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
@pytest.mark.usefixtures("root")
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
@pytest.mark.usefixtures("root")
def test_who_has_no_permission_reads_the_table_only(client: Client) -> None:
    client.force_login(User.objects.create_user("tang", is_staff=True))
    page = reverse(f"{STRATEGIES}_changelist")
    assert "form-0-tone" not in read(client, page)
    client.post(page, rows_of_form(max_length=1))
    assert Strategy.objects.get(emotion="happy").max_length == 250
