"""What used to be: superseded memories, recalled only where a question is about the past; cut out of notes elsewhere.

Summaries and replies repeat values that were corrected, forgotten or muted since (L3, L6, L9, L10). They stay as they
were written; what is put before a model leaves out the sentences that no longer hold. So it is right at once, in every
session, and what is undone is there again.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any
from uuid import UUID

from django.db.models import Q

from apps.accounts.models import User
from apps.accounts.spaces import seen_from, seen_sql, sight_parameters
from apps.core.db import fetch_prepared, fetch_rows
from apps.core.text.clean import json_text, readable_text
from apps.core.text.fold import fold, fold_for_search, normalize_value
from apps.core.text.grounding import Traces, has_content, is_said_by, list_unsaid
from apps.core.text.search import bm25_terms
from apps.core.text.segment import holds_chinese
from apps.core.text.sentences import split_sentences
from apps.memory.judge.twins import denies_anything, list_lost, shares_key
from apps.memory.keyed import list_items
from apps.memory.kinds import ATOMIC, LONG_TERM
from apps.memory.models import AtomicMemory, LongTermMemory, Status
from apps.memory.tombstones import Said, digest_values, find_deleted, find_tombstones
from apps.memory.types import KindName
from apps.memory.vectors.queries import QueryEmbedding

REMOVED = "…"  # what stands where nothing is left of a text

NEWEST_VALUES, NEWEST_CONTENTS = 1_000, 300  # ended long-term and atomic memories whose texts are cut out of notes

# A value that says by itself what it is about; of another ("green", 杭州) the sentence must name its key, too.
_TELLING = re.compile(r"\d|[A-Z]|[\u3400-\u9fff]{4}")


_ENDED, _HOLDS = Q(status=Status.SUPERSEDED) | Q(muted=True), Q(status=Status.ACTIVE, muted=False)

# Whether anything of a person's has ended, and whether anything was deleted: most turns need to know no more.
_HAS_ENDED = """
SELECT EXISTS (SELECT FROM long_term_memory WHERE user_id = %(user)s AND status = 'superseded')
       OR EXISTS (SELECT FROM long_term_memory WHERE user_id = %(user)s AND muted)
       OR EXISTS (SELECT FROM atomic_memory WHERE user_id = %(user)s AND status = 'superseded')
       OR EXISTS (SELECT FROM atomic_memory WHERE user_id = %(user)s AND muted),
       EXISTS (SELECT FROM forgotten_key WHERE user_id = %(user)s)
"""


@dataclass(frozen=True, slots=True)
class _Ended:
    key: str
    traces: Traces
    needs_key: bool


def cut_ended(user: User, texts: Sequence[str]) -> list[str]:
    """Return the texts without the sentences that say what has ended or is muted; `REMOVED` where nothing is left.

    Sentences stay that say what a memory says that holds. One statement, and at most four queries for whoever has such
    memories; none without a text.
    """
    whole = "\n".join(texts)
    if not has_content(whole) or not _find_ended(user)[0]:
        return list(texts)
    return _leave_out_ended(user, texts, whole)


def cut_replies(user: User, replies: Sequence[Said]) -> list[str]:
    """Return replies likewise, and without the sentences that say what was deleted since; "" where nothing is left.

    Of what was deleted there are only tombstones: a sentence is recognised that is one of an atomic memory, or that has
    a word that was a value. The queries of `cut_ended`, and one.
    """
    texts = [reply for reply, _said_at in replies]
    whole = "\n".join(texts)
    if not has_content(whole):
        return texts
    has_ended, has_deleted = _find_ended(user)
    if has_deleted:
        deleted = find_deleted(user, {(part, said_at) for reply, said_at in replies for part in split_sentences(reply)})
        texts = [_cut(text, {part for part, at in deleted if at == said_at}.__contains__) for text, said_at in replies]
    if has_ended:
        texts = _leave_out_ended(user, texts, whole)
    return ["" if text == REMOVED else text for text in texts]


def _find_ended(user: User) -> tuple[bool, bool]:
    ((has_ended, has_deleted),) = fetch_prepared(_HAS_ENDED, {"user": user.pk})
    return has_ended, has_deleted


def _leave_out_ended(user: User, texts: Sequence[str], whole: str) -> list[str]:
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
    mine = LongTermMemory.objects.filter(seen_from(user), user=user)
    rows = mine.filter(_ENDED).order_by("-updated_at", "id")
    found = [
        (key, normalized_key, item, form)
        for key, normalized_key, value in rows.values_list("key", "normalized_key", "value")[:NEWEST_VALUES]
        for item in list_items(value)
        if not isinstance(item, bool | dict | None) and len(form := normalize_value(item)) > 1 and form in whole
    ]
    if not found:
        return
    active = list(LONG_TERM.active(user).filter(_HOLDS).order_by().values_list("normalized_key", "value"))
    current = dict(active)
    contents = ATOMIC.active(user).filter(_HOLDS).order_by()
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
    mine = AtomicMemory.objects.filter(seen_from(user), user=user)
    terms = sorted(set(bm25_terms(whole)))
    rows = mine.filter(_ENDED, terms__overlap=terms)
    found = list(rows.order_by("-updated_at", "id").values_list("content", "superseded_by__content")[:NEWEST_CONTENTS])
    if not found:
        return []
    active = set(mine.filter(_HOLDS).values_list("normalized_content", flat=True)[:NEWEST_VALUES])
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


NEWEST = 500  # ended memories of each kind among which a question about the past looks
NEAR = 0.15  # so much nearer than the embedder's floor is what shares no word with the question

_CUES_FILE = Path(__file__).with_name("past_cues.txt")
_ASKS = re.compile(
    r"(?i)[?？]|\b(?:what|where|who|whose|which|when|how|tell me|remind)\b|吗|什么|哪|谁|多少|几|告诉|记得|记不记得"
)
_DEADLINE = re.compile(r"[\d点号日天周月年](?:以前|之前)")  # 八点以前 is a time, not the past

_SEEN = seen_sql("memory")

_LONG_TERM = f"""
SELECT memory.id, memory.category, memory.key, memory.value::text, active.value::text, memory.created_at,
       COALESCE(said.create_time, memory.updated_at), 1 - (vector.embedding <=> %(vector)s::halfvec)
