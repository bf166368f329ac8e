"""A temporary conversation promises nothing (C7)."""

from __future__ import annotations

import pytest

from apps.memory.models import AtomicMemory, Change, LongTermMemory
from tests.chat.inspection.test_rebuild import rebuild
from tests.support.answers import answer
from tests.support.http_server import ApiClient
from tests.support.scripted_model import ScriptedModel

pytestmark = pytest.mark.spec("C7", "L9")
PROMISES = ("remember:", "I'll remember", "我记住了", "已经记下")


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
def test_the_offline_model_promises_nothing(alice: ApiClient, said: str, told: str):
    turn = alice.say(alice.new_session(temporary=True), said).json()
    reply = turn["assistant_message"]["content"]
    assert told in reply
    assert not any(promise in reply for promise in PROMISES)
    assert (turn["memory_updates"], turn["memories_used"]) == ([], [])
    assert [model.objects.count() for model in (LongTermMemory, AtomicMemory, Change)] == [0, 0, 0]


def test_the_inspector_shows_the_same_prompt(alice: ApiClient, model: ScriptedModel):
    model.script(answer("I cannot keep that here."))
    turn = alice.say(alice.new_session(temporary=True), "Remember that I like tea.").json()
    rebuilt = rebuild(alice, turn["assistant_message"]["id"])
    assert "This conversation is temporary" in rebuilt.layers[0].content
    assert rebuilt.exact is True
