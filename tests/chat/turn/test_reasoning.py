"""A model that thinks aloud before its answer: nobody reads that, and nothing of the answer is lost (E5, E6)."""

from __future__ import annotations

import pytest

from apps.conversations.models import Message
from apps.memory.models import LongTermMemory
from tests.support.answers import answer
from tests.support.http_server import ApiClient
from tests.support.scripted_model import Reply, ScriptedModel

pytestmark = pytest.mark.long_except(
    "test_reasoning_before_the_answer_is_not_shown_and_the_memory_in_it_is_kept",
)
THOUGHT = '<think>\n先想想 {"response": "草稿"}\n</think>\n\n'


def in_pieces(text: str, size: int) -> Reply:
    return Reply(tuple(text[at : at + size] for at in range(0, len(text), size)))


@pytest.mark.spec("E5", "C6")
@pytest.mark.parametrize("size", [1, 7, 10_000])
def test_reasoning_before_the_answer_is_not_shown_and_the_memory_in_it_is_kept(
    alice: ApiClient, model: ScriptedModel, size: int
):
    entry = {"category": "preference", "key": "喜欢的颜色", "value": "蓝色"}
    model.script(in_pieces(THOUGHT + answer("你好", entries=[entry]), size))
    events = alice.say_streaming(alice.new_session(), "我喜欢蓝色")
    assert "".join(event.data["text"] for event in events if event.name == "delta") == "你好"
    assert Message.objects.get(role="assistant").content == "你好"
    assert events[-1].data["emotion"]["primary"] == "neutral"
    assert LongTermMemory.objects.get().value == "蓝色"