FROM long_term_memory AS memory
LEFT JOIN long_term_memory AS active
    ON active.user_id = memory.user_id AND active.normalized_key = memory.normalized_key AND active.status = 'active'
   AND active.space_id IS NOT DISTINCT FROM memory.space_id
LEFT JOIN long_term_memory AS successor ON successor.id = memory.superseded_by_id
LEFT JOIN conversation AS said ON said.id = successor.message_id
LEFT JOIN long_term_embedding AS vector ON vector.memory_id = memory.id AND vector.model_id = %(model)s
WHERE memory.user_id = %(user)s AND memory.status = 'superseded' AND NOT memory.muted AND {_SEEN}
ORDER BY memory.updated_at DESC, memory.id LIMIT %(newest)s
"""  # noqa: S608 - our own names

_ATOMIC = f"""
SELECT memory.id, memory.content, COALESCE(successor.content, ''), memory.timestamp,
       COALESCE(successor.timestamp, memory.updated_at), 1 - (vector.embedding <=> %(vector)s::halfvec)
FROM atomic_memory AS memory
LEFT JOIN atomic_memory AS successor ON successor.id = memory.superseded_by_id
LEFT JOIN atomic_embedding AS vector ON vector.memory_id = memory.id AND vector.model_id = %(model)s
WHERE memory.user_id = %(user)s AND memory.status = 'superseded' AND NOT memory.muted AND {_SEEN}
ORDER BY memory.updated_at DESC, memory.id LIMIT %(newest)s
"""  # noqa: S608 - as above


@dataclass(frozen=True, slots=True)
class FormerMemory:
    """A memory that held `until` then, an atomic one since `said_at`.

    `line`: what is said of it, by name; `score`: a cosine, or 1 for its key.
    """

    id: UUID
    kind: KindName
    text: str
    line: dict[str, str]
    until: datetime
    score: float
    said_at: datetime | None = None


def asks_about_past(message: str) -> bool:
    """Whether a message asks what used to be ("my previous number", 以前住在哪里); nothing else recalls the past."""
    folded = fold(message)
    if not _ASKS.search(message) or _DEADLINE.search(folded):
        return False
    words = " ".join(re.findall(r"[a-z]+", folded))
    return any(
        cue in folded if holds_chinese(cue) else re.search(rf"\b{cue}\b", words) is not None for cue in _load_cues()
    )


def recall_former(
    *, user: User, message: str, limit: int, query_embedding: QueryEmbedding | None
) -> list[FormerMemory]:
    """Return at most `limit` superseded memories of each kind that a question about the past asks for, newest first.

    Long-term: those whose key it names, or that are near to it; values that are current again are left out. Atomic:
    those with its words, without what is said by one before it. Two statements, and two more for what was forgotten.
    """
    if limit < 1 or not asks_about_past(message):
        return []
    parameters = {
        "user": user.pk,
        "vector": query_embedding.sql if query_embedding else None,
        "model": query_embedding.model_id if query_embedding else None,
        "newest": NEWEST,
        **sight_parameters(user),
    }
    floor = query_embedding.min_similarity + NEAR if query_embedding else 1.0
    entries = _choose_entries(user, fetch_rows(_LONG_TERM, parameters), message, floor=floor)[:limit]
    shown = Shown([f"{found.line['key']} {found.text}" for found in entries])
    values = [found.line["value"] for found in entries]
    contents = _choose_contents(user, fetch_rows(_ATOMIC, parameters), message, floor=floor)
    # "I live in Leeds." says nothing beside ``home: Leeds``.
    told = [
        one for one in contents if not any(fold(value) in fold(one.text) for value in values) and shown.add(one.text)
    ]
    return [*entries, *told[:limit]]


def _choose_entries(user: User, rows: Sequence[tuple[Any, ...]], message: str, *, floor: float) -> list[FormerMemory]:
    found, seen = [], set[tuple[str, str]]()
    for row_id, category, key, stored, active, _made, until, cosine in rows:
        named = shares_key(key, message)
        if not named and (cosine is None or cosine < floor):
            continue
        lost = list_lost(json.loads(stored), json.loads(active) if active else None)
        same = (fold(key), normalize_value(lost))
        if not lost or same in seen:
            continue
        seen.add(same)
        value = readable_text(lost if len(lost) > 1 else lost[0])
        line = {"category": category, "key": key, "value": value}
        text, score = f"{key}: {value}", 1.0 if named else float(cosine)
        found.append((FormerMemory(row_id, KindName.LONG_TERM, text, line, until, score), lost))
    digests = {one.id: digest_values(user, lost) for one, lost in found}
    forgotten = find_tombstones(user, {each for mine in digests.values() for each in mine}) if found else {}
    kept = [one for one, _lost in found if digests[one.id].isdisjoint(forgotten)]
    best = max((one.score for one in kept), default=0.0)
    # Where the question names an attribute, what is merely near to it is another one.
    return sorted((one for one in kept if one.score == 1.0 or best < 1.0), key=lambda one: one.until, reverse=True)


def _choose_contents(user: User, rows: Sequence[tuple[Any, ...]], message: str, *, floor: float) -> list[FormerMemory]:
    asked = list_unsaid(message, said=" ".join(_load_cues()))
    found = []
    for row_id, content, successor, said_at, until, cosine in rows:
        unsaid = set(list_unsaid(" ".join(asked), said=content))
        shares = sum(word not in unsaid for word in asked) / len(asked) if asked else 0.0
        holds_on = successor and not denies_anything(successor) and not list_unsaid(content, said=successor)
        if holds_on or (shares < 0.5 and (cosine is None or cosine < floor)):
            continue
        line = {"text": content}
        found.append(FormerMemory(row_id, KindName.ATOMIC, content, line, until, max(shares, cosine or 0.0), said_at))
    times = {one.id: (one.text, one.said_at) for one in found if one.said_at}
    deleted = find_deleted(user, times.values()) if times else set()
    return [one for one in found if times.get(one.id) not in deleted]


@cache
def _load_cues() -> tuple[str, ...]:
    lines = _CUES_FILE.read_text("utf-8").splitlines()
    cues = (line.strip() for line in lines if line.strip() and not line.startswith("#"))
    # The words of an English line may have others between them.
    return tuple(cue if holds_chinese(cue) else cue.replace(" ", r"(?: [a-z]+){0,5} ") for cue in cues)


MISSING_SHARE = 0.1  # A text says nothing new if another one has all but so many of its words

# The same said in other words: a memory is shorter than the sentence that it was made of.
TOLD_SHARE = 0.4

_DIGIT = re.compile(r"\d")
_NEGATION = re.compile(r"\b(?:not|no|never|none|nothing|nobody|without|cannot)\b|n['’]t\b|[不没未无别]")


@dataclass(frozen=True, slots=True)
class _Said:
    """A text as others are looked for in it: folded, and whether it denies something."""

    folded: str
    negated: bool

    def says(self, terms: Collection[str], *, negated: bool) -> bool:
        """Whether another text of these terms says nothing beyond this: no word, no number, no denial."""
        if negated != self.negated:
            return False
        missing = [term for term in terms if not self._has(term)]
        return len(missing) <= MISSING_SHARE * len(terms) and not any(map(_DIGIT.search, missing))

    def _has(self, term: str) -> bool:
        if term not in self.folded:
            return False
        # 7 is not in 17:45.
        return not _DIGIT.search(term) or re.search(rf"(?<!\d){re.escape(term)}(?!\d)", self.folded) is not None


class Shown:
    """Texts that are shown, such as the messages of the window; each that adds something joins them.

    They are not cut into words, which would take longer than everything else of a prompt: terms are looked for in them.
    """

    def __init__(self, texts: Iterable[str] = ()) -> None:
        self._texts = [_read(text) for text in texts]

    def add(self, text: str) -> bool:
        """Whether `text` says anything that no single text shown says; then it is one of them from now on.

        A text without any word to compare, such as 😀, is never taken for a repetition.
        """
        said, terms = _read(text), set(bm25_terms(text))
        repeats = bool(terms) and any(known.says(terms, negated=said.negated) for known in self._texts)
        if not repeats:
            self._texts.append(said)
        return not repeats


def tells_all(memories: Sequence[str], message: str) -> bool:
    """Whether memories that came from a message tell all of it: each sentence with two words or more, by half of them.

    A memory may hold one sentence of its message; of several, the others may be what is asked for.
    """
    known = [set(bm25_terms(memory)) for memory in memories]
    sentences = split_sentences(message)
    if len(sentences) < 2 or not known:
        return bool(known)
    telling = [words for sentence in sentences if len(words := set(bm25_terms(sentence))) > 1]
    return all(any(len(words & one) >= TOLD_SHARE * len(words) for one in known) for words in telling)


def _read(text: str) -> _Said:
    folded = fold_for_search(text)
    return _Said(folded=folded, negated=_NEGATION.search(folded) is not None)
