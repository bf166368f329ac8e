"""A turn from request to stored reply, over HTTP, against a scripted model server."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from apps.chat.models import Strategy, Turn
from apps.conversations.models import Message
from apps.memory.models import AtomicMemory, Change, LongTermMemory, WorkingMemory
from tests.chat.inspection.test_rebuild import rebuild
from tests.support.answers import answer
from tests.support.factories import LongTermMemoryFactory
from tests.support.http_server import ApiClient
from tests.support.scripted_model import ScriptedModel, reply_with

NEUTRAL = {
    "emotion": "neutral", "tone": "professional", "max_length": 300, "use_memory": True, "proactive_question": False,
    "formality": "casual", "emoji_allowed": False,
}  # fmt: skip
BLUE = {"category": "preference", "key": "喜欢的颜色", "value": "蓝色"}


@pytest.mark.spec("C1", "C6", "E3", "W2")
def test_a_turn_returns_everything_and_stores_both_messages(alice: ApiClient, model: ScriptedModel):
    session = alice.new_session()
    emotion = {"primary": "happy", "confidence": 0.8, "indicators": ["开心"]}
    model.script(answer("你好！", emotion=emotion, topic="问候", variables={"mood": "good"}))
    response = alice.say(session, "你好，今天很开心")
    assert response.status_code == 201
    turn = response.json()
    assert set(turn) == {
        "user_message", "assistant_message", "emotion", "strategy", "paused_by", "memories_used", "memory_updates",
        "commands", "tool_calls", "working_memory",
    }  # fmt: skip
    assert turn["emotion"] == {**emotion, "category": "positive"}
    assert turn["strategy"] == NEUTRAL
    assert (turn["memories_used"], turn["memory_updates"]) == ([], [])
    working = turn["working_memory"]
    assert working["session_id"] == session
    assert (working["turn_count"], working["current_topic"], working["last_emotion"]) == (1, "问候", "happy")
    assert working["context_variables"] == {"mood": "good"}
    stored = alice.get(f"/chat/sessions/{session}/messages").json()
    assert stored["count"] == 2
    assert stored["results"] == [turn["user_message"], turn["assistant_message"]]
    user_message, reply = stored["results"]
    assert (user_message["role"], user_message["content"]) == ("user", "你好，今天很开心")
    assert (user_message["status"], user_message["emotion"], user_message["is_collected"]) == (
        "complete",
        "happy",
        False,
    )
    assert (reply["role"], reply["content"], reply["session_id"]) == ("assistant", "你好！", session)
    assert (reply["summarized_by"], reply["status"]) == (None, "complete")


@pytest.mark.spec("E5")
def test_one_model_call_makes_a_turn_and_asks_for_the_schema_with_response_first(
    alice: ApiClient, model: ScriptedModel
):
    alice.say(alice.new_session(), "你好").raise_for_status()
    (request,) = model.chat_requests
    assert request.response_format["type"] == "json_schema"
    schema = request.response_format["json_schema"]["schema"]
    assert list(schema["properties"]) == ["response", "emotion", "topic", "context_variables", "memory_update"]
    assert set(schema["$defs"]["EmotionAnswer"]["properties"]["primary"]["enum"]) == {
        "neutral", "happy", "excited", "grateful", "curious", "sad", "anxious", "frustrated", "confused",
        "help_seeking", "info_seeking", "validation_seeking",
    }  # fmt: skip


@pytest.mark.spec("E3")
def test_the_strategy_follows_the_emotion_of_the_turn_before(alice: ApiClient, model: ScriptedModel):
    session = alice.new_session()
    sad = {"primary": "sad", "confidence": 0.9, "indicators": []}
    model.script(answer(emotion=sad), answer())
    assert alice.say(session, "我很难过").json()["strategy"]["emotion"] == "neutral"
    second = alice.say(session, "嗯").json()
    assert second["strategy"] == {**NEUTRAL, "emotion": "sad", "tone": "empathetic", "max_length": 400}
    assert '"tone": "empathetic"' in model.chat_requests[1].blocks
    assert alice.say(session, "好了").json()["strategy"]["emotion"] == "neutral"


@pytest.mark.spec("E6")
def test_without_the_memory_system_it_is_plain_chat(alice: ApiClient, model: ScriptedModel, settings):
    settings.USE_MEMORY_EMOTION_SYSTEM = False
    session = alice.new_session()
    model.script("一", "二")
    turn = alice.say(session, "你好").json()
    assert turn["assistant_message"]["content"] == "一"
    assert (turn["emotion"], turn["strategy"], turn["working_memory"]) == (None, None, None)
    alice.say(session, "再来")
    assert model.chat_requests[1].response_format is None
    assert model.chat_requests[1].said == ["你好", "一", "再来"]


@pytest.mark.spec("L2", "L4", "C4")
def test_what_was_told_is_stored_before_the_reply_is_done_and_recalled_in_a_new_session(
    alice: ApiClient, model: ScriptedModel
):
    model.script(answer("记住了", entries=[BLUE]), answer("你喜欢蓝色"))
    told = alice.say(alice.new_session(), "我喜欢的颜色是蓝色").json()
    (update,) = told["memory_updates"]
    assert {**update, "id": None} == {"id": None, "action": "created", **BLUE}
    (used,) = alice.say(alice.new_session(), "我喜欢的颜色是什么？").json()["memories_used"]
    assert (used["id"], used["kind"], used["text"]) == (update["id"], "long_term", "喜欢的颜色: 蓝色")
    assert set(used) == {
        "id", "kind", "text", "score", "keyword_score", "semantic_score", "category_boost", "recency_score",
        "frequency_score", "confidence", "topic_boost",
    }  # fmt: skip
    assert '"value": "蓝色"' in model.chat_requests[1].blocks
    memory = LongTermMemory.objects.get(id=update["id"])
    assert memory.access_count == 1
    assert memory.last_accessed > memory.created_at
    assert (memory.confidence, memory.source) == (0.9, "user_stated")
    assert str(memory.message_id) == told["user_message"]["id"]


@pytest.mark.long
@pytest.mark.spec("L4")
def test_what_the_budget_cut_is_not_counted_as_used(alice: ApiClient, model: ScriptedModel):
    long = "蓝" * 900
    for number in range(3):
        LongTermMemoryFactory(user=alice.user, category="fact", key=f"颜色{number}", value=long)
    alice.patch("/memory/settings", json={"memory.token_budget": 2800}).raise_for_status()
    turn = alice.say(alice.new_session(), "颜色").json()
    used = {item["id"] for item in turn["memories_used"]}
    assert 0 < len(used) < 3
    counted = LongTermMemory.objects.filter(access_count=1).values_list("id", flat=True)
    assert {str(key) for key in counted} == used


@pytest.mark.spec("E2")
def test_a_strategy_without_memory_recalls_nothing(alice: ApiClient, model: ScriptedModel):
    Strategy.objects.filter(emotion="neutral").update(use_memory=False)
    LongTermMemoryFactory(user=alice.user, key="喜欢的颜色", value="蓝色")
    assert alice.say(alice.new_session(), "我喜欢的颜色是什么").json()["memories_used"] == []
    assert "蓝色" not in model.chat_requests[0].blocks
    assert LongTermMemory.objects.get().access_count == 0


@pytest.mark.spec("E2")
def test_a_strategy_without_memory_asks_for_no_vector_of_the_message(
    alice: ApiClient, model: ScriptedModel, monkeypatch: pytest.MonkeyPatch
):
    Strategy.objects.filter(emotion="anxious").update(use_memory=False)
    embedded: list[str] = []

    def start_embedding(text: str, *, earlier: str) -> Callable[[], None]:
        embedded.append(text)
        return lambda: None

    monkeypatch.setattr("apps.chat.context.read.start_embedding", start_embedding)
    session = alice.new_session()
    model.script(answer(emotion={"primary": "anxious", "confidence": 0.9, "indicators": []}))
    for message in ("我很担心", "I cannot sleep", "早"):
        alice.say(session, message).raise_for_status()
    assert embedded == ["我很担心", "早"]


@pytest.mark.spec("E2")
def test_an_administrator_can_add_an_emotion(alice: ApiClient, model: ScriptedModel):
    Strategy.objects.create(emotion="bored", category="negative", tone="playful", max_length=120, emoji_allowed=True)
    session = alice.new_session()
    model.script(answer(emotion={"primary": "bored", "confidence": 0.9, "indicators": []}))
    assert alice.say(session, "无聊").json()["emotion"]["category"] == "negative"
    assert "bored" in model.chat_requests[0].blocks
    assert alice.say(session, "嗯").json()["strategy"]["tone"] == "playful"


@pytest.mark.long
@pytest.mark.spec("C2", "C3")
def test_a_new_session_has_an_empty_window_and_a_full_one_loses_whole_rounds(alice: ApiClient, model: ScriptedModel):
    alice.patch("/memory/settings", json={"memory.context_limit": 4}).raise_for_status()
    session = alice.new_session()
    for number in range(4):
        model.script(answer(f"r{number}"))
        alice.say(session, f"q{number}").raise_for_status()
    sent = [request.said for request in model.chat_requests]
    assert sent == [["q0"], ["q0", "r0", "q1"], ["q0", "r0", "q1", "r1", "q2"], ["q1", "r1", "q2", "r2", "q3"]]
    assert alice.get(f"/chat/sessions/{session}/messages").json()["count"] == 8
    assert LongTermMemory.objects.count() == 0
    other = alice.new_session()
    assert other != session
    alice.say(other, "新的")
    assert model.chat_requests[4].said == ["新的"]


@pytest.mark.spec("W3")
def test_a_null_topic_keeps_the_old_one_and_variables_merge(alice: ApiClient, model: ScriptedModel):
    session = alice.new_session()
    model.script(answer(topic="旅行", variables={"city": "北京", "days": 3}))
    model.script(answer(topic=None, variables={"days": None, "budget": 500}))
    alice.say(session, "去北京三天")
    working = alice.say(session, "预算五百").json()["working_memory"]
    assert (working["turn_count"], working["current_topic"]) == (2, "旅行")
    assert working["context_variables"] == {"city": "北京", "budget": 500}
    assert working == alice.get(f"/memory/working/{session}").json()


@pytest.mark.spec("C7")
def test_a_temporary_session_reads_and_writes_no_memory(alice: ApiClient, model: ScriptedModel):
    LongTermMemoryFactory(user=alice.user, key="喜欢的颜色", value="蓝色")
    model.script(answer(entries=[{**BLUE, "value": "红色"}]))
    turn = alice.say(alice.new_session(temporary=True), "我喜欢的颜色是红色").json()
    assert (turn["memories_used"], turn["memory_updates"]) == ([], [])
    assert "蓝色" not in model.chat_requests[0].blocks
    memory = LongTermMemory.objects.get()
    assert (memory.value, memory.access_count) == ("蓝色", 0)


@pytest.mark.spec("C4")
def test_a_stored_turn_is_shown_again_and_holds_no_remembered_text(alice: ApiClient, model: ScriptedModel):
    memory = LongTermMemoryFactory(user=alice.user, key="喜欢的颜色", value="蓝色")
    turn = alice.say(alice.new_session(), "我喜欢的颜色是什么").json()
    for message in ("user_message", "assistant_message"):
        assert alice.get(f"/chat/messages/{turn[message]['id']}/turn").json() == turn
    stored = Turn.objects.get()
    assert "蓝色" not in str([stored.memories_used, stored.memory_updates, stored.layers])
    alice.delete(f"/memory/long-term/{memory.id}").raise_for_status()
    (used,) = alice.get(f"/chat/messages/{turn['assistant_message']['id']}/turn").json()["memories_used"]
    assert used["text"] == "(deleted)"


@pytest.mark.spec("C4")
def test_the_context_of_a_message_is_shown_and_nothing_is_counted(alice: ApiClient, model: ScriptedModel):
    LongTermMemoryFactory(user=alice.user, key="喜欢的颜色", value="蓝色")
    session = alice.new_session()
    alice.say(session, "你好")
    shown = alice.get(f"/chat/sessions/{session}/context", params={"message": "我喜欢的颜色是什么"}).json()
    assert [layer["index"] for layer in shown["layers"]] == list(range(7))
    assert shown["total_tokens"] == sum(layer["tokens"] for layer in shown["layers"])
    assert "蓝色" in shown["layers"][3]["content"]
    assert "你好" in shown["layers"][5]["content"]
    assert shown["layers"][6]["content"] == "我喜欢的颜色是什么"
    assert LongTermMemory.objects.get().access_count == 0
    assert WorkingMemory.objects.get().turn_count == 1
    assert Message.objects.count() == 2
    alice.say(session, "我喜欢的颜色是什么")
    for index in (2, 3):
        assert shown["layers"][index]["content"] in model.chat_requests[1].blocks, "the model gets what was shown"


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({"content": " \n"}, 400, "invalid"),
        ({"content": 5}, 400, "invalid"),
        ({"content": "x" * 32_001}, 413, "too_large"),
    ],
)
def test_a_bad_message_is_refused_and_changes_nothing(alice: ApiClient, body: object, status: int, code: str):
    session = alice.new_session()
    response = alice.post(f"/chat/sessions/{session}/messages", json=body)
    assert (response.status_code, response.json()["error"]["code"]) == (status, code)
    assert set(response.json()["error"]) == {"code", "message", "fields"}
    assert Message.objects.count() == 0
    assert alice.get(f"/memory/working/{session}").status_code == 404


@pytest.mark.long
def test_the_turns_of_a_session_say_how_much_each_reply_recalled_and_remembered(alice: ApiClient, model: ScriptedModel):
    session = alice.new_session()
    entry = {"category": "fact", "key": "city", "value": "Berlin", "confidence": 0.9}
    model.script(answer("one", entries=[entry]), answer("two"))
    first = alice.say(session, "I live in Berlin").json()
    second = alice.say(session, "Which city do I live in?").json()
    assert alice.get(f"/chat/sessions/{session}/turns").json()["results"] == [
        {"message_id": second["assistant_message"]["id"], "recalled": 1, "remembered": 0},
        {"message_id": first["assistant_message"]["id"], "recalled": 0, "remembered": 1},
    ]
    for turn, caused in ((first, ["Berlin"]), (second, [])):
        changes = alice.get("/memory/changes", params={"message_id": turn["user_message"]["id"]}).json()["results"]
        assert [change["after"]["value"] for change in changes] == caused


@pytest.mark.spec("E4")
def test_an_unsure_emotion_is_returned_but_does_not_steer(alice: ApiClient, model: ScriptedModel):
    session = alice.new_session()
    unsure = {"primary": "sad", "confidence": 0.3, "indicators": []}
    model.script(answer(emotion=unsure))
    first = alice.say(session, "嗯……").json()
    assert first["emotion"]["primary"] == "sad"
    assert first["working_memory"]["last_emotion"] == "neutral"
    assert alice.say(session, "嗯").json()["strategy"]["emotion"] == "neutral"


PROMISES = ("remember:", "I'll remember", "我记住了", "已经记下")


@pytest.mark.spec("C7", "L9")
@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("Remember that I am allergic to shrimp.", "This conversation is temporary"),
        ("记住我对虾过敏。", "这是临时会话"),
        ("Forget that I like tea.", "This conversation is temporary"),
        ("Where is what I say stored, and can I change my memories?", "This conversation is temporary"),
        ("我说的话会保存在哪里？", "这是临时会话"),
    ],
)
def test_the_offline_model_promises_nothing_in_a_temporary_session(alice: ApiClient, said: str, told: str):
    turn = alice.say(alice.new_session(temporary=True), said).json()
    reply = turn["assistant_message"]["content"]
    assert told in reply
    assert not any(promise in reply for promise in PROMISES)
    assert (turn["memory_updates"], turn["memories_used"]) == ([], [])
    assert [model.objects.count() for model in (LongTermMemory, AtomicMemory, Change)] == [0, 0, 0]


@pytest.mark.spec("C7", "M6")
def test_the_inspector_shows_the_prompt_of_a_temporary_session(alice: ApiClient, model: ScriptedModel):
    model.script(answer("I cannot keep that here."))
    turn = alice.say(alice.new_session(temporary=True), "Remember that I like tea.").json()
    rebuilt = rebuild(alice, turn["assistant_message"]["id"])
    assert "This conversation is temporary" in rebuilt.layers[0].content
    assert rebuilt.exact is True


@pytest.mark.long
@pytest.mark.spec("W3", "C1")
@pytest.mark.parametrize("count", [10, 200])
def test_concurrent_messages_are_all_counted_and_answered(alice: ApiClient, model: ScriptedModel, count: int):
    memory = LongTermMemoryFactory(user=alice.user, key="喜欢的颜色", value="蓝色")
    model.default = lambda request: reply_with(answer(f"答{request.said[-1]}", variables={request.said[-1][-4:]: 1}))
    session = alice.new_session()
    with ThreadPoolExecutor(count) as pool:
        turns = list(pool.map(lambda number: alice.say(session, f"我喜欢的颜色 {number:04}"), range(count)))
    assert [turn.status_code for turn in turns] == [201] * count
    working = WorkingMemory.objects.get()
    assert working.turn_count == count
    assert sorted(turn.json()["working_memory"]["turn_count"] for turn in turns)[-1] == count
    assert set(working.context_variables) == {f"{number:04}" for number in range(count)}
    messages = list(Message.objects.order_by("position").values_list("role", "content"))
    assert len(messages) == 2 * count
    for (asked, question), (replied, reply) in zip(messages[::2], messages[1::2], strict=True):
        assert (asked, replied, reply) == ("user", "assistant", f"答{question}")
    assert LongTermMemory.objects.get(id=memory.id).access_count == count
