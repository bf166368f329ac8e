"""What is remembered reaches the model in its layer of the prompt, what ended in none (C4, C7)."""

from __future__ import annotations

import json
import uuid
from datetime import UTC, datetime
from uuid import UUID

import pytest
from django.utils import timezone

from apps.chat.inspect import rebuild_prompt
from apps.chat.selectors import get_turn
from apps.chat.turn.open import preview_context
from apps.conversations.models import Message, Role
from apps.conversations.rounds import record_summary
from apps.conversations.sessions import create_session
from apps.core.llm.types import read_block
from apps.memory.changes.records import changed_by
from apps.memory.deletion import delete_memories
from apps.memory.entries import create_memory
from apps.memory.kinds import ATOMIC
from apps.memory.lifecycle import create_atomic_memories, create_atomic_memory
from apps.memory.models import AtomicMemory, Change
from apps.memory.types import AtomicDraft
from apps.memory.vectors.memories import fill_missing
from apps.profile.services import update_profile
from apps.summaries.services import create_session_summary
from tests.support.answers import answer
from tests.support.factories import UserFactory
from tests.support.http_server import ApiClient
from tests.support.judged import NOW, learn, say
from tests.support.scripted_model import ScriptedModel

pytestmark = pytest.mark.long_except(
    "test_the_profile_is_in_every_turn_until_it_is_switched_off",
    "test_atomic_memories_are_in_layer_3_with_their_day_and_are_named_as_used",
    "test_a_paraphrase_that_shares_no_word_is_found_unless_that_is_switched_off",
    "test_a_past_reply_does_not_tell_what_another_message_taught_and_is_muted",
)


def ask(client: ApiClient, model: ScriptedModel, message: str = "你好", *, session: str | None = None) -> str:
    """Send a message and return the blocks that the model got with it."""
    client.say(session or client.new_session(), message).raise_for_status()
    content: str = model.chat_requests[-1].blocks
    return content


@pytest.mark.spec("U2", "C4")
def test_the_profile_is_in_every_turn_until_it_is_switched_off(alice: ApiClient, bob: ApiClient, model: ScriptedModel):
    update_profile(
        user=alice.user, changes={"reply_style": "简短", "sections": {"work": "a nurse"}}, now=timezone.now()
    )
    expected = '{"reply_style": "简短", "work": "a nurse"}'
    session = alice.new_session()
    assert [read_block(ask(alice, model, session=session), "user_profile") for _turn in range(2)] == [expected] * 2
    assert read_block(ask(bob, model), "user_profile") is None
    alice.patch("/memory/settings", json={"memory.enable_user_profile": False}).raise_for_status()
    assert read_block(ask(alice, model, session=session), "user_profile") is None


@pytest.mark.spec("L8")
def test_a_reply_says_what_it_remembered_only_where_that_is_asked_for(alice: ApiClient, model: ScriptedModel):
    entries = [
        {"category": "fact", "key": "居住地", "value": "上海"},
        {"category": "fact", "key": "job", "value": "nurse", "source": "inferred", "confidence": 0.1},
    ]
    session = alice.new_session()
    model.script(answer(entries=entries), answer(entries=entries), answer(entries=[{**entries[0], "value": "杭州"}]))
    assert "metadata" not in alice.say(session, "我住在上海").json()
    alice.patch("/memory/settings", json={"memory.remembered_feedback": True}).raise_for_status()
    # The same again is no news; what waits for review is not remembered yet.
    assert alice.say(session, "我住在上海").json()["metadata"] == {"remembered": []}
    turn = alice.say(session, "我搬到杭州了").json()
    assert turn["metadata"] == {"remembered": ["居住地: 杭州"]}
    stored = alice.get(f"/chat/messages/{turn['user_message']['id']}/turn").json()
    assert stored["metadata"] == {"remembered": ["居住地: 杭州"]}


