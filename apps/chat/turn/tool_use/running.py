"""Running the tools that a model called in its turn: each call has a result, whatever the model wrote (T1, X2)."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import structlog
from django.utils import timezone

from apps.chat.toolbox import list_tools
from apps.chat.tools import Caller, Door, Tool
from apps.chat.turn.tool_use.offering import SEARCH
from apps.chat.turn.tool_use.results import fit_result
from apps.chat.turn.types import OpenTurn
from apps.core.errors import InvalidInput, JiyiError, NotFound, TooLarge
from apps.core.llm.reading import read_json_object
from apps.core.llm.types import ToolCall
from apps.memory.changes.records import Origin, changed_by

logger = structlog.get_logger(__name__)

AUTHOR = "assistant"
"""The author of what the chat model adds to shared contexts."""

MAX_CALLS = 4
"""In one answer of the model; further calls are refused."""

_MAX_ERROR_CHARS = 300


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
    """Runs the calls of one turn, one after the other. `runs`: all of them so far."""

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
        new = [
            self._run(call)
            if at < MAX_CALLS
            else _refuse(self._name(call), Outcome.TOO_MANY, "Too many calls at once.")
            for at, call in enumerate(calls)
        ]
        self.runs += new
        return new

    def _name(self, call: ToolCall) -> str:
        return call.name if call.name in self._offered else ""

    def _run(self, call: ToolCall) -> ToolRun:
        tool = self._offered.get(call.name)
        if tool is None:
            return _refuse("", Outcome.UNKNOWN_TOOL, f"There is no such tool. There are: {', '.join(self._offered)}.")
        read = read_json_object(call.arguments if call.arguments.strip() else "{}")
        if read.value is None or (read.repaired and tool.writes):
            # What had to be guessed must not be stored (E5).
            return _refuse(tool.name, Outcome.INVALID, "The arguments are not valid JSON of an object.")
        key = json.dumps([tool.name, read.value], sort_keys=True)
        if key in self._answered:
            message = "This call has been made already; use its result."
            return _refuse(tool.name, Outcome.REPEATED, message, arguments=read.value)
        self._answered.add(key)
        start = time.perf_counter()
        outcome, result = self._call(tool, read.value)
        ms = round((time.perf_counter() - start) * 1000, 2)
        return ToolRun(tool.name, outcome, arguments=read.value, result=result, ms=ms)

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
            return _name_outcome(error), {"error": error.message[:_MAX_ERROR_CHARS]}
        except Exception as error:  # whatever it is: the turn goes on without it
            logger.exception("turn.tool_failed", exc_info=error, tool=tool.name)
            return Outcome.FAILED, {"error": "The tool failed. Answer without it."}
        self._written[thing] += tool.writes
        return Outcome.OK, fit_result(result)


def _refuse(name: str, outcome: Outcome, message: str, *, arguments: Mapping[str, Any] | None = None) -> ToolRun:
    return ToolRun(name, outcome, arguments=arguments or {}, result={"error": message})


def _name_outcome(error: JiyiError) -> Outcome:
    known = {InvalidInput: Outcome.INVALID, NotFound: Outcome.NOT_FOUND, TooLarge: Outcome.TOO_LARGE}
    return known.get(type(error), Outcome.FAILED)
