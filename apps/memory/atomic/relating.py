"""How what is taken from messages relates to a person's active memories (A3): by rules and by learned models."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from apps.accounts.models import User
from apps.core.text.sentences import split_sentences
from apps.memory.atomic.compare import REPEATS, Relation, compare
from apps.memory.atomic.facts import find_left
from apps.memory.atomic.learned import LearnedComparison, group_contents
from apps.memory.atomic.partly import names_a_part
from apps.memory.atomic.repeats import fills_otherwise
from apps.memory.atomic.selectors import DERIVED_FIELDS, list_compared_memories
from apps.memory.atomic.siblings import list_unnamed
from apps.memory.atomic.types import ExtractedMemory
from apps.memory.models import AtomicMemory

Related = tuple[AtomicMemory, Relation]
"""An active memory, and what a draft is to it."""


@dataclass(frozen=True, slots=True)
class _Known:
    """What comparing reads of a memory: few of a thousand are needed whole, which takes five times as long to read."""

    id: UUID
    content: str
    timestamp: datetime
    message_id: UUID | None


class KnownMemories:
    """A person's active memories, newest first, as they are while drafts are recorded one after the other."""

    def __init__(self, user: User, drafts: Sequence[ExtractedMemory], *, doubted: Collection[UUID]) -> None:
        """`drafts`: all that will be compared; `doubted`: the messages of which not everything is believed."""
        self._rows: dict[UUID, AtomicMemory] = {}
        rows = list_compared_memories(user.pk).values_list("id", "content", "timestamp", "message_id")
        self._known = [_Known(*values) for values in rows]
        contents = group_contents([(draft.message_id, draft.content) for draft in drafts])
        texts = {known.id: known.content for known in self._known}
        asides = {draft.message_id for draft in drafts if draft.is_aside}
        self._learned = LearnedComparison(user, texts=texts, contents=contents, doubted=doubted, asides=asides)

    def add(self, row: AtomicMemory) -> None:
        """Count on a new memory."""
        self._rows[row.id] = row
        self._known.insert(0, _read(row))
        self._learned.read(row)

    def read_anew(self, row: AtomicMemory) -> None:
        """Take note of another content of a memory."""
        self._known = [_read(row) if known.id == row.id else known for known in self._known]
        self._learned.read(row)

    def drop(self, row: AtomicMemory) -> None:
        """Count no longer on a memory that has ended."""
        self._known = [known for known in self._known if known.id != row.id]
        self._learned.drop(row)

    def find_left(self, row: AtomicMemory, draft: ExtractedMemory) -> list[str]:
        """Return the facts of a memory that still hold after what was said with the draft has ended one of them."""
        return find_left(
            row.content,
            self._learned.get_said(draft.message_id),
            taken=self._learned.get_taken(draft.message_id),
        )

    def relate(self, draft: ExtractedMemory) -> list[Related]:
        """Return the memories to which the draft is not new, and what it is; `Relation.DOUBTFUL`: both stay."""
        cosines = self._learned.find_cosines(draft.content)
        relations = {known: self._relate(known, draft, cosine=cosines.get(known.id)) for known in self._known}
        ended = [known for known, relation in relations.items() if relation is Relation.CONTRADICTS]
        relations |= self._look_closer(ended, draft)
        related = {known.id: relation for known, relation in relations.items() if relation is not Relation.NEW}
        return list(zip(self._get_rows(list(related)), related.values(), strict=True))

    def _look_closer(self, ended: Sequence[_Known], draft: ExtractedMemory) -> dict[_Known, Relation]:
        """What the draft is to those that it does not end, or not as a whole: of some, a sibling is meant, and of one
        that joins several things in words which cannot be told apart, a part; it is told on as a whole."""
        said = self._learned.get_said(draft.message_id)
        unnamed = list_unnamed([known.content for known in ended], said.text)
        taken = self._learned.get_taken(draft.message_id)
        return {known: Relation.NEW for index, known in enumerate(ended) if index in unnamed} | {
            known: Relation.PARTLY
            for index, known in enumerate(ended)
            if index not in unnamed
            and known.timestamp <= draft.said_at
            and names_a_part(known.content, said.text)
            and not find_left(known.content, said, taken=taken)
        }

    def find_repeated(self, draft: ExtractedMemory, related: Sequence[Related]) -> Related | None:
        """Return the memory that goes on with the draft, as the same or with more.

        That of which it has ended a part, or that it says again: by the rules, the same before more of it, else by the
        models.
        """
        for how in (Relation.PARTLY, Relation.SAME, Relation.REFINES):
            for row, relation in related:
                if relation is how:
                    return row, how
        others = {row.id for row, _relation in related}
        earlier = [known.id for known in self._known if known.id not in others and _is_earlier(known, draft)]
        found = self._learned.find_repeated(earlier, draft.content)
        return (self._get_rows([found[0]])[0], found[1]) if found else None

    def _get_rows(self, ids: Sequence[UUID]) -> list[AtomicMemory]:
        missing = [memory for memory in ids if memory not in self._rows]
        if missing:
            self._rows |= AtomicMemory.objects.defer(*DERIVED_FIELDS).in_bulk(missing)
        return [self._rows[memory] for memory in ids]

    def holds(self, fact: str, *, of: AtomicMemory) -> bool:
        """Whether a fact of an ended memory is in no other one, and nothing said since has ended it."""
        return not any(
            (compare(known.content, fact) is Relation.SAME and not self._learned.doubts_repeat(known.id, fact))
            or (known.timestamp > of.timestamp and compare(fact, known.content) is Relation.CONTRADICTS)
            for known in self._known
        )

    def _relate(self, known: _Known, draft: ExtractedMemory, *, cosine: float | None) -> Relation:
        if known.timestamp <= draft.said_at:
            relation = compare(known.content, draft.content, cosine=cosine)
        else:
            relation = compare(draft.content, known.content, cosine=cosine)
        if _is_earlier(known, draft):
            if relation in REPEATS and self._learned.doubts_repeat(known.id, draft.content):
                relation = Relation.NEW
            if relation is Relation.SAME and fills_otherwise(known.content, draft.content):
                relation = Relation.REFINES
            if relation is not Relation.CONTRADICTS and self._learned.has_ended(known.id, draft.message_id):
                return Relation.CONTRADICTS
            if relation is Relation.CONTRADICTS and self._learned.doubts_end(known.id, draft.message_id):
                return Relation.DOUBTFUL  # neither has it ended nor is it said again: both stay
        if relation is Relation.DOUBTFUL:
            return draft.relation if draft.target == known.id else Relation.NEW
        if (
            relation is Relation.SAME
            and known.timestamp <= draft.said_at
            and not _is_all_said(draft.content, known.content)
        ):
            return Relation.NEW
        return relation


def _read(row: AtomicMemory) -> _Known:
    return _Known(id=row.id, content=row.content, timestamp=row.timestamp, message_id=row.message_id)


def _is_earlier(known: _Known, draft: ExtractedMemory) -> bool:
    return known.timestamp < draft.said_at and known.message_id != draft.message_id


def _is_all_said(content: str, known: str) -> bool:
    """Whether `known` says each sentence of `content`: one of them that it says takes the others nowhere."""
    sentences = split_sentences(content)
    return len(sentences) < 2 or all(compare(known, sentence) is Relation.SAME for sentence in sentences)
