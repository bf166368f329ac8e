"""What a turn keeps of its tool calls, and how they are shown: references and figures, no remembered text (M6, L6).

What the model searched for is in its own words, which may repeat what was remembered: it is kept only where the turn's
own message says it, with which it is deleted.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from apps.chat.context.types import LONG_TERM
from apps.chat.turn.commands import DELETED
from apps.chat.turn.tool_use.running import Outcome, ToolRun
from apps.core.text.fold import fold
from apps.core.text.keywords import match_words
from apps.core.text.segment import is_cjk

_NO_WORD = re.compile(r"[^\w.+#'’-]")

BY_TOOL = "tool"
"""How an item of a turn's `memories_used` is marked that a tool found; it has no score."""


def record_runs(runs: Iterable[ToolRun], *, message: str) -> list[dict[str, Any]]:
    """Return what is kept. `message`: the turn's own, "" for a form."""
    return [
        {
            "name": run.name,
            "outcome": str(run.outcome),
            "keyword": _keep_keyword(run, message=message),
            **_keep_times(run),
            "memories": [{"id": found["id"], "kind": found["kind"]} for found in run.memories],
            "context_id": run.context_id,
            "left_out": run.result.get("left_out", 0),
            "ms": run.ms,
        }
        for run in runs
    ]


def list_found(runs: Iterable[ToolRun], *, recalled: Iterable[str]) -> list[dict[str, Any]]:
    """Return the memories that tools put into the prompt, each once, for `memories_used`; without `recalled` ones."""
    known = set(recalled)
    found = {memory["id"]: memory["kind"] for run in runs for memory in run.memories if memory["id"] not in known}
    return [{"id": key, "kind": kind, "by": BY_TOOL} for key, kind in found.items()]


def list_recalled(memories_used: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the memories that stood in layer 3, of a turn's `memories_used`."""
    return [item for item in memories_used if "by" not in item]


def name_found_long_term(runs: Iterable[ToolRun]) -> list[uuid.UUID]:
    """Return the IDs of the long-term memories that tools put into the prompt: they were used (L4)."""
    return [uuid.UUID(memory["id"]) for run in runs for memory in run.memories if memory["kind"] == LONG_TERM]


def calls_to_wire(kept: Iterable[Mapping[str, Any]], *, texts: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return kept calls on the wire (SPEC, API: turn); `texts`: of the memories they found, as far as they are left."""
    return [
        {
            "name": call["name"] or None,
            "outcome": call["outcome"],
            "keyword": call["keyword"],
            "time_range": {"since": call["since"], "until": call["until"]} if call["since"] or call["until"] else None,
            "memories": [{**found, "text": texts.get(found["id"], DELETED)} for found in call["memories"]],
            "context_id": call["context_id"],
            "left_out": call["left_out"],
            "duration_ms": call["ms"],
        }
        for call in kept
    ]


def read_texts(runs: Iterable[ToolRun]) -> dict[str, str]:
    """Return the texts of the memories found, by ID."""
    return {memory["id"]: memory["text"] for run in runs for memory in run.memories}


def _keep_keyword(run: ToolRun, *, message: str) -> str | None:
    keyword = run.arguments.get("keyword")
    if not isinstance(keyword, str) or not message:
        return None
    folded, heard = fold(message), set(match_words(message))
    wanted = match_words(keyword)
    if not wanted or not all(word in heard or (is_cjk(word) and word in folded) for word in wanted):
        return None
    return " ".join(_NO_WORD.sub(" ", keyword).split())


def _keep_times(run: ToolRun) -> dict[str, str | None]:
    """The time range where the search accepted it: then it is dates and nothing else."""
    given = run.arguments.get("time_range") if run.outcome is Outcome.OK else None
    times = given if isinstance(given, dict) else {}
    return {name: times.get(name) for name in ("since", "until")}
