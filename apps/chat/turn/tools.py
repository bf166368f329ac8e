"""The tools that a model may call in its turn: which it is offered, running them, and rounds of calls (T1, X2, E)."""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, cast

import structlog
from django.utils import timezone

from apps.chat.context.read import TurnInput
from apps.chat.prompts import NO_MORE_TOOLS, decode_answer
from apps.chat.toolbox import list_tools
from apps.chat.tools import Caller, Door, Tool
from apps.chat.turn.types import OpenTurn
from apps.core.db import in_database
from apps.core.errors import InvalidInput, JiyiError, ModelUnavailable, NotFound, TooLarge
from apps.core.http import run_in_thread_if_large
from apps.core.llm.client import ChosenModel, choose_chat_model
from apps.core.llm.reading import read_json_object
from apps.core.llm.streaming_json import DecodedField
from apps.core.llm.types import (
    ChatModel,
    ModelRequest,
    PromptMessage,
    ToolCall,
    ToolCallingModel,
    ToolSpec,
    extend_turn_block,
    render_block,
)
from apps.core.text.clean import cut_to_tokens, estimate_tokens
from apps.memory.changes.records import Origin, changed_by

logger = structlog.get_logger(__name__)
SEARCH = "search_memories"
# What a strategy that wants no memories does not offer (E2).
RECALLING = frozenset({SEARCH, "search_conversations", "read_conversation"})
# The author of what the chat model adds to shared contexts.
AUTHOR = "assistant"
# In one answer of the model; further calls are refused.
MAX_CALLS = 4
# What one result may take in the prompt.
RESULT_TOKENS = 1_500
_MAX_ERROR_CHARS = 300


def offer_tools(given: TurnInput, *, writes: bool, chosen: ChosenModel | None = None) -> tuple[str, ...]:
    """Return the names of the tools that the model may call.

    None in plain chat (E6), in a temporary session (C7), where a client's own request is passed on (T3), and for a
    model that calls no tools; no search under a strategy that wants no memories (E2). `writes`: whether the turn leaves
    anything behind. `chosen`: the model that answers, if it is known already.
    """
    strategy = given.strategy
    if not given.settings.enable_agentic_search or strategy is None or not given.recalls:
        return ()
    if given.client is not None and given.client.relayed:
        return ()
    chosen = chosen or choose_chat_model(preferred=given.model)
    calling = as_tool_calling(chosen.model)
    if calling is None or not calling.takes_tools(chosen.other):
        return ()
    return tuple(
        name
        for name, tool in list_tools(Door.CHAT).items()
        if (writes or not tool.writes) and (strategy.use_memory or name not in RECALLING)
    )


def as_tool_calling(model: ChatModel) -> ToolCallingModel | None:
    """Return the model if it can call tools; the offline model cannot."""
    return cast(ToolCallingModel, model) if hasattr(model, "converse") else None


class Outcome(StrEnum):
    """The outcome of a call."""

    OK = "ok"
    INVALID = "invalid"
    NOT_FOUND = "not_found"
    TOO_LARGE = "too_large"
    UNKNOWN_TOOL = "unknown_tool"
    REPEATED = "repeated"
    TOO_MANY = "too_many"
    FAILED = "failed"


_REFUSED = {InvalidInput: Outcome.INVALID, NotFound: Outcome.NOT_FOUND, TooLarge: Outcome.TOO_LARGE}


@dataclass(frozen=True, slots=True)
class ToolRun:
    """One call and what it returned. `arguments` as far as they could be read; `result`: as the model gets it.

    `name`: of a tool that was offered, else "". `ms`: how long it ran.
    """

    name: str
    outcome: Outcome
    arguments: Mapping[str, Any] = field(default_factory=dict)
    result: Mapping[str, Any] = field(default_factory=dict)
    ms: float = 0.0

    @property
    def memories(self) -> Sequence[Mapping[str, Any]]:
        """The memories that it put into the prompt: ``{id, kind, text, …}``."""
        found: Sequence[Mapping[str, Any]] = self.result.get("results", ()) if self.name == SEARCH else ()
        return found

    @property
    def context_id(self) -> str | None:
        """The shared context that it read, made or added to."""
        return str(self.result["id"]) if self.outcome is Outcome.OK and "id" in self.result else None

    @property
    def message_ids(self) -> Sequence[str]:
        """The messages of past conversations that it put into the prompt."""
        found = self.result.get("results", ()) if self.name in RECALLING - {SEARCH} else ()
        return [message["id"] for one in found for message in one.get("messages", [one])]


