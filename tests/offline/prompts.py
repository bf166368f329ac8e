"""Prompts as the context layers write them, the model's answer to them, and tables of sentences, one a line."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

from apps.core.llm.types import ModelRequest, PromptMessage, ResponseFormat, render_block, render_turn_block
from apps.offline.model import OfflineModel

_FOLDER = Path(__file__).parent / "sentences"
FORMAT = ResponseFormat(name="turn_answer", schema={"type": "object"})


def stream_pieces(*messages: PromptMessage, response_format: ResponseFormat | None = FORMAT) -> list[str]:
    """The pieces the model streams for `messages`."""

    async def collect() -> list[str]:
        request = ModelRequest(messages=messages, response_format=response_format)
        return [piece async for piece in OfflineModel().stream(request)]

    return asyncio.run(collect())


# The blocks of the system message; the others stand before the words of the newest one (C4).
_STABLE = ("user_profile", "session_summaries")


def render_prompt(message: str, *, earlier: tuple[PromptMessage, ...] = (), **blocks: Any) -> list[PromptMessage]:
    """The prompt for `message` with `blocks`; a dict becomes JSON, a list one JSON object a line."""
    texts = {name: render_block(name, _render(body)) for name, body in blocks.items()}
    system = "\n\n".join(text for name, text in texts.items() if name in _STABLE)
    turn = render_turn_block("\n\n".join(text for name, text in texts.items() if name not in _STABLE))
    newest = "\n\n".join(filter(None, [turn, message]))
    return [PromptMessage("system", system), *earlier, PromptMessage("user", newest)]


def remember(**pairs: Any) -> list[dict[str, Any]]:
    """The lines of layer 3 for long-term memories; _ in a key stands for a blank."""
    return [
        {"kind": "long_term", "category": "fact", "key": key.replace("_", " "), "value": value}
        for key, value in pairs.items()
    ]


def ask(message: str, *, earlier: tuple[PromptMessage, ...] = (), **blocks: Any) -> dict[str, Any]:
    """The model's JSON answer to `message` in a prompt with `blocks`."""
    pieces = stream_pieces(*render_prompt(message, earlier=earlier, **blocks))
    answer: dict[str, Any] = json.loads("".join(pieces))
    return answer


def reply(message: str, *, earlier: tuple[PromptMessage, ...] = (), **blocks: Any) -> str:
    """The reply alone."""
    response = ask(message, earlier=earlier, **blocks)["response"]
    assert isinstance(response, str)
    return response


def _render(body: Any) -> str:
    if isinstance(body, str):
        return body
    if isinstance(body, list):
        return "\n".join(json.dumps(line, ensure_ascii=False) for line in body)
    return json.dumps(body, ensure_ascii=False)


def read_lines(name: str) -> list[str]:
    """The sentences of a table, without comments."""
    lines = (_FOLDER / f"{name}.txt").read_text("utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def read_pairs(name: str) -> list[tuple[str, str]]:
    """The lines of a table of the form ``sentence => expected``."""
    return [(left.strip(), right.strip()) for left, _, right in (line.partition("=>") for line in read_lines(name))]
