"""Marks of sensitive facts (D4), where a prompt asks for them: by words, as all that the offline model knows."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from apps.core.llm.types import ModelRequest
from apps.core.text.clean import json_text
from apps.core.text.segment import holds_chinese
from apps.core.text.sentences import split_sentences
from apps.offline.language import fold_in_place, load_rules

_CATEGORIES = ("health", "faith", "sex", "money", "minors")
_LANGUAGES = ("en", "zh")
# How instructions name what is left out of what has no marks.
_KINDS = re.compile(r'\bof the kinds ((?:"[a-z]+"(?:, )?)+)')


def find_marks(text: str) -> list[str]:
    """Return the categories that a text tells something about."""
    rules, folded = load_rules("sensitive"), fold_in_place(text)
    for language in _LANGUAGES:
        folded = rules[f"harmless_{language}"].sub(" ", folded)
    return [one for one in _CATEGORIES if any(rules[f"{one}_{language}"].search(folded) for language in _LANGUAGES)]


def read_guarded(request: ModelRequest) -> list[str]:
    """Return the categories of which the instructions want nothing written where nothing is marked."""
    system = "\n".join(message.content for message in request.messages if message.role == "system")
    found = _KINDS.search(system)
    return re.findall("[a-z]+", found[1]) if found else []


def mark_answer(answer: Mapping[str, Any], *, guarded: Collection[str]) -> dict[str, Any]:
    """Return an answer with marks on its items; its topic, context and summary say nothing that is guarded."""
    marked = dict(answer)
    for name in ("memories", "entries"):
        if name in marked:
            marked[name] = _mark_items(marked[name])
    if update := marked.get("memory_update"):
        marked["memory_update"] = {**update, "entries": _mark_items(update["entries"])}
    for name in ("topic", "context"):
        if set(find_marks(json_text(marked.get(name) or ""))).intersection(guarded):
            marked[name] = None
    if "snippet" in marked:
        snippet, title = (_drop_guarded(str(marked[name]), guarded) for name in ("snippet", "title"))
        told = "会话" if holds_chinese(str(marked["snippet"])) else "Conversation"
        marked |= {"title": title or told, "snippet": snippet or title or told}
    return marked


def _mark_items(items: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    texts = (json_text(item.get("content") or f"{item.get('key')} {json_text(item.get('value'))}") for item in items)
    return [{**item, "sensitive": find_marks(text)} for item, text in zip(items, texts, strict=True)]


def _drop_guarded(text: str, guarded: Collection[str]) -> str:
    return "".join(one for one in split_sentences(text) if not set(find_marks(one)).intersection(guarded))
