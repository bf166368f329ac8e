"""Notes without what has ended: summaries repeat values that were corrected or forgotten since (L3, L6, L9).

A summary stays as it was written; what is put before a model leaves out the sentences that no longer hold. So it is
right at once, in every session, and what is undone is there again.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from apps.accounts.models import User
from apps.core.text.bm25_terms import bm25_terms
from apps.core.text.fold import normalize_value
from apps.core.text.grounding import has_content, is_said_by
from apps.core.text.json_text import json_text
from apps.core.text.sentences import split_sentences
from apps.core.text.traces import Traces
from apps.memory.long_term.changes import list_items
from apps.memory.long_term.twins import denies_anything, list_lost, shares_key
from apps.memory.models import AtomicMemory, LongTermMemory, Status

REMOVED = "…"
"""What stands where nothing is left of a text."""

NEWEST, NEWEST_CONTENTS = 1_000, 300
"""Ended long-term and atomic memories that are looked at."""

_TELLING = re.compile(r"\d|[A-Z]|[\u3400-\u9fff]{4}")
"""A value that says by itself what it is about; of another ("green", 杭州) the sentence must name its key, too."""


@dataclass(frozen=True, slots=True)
class _Ended:
    key: str
    traces: Traces
    needs_key: bool


def cut_ended(user: User, texts: Sequence[str]) -> list[str]:
    """Return the texts without the sentences that say what has ended; `REMOVED` where nothing is left of one.

    Sentences stay that say what an active memory says, too. At most four queries; none without a text.
    """
    whole = "\n".join(texts)
    if not has_content(whole):
        return list(texts)
    ended = list(_list_ended_values(user, normalize_value(whole)))
    gone = _list_ended_contents(user, whole)
    if not (ended or gone):
        return list(texts)

    def has_ended(sentence: str) -> bool:
        return any(
            one.traces.stand_in(sentence) and (not one.needs_key or shares_key(one.key, sentence)) for one in ended
        ) or any(is_said_by(content, said=sentence) for content in gone)

    return [_cut(text, has_ended) for text in texts]


def _cut(text: str, has_ended: Callable[[str], bool]) -> str:
    kept = [sentence for sentence in split_sentences(text) if not has_ended(sentence)]
    return "".join(kept).strip() or (REMOVED if text.strip() else "")


def _list_ended_values(user: User, whole: str) -> Iterator[_Ended]:
    """The values in the texts that a key does not have any more, and whether another memory still says them."""
    mine = LongTermMemory.objects.filter(user=user)
    rows = mine.filter(status=Status.SUPERSEDED).order_by("-updated_at", "id")
    found = [
        (key, normalized_key, item, form)
        for key, normalized_key, value in rows.values_list("key", "normalized_key", "value")[:NEWEST]
        for item in list_items(value)
        if not isinstance(item, bool | dict | None) and len(form := normalize_value(item)) > 1 and form in whole
    ]
    if not found:
        return
    active = list(mine.filter(status=Status.ACTIVE).values_list("normalized_key", "value"))
    current = dict(active)
    contents = AtomicMemory.objects.filter(user=user, status=Status.ACTIVE)
    seen = set[tuple[str, str]]()
    for key, normalized_key, item, form in found:
        if (normalized_key, form) in seen or not list_lost(item, current.get(normalized_key)):
            continue
        seen.add((normalized_key, form))
        text = json_text(item)
        traces = Traces([text])
        is_said = any(traces.stand_in(json_text(value)) for _, value in active) or any(
            traces.stand_in(content)
            for content in contents.filter(normalized_content__contains=form).values_list("content", flat=True)[:20]
        )
        yield _Ended(key, traces, needs_key=is_said or _TELLING.search(text) is None)


def _list_ended_contents(user: User, whole: str) -> list[str]:
    """The contents of ended atomic memories of which every word is in the texts, and that no successor repeats."""
    mine = AtomicMemory.objects.filter(user=user)
    terms = sorted(set(bm25_terms(whole)))
    rows = mine.filter(status=Status.SUPERSEDED, terms__overlap=terms)
    found = list(rows.order_by("-updated_at", "id").values_list("content", "superseded_by__content")[:NEWEST_CONTENTS])
    if not found:
        return []
    active = set(mine.filter(status=Status.ACTIVE).values_list("normalized_content", flat=True)[:NEWEST])
    said = [
        (content, successor) for content, successor in found if has_content(content) and is_said_by(content, said=whole)
    ]
    return [
        content
        for content, successor in said
        if normalize_value(content) not in active and not _is_repeated(content, successor)
    ]


def _is_repeated(content: str, successor: Any) -> bool:
    """Whether what took a memory's place says it as well, and does not deny it."""
    return bool(successor) and is_said_by(content, said=successor) and not denies_anything(successor)
