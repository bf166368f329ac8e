"""Twins: memories of the two kinds that say the same. What ends one of them ends the other (A3, L3).

"My phone number is 555-0101." is learned twice, as ``phone: 555-0101`` and as a sentence. A sentence is a twin only as
far as it says nothing else that would be lost with it. The caller holds `lock_memories`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import Q

from apps.accounts.models import User
from apps.accounts.spaces import held_by
from apps.core.text.clean import json_text
from apps.core.text.fold import normalize_key, normalize_value
from apps.core.text.grounding import Traces, has_content, list_unsaid
from apps.core.text.sentences import split_sentences
from apps.core.text.text_cache import cache_texts
from apps.memory.changes.records import find_written_by_owner, get_author
from apps.memory.keyed import list_items, list_leaves, list_same_keys
from apps.memory.kinds import ATOMIC, LONG_TERM
from apps.memory.models import AtomicMemory, AtomicSource, Change, LongTermMemory, Status
from apps.memory.writer import Writer

# Of the one sentence that an entry comes from: "I moved to Leeds last year" says no more than ``home: Leeds``.
MOST_OTHER_WORDS = 3

# Words by which a sentence tells an attribute without naming it.
_TOLD_BY = {
    "home": "live lives living based moved move relocated settled reside 住在 居住 搬到 搬去 搬家 搬 定居 住",
    "city": "live lives living based moved move relocated settled 住在 居住 搬到 搬去 搬家 搬 定居 住",
    "address": "live lives living moved 住在 居住 搬到 搬家 住",
    "name": "called 叫 叫做 名叫",
    "employer": "work works working job employed hired joined 工作 上班 就职 任职 入职",
    "job": "work works working 工作 当 从事",
    "age": "years old year 岁 今年",
    "phone": "number reach call 号码",
    "hometown": "from born grew 来自",
    "partner": "married dating girlfriend boyfriend husband wife 结婚 妻子 丈夫 男朋友 女朋友",
    "pets": "have has own owns adopted 养 有",
    "languages": "speak speaks learning 说 会 讲",
    "allergies": "allergic 过敏",
}

_ALWAYS = "called named now currently current still these days new 现在 目前 如今 新"

_DENIAL = re.compile(
    r"(?i)\b(?:no longer|any ?more|not|never|quit|left|leaves?|stop(?:s|ped)?|ended|gave up|former(?:ly)?|used to|ex)\b"
    r"|n['’]t\b|不再|不是|不在|没有|离开|离职|辞|停|已经不|前"
)

_NOBODY = UUID(int=0)


@dataclass(frozen=True, slots=True)
class KeyedValue:
    """A value of a key, one item of a list by itself. `message_id`: where it was said, if that is known."""

    key: str
    value: Any
    message_id: UUID | None


def list_lost(before: Any, after: Any) -> list[Any]:
    """Return the items of a value that the value after it does not have any more; `after` None: all.

    "Leeds" is not lost in "Leeds, UK", which says more.
    """
    if isinstance(before, str) and isinstance(after, str) and Traces([before]).stand_in(after):
        return []
    kept = {normalize_value(item) for item in list_items(after)} if after is not None else set()
    return [item for item in list_items(before) if normalize_value(item) not in kept]


def end_atomic_twins(
    user: User,
    ended: Sequence[KeyedValue],
    *,
    said_at: datetime,
    message_id: UUID | None = None,
    operation: UUID,
    now: datetime,
) -> None:
    """End the atomic memories that say values which have ended, or the sentences that do, in the same operation.

    Those of the same space. Left alone: what was said after `said_at`, and, unless its owner asks for it by hand, what
    they wrote by hand.
    Three queries, and what writing takes.
    """
    rows = _list_tellers(user, ended)
    if twins := _choose_twins(ended, rows, entries=_read_entries(user) if rows else [], said_at=said_at):
        writer = Writer(user, now=now, operation=operation, message_id=message_id)
        for row, left in twins:
            writer.rewrite(ATOMIC, row, {"content": left} if left else None)
        writer.save()


def _read_entries(user: User) -> list[LongTermMemory]:
    """Return the active long-term memories."""
    return list(LONG_TERM.held(user).only("id", "key", "value", "message"))


def _list_tellers(user: User, ended: Iterable[KeyedValue]) -> list[AtomicMemory]:
    """Return the active atomic memories that may say some of these values. Two queries."""
    holds, ended = Q(), list(ended)
    for form in {normalize_value(part) for one in ended for part in list_leaves(one.value)} - {""}:
        holds |= Q(normalized_content__contains=form)
    if not holds:
        return []
    # What the assistant said stays what it said, whatever becomes of the value (A6).
    rows = list(ATOMIC.held(user).filter(holds, source=AtomicSource.USER_STATED).order_by("create_time", "id"))
    if not rows or get_author(user).origin in (Change.Origin.API, Change.Origin.PANEL):
        return rows
    by_hand = find_written_by_owner(user, [row.id for row in rows])  # nobody but their owner ends such unseen
    return [row for row in rows if row.id not in by_hand]


def _choose_twins(
    ended: Iterable[KeyedValue], rows: Iterable[AtomicMemory], *, entries: Sequence[LongTermMemory], said_at: datetime
) -> list[tuple[AtomicMemory, str]]:
    """Return those of the rows that say these values, with what is left of each; `entries`: what is known elsewhere."""
    rows = [row for row in rows if row.timestamp <= said_at]
    sentences = [(row.id, text.strip()) for row in rows for text in split_sentences(row.content) if text.strip()]
    sources = {row.id: row.message_id for row in rows}
    gone: dict[UUID, set[str]] = {}
    for one in ended:
        for row_id, text in _choose(one, sentences, sources=sources, others=entries):
            gone.setdefault(row_id, set()).add(text)
    return [(row, _join_left(row.content, gone[row.id])) for row in rows if row.id in gone]


def list_ended_values(user: User, message_ids: Collection[UUID | None]) -> list[KeyedValue]:
    """Return the values that these messages gave to keys which have another one, or none, by now. Two queries."""
    ids = {message_id for message_id in message_ids if message_id}
    mine = LongTermMemory.objects.filter(held_by(user), user=user)
    ended = mine.filter(message_id__in=ids, status=Status.SUPERSEDED) if ids else []
    rows = [(row.key, row.normalized_key, row.value, row.message_id) for row in ended]
    if not rows:
        return []
    active = mine.filter(status=Status.ACTIVE, normalized_key__in={row[1] for row in rows})
    current = dict(active.values_list("normalized_key", "value"))
    return [
        KeyedValue(key, item, message_id)
        for key, normalized_key, value, message_id in rows
        for item in list_lost(value, current.get(normalized_key))
    ]


def says_only(
    content: str, values: Sequence[KeyedValue], *, message_id: UUID | None, others: Sequence[LongTermMemory]
) -> bool:
    """Whether every sentence of a text from a message says one of these values and nothing else."""
    sentences = [(_NOBODY, text.strip()) for text in split_sentences(content) if text.strip()]
    said = {text for one in values for _, text in _choose(one, sentences, sources={_NOBODY: message_id}, others=others)}
    return bool(sentences) and said.issuperset(text for _, text in sentences)


def _choose(
    one: KeyedValue,
    sentences: Sequence[tuple[UUID, str]],
    *,
    sources: Mapping[UUID, UUID | None],
    others: Sequence[LongTermMemory],
) -> list[tuple[UUID, str]]:
    """The sentences that say the value of this key and nothing else; of its own message the one that must, too."""
    traces = _traces(one.value)
    holding = [(row_id, text) for row_id, text in sentences if traces.stand_in(text)]
    plain, own = [], []
    for row_id, text in holding:
        is_own = one.message_id is not None and sources[row_id] == one.message_id
        unsaid = _list_other_words(one, text, others=others)
        if not unsaid and (is_own or shares_key(one.key, text)):
            plain.append((row_id, text))
        elif is_own and len(unsaid) <= MOST_OTHER_WORDS:
            own.append((row_id, text))
    is_plain_own = any(sources[row_id] == one.message_id for row_id, _ in plain) if one.message_id else False
    return plain if is_plain_own or len(own) != 1 else [*plain, *own]


def _list_other_words(one: KeyedValue, text: str, *, others: Iterable[LongTermMemory]) -> list[str]:
    """What a sentence says besides a value that nothing else keeps."""
    known = [_key_words(one.key), json_text(one.value), _ALWAYS]
    for other in others:
        if other.key != one.key and any(_traces(item).stand_in(text) for item in list_items(other.value)):
            known += [_key_words(other.key), json_text(other.value)]
    return list_unsaid(text, said="\n".join(known))


def shares_key(key: str, text: str) -> bool:
    """Whether a text has a word of the key, or one by which sentences tell what it names."""
    return any(has_content(word) and not list_unsaid(word, said=text) for word in _key_words(key).split())


@cache_texts(2_000)
def _key_words(key: str) -> str:
    """The words of a key, of those that name the same attribute, and those by which sentences tell it."""
    normal = normalize_key(key)
    names = [key.replace("_", " "), normal, *list_same_keys(normal)]
    return " ".join([*names, *(words for name, words in _TOLD_BY.items() if normalize_key(name) in names)])


def _traces(value: Any) -> Traces:
    return Traces(list_leaves(value))


def _join_left(content: str, gone: Collection[str]) -> str:
    return "".join(text for text in split_sentences(content) if text.strip() not in gone).strip()


def denies_anything(text: str) -> bool:
    """Whether a text says of something that it is no longer so."""
    return _DENIAL.search(text) is not None
