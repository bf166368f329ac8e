"""Asking a model that may call tools: rounds of calls and results, and then the answer, in bounded time (T1, E).

What a model writes before its calls ("Let me look that up") is no part of the reply: the reply begins with the answer.
What was shown already, as it looked like the reply, stays: joined deltas are the reply (C6).
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from apps.chat.prompts import NO_MORE_TOOLS, decode_answer
from apps.chat.turn.tools import ToolRun, ToolRunner, render_result, render_results
from apps.core.apart import read_apart
from apps.core.db import in_database
from apps.core.errors import ModelUnavailable
from apps.core.llm.streaming_json import DecodedField
from apps.core.llm.types import ModelRequest, PromptMessage, ToolCall, ToolCallingModel, ToolSpec

# Answers of the model that may call tools. The one after them has to do without.
MAX_ROUNDS = 3
# After so long, no more tools are offered: whoever waits has not seen a word yet.
MAX_SECONDS = 20.0
# Reasons of failures that may be about the form of a request.
_REFUSALS = ("refused", "too_long", "server_error")
# Arguments longer than this are not repeated in the last request.
_ARGUMENTS_CHARS = 1_000
# What follows a tool's name where a model calls it in words or mark-up of its own.
_ARGUMENTS = r"""(?:["'`]?(?:\(|\s*[<{\[}]|\s*/?>)|["']\s*,\s*["']|:\d|\s*\n\s*(?:[<`{]|\w+ input))"""


@dataclass(frozen=True, slots=True)
class _Heard:
    """One answer of the model."""

    decoded: DecodedField
    calls: Sequence[ToolCall]


class ToolRounds:
    """Asks for one reply. `send` gets its text as it comes."""

    def __init__(self, *, model: ToolCallingModel, runner: ToolRunner, send: Callable[[str], None]) -> None:
        self._model = model
        self._runner = runner
        self._send = send
        self._text_before = False  # something was shown in an earlier round
        self._text_now = False

    async def ask(self, request: ModelRequest) -> DecodedField:
        """Return the answer, whose text was sent; the calls are with the runner. Raises `ModelUnavailable`."""
        clock = asyncio.get_running_loop().time
        deadline = clock() + MAX_SECONDS
        tools = tuple(ToolSpec(tool.name, tool.description, tool.input_schema) for tool in self._runner.tools)
        messages = request.messages
        for _round in range(MAX_ROUNDS):
            try:
                heard = await self._listen(replace(request, messages=messages, tools=tools))
            except ModelUnavailable as error:
                # Some servers take tools, but not what comes back from them; some lose a call in the thought before it.
                reason = error.fields.get("reason")
                lost = reason == "only_reasoning" or (self._runner.runs and reason in _REFUSALS)
                if self._text_now or not lost:
                    raise
                break
            if not heard.calls:
                if self._text_now:
                    return heard.decoded
                break
            runs = await in_database(self._runner.run_all, heard.calls)
            messages += _continue(heard, runs)
            if clock() >= deadline:
                break
        heard = await self._listen(self._without_tools(request))
        if not (self._text_now or self._text_before) and heard.decoded.text.strip():
            message = "The model wrote a tool call in place of a reply."
            raise ModelUnavailable(message, fields={"reason": "bad_answer"})
        return heard.decoded

    async def _listen(self, request: ModelRequest) -> _Heard:
        """Hear one answer out, and send what of it is the reply."""
        self._text_before, self._text_now = self._text_before or self._text_now, False
        stream, calls, held = decode_answer(), list[ToolCall](), ""
        async for part in self._model.converse(request):
            if isinstance(part, ToolCall):
                calls.append(part)
                continue
            held += stream.feed(part)
            if stream.found:
                held = self._say(held)
            await asyncio.sleep(0)  # what has come at once is sent as it is read, not when all of it has been
        decoded = await read_apart(stream.close, size=stream.size)
        held += decoded.tail
        if stream.found or not (calls or self._is_unread_call(held)):
            self._say(held)
        return _Heard(decoded, calls)

    def _is_unread_call(self, text: str) -> bool:
        """Whether a text calls one of the tools in a way that the model's server did not recognise."""
        names = "|".join(re.escape(tool.name) for tool in self._runner.tools)
        return re.search(rf"\b(?:{names}){_ARGUMENTS}", text, re.IGNORECASE) is not None

    def _say(self, text: str) -> str:
        """Send text, and return what of it is to wait: blank text is no beginning of a reply."""
        if not text.strip() and not self._text_now:
            return text
        if self._text_before and not self._text_now:
            text = "\n\n" + text
        self._text_now = True
        self._send(text)
        return ""

    def _without_tools(self, request: ModelRequest) -> ModelRequest:
        """The request with the results as a block of the prompt: every server takes it, and no model calls again."""
        if not self._runner.runs:
            return request
        lines = [
            (run.name, run.arguments if len(str(run.arguments)) <= _ARGUMENTS_CHARS else {}, run.result)
            for run in self._runner.runs
            if run.name
        ]
        system, *rest = request.messages
        content = "\n\n".join([system.content, NO_MORE_TOOLS.format(results=render_results(lines))])
        return replace(request, messages=(replace(system, content=content), *rest))


def _continue(heard: _Heard, runs: Sequence[ToolRun]) -> tuple[PromptMessage, ...]:
    """An answer with calls and what the tools returned, as the next request has them."""
    # Servers read the arguments again; what is no JSON would be refused there.
    calls = tuple(
        replace(call, name=call.name or "unknown", arguments=json.dumps(run.arguments, ensure_ascii=False))
        for call, run in zip(heard.calls, runs, strict=True)
    )
    asked = PromptMessage(role="assistant", content=heard.decoded.raw, calls=calls)
    results = (
        PromptMessage(role="tool", content=render_result(run.result), call_id=call.id)
        for call, run in zip(calls, runs, strict=True)
    )
    return asked, *results
