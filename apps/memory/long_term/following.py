"""Long-term memory follows atomic memory: what the one says now, the other does not go on contradicting (A3, L3).

A turn may miss what its message states; the extraction after it takes up more. Only what is there is changed, never
anything new learned.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from apps.accounts.models import User
from apps.core.llm.offline.statements import Entry
from apps.core.llm.offline.told import read_told
from apps.core.text.fold import normalize_key, normalize_value
from apps.memory.long_term.changes import list_items
from apps.memory.long_term.ledger import SAID_AT
from apps.memory.long_term.proposals import STATED_CONFIDENCE, Proposal
from apps.memory.long_term.reconcile import Concept, find_concept
from apps.memory.long_term.services import record_proposals
from apps.memory.long_term.types import Mode
from apps.memory.models import SEARCH_FIELDS, AtomicMemory, LongTermMemory, Source, Status


@dataclass(frozen=True, slots=True)
class _Statement:
    """What `memory` states about `concept` (`holds`), or, where it made another one end, what no longer holds."""

    concept: Concept
    values: tuple[str, ...]
    holds: bool
    memory: AtomicMemory


def follow_memories(
    *, user: User, memories: Sequence[AtomicMemory], auto_accept_confidence: float, now: datetime
) -> None:
    """Bring the long-term memories into line with atomic memories just made, changed or superseded.

    An attribute of which an active one states another value gets that value, if it was said later. What a superseded
    one stated, and its successor does not, ends. One query where there is nothing to do, none where nothing is stated.
    """
    has_ended = any(memory.status == Status.SUPERSEDED for memory in memories)
    held = _list_held(memories) if has_ended else frozenset()
    statements = [statement for memory in memories for statement in _list_statements(memory, held=held)]
    keys = {key for statement in statements for key in statement.concept.keys}
    if not keys:
        return
    rows = LongTermMemory.objects.filter(user=user, status=Status.ACTIVE, normalized_key__in=keys)
    for row in rows.annotate(said_at=SAID_AT).defer(*SEARCH_FIELDS):
        for statement in statements:
            proposal = _propose(row, statement) if row.normalized_key in statement.concept.keys else None
            if proposal is None or row.said_at >= statement.memory.timestamp:
                continue
            record_proposals(
                user=user,
                proposals=[proposal],
                session_id=statement.memory.session_id,
                message_id=statement.memory.message_id,
                said_at=statement.memory.timestamp,
                message_text=statement.memory.content,
                auto_accept_confidence=auto_accept_confidence,
                now=now,
            )


def _list_held(memories: Sequence[AtomicMemory]) -> frozenset[tuple[str, str]]:
    """The concepts, with normalised values, of which active memories state that they hold: also what is left of one
    of which a part has ended."""
    return frozenset(
        (concept.name, normalize_value(value))
        for memory in memories
        if memory.status == Status.ACTIVE
        for concept, values in _read(memory.content)
        for value in values
    )


def _list_statements(memory: AtomicMemory, *, held: frozenset[tuple[str, str]]) -> Iterator[_Statement]:
    successor = memory.superseded_by
    if memory.status == Status.ACTIVE:
        for concept, values in _read(memory.content):
            if not concept.is_list:
                yield _Statement(concept, values, holds=True, memory=memory)
    elif memory.status == Status.SUPERSEDED and successor is not None and successor.timestamp >= memory.timestamp:
        stated = {concept.name for concept, _values in _read(successor.content)}
        for concept, values in _read(memory.content):
            over = tuple(value for value in values if (concept.name, normalize_value(value)) not in held)
            if over and (concept.is_list or concept.name not in stated):
                yield _Statement(concept, over, holds=False, memory=successor)


def _read(content: str) -> Iterator[tuple[Concept, tuple[str, ...]]]:
    for entry in read_told(content):
        concept = find_concept(normalize_key(entry.key))
        if concept is not None and _is_plain(entry):
            yield concept, tuple(map(str, list_items(entry.value)))


def _is_plain(entry: Entry) -> bool:
    return not entry.about and entry.source == "user_stated" and entry.mode != "remove"


def _propose(row: LongTermMemory, statement: _Statement) -> Proposal | None:
    """What `statement` changes about an active memory of its concept; None where the two agree."""
    proposal = Proposal(
        category=row.category,
        key=row.key,
        value=statement.values[0],
        source=Source.USER_STATED,
        confidence=STATED_CONFIDENCE,
        mode=Mode.REPLACE,
        normalized_key=row.normalized_key,
    )
    if statement.holds:
        agrees = not isinstance(row.value, str) or _says_the_same(row.value, statement.values[0])
        return None if agrees else proposal
    stated = {normalize_value(value) for value in statement.values}
    ended: list[Any] = [item for item in list_items(row.value) if normalize_value(item) in stated]
    return replace(proposal, value=ended, mode=Mode.REMOVE) if ended else None


def _says_the_same(one: str, other: str) -> bool:
    """Whether one of two values is the other in more words: 上海 and 上海市浦东新区."""
    first, second = normalize_value(one), normalize_value(other)
    return first in second or second in first
