"""The offline model as the rest of the system meets it: a prompt in, E5's JSON or plain text out."""

from __future__ import annotations

import pytest

from apps.core.llm.types import PromptMessage, render_turn_block
from apps.offline.emotion import read_emotion
from tests.offline.prompts import ask, read_pairs, remember, render_prompt, stream_pieces


@pytest.mark.spec("E5")
def test_the_answer_is_the_object_of_e5_with_the_response_first() -> None:
    answer = ask("我住在上海")
    assert list(answer) == ["response", "emotion", "topic", "context_variables", "memory_update"]
    assert answer["emotion"] == {"primary": "neutral", "confidence": 0.6, "indicators": []}
    assert answer["memory_update"] == {
        "should_store": True,
        "entries": [
            {
                "category": "fact",
                "key": "居住地",
                "value": "上海",
                "source": "user_stated",
                "confidence": 0.95,
                "mode": "replace",
            }
        ],
    }


def test_a_message_that_tells_nothing_stores_nothing() -> None:
    assert ask("What is a black hole?")["memory_update"] == {"should_store": False, "entries": []}


def test_it_streams_in_small_pieces() -> None:
    pieces = stream_pieces(*render_prompt("我住在上海"))
    assert len(pieces) > 20
    assert max(map(len, pieces)) <= 4


def test_without_a_format_it_answers_in_plain_text() -> None:
    prompt = render_prompt("我喜欢的颜色是什么？", memories=remember(喜欢的颜色="蓝色"))
    pieces = stream_pieces(*prompt, response_format=None)
    assert "".join(pieces) == "你喜欢的颜色是蓝色。"


@pytest.mark.parametrize(
    "blocks",
    [
        "",
        "<memories>\nnot json\n[]\n{}\n</memories>",
        "<strategy>\n[1]\n</strategy><working_memory>\nnull\n</working_memory><form_submitted>\n3\n</form_submitted>",
        "<memory_actions>\n[]\n</memory_actions><user_profile>\n3\n</user_profile>",
    ],
)
def test_missing_and_unreadable_blocks_count_as_empty(blocks: str) -> None:
    newest = f"{render_turn_block(blocks)}\n\n你好"
    pieces = stream_pieces(PromptMessage("system", blocks), PromptMessage("user", newest), response_format=None)
    assert "".join(pieces) == "你好！"


@pytest.mark.parametrize("message", ["666", "？", "...", "👍"])
def test_what_is_in_no_language_is_answered_in_that_of_the_conversation(message: str) -> None:
    earlier = (PromptMessage("user", "我住在上海"), PromptMessage("assistant", "好"))
    assert "我在听" in ask(message, earlier=earlier)["response"]


# Emotions (E1), from a lexicon with negation and intensity


@pytest.mark.spec("E1")
def test_emotion_of_a_sentence() -> None:
    expected = dict(read_pairs("emotions"))
    assert {sentence: read_emotion(sentence).primary for sentence in expected} == expected


def test_indicators_are_the_words_found_as_written() -> None:
    assert read_emotion("I'm SAD and lonely").indicators == ("SAD", "lonely")
    assert read_emotion("我好難過，很孤獨").indicators == ("難過", "孤獨")


def test_a_stronger_word_makes_it_surer_and_a_weaker_one_less_sure() -> None:
    slightly, plainly, very = (read_emotion(text).confidence for text in ("有点紧张", "紧张", "非常紧张"))
    assert slightly < plainly < very <= 1
