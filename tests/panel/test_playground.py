"""The playground (M6): what is recalled and why, compared with other settings, without a trace."""

from __future__ import annotations

import html
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from apps.accounts.models import Setting, User
from apps.accounts.selectors import get_settings
from apps.chat.turn.open import preview_context
from apps.conversations.models import Session
from apps.core.words import ATOMIC_PARTS
from apps.memory.entries import create_memory
from apps.memory.lifecycle import create_atomic_memory
from apps.memory.models import LongTermMemory
from apps.memory.recall.features import EARLIER, FEATURES
from apps.memory.working import count_turn, update_working_memory
from apps.panel.playground import Outcome
from tests.panel.conftest import toast

pytestmark = [
    pytest.mark.spec("M6"),
    pytest.mark.django_db,
    pytest.mark.long,
]

NOW = datetime(2026, 11, 20, 8, 30, tzinfo=UTC)


@pytest.fixture
def mei(db: None) -> User:
    user = User.objects.create_user("mei")
    for number, (category, key, value) in enumerate(
        [
            ("preference", "喜欢的颜色", "蓝色"),
            ("preference", "喜欢的菜", "麻婆豆腐"),
            ("fact", "颜色深浅", "浅"),
            ("fact", "住址", "北京"),
        ]
    ):
        at = NOW + timedelta(minutes=number)
        create_memory(user=user, category=category, key=key, value=value, now=at, confidence=1 - number / 10)
    create_atomic_memory(user=user, content="用户上周六买了一辆蓝色的自行车，喜欢这个颜色。", now=NOW)
    create_atomic_memory(user=user, content="用户养了一只猫。", now=NOW)
    return user


@pytest.fixture
def browser(mei: User, client: Client) -> Client:
    client.force_login(mei)
    return client


@pytest.fixture(autouse=True)
def _keywords_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """No vectors, so that no model has to be loaded; what they add is tested with `explain_recall`."""
    monkeypatch.setattr("apps.panel.playground.embed_query", lambda message, **_: None)
    monkeypatch.setattr("apps.chat.context.read.start_embedding", lambda message, **_: lambda: None)


def try_message(client: Client, message: str, **form: Any) -> Any:
    response = client.post(reverse("admin:playground_try"), {"message": message, **form})
    assert response.status_code == 200
    return response


def test_what_is_recalled_and_every_part_of_every_score(mei: User, browser: Client) -> None:
    assert browser.get(reverse("admin:playground")).status_code == 200
    page = try_message(browser, "我喜欢的颜色是什么")
    (column,) = page.context["columns"]
    first, *others = column["long_term"]
    assert (first.rank, first.text, first.outcome) == (1, "喜欢的颜色: 蓝色", Outcome.USED)
    assert [row.text for row in others] == ["喜欢的菜: 麻婆豆腐", "颜色深浅: 浅"]
    parts = {part.component.name: part for part in first.parts}
    assert list(parts) == ["keyword", "semantic", "category", "recency", "frequency", "confidence", "topic"]
    assert (parts["keyword"].value, parts["keyword"].weight, parts["keyword"].points) == (1.0, 0.4, 0.4)
    assert (parts["category"].value, parts["category"].points) == (1.5, pytest.approx(0.3))
    assert (parts["topic"].value, parts["topic"].weight, parts["topic"].points) == (1.0, None, 0.0)
    for row in column["long_term"]:
        assert sum(part.points for part in row.parts) == pytest.approx(row.score)
    assert sum(part.width for part in first.parts) == pytest.approx(100)
    assert [(word, mode) for word, mode, _told in others[1].matches] == [("喜欢", 0.0), ("颜色", 1.0)]
    assert [(word, fate) for word, fate, _told in page.context["words"]] == [
        ("我", "pronoun"),
        ("喜欢", "keyword"),
        ("的", "stop_word"),
        ("颜色", "keyword"),
        ("是", "stop_word"),
        ("什么", "stop_word"),
    ]
    assert (page.context["preferences"], page.context["found"]["full_text"]) == (2, 3)
    assert column["tried"].layer in html.unescape(page.text)
    assert "蓝色" in column["tried"].layer


def test_every_part_has_its_words() -> None:
    assert [component.name for component in ATOMIC_PARTS] == [*FEATURES, *EARLIER]


@pytest.mark.spec("L4")
def test_nothing_counts_as_use_and_nothing_is_written(mei: User, browser: Client) -> None:
    before = list(LongTermMemory.objects.order_by("id").values_list("access_count", "last_accessed", "updated_at"))
    try_message(browser, "我喜欢的颜色", weight_keyword="0.9", retrieval_limit="1")
    after = list(LongTermMemory.objects.order_by("id").values_list("access_count", "last_accessed", "updated_at"))
    assert after == before
    assert not Setting.objects.exists()
    assert browser.get(reverse("admin:playground_try"), {"message": "我喜欢的颜色"}).status_code == 405