@pytest.mark.spec("A4", "C4")
def test_atomic_memories_are_in_layer_3_with_their_day_and_are_named_as_used(
    alice: ApiClient, bob: ApiClient, model: ScriptedModel
):
    alice.patch("/memory/settings", json={"memory.timezone": "Asia/Shanghai"}).raise_for_status()
    now = timezone.now()
    told = datetime(2026, 5, 1, 20, tzinfo=UTC)
    memory, _new = create_atomic_memory(
        user=alice.user, content="用户五一去黄山看了日出。", timestamp=told, tags=["旅行"], now=now
    )
    create_atomic_memory(user=bob.user, content="用户在黄山开了一家客栈。", now=now)
    turn = alice.say(alice.new_session(), "黄山的日出好看吗").json()
    system = model.chat_requests[-1].blocks
    assert (
        read_block(system, "memories")
        == '{"number": 1, "kind": "atomic", "text": "用户五一去黄山看了日出。", "day": "2026-05-02"}'
    )
    (used,) = turn["memories_used"]
    assert (used["id"], used["kind"], used["text"]) == (str(memory.id), "atomic", "用户五一去黄山看了日出。")
    assert used["keyword_score"] > 0
    assert used["parts"]["words"] == round(used["parts"]["words"], 4)
    assert sum(used["parts"].values()) == pytest.approx(used["score"], abs=1e-3)
    stored = alice.get(f"/chat/messages/{turn['user_message']['id']}/turn").json()
    assert stored["memories_used"] == turn["memories_used"]
    delete_memories(ATOMIC, user=alice.user, ids=[memory.id], now=now)
    stored = alice.get(f"/chat/messages/{turn['user_message']['id']}/turn").json()
    assert [item["text"] for item in stored["memories_used"]] == ["(deleted)"]


@pytest.mark.spec("S2", "C4")
def test_layer_4_holds_the_newest_summaries_of_other_sessions(alice: ApiClient, bob: ApiClient, model: ScriptedModel):
    sessions = [alice.new_session() for _number in range(3)]
    for number, session in enumerate(sessions):
        alice.say(session, "你好").raise_for_status()
        create_session_summary(
            user=alice.user,
            session_id=uuid.UUID(session),
            title=f"Talk {number}",
            snippet="About tea.",
            now=timezone.now(),
        )
    assert "session_summaries" not in ask(bob, model)
    alice.patch("/memory/settings", json={"memory.session_summary_limit": 2}).raise_for_status()
    day = timezone.now().date()
    block = read_block(ask(alice, model), "session_summaries")
    assert block == f"{day} Talk 2: About tea.\n{day} Talk 1: About tea."
    block = read_block(ask(alice, model, session=sessions[2]), "session_summaries")
    assert block == f"{day} Talk 1: About tea.\n{day} Talk 0: About tea."


@pytest.mark.spec("S5", "C4")
def test_a_summary_takes_the_place_of_what_it_covers(alice: ApiClient, model: ScriptedModel):
    session = alice.new_session()
    for number in range(3):
        alice.say(session, f"question {number}").raise_for_status()
    rows = alice.get(f"/chat/sessions/{session}/messages").json()["results"]
    covered = [uuid.UUID(row["id"]) for row in rows[:4]]
    summary = record_summary(
        user=alice.user,
        session_id=uuid.UUID(session),
        content="They counted to one.",
        covers=covered,
        replaces=None,
        now=timezone.now(),
    )
    alice.say(session, "question 3").raise_for_status()
    (*_before, sent) = model.chat_requests
    assert read_block(sent.messages[0]["content"], "conversation_summary") == "They counted to one."
    assert sent.said[::2] == ["question 2", "question 3"]
    layers = alice.get(f"/chat/sessions/{session}/context?message=next").json()["layers"]
    assert layers[5]["content"].startswith("<conversation_summary>\nThey counted to one.\n")
    shown = alice.get(f"/chat/sessions/{session}/messages").json()["results"]
    assert [row["summarized_by"] for row in shown[:6]] == [str(summary.id)] * 4 + [None] * 2
    assert shown[6]["role"] == "summary"


@pytest.mark.spec("K9")
@pytest.mark.parametrize(
    ("key", "value", "question"),
    [("姓名", "小明", "我叫什么？"), ("occupation", "nurse", "What do I do for a living?")],
)
def test_a_paraphrase_that_shares_no_word_is_found_unless_that_is_switched_off(
    alice: ApiClient, model: ScriptedModel, key: str, value: str, question: str
):
    create_memory(user=alice.user, category="fact", key=key, value=value, now=timezone.now())
    fill_missing()
    (used,) = alice.say(alice.new_session(), question).json()["memories_used"]
    assert used["text"] == f"{key}: {value}"
    assert used["semantic_score"] > used["keyword_score"]
    alice.patch("/memory/settings", json={"memory.semantic_candidates": False}).raise_for_status()
    assert alice.say(alice.new_session(), question).json()["memories_used"] == []


@pytest.mark.spec("A4", "C4")
def test_what_the_window_says_already_is_not_said_again(alice: ApiClient, model: ScriptedModel) -> None:
    for content in ("I keep bees in the garden.", "I keep bees in the garden", "Bees: two hives by the shed."):
        draft = AtomicDraft(content=content, timestamp=timezone.now())
        create_atomic_memories(user=alice.user, drafts=[draft], now=timezone.now())
    session = alice.new_session()
    turn = alice.say(session, "What do you know about my bees?").json()
    assert len([used for used in turn["memories_used"] if used["kind"] == "atomic"]) == 2
    alice.say(session, "I keep bees in the garden, yes.").raise_for_status()
    turn = alice.say(session, "And the bees, where are their hives?").json()
    assert [used["text"] for used in turn["memories_used"]] == ["Bees: two hives by the shed."]


