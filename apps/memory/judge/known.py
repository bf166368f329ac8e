"""Choosing the memories that a judge is shown beside new messages (A3): all while they are few, else the nearest.

Verdicts are only as good as what the judge was shown. Nothing is left out for being too far from the message by some
measure; only the budget leaves out, and then what is nearest to anything said goes in first.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import chain, zip_longest
from uuid import UUID

from django.db.models import Q

from apps.accounts.models import User
from apps.core.text.clean import estimate_tokens
from apps.core.text.sentences import split_sentences
from apps.memory.changes.records import find_written_by_owner
from apps.memory.judge.recorder import list_shown
from apps.memory.judge.types import KnownMemory
from apps.memory.kinds import ATOMIC, LONG_TERM
from apps.memory.models import AtomicMemory, AtomicSource
from apps.memory.recall.atomic import find_similar_memories
from apps.memory.recall.long_term import retrieve_relevant_memories
from apps.memory.types import KindName
from apps.memory.vectors.embedders import list_models_in_use
from apps.memory.vectors.queries import QueryEmbedding, embed_queries

# What changes in a life and is told in passing, worded as memories begin: those nearest to it are shown whatever the
# messages are about. In both languages, as neighbours of a half sentence are mostly of its own.
KEYED_ATTRIBUTES = (
    *("The user lives in", "用户住在"),
    *("The user works as", "用户的工作是"),
    *("The user is married; the user's partner", "用户的伴侣；用户单身"),
    *("The user's health: pregnant, allergic, weighs, takes", "用户的健康：怀孕，过敏，体重，在吃的药"),
    *("The user plans to", "用户打算"),
    *("The user eats and drinks", "用户吃，用户喝"),
    *("The user has, the user owns", "用户有"),
    *("Every day or week, at what time the user", "用户每天、每周几点"),
)

NEAREST_PER_PROBE = 50
# Messages and sentences that are searched with: a long pasted text is searched by its beginning and its end.
MAX_PROBES = 40

MAX_READ = 1_000  # newest atomic memories that are looked at to see whether all of them fit
_TOKENS_PER_LINE = 30  # what the fields beside a text take in the prompt


# The lines of one memory, as they are shown: one, or one for each item of a list.
Lines = Sequence[KnownMemory]


def list_known_memories(
    user: User, *, said: Sequence[str], message_ids: Collection[UUID], budget: int
) -> list[KnownMemory]:
    """Return the active memories of both kinds that a judge of `said` is shown, numbered from 1, oldest first.

    `said`: texts of messages, with those before that they may answer. `message_ids`: of the messages to be judged;
    long-term memories that came of them are left out. `budget`: in tokens, as estimated. A list among the long-term
    memories is one line for each item. Where the budget does not hold all, half of it goes to long-term memories first;
    the rest to the nearest of each message, each sentence and each of `KEYED_ATTRIBUTES`, the best of each first, until
    it is full.
    Four queries while all fit, else two more for each text that is searched with, and one call of the embedder.
    """
    long_term = _read_long_term(user, message_ids)
    atomic = _read_atomic(user, ATOMIC.active(user).order_by("-timestamp")[: MAX_READ + 1])
    chosen = [*long_term, *atomic]
    if len(atomic) > MAX_READ or sum(map(_count_tokens, chosen)) > budget:
        chosen = _choose_nearest(user, long_term, said=said, budget=budget)
    chosen.sort(key=_order)
    by_owner = find_written_by_owner(user, {lines[0].memory_id for lines in chosen})
    return [
        replace(line, number=number, by_owner=line.memory_id in by_owner)
        for number, line in enumerate(chain.from_iterable(chosen), start=1)
    ]


def _order(lines: Lines) -> tuple[datetime, str]:
    first = lines[0]
    assert first.said_at is not None
    return first.said_at, str(first.memory_id)


def _count_tokens(lines: Lines) -> int:
    return sum(estimate_tokens(line.text) + _TOKENS_PER_LINE for line in lines)


def _read_atomic(user: User, rows: Iterable[AtomicMemory]) -> list[Lines]:
    return [
        [
            KnownMemory(
                KindName.ATOMIC,
                row.id,
                row.content,
                said_at=row.timestamp,
                event=row.event_start,
                until=row.valid_until,
                by_assistant=row.source == AtomicSource.ASSISTANT,
                elsewhere=row.space_id != user.sight.space,
            )
        ]
        for row in rows
    ]


def _read_long_term(user: User, message_ids: Collection[UUID]) -> list[Lines]:
    rows = LONG_TERM.active(user).filter(Q(message_id=None) | ~Q(message_id__in=message_ids))
    return [
        [
            KnownMemory(
                KindName.LONG_TERM,
                row.id,
                text,
                item,
                key=row.key,
                said_at=row.updated_at,
                until=row.valid_until,
                elsewhere=row.space_id != user.sight.space,
            )
            for item, text in list_shown(key=row.key, value=row.value)
        ]
        for row in rows.order_by().only("id", "key", "value", "updated_at", "valid_until", "space")
    ]


def _choose_nearest(user: User, long_term: Sequence[Lines], *, said: Sequence[str], budget: int) -> list[Lines]:
    probes = list(dict.fromkeys([*_list_probes(said), *KEYED_ATTRIBUTES]))
    vectors = embed_queries(probes)
    by_id = {lines[0].memory_id: lines for lines in long_term}
    order: Iterable[UUID] = by_id
    if sum(map(_count_tokens, long_term)) > budget // 2:
        order = _take_turns([_search_long_term(user, probe, vectors.get(probe)) for probe in probes])
    chosen, left = _fill((by_id[found] for found in order if found in by_id), budget // 2)
    nearest = list(_take_turns([_search_atomic(user, probe, vectors.get(probe)) for probe in probes]))
    rows = ATOMIC.active(user).in_bulk(nearest)
    atomic = _read_atomic(user, (rows[found] for found in nearest if found in rows))
    return [*chosen, *_fill(atomic, left + budget - budget // 2)[0]]


def _list_probes(said: Sequence[str]) -> list[str]:
    """The messages, and the sentences of those that have several; of very many the first and the last."""
    probes: list[str] = []
    for text in filter(None, (text.strip() for text in said)):
        sentences = [sentence for part in split_sentences(text) if (sentence := part.strip())]
        probes += [text, *(sentences if len(sentences) > 1 else ())]
    probes = list(dict.fromkeys(probes))
    half = MAX_PROBES // 2
    return probes if len(probes) <= MAX_PROBES else [*probes[:half], *probes[-half:]]


def _search_atomic(user: User, probe: str, vector: QueryEmbedding | None) -> list[UUID]:
    return find_similar_memories(
        user=user, text=probe, limit=NEAREST_PER_PROBE, query_embedding=vector, with_withheld=True
    )


def _search_long_term(user: User, probe: str, vector: QueryEmbedding | None) -> list[UUID]:
    found = retrieve_relevant_memories(
        user=user,
        message=probe,
        limit=NEAREST_PER_PROBE,
        query_embedding=vector,
        min_similarity=-1.0,
        with_withheld=True,
    )
    return [memory.candidate.id for memory in found]


def _take_turns(found: Sequence[Sequence[UUID]]) -> Iterator[UUID]:
    """The best of every probe, then the second of every one, and so on; each once."""
    ranked = chain.from_iterable(zip_longest(*found))
    return iter(dict.fromkeys(memory_id for memory_id in ranked if memory_id is not None))


def _fill(found: Iterable[Lines], budget: int) -> tuple[list[Lines], int]:
    """What fits into the budget, best first, and what is left of it."""
    chosen = []
    for lines in found:
        if (tokens := _count_tokens(lines)) <= budget:
            chosen.append(lines)
            budget -= tokens
    return chosen, budget


# Of the similarity at which two texts are said to be about the same. "Tied the knot", "got married": paraphrases are
# near, not close; what was made up is at right angles. Both measured with the local embedder (0.2: 10 of 12, 2 of 11).
_SHARE_OF_FLOOR = 0.5

_MOST_PARTS = 100  # messages and sentences that are compared


def list_paraphrases(texts: Sequence[str], *, said: Sequence[str]) -> set[str] | None:
    """Return those of `texts` that are near to one of the texts `said`; None where no embedder answers."""
    if not texts:
        return set()
    # A long message is about many things: each of its sentences is compared, too.
    parts = [*said, *(part for text in said for part in split_sentences(text))][:_MOST_PARTS]
    list_models_in_use()  # the first message of all may come here before anything was embedded
    vectors = embed_queries([*texts, *parts])
    if not vectors:
        return None
    heard = [vectors[text] for text in parts if text in vectors]
    return {
        text
        for text in texts
        if (own := vectors.get(text)) is not None
        and any(float(own.vector @ other.vector) >= own.min_similarity * _SHARE_OF_FLOOR for other in heard)
    }
