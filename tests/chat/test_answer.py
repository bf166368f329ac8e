"""What is taken from a model's answer, valid or not."""

from __future__ import annotations

import json
from typing import Any

import pytest

from apps.chat.emotions import NEUTRAL_STRATEGY, UNKNOWN_EMOTION, ReplyStrategy
from apps.chat.prompts import read_analysis
from apps.memory.keyed import ProposedEntry

pytestmark = pytest.mark.spec("E5")

TABLE = {"neutral": NEUTRAL_STRATEGY, "happy": ReplyStrategy("happy", "positive", "warm", 250, proactive_question=True)}
ENTRY = {"category": "preference", "key": "喜欢的颜色", "value": "蓝色"}
ANSWER = {
    "response": "好的",
    "emotion": {"primary": "happy", "confidence": 0.8, "indicators": ["开心"]},
    "topic": "颜色",
    "context_variables": {"color": "蓝色"},
    "memory_update": {"should_store": True, "entries": [ENTRY]},
}


def read(raw: str):
    return read_analysis(raw, table=TABLE)


def read_with(**changes: Any):
    return read(json.dumps({**ANSWER, **changes}, ensure_ascii=False))


def test_a_valid_answer_is_read_whole_and_a_fence_is_no_repair():
    analysis = read(f"```json\n{json.dumps(ANSWER, ensure_ascii=False)}\n```")
    assert analysis.emotion.to_wire() == {
        "primary": "happy", "category": "positive", "confidence": 0.8, "indicators": ["开心"],
    }  # fmt: skip
    assert (analysis.topic, analysis.variables) == ("颜色", {"color": "蓝色"})
    assert analysis.entries == (ProposedEntry(category="preference", key="喜欢的颜色", value="蓝色"),)


@pytest.mark.parametrize("cut", range(1, 40))
def test_a_cut_answer_gives_no_entries_whatever_is_left(cut: int):
    assert read(json.dumps(ANSWER, ensure_ascii=False)[:-cut]).entries == ()


def test_what_is_left_of_a_cut_answer_is_used():
    whole = json.dumps(ANSWER, ensure_ascii=False)
    analysis = read(whole[: whole.index('"context_variables"')])
    assert analysis.emotion.primary == "happy"
    assert analysis.topic == "颜色"


@pytest.mark.spec("E4")
@pytest.mark.parametrize(
    "emotion",
    [
        None, "happy", [], {}, {"primary": "happy"}, {"primary": 5, "confidence": 0.5},
        {"primary": "happy", "confidence": "high"}, {"primary": "happy", "confidence": 1.5},
        {"primary": "happy", "confidence": -0.1}, {"primary": "happy", "confidence": True},
        {"primary": "happy", "confidence": 1e15}, {"primary": "happy", "confidence": 0.5, "indicators": "开心"},
        {"primary": "jealous", "confidence": 0.5, "indicators": []},
    ],
)  # fmt: skip
def test_an_emotion_with_an_invalid_part_is_unknown_and_the_rest_is_used(emotion: Any):
    analysis = read_with(emotion=emotion)
    assert analysis.emotion == UNKNOWN_EMOTION
    assert len(analysis.entries) == 1
    assert analysis.topic == "颜色"


@pytest.mark.spec("W3")
@pytest.mark.parametrize("topic", [None, "", "  ", 5, ["颜色"], {"a": 1}])
@pytest.mark.parametrize("variables", [None, [], "x", 3])
def test_a_topic_that_is_no_text_and_variables_that_are_no_object_are_none(topic: Any, variables: Any):
    analysis = read_with(topic=topic, context_variables=variables)
    assert (analysis.topic, analysis.variables) == (None, {})


def test_variables_with_impossible_names_are_left_out():
    assert read_with(context_variables={"": 1, " ": 2, "x" * 101: 3, "ok": 4}).variables == {"ok": 4}


@pytest.mark.spec("L2")
@pytest.mark.parametrize(
    "update",
    [
        None, [], {}, {"entries": [ENTRY]}, {"should_store": False, "entries": [ENTRY]},
        {"should_store": "true", "entries": [ENTRY]}, {"should_store": 1, "entries": [ENTRY]},
        {"should_store": True}, {"should_store": True, "entries": ENTRY},
        {"should_store": True, "entries": ["喜欢蓝色", None, 3]},
    ],
)  # fmt: skip
def test_entries_count_only_when_storing_was_asked_for(update: Any):
    assert read_with(memory_update=update).entries == ()