@pytest.mark.spec("K7")
def test_a_follow_up_recalls_what_the_turn_before_was_about(alice: ApiClient, model: ScriptedModel) -> None:
    contents = [
        "我在杭州常去菊英面店。",
        "奎元馆的虾爆鳝面不错。",
        "自行车上个月丢了。",
        "我对花粉过敏。",
        "每周四打羽毛球。",
    ]
    drafts = [AtomicDraft(content=content, timestamp=timezone.now()) for content in contents]
    create_atomic_memories(user=alice.user, drafts=drafts, now=timezone.now())
    session = alice.new_session()
    alice.say(session, "我之前提过杭州哪些面馆来着").raise_for_status()
    assert alice.say(session, "再找找其他的").json()["memories_used"][0]["text"] == contents[0]


@pytest.mark.spec("A4")
def test_the_setting_says_how_many_atomic_memories_there_are(alice: ApiClient, model: ScriptedModel):
    for number in range(4):
        create_atomic_memory(user=alice.user, content=f"The user adopted cat number {number}.", now=timezone.now())
    alice.patch("/memory/settings", json={"memory.rag_top_n": 2}).raise_for_status()
    turn = alice.say(alice.new_session(), "How are my cats?").json()
    assert [item["kind"] for item in turn["memories_used"]] == ["atomic", "atomic"]


# What was corrected or muted is in no later prompt, in whatever session (L3, L10)


def propose(key: str, value: str) -> str:
    return answer(entries=[{"category": "fact", "key": key, "value": value}])


@pytest.mark.spec("L3", "A3", "S2", "C4")
def test_a_correction_is_right_at_once_in_every_session(alice: ApiClient, model: ScriptedModel):
    first, second, third = (alice.new_session() for _ in range(3))
    model.script(propose("phone", "555-0101"))
    said = alice.say(first, "My phone number is 555-0101.").json()["user_message"]["id"]
    with changed_by(origin=Change.Origin.EXTRACTION, actor=None):
        draft = AtomicDraft(
            content="The user's phone number is 555-0101.", message_id=UUID(said), timestamp=timezone.now()
        )
        create_atomic_memories(user=alice.user, drafts=[draft], now=timezone.now())
    create_session_summary(
        user=alice.user,
        session_id=UUID(first),
        title="Phone number 555-0101",
        snippet="Mel gave the number 555-0101. She has a cat.",
        now=timezone.now(),
    )
    assert "555-0101" in ask(alice, model, "What is my phone number?", session=second)
    model.script(propose("phone", "555-0202"))
    alice.say(third, "My phone number is 555-0202 now.").raise_for_status()
    prompt = ask(alice, model, "What is my phone number?")
    assert "555-0202" in prompt
    assert "555-0101" not in prompt
    assert "She has a cat." in prompt
    day = str(timezone.now().date())
    turn = alice.say(alice.new_session(), "What was my previous phone number?").json()
    prompt = json.dumps(model.chat_requests[-1].messages).replace("\\", "")
    line = f'"key": "phone", "value": "555-0101", "until": "{day}"'
    assert line in prompt
    stored = get_turn(alice.user, UUID(turn["assistant_message"]["id"]))
    assert line in rebuild_prompt(stored).layers[3].content


@pytest.mark.django_db
@pytest.mark.spec("A5", "L10")
def test_a_past_reply_does_not_tell_what_another_message_taught_and_is_muted():
    user = UserFactory()
    for number in range(12):
        say(user, f"Lunch number {number} was soup with bread.", days_ago=20 + number)
    learn(user, "The user's dog is Rex.")
    told = say(user, "The spare key to the allotment hangs behind the watering can.", days_ago=3)
    reply = "Noted. Your dog is Rex."
    Message.objects.create(
        session=told.session, user=user, role=Role.ASSISTANT, content=reply, position=2, reply_to=told
    )

    def read() -> str:
        session, message = create_session(user=user), "Where does the spare key to the allotment hang?"
        context = preview_context(user=user, session_id=session.id, message=message, now=NOW)
        return context.layers[3].content

    assert reply in read()
    AtomicMemory.objects.filter(user=user).update(muted=True)
    assert "Noted." in read()
    assert "Rex" not in read()
