"""The tools that a model may call in its turn: which it is offered, running them, and what it gets back (T1, X2)."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, cast

import structlog
from django.utils import timezone

from apps.chat.context.read import TurnInput
from apps.chat.toolbox import list_tools
from apps.chat.tools import Caller, Door, Tool
from apps.chat.turn.clients import cut_to_tokens
from apps.chat.turn.types import OpenTurn
from apps.core.errors import InvalidInput, JiyiError, NotFound, TooLarge
from apps.core.llm.blocks import render_block
from apps.core.llm.client import ChosenModel, choose_chat_model
from apps.core.llm.reading import read_json_object
from apps.core.llm.types import ChatModel, ToolCall, ToolCallingModel
from apps.core.text.tokens import estimate_tokens
from apps.memory.changes.records import Origin, changed_by

logger = structlog.get_logger(__name__)
SEARCH = "search_memories"
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
        if (writes or not tool.writes) and (strategy.use_memory or name != SEARCH)
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
        return None if self.outcome is not Outcome.OK or self.name == SEARCH else str(self.result["id"])


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


def fit_result(result: Mapping[str, Any], *, limit: int = RESULT_TOKENS) -> dict[str, Any]:
    """Return the result with as much of its list, and then of its texts, as fits; `left_out` counts what does not."""
    fitted = dict(result)
    name = next((name for name in _LISTS if isinstance(fitted.get(name), list)), None)
    if name is None:
        return fitted
    items = fitted.pop(name)
    size = _measure(fitted)
    if size > (share := limit // 2 if items else limit):
        fitted = _cut_texts(fitted, excess=size - share)
    room = limit - _measure(fitted)
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
