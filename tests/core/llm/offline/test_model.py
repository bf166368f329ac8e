"""The offline model as the rest of the system meets it: a prompt in, E5's JSON or plain text out."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from apps.core.llm.blocks import render_block
from apps.core.llm.offline import OfflineModel
from apps.core.llm.types import ModelRequest, PromptMessage, ResponseFormat

FORMAT = ResponseFormat(name="turn_answer", schema={"type": "object"})


def complete(*messages: PromptMessage, response_format: ResponseFormat | None = FORMAT) -> list[str]:
    async def collect() -> list[str]:
        request = ModelRequest(messages=messages, response_format=response_format)
        return [piece async for piece in OfflineModel().stream(request)]

    return asyncio.run(collect())


def system(**blocks: str) -> PromptMessage:
    return PromptMessage("system", "\n\n".join(render_block(name, body) for name, body in blocks.items()))


def memories(*pairs: tuple[str, Any]) -> str:
    return "\n".join(
        json.dumps({"kind": "long_term", "category": "preference", "key": key, "value": value}, ensure_ascii=False)
        for key, value in pairs
    )


def ask(message: str, **blocks: str) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads("".join(complete(system(**blocks), PromptMessage("user", message))))
    return answer


@pytest.mark.spec("E5")
def test_the_answer_is_the_object_of_e5_with_the_response_first() -> None:
    answer = ask("我住在上海")
    assert list(answer) == ["response", "emotion", "topic", "context_variables", "memory_update"]
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


def test_it_streams_in_small_pieces() -> None:
    pieces = complete(system(), PromptMessage("user", "我住在上海"))
    assert len(pieces) > 20
    assert max(map(len, pieces)) <= 4


def test_without_a_format_it_answers_in_plain_text() -> None:
    block = memories(("喜欢的颜色", "蓝色"))
    pieces = complete(system(memories=block), PromptMessage("user", "我喜欢的颜色是什么？"), response_format=None)
    assert "".join(pieces) == "你喜欢蓝色。"