class ToolRunner:
    """Runs the calls of one turn, one after the other: each has a result, whatever the model wrote.

    `runs`: all of them so far.
    """

    def __init__(self, turn: OpenTurn) -> None:
        self.runs: list[ToolRun] = []
        self._turn = turn
        self._offered = {name: tool for name, tool in list_tools(Door.CHAT).items() if name in turn.context.given.tools}
        self._answered: set[str] = set()
        self._written: Counter[tuple[str, str]] = Counter()

    @property
    def tools(self) -> Sequence[Tool]:
        """The tools that the model may call."""
        return tuple(self._offered.values())

    def run_all(self, calls: Sequence[ToolCall]) -> list[ToolRun]:
        """Run the calls of one answer in their order; one result for each. Needs a database thread."""
        new = [self._run(call, is_one_too_many=at >= MAX_CALLS) for at, call in enumerate(calls)]
        self.runs += new
        return new

    def _run(self, call: ToolCall, *, is_one_too_many: bool) -> ToolRun:
        tool = self._offered.get(call.name)
        name = tool.name if tool else ""
        if is_one_too_many:
            return _refuse(name, Outcome.TOO_MANY, "Too many calls at once.")
        if tool is None:
            return _refuse(name, Outcome.UNKNOWN_TOOL, f"There is no such tool. There are: {', '.join(self._offered)}.")
        read = read_json_object(call.arguments if call.arguments.strip() else "{}")
        if read.value is None or (read.repaired and tool.writes):
            # What had to be guessed must not be stored (E5).
            return _refuse(name, Outcome.INVALID, "The arguments are not valid JSON of an object.")
        key = json.dumps([name, read.value], sort_keys=True)
        if key in self._answered:
            message = "This call has been made already; use its result."
            return _refuse(name, Outcome.REPEATED, message, arguments=read.value)
        self._answered.add(key)
        start = time.perf_counter()
        outcome, result = self._call(tool, read.value)
        ms = round((time.perf_counter() - start) * 1000, 2)
        return ToolRun(name, outcome, arguments=read.value, result=result, ms=ms)

    def _call(self, tool: Tool, arguments: Mapping[str, Any]) -> tuple[Outcome, dict[str, Any]]:
        turn = self._turn
        thing = (tool.name, str(arguments.get("id", "")).lower())
        caller = Caller(
            user=turn.user,
            author=AUTHOR,
            now=timezone.now(),
            session_id=turn.session_id,
            message_id=turn.round.message_id if turn.round else None,
            number=self._written[thing],
            paused_by=turn.given.paused_by,
        )
        try:
            with changed_by(origin=Origin.TURN, actor=None):
                result = tool.run(caller, arguments)
        except JiyiError as error:
            return _REFUSED.get(type(error), Outcome.FAILED), {"error": error.message[:_MAX_ERROR_CHARS]}
        except Exception as error:  # whatever it is: the turn goes on without it
            logger.exception("turn.tool_failed", exc_info=error, tool=tool.name)
            return Outcome.FAILED, {"error": "The tool failed. Answer without it."}
        self._written[thing] += tool.writes
        return Outcome.OK, fit_result(result)


def _refuse(name: str, outcome: Outcome, message: str, *, arguments: Mapping[str, Any] | None = None) -> ToolRun:
    return ToolRun(name, outcome, arguments=arguments or {}, result={"error": message})


# Lists of a result that are shortened, and whether their last items matter most.
_LISTS = {"results": False, "entries": True}
# Fields whose texts are cut where that is not enough.
_TEXTS = ("content", "text")
_CUT = "…"


def fit_result(result: Mapping[str, Any]) -> dict[str, Any]:
    """Return the result with as much of its list, and then of its texts, as fits; `left_out` counts what does not."""
    fitted = dict(result)
    name = next((name for name in _LISTS if isinstance(fitted.get(name), list)), None)
    if name is None:
        return fitted
    items = fitted.pop(name)
    size = _measure(fitted)
    if size > (share := RESULT_TOKENS // 2 if items else RESULT_TOKENS):
        fitted = _cut_texts(fitted, excess=size - share)
    room = RESULT_TOKENS - _measure(fitted)
    newest_first = _LISTS[name]
    kept = _keep(items[::-1] if newest_first else items, room=room)
    fitted[name] = kept[::-1] if newest_first else kept
    if len(kept) < len(items):
        fitted["left_out"] = len(items) - len(kept)
    return fitted


def _keep(items: Sequence[Mapping[str, Any]], *, room: int) -> list[dict[str, Any]]:
    """The first items that fit; the very first one with its text cut if it must be."""
    kept: list[dict[str, Any]] = []
    for item in items:
        if (size := _measure(item)) > room:
            shortened = _cut_texts(item, excess=size - room)
            return kept or ([shortened] if _measure(shortened) <= room else [])
        kept.append(dict(item))
        room -= size
    return kept


def _cut_texts(item: Mapping[str, Any], *, excess: int) -> dict[str, Any]:
    cut = dict(item)
    for name in _TEXTS:
        text = cut.get(name)
        if isinstance(text, str):
            # Written as JSON, a text only grows: a token less of it is at least one less there. Two are for rounding.
            tokens = max(estimate_tokens(text) - excess - estimate_tokens(_CUT) - 2, 0)
            cut[name] = text if estimate_tokens(text) <= tokens else cut_to_tokens(text, tokens) + _CUT
    return cut


def _measure(value: Any) -> int:
    return estimate_tokens(_dump(value))


def render_result(result: Mapping[str, Any]) -> str:
    """Return the content of a tool's message: data in a block (C5)."""
    return render_block("tool_result", _dump(result))


def render_results(results: Sequence[tuple[str, Mapping[str, Any], Mapping[str, Any]]]) -> str:
    """Return the results of several calls in one block, a line each: tool, arguments, result."""
    lines = [_dump({"tool": name, "arguments": given, "result": result}) for name, given, result in results]
    return render_block("tool_results", "\n".join(lines))


def _dump(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


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
        decoded = await run_in_thread_if_large(stream.close, size=stream.size)
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
        *before, newest = request.messages
        content = extend_turn_block(newest.content, NO_MORE_TOOLS.format(results=render_results(lines)))
        return replace(request, messages=(*before, replace(newest, content=content)))


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