def test_other_settings_side_by_side(mei: User, browser: Client) -> None:
    weights = {"weight_keyword": "0", "weight_category": "0", "weight_recency": "0", "weight_frequency": "0"}
    page = try_message(browser, "颜色，喜欢", **weights, weight_confidence="1", retrieval_limit="2")
    own, tried = page.context["columns"]
    assert own["tried"].settings == get_settings(mei)
    assert [(row.text, row.outcome) for row in tried["long_term"]] == [
        ("喜欢的颜色: 蓝色", Outcome.USED),
        ("喜欢的菜: 麻婆豆腐", Outcome.USED),
        ("颜色深浅: 浅", Outcome.RANK),
    ]
    assert [row.score for row in tried["long_term"]] == pytest.approx([1.0, 0.9, 0.8])
    assert [row.compared for row in own["long_term"]] == [False] * 3
    moves = {row.text: row.moved for row in tried["long_term"]}
    ranks = {row.text: row.rank for row in own["long_term"]}
    assert moves == {row.text: ranks[row.text] - row.rank for row in tried["long_term"]}
    changed = {shown.name for shown in page.context["controls"] if shown.is_changed}
    assert changed == {*weights, "weight_confidence", "retrieval_limit"}
    assert not Setting.objects.exists()


@pytest.mark.parametrize(
    "given", [{"candidate_limit": "0"}, {"retrieval_limit": "x"}, {"weight_keyword": "7"}, {"token_budget": "1.5"}]
)
def test_settings_out_of_range_are_told_at_their_control(mei: User, browser: Client, given: dict[str, str]) -> None:
    page = try_message(browser, "颜色", **given)
    assert "columns" not in page.context
    wrong = {shown.name.split("_")[0] for shown in page.context["controls"] if shown.problems}
    assert wrong == {next(iter(given)).split("_")[0]}
    browser.post(reverse("admin:playground_save"), {"message": "颜色", **given})
    assert not Setting.objects.exists()


@pytest.mark.spec("G1")
def test_saving_is_a_step_of_its_own(mei: User, browser: Client) -> None:
    form = {"message": "颜色", "retrieval_limit": "2", "recency_half_life_days": "7.0", "weight_recency": "0.5"}
    page = browser.post(reverse("admin:playground_save"), form)
    assert toast(page)["text"] == "Saved. The settings apply from the next message."
    assert len(page.context["columns"]) == 1
    saved = get_settings(mei)
    assert (saved.retrieval_limit, saved.score_weights.recency, saved.score_weights.keyword) == (2, 0.5, 0.4)
    assert set(Setting.objects.values_list("user", "key")) == {
        (mei.pk, "memory.retrieval_limit"),
        (mei.pk, "memory.score_weights"),
    }
    again = browser.post(reverse("admin:playground_save"), form)
    assert toast(again)["text"] == "Nothing to save."


def test_the_session_gives_the_topic_and_another_can_be_tried(mei: User, browser: Client) -> None:
    session = Session.objects.create(user=mei, title="装修")
    count_turn(user=mei, session_id=session.id, now=datetime.now(UTC), ttl_minutes=30)
    update_working_memory(user=mei, session_id=session.id, changes={"current_topic": "颜色深浅"}, now=datetime.now(UTC))
    page = try_message(browser, "喜欢什么", session=str(session.id))
    assert page.context["stage"].working.current_topic == "颜色深浅"
    boosted = {row.text for row in page.context["columns"][0]["long_term"] if row.parts[-1].value == 1.3}
    assert "颜色深浅: 浅" in boosted
    page = try_message(browser, "喜欢什么", session=str(session.id), topic="住址")
    boosted = {row.text for row in page.context["columns"][0]["long_term"] if row.parts[-1].value == 1.3}
    assert boosted == {"住址: 北京"}
    context = preview_context(user=mei, session_id=session.id, message="喜欢什么", now=datetime.now(UTC))
    page = try_message(browser, "喜欢什么", session=str(session.id))
    assert page.context["last"].layer == context.layers[3].content


def test_what_the_token_budget_cuts_and_a_temporary_session(mei: User, browser: Client) -> None:
    create_memory(user=mei, category="preference", key="颜色说明", value="很长" * 1_500, now=NOW)
    page = try_message(browser, "颜色，喜欢", token_budget="1000")
    _own, tried = page.context["columns"]
    outcomes = {row.text[:4]: row.outcome for row in tried["long_term"]}
    assert outcomes["颜色说明"] is Outcome.BUDGET
    temporary = Session.objects.create(user=mei, temporary=True)
    page = try_message(browser, "颜色", session=str(temporary.id))
    assert page.context["uses_memory"] is False
    assert {row.outcome for row in page.context["columns"][0]["long_term"]} == {Outcome.NOT_ASKED}
    assert page.context["last"].layer == ""


@pytest.mark.spec("C8")
def test_what_the_rules_for_time_saw(mei: User, browser: Client) -> None:
    page = try_message(browser, "上周六我买了什么")
    (span,) = page.context["times"]
    assert (span.text, span.end - span.start, span.start.isoweekday()) == ("上周六", timedelta(days=1), 6)
    assert try_message(browser, "颜色").context["times"] == []
