"""Forms that people filled in (H1–H3)."""

from __future__ import annotations

import pytest

from apps.conversations.models import Message
from apps.core.llm.types import read_block
from apps.memory.models import WorkingMemory
from tests.support.answers import answer
from tests.support.http_server import ApiClient
from tests.support.scripted_model import Reply, ScriptedModel

pytestmark = pytest.mark.long_except(
    "test_a_form_is_kept_and_continued_from", "test_the_form_is_kept_when_the_model_fails"
)

TRIP = {"title": "行程安排", "fields": {"destination": "北京", "date": "周末"}}
TASTES = {"title": "偏好设置", "fields": {"颜色": "蓝色"}}


def submit(client: ApiClient, session: str, form: object):
    return client.post(f"/chat/sessions/{session}/hitl-forms", json=form)


@pytest.mark.spec("H1", "H2")
def test_a_form_is_kept_and_continued_from(alice: ApiClient, model: ScriptedModel):
    session = alice.new_session()
    model.script(answer("好的，周末去北京。"))
    response = submit(alice, session, TRIP)
    assert response.status_code == 201
    body = response.json()
    assert set(body) == {"key", "working_memory", "paused_by", "assistant_message"}
    assert body["key"] == "hitl_行程安排"
    form = body["working_memory"]["context_variables"]["hitl_行程安排"]
    assert form["fields"] == TRIP["fields"]
    assert set(form) == {"fields", "timestamp"}
    assert body["working_memory"]["turn_count"] == 0
    stored = alice.get(f"/chat/sessions/{session}/messages").json()["results"]
    assert stored == [body["assistant_message"]]
    assert (stored[0]["role"], stored[0]["content"]) == ("assistant", "好的，周末去北京。")
    system = model.chat_requests[0].blocks
    assert read_block(system, "form_submitted") == (
        '{"title": "行程安排", "fields": {"destination": "北京", "date": "周末"}}'
    )


@pytest.mark.spec("H3")
def test_both_forms_are_there_for_the_next_turn_in_order_and_the_count_goes_on(alice: ApiClient, model: ScriptedModel):
    session = alice.new_session()
    alice.say(session, "你好")
    submit(alice, session, TASTES).raise_for_status()
    submit(alice, session, TRIP).raise_for_status()
    turn = alice.say(session, "那就这样安排").json()
    assert turn["working_memory"]["turn_count"] == 2
    assert list(turn["working_memory"]["context_variables"]) == ["hitl_偏好设置", "hitl_行程安排"]
    block = read_block(model.chat_requests[-1].blocks, "working_memory")
    assert block.index("偏好设置") < block.index("行程安排")
    assert "北京" in block
    assert [message["role"] for message in model.chat_requests[-1].messages[1:]] == [
        "user", "assistant", "assistant", "assistant", "user",
    ]  # fmt: skip


@pytest.mark.spec("H1")
def test_the_form_is_kept_when_the_model_fails(alice: ApiClient, model: ScriptedModel):
    session = alice.new_session()
    model.script(Reply(()))
    response = submit(alice, session, TRIP)
    assert (response.status_code, response.json()["error"]["code"]) == (503, "model_unavailable")
    working = alice.get(f"/memory/working/{session}").json()
    assert working["context_variables"]["hitl_行程安排"]["fields"] == TRIP["fields"]
    assert Message.objects.count() == 0


@pytest.mark.parametrize(
    "form",
    [
        {}, {"title": "t"}, {"fields": {}}, {"title": "", "fields": {}}, {"title": " ", "fields": {}},
        {"title": 1, "fields": {}}, {"title": "t", "fields": []}, {"title": "t", "fields": "x"},
        {"title": "t" * 101, "fields": {}},
    ],
)  # fmt: skip
def test_a_bad_form_is_refused(alice: ApiClient, form: object):
    response = submit(alice, alice.new_session(), form)
    assert (response.status_code, response.json()["error"]["code"]) == (400, "invalid")
    assert not WorkingMemory.objects.exists()
