"""What a tool returned, as the model gets it: JSON of bounded size, in a block, as it is data (C5). Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from apps.core.llm.types import render_block
from apps.core.text.clean import estimate_tokens

RESULT_TOKENS = 1_500
"""What one result may take in the prompt."""

_LISTS = {"results": False, "entries": True}
"""Lists that are shortened, and whether their last items matter most."""

_TEXTS = ("content", "text")
"""Fields whose texts are cut where that is not enough."""

_CUT = "…"


def fit_result(result: Mapping[str, Any], *, limit: int = RESULT_TOKENS) -> dict[str, Any]:
    """Return the result with as much of its list, and then of its texts, as fits; `left_out` counts what does not."""
    fitted = dict(result)
    name = next((name for name in _LISTS if isinstance(fitted.get(name), list)), None)
    items = fitted.pop(name) if name else []
    if name is None:
        return fitted
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
        size = _measure(item)
        if size <= room:
            kept.append(dict(item))
            room -= size
            continue
        shortened = _cut_texts(item, excess=size - room) if not kept else None
        if shortened and _measure(shortened) <= room:
            kept.append(shortened)
        break
    return kept


def _cut_texts(item: Mapping[str, Any], *, excess: int) -> dict[str, Any]:
    cut = dict(item)
    for name in _TEXTS:
        text = cut.get(name)
        if isinstance(text, str):
            # Written as JSON, a text only grows: a token less of it is at least one less there. Two are for rounding.
            cut[name] = _cut_text(text, tokens=max(estimate_tokens(text) - excess - estimate_tokens(_CUT) - 2, 0))
    return cut


def _cut_text(text: str, *, tokens: int) -> str:
    if estimate_tokens(text) <= tokens:
        return text
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if estimate_tokens(text[:middle]) <= tokens else (low, middle - 1)
    return text[:low] + _CUT


def _measure(value: Any) -> int:
    return estimate_tokens(_dump(value))


def render_result(result: Mapping[str, Any]) -> str:
    """Return the content of a tool's message."""
    return render_block("tool_result", _dump(result))


def render_results(results: Sequence[tuple[str, Mapping[str, Any], Mapping[str, Any]]]) -> str:
    """Return the results of several calls in one block, a line each: tool, arguments, result."""
    lines = [_dump({"tool": name, "arguments": given, "result": result}) for name, given, result in results]
    return render_block("tool_results", "\n".join(lines))


def _dump(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
