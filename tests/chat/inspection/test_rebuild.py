"""The prompt of a past turn, rebuilt from references and revisions (M6), beside what the model's server received."""

from __future__ import annotations

import json
import uuid
from typing import Any

import pytest
from django.utils import timezone

from apps.accounts.services.people import update_settings
from apps.chat.inspect import RebuiltPrompt, State, rebuild_prompt
from apps.chat.models import Turn
from apps.chat.selectors import get_turn
from apps.conversations.sessions import delete_session
from apps.memory.changes.undo import undo_operation, undo_together
from apps.memory.contexts import append_entry, delete_context
from apps.memory.deletion import delete_memories
from apps.memory.entries import create_memory
from apps.memory.kinds import ATOMIC, LONG_TERM
from apps.memory.lifecycle import update_memory
from apps.memory.models import Change, ContextEntry, LongTermMemory
from apps.memory.working import delete_working_memory
from apps.profile.services import forget_profile, update_profile
from apps.summaries.services import update_session_summary
from tests.support.everything import Everything
from tests.support.http_server import ApiClient
from tests.support.scripted_model import ScriptedModel

pytestmark = [pytest.mark.spec("M6"), pytest.mark.long]


def rebuild(client: ApiClient, message_id: str) -> RebuiltPrompt:
    turn = get_turn(client.user, uuid.UUID(message_id))
    return rebuild_prompt(turn)


def sent(model: ScriptedModel) -> list[dict[str, str]]:
    return model.chat_requests[-1].messages


def as_sent(prompt: RebuiltPrompt) -> list[dict[str, str]]:
    return [{"role": message.role, "content": message.content} for message in prompt.messages]


@pytest.fixture
def everything(alice: ApiClient, model: ScriptedModel) -> Everything:
    return Everything(alice, model)


def test_it_is_letter_for_letter_what_the_model_got_while_nothing_has_changed(
    alice: ApiClient, everything: Everything
) -> None:
    prompt = rebuild(alice, everything.reply)
    assert as_sent(prompt) == everything.sent
    assert prompt.exact is True
    assert all(layer.content for layer in prompt.layers)
    for part in ("a nurse", "蓝色", "芒果", "Hiking", "说了水果", "律师: 已发函", '"目的地": "北京"', "Asia/Shanghai"):
        assert part in "".join(line["content"] for line in everything.sent)
    assert {piece.state for layer in prompt.layers for piece in layer.pieces} == {State.SAME}
    assert (prompt.budget, prompt.settings) == (6000, {"timezone": "Asia/Shanghai"})


def test_later_turns_and_edits_leave_it_as_it_was_and_are_told(alice: ApiClient, everything: Everything) -> None:
    user, now = alice.user, timezone.now()
    alice.say(str(everything.session), "再说一句").raise_for_status()
    alice.say(str(everything.other), "又回来了").raise_for_status()
    update_memory(LONG_TERM, user=user, memory_id=everything.memory.id, changes={"value": "红色"}, now=now)
    update_memory(LONG_TERM, user=user, memory_id=everything.memory.id, changes={"value": "绿色"}, now=timezone.now())
    update_memory(ATOMIC, user=user, memory_id=everything.atomic.id, changes={"content": "用户讨厌芒果。"}, now=now)
    update_session_summary(user=user, summary_id=everything.summary.id, changes={"snippet": "In June."}, now=now)
    append_entry(user=user, context_id=everything.context.id, text="回函了", now=now)
    update_profile(user=user, changes={"reply_style": "详细"}, now=now)
    update_settings(user=user, changes={"memory.timezone": "Europe/Paris", "memory.token_budget": 500})
    prompt = rebuild(alice, everything.reply)
    assert as_sent(prompt) == everything.sent
    assert prompt.exact is True
    pieces = {piece.kind: piece for layer in prompt.layers for piece in layer.pieces}
    edited = {kind for kind, piece in pieces.items() if piece.state == State.EDITED}
    assert edited == {"long_term", "atomic", "session_summary", "context", "profile"}
    assert (pieces["atomic"].then, pieces["atomic"].now) == ("用户喜欢的水果是芒果。", "用户讨厌芒果。")
    assert pieces["long_term"].now == "喜欢的颜色: 绿色"
    assert pieces["context"].now.endswith("回函了")
    assert "回函了" not in pieces["context"].then


def test_an_entry_withdrawn_since_is_in_the_prompt_of_then_and_one_withdrawn_before_is_not(
    alice: ApiClient, everything: Everything
) -> None:
    user, now = alice.user, timezone.now()
    append_entry(user=user, context_id=everything.context.id, text="回函了", now=now)
    (sent, added) = ContextEntry.objects.filter(context=everything.context).order_by("position")
    undo_together(user=user, operations=[], made={"entry": [sent.id]}, now=now)
    prompt = rebuild(alice, everything.reply)
    assert as_sent(prompt) == everything.sent
    assert prompt.exact is True
    (piece,) = (piece for layer in prompt.layers for piece in layer.pieces if piece.kind == "context")
    assert "已发函" in piece.then
    assert "已发函" not in piece.now
    reply = alice.say(str(everything.session), "再说一句").raise_for_status().json()["assistant_message"]["id"]
    undo_together(user=user, operations=[], made={"entry": [added.id]}, now=timezone.now())
    (undoing,) = Change.objects.filter(object_id=sent.id).values_list("operation", flat=True)
    undo_operation(user=user, operation=undoing, now=timezone.now())
    assert rebuild(alice, reply).exact is True
    (piece,) = (piece for layer in rebuild(alice, reply).layers for piece in layer.pieces if piece.kind == "context")
    assert piece.then.endswith("回函了")
    assert "已发函" not in piece.then
    assert piece.now.endswith("已发函")


