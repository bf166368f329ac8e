"""The offline model as the rest of the system meets it: a prompt in, E5's JSON or plain text out."""

from __future__ import annotations

import time

import pytest

from apps.core.llm.offline import OfflineModel
from apps.core.llm.types import PromptMessage
from tests.core.llm.offline.prompts import ask, remember, render_system, stream_pieces


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
    pieces = stream_pieces(render_system(), PromptMessage("user", "我住在上海"))
    assert len(pieces) > 20
    assert max(map(len, pieces)) <= 4


def test_without_a_format_it_answers_in_plain_text() -> None:
    system = render_system(memories=remember(喜欢的颜色="蓝色"))
    pieces = stream_pieces(system, PromptMessage("user", "我喜欢的颜色是什么？"), response_format=None)
    assert "".join(pieces) == "你喜欢蓝色。"


def test_it_is_called_offline() -> None:
    assert OfflineModel.name == "offline"


@pytest.mark.parametrize(
    "system",
    [
        "",
        "<memories>\nnot json\n[]\n{}\n</memories>",
        "<strategy>\n[1]\n</strategy><working_memory>\nnull\n</working_memory><form_submitted>\n3\n</form_submitted>",
    ],
)
def test_missing_and_unreadable_blocks_count_as_empty(system: str) -> None:
    pieces = stream_pieces(PromptMessage("system", system), PromptMessage("user", "你好"), response_format=None)
    assert "".join(pieces) == "你好！今天想聊点什么？"


def test_a_removal_names_the_remembered_item_it_means() -> None:
    entries = ask("我不再喜欢火锅了", memories=remember(喜欢的事物=["吃火锅", "爬山"]))["memory_update"]["entries"]
    assert [(entry["mode"], entry["key"], entry["value"]) for entry in entries] == [
        ("remove", "喜欢的事物", ["吃火锅"])
    ]


def test_disliking_takes_the_thing_off_the_likes() -> None:
    entries = ask("I hate jazz", memories=remember(likes=["jazz", "hiking"]))["memory_update"]["entries"]
    assert [(entry["mode"], entry["key"], entry["value"]) for entry in entries] == [
        ("remove", "likes", ["jazz"]),
        ("add", "dislikes", ["jazz"]),
    ]


def test_a_pet_that_gets_a_name_replaces_the_nameless_one() -> None:
    entries = ask("我的猫叫咪咪", memories=remember(宠物=["猫", "狗"]))["memory_update"]["entries"]
    assert [(entry["mode"], entry["key"], entry["value"]) for entry in entries] == [
        ("remove", "宠物", ["猫"]),
        ("add", "宠物", ["咪咪（猫）"]),
    ]


@pytest.mark.parametrize(
    ("message", "topic", "variables"),
    [
        ("你好", None, {}),
        ("Thanks a lot!", None, {}),
        ("我想聊聊人工智能的未来", "人工智能", {}),
        ("下周我想去北京旅行", "北京旅行", {"目的地": "北京", "日期": "下周"}),
        ("I'm planning a trip to Tokyo next week", "trip", {"destination": "Tokyo", "date": "next week"}),
    ],
)
def test_topic_and_variables(message: str, topic: str | None, variables: dict[str, str]) -> None:
    answer = ask(message)
    assert (answer["topic"], answer["context_variables"]) == (topic, variables)


@pytest.mark.parametrize(
    "piece",
    ["a", "我", "我喜欢", "，", "a,", "i am really ", "my mother's ", " ", "“", '"', ".", "每天", "\n", "I like x, "],
)
def test_a_long_message_takes_bounded_time(piece: str) -> None:
    ask("我住在上海 and I live in Boston")  # the tables are compiled once
    message = (piece * 32_000)[:32_000]
    started = time.process_time()
    ask(message)
    # Far above what it takes (0.02 to 0.3 s), far below what one quadratic pattern would (minutes).
    assert time.process_time() - started < 2
