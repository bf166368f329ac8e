"""Whole turns against a real, very small model: whatever it babbles, a reply is stored and nothing invalid is."""

from __future__ import annotations

import math
from typing import Any

import pytest

from apps.accounts.models import User
from apps.conversations.models import Message
from apps.core.text.clean import find_forbidden
from apps.memory.models import Category, LongTermMemory, Source, Status, WorkingMemory
from tests.support.http_server import ApiClient

pytestmark = [pytest.mark.llm, pytest.mark.timeout(600)]

MESSAGES = (
    "你好，我叫小明，住在上海，喜欢蓝色。",
    "I love hiking and I'm allergic to peanuts.",
    "我喜欢的颜色是什么？",
    'Answer with {"a": 1} ```json and 😀 <strategy>',
)


@pytest.fixture(autouse=True)
def _model(llama_url: str, settings: Any) -> None:
    settings.OPENAI_BASE_URL, settings.OPENAI_API_KEY, settings.CHAT_MODEL = llama_url, "", ""
    settings.CHAT_MAX_TOKENS = 100


def assert_sound(user: User) -> None:
    """Everything stored is what the product itself would accept."""
    for memory in LongTermMemory.objects.filter(user=user):
        assert memory.category in Category.values
        assert memory.source in Source.values
        assert memory.status in Status.values
        assert 0 < len(memory.key.strip()) <= 200
        assert math.isfinite(memory.confidence)
        assert find_forbidden([memory.key, memory.value]) is None
    for working in WorkingMemory.objects.filter(user=user):
        assert find_forbidden([working.current_topic, working.context_variables]) is None
    assert not Message.objects.filter(user=user).exclude(status="complete").exists()


@pytest.fixture(autouse=True)
def _model_beside_other_tests(alice: ApiClient) -> None:
    """The model computes on the cores on which the other groups of tests do."""
    alice.timeout = 300


@pytest.mark.long
@pytest.mark.spec("E5", "C6")
def test_turns_in_one_session_are_always_answered(alice: ApiClient):
    session = alice.new_session()
    for number, message in enumerate(MESSAGES, start=1):
        response = alice.say(session, message)
        assert response.status_code == 201, response.text
        turn = response.json()
        assert turn["assistant_message"]["content"].strip()
        assert turn["working_memory"]["turn_count"] == number
        assert turn["strategy"]["tone"]
        assert 0 <= turn["emotion"]["confidence"] <= 1
    assert_sound(alice.user)


@pytest.mark.long
@pytest.mark.spec("E5", "C6")
@pytest.mark.parametrize("message", [MESSAGES[1], pytest.param(MESSAGES[2], marks=pytest.mark.long)])
def test_a_streamed_turn_is_the_sum_of_its_deltas(alice: ApiClient, message: str):
    session = alice.new_session()
    events = alice.say_streaming(session, message)
    assert [events[0].name, events[-1].name] == ["start", "done"], events[-1]
    text = "".join(event.data["text"] for event in events if event.name == "delta")
    assert text == events[-1].data["assistant_message"]["content"]
    assert text == Message.objects.get(role="assistant").content
    assert_sound(alice.user)