def test_a_superseded_memory_reads_as_it_was(alice: ApiClient, everything: Everything) -> None:
    create_memory(user=alice.user, category="preference", key="喜欢的颜色", value="白色", now=timezone.now())
    prompt = rebuild(alice, everything.reply)
    assert prompt.exact is True
    (piece,) = (piece for layer in prompt.layers for piece in layer.pieces if piece.kind == "long_term")
    assert (piece.state, piece.status) == (State.SAME, "superseded")


@pytest.mark.spec("L6")
def test_what_was_deleted_since_shows_as_deleted_and_nothing_of_it_is_left(
    alice: ApiClient, everything: Everything
) -> None:
    user, now = alice.user, timezone.now()
    update_memory(LONG_TERM, user=user, memory_id=everything.memory.id, changes={"value": "红色"}, now=now)
    delete_memories(LONG_TERM, user=user, ids=[everything.memory.id], now=now)
    delete_memories(ATOMIC, user=user, ids=[everything.atomic.id], now=now)
    delete_session(user=user, session_id=everything.other)
    delete_context(user=user, context_id=everything.context.id, now=now)
    forget_profile(user=user, now=now)
    update_profile(user=user, changes={"reply_style": "新的"}, now=timezone.now())  # its version is 1, as it was then
    delete_working_memory(user=user, session_id=everything.session)
    prompt = rebuild(alice, everything.reply)
    deleted = {piece.kind for layer in prompt.layers for piece in layer.pieces if piece.state == State.DELETED}
    assert deleted == {"long_term", "atomic", "session_summary", "context", "profile", "working"}
    assert prompt.exact is False
    assert [layer.name for layer in prompt.layers if not layer.exact] == [
        "user_profile", "working_memory", "memories", "session_summaries",
    ]  # fmt: skip
    text = json.dumps([as_sent(prompt), str(prompt)], ensure_ascii=False)
    for word in ("蓝色", "红色", "芒果。", "Hiking", "climb", "押金", "已发函", "nurse", "新的", "北京"):
        assert word not in text
    assert text.count("(deleted)") >= 6
    assert "(deleted)" in next(layer.content for layer in prompt.layers if layer.name == "memories")


def test_what_the_budget_cut_is_told_with_its_text(alice: ApiClient, model: ScriptedModel) -> None:
    for number in range(3):
        create_memory(user=alice.user, category="fact", key=f"颜色{number}", value="很长的话" * 300, now=timezone.now())
    update_settings(user=alice.user, changes={"memory.token_budget": 2500})
    reply = alice.say(alice.new_session(), "颜色").raise_for_status().json()["assistant_message"]["id"]
    prompt = rebuild(alice, reply)
    assert as_sent(prompt) == sent(model)
    assert prompt.exact is True
    assert prompt.cut
    assert prompt.budget == 2500
    assert {cut.kind for cut in prompt.cut} == {"long_term"}
    shown = {piece.id for layer in prompt.layers for piece in layer.pieces if piece.kind == "long_term"}
    cut = {piece.id for item in prompt.cut for piece in item.pieces}
    assert shown | cut == set(map(str, LongTermMemory.objects.values_list("id", flat=True)))
    assert not shown & cut
    assert all(piece.then.startswith("颜色") for item in prompt.cut for piece in item.pieces)
    assert prompt.cut_tokens > 500


@pytest.mark.spec("H2")
def test_a_form_in_place_of_a_message(alice: ApiClient, model: ScriptedModel) -> None:
    session = alice.new_session()
    for title, fields in (("偏好", {"b": "蓝", "a": 1}), ("行程安排", {"目的地": "北京", "日期": "周末"})):
        body = {"title": title, "fields": fields}
        made = alice.post(f"/chat/sessions/{session}/hitl-forms", json=body).raise_for_status().json()
    prompt = rebuild(alice, made["assistant_message"]["id"])
    assert as_sent(prompt) == sent(model)
    assert prompt.exact is True
    assert "form_submitted" in prompt.layers[2].content


@pytest.mark.spec("E6")
def test_plain_chat(alice: ApiClient, model: ScriptedModel, settings: Any) -> None:
    settings.USE_MEMORY_EMOTION_SYSTEM = False
    session = alice.new_session()
    alice.say(session, "一")
    reply = alice.say(session, "二").raise_for_status().json()["assistant_message"]["id"]
    prompt = rebuild(alice, reply)
    assert as_sent(prompt) == sent(model)
    assert prompt.exact is True


def test_nothing_is_said_of_exactness_where_the_digests_were_left_behind(
    alice: ApiClient, everything: Everything
) -> None:
    turn = get_turn(alice.user, uuid.UUID(everything.reply))
    layers = [{name: value for name, value in layer.items() if name != "digest"} for layer in turn.layers]
    Turn.objects.filter(pk=turn.pk).update(layers=layers)
    assert rebuild(alice, everything.reply).exact is None


def test_digests_are_another_persons_for_the_same_text(alice: ApiClient, bob: ApiClient, model: ScriptedModel) -> None:
    digests = []
    for client in (alice, bob):
        reply = client.say(client.new_session(), "你好").raise_for_status().json()["assistant_message"]["id"]
        digests.append(get_turn(client.user, uuid.UUID(reply)).layers[6]["digest"])
    assert digests[0] != digests[1]
