"""How what is taken from messages relates to a person's active memories (A3): by rules and by learned models."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from uuid import UUID

from apps.accounts.models import User
from apps.core.text.sentences import split_sentences
from apps.memory.atomic.compare import REPEATS, Relation, compare
from apps.memory.atomic.facts import find_left
from apps.memory.atomic.learned import LearnedComparison, group_contents
from apps.memory.atomic.repeats import fills_otherwise
from apps.memory.atomic.selectors import list_compared_memories
from apps.memory.atomic.types import ExtractedMemory
from apps.memory.models import AtomicMemory

Related = tuple[AtomicMemory, Relation]
"""An active memory, and what a draft is to it."""


class KnownMemories:
    """A person's active memories, newest first, as they are while drafts are recorded one after the other."""

    def __init__(self, user: User, drafts: Sequence[ExtractedMemory], *, doubted: Collection[UUID]) -> None:
        """`drafts`: all that will be compared; `doubted`: the messages of which not everything is believed."""
        self.rows = list(list_compared_memories(user.pk))
        contents = group_contents([(draft.message_id, draft.content) for draft in drafts])
        self._learned = LearnedComparison(user, rows=self.rows, contents=contents, doubted=doubted)

    def add(self, row: AtomicMemory) -> None:
        """Count on a new memory."""
        self.rows.insert(0, row)
        self._learned.read(row)

    def read_anew(self, row: AtomicMemory) -> None:
        """Take note of another content of a memory."""
        self._learned.read(row)

    def drop(self, row: AtomicMemory) -> None:
        """Count no longer on a memory that has ended."""
        self.rows.remove(row)
        self._learned.drop(row)

    def find_left(self, row: AtomicMemory, draft: ExtractedMemory) -> list[str]:
        """Return the facts of a memory that still hold after what was said with the draft has ended one of them."""
        return find_left(
            row.content,
            self._learned.get_said(draft.message_id),
            taken=self._learned.get_taken(draft.message_id),
        )

    def relate(self, draft: ExtractedMemory) -> list[Related]:
        """Return what the draft is to each memory; never `Relation.DOUBTFUL` but where both stay."""
        cosines = self._learned.find_cosines(draft.content)
        return [(row, self._relate(row, draft, cosine=cosines.get(row.id))) for row in self.rows]

    def find_repeated(self, draft: ExtractedMemory, related: Sequence[Related]) -> Related | None:
        """Return the memory that the draft says again: by the rules, the same before more of it, else by the models."""
        for how in (Relation.SAME, Relation.REFINES):
            for row, relation in related:
                if relation is how:
                    return row, how
        rows = {row.id: row for row, relation in related if relation is Relation.NEW and _is_earlier(row, draft)}
        found = self._learned.find_repeated(list(rows), draft.content)
        return (rows[found[0]], found[1]) if found else None

    def holds(self, fact: str, *, of: AtomicMemory) -> bool:
        """Whether a fact of an ended memory is in no other one, and nothing said since has ended it."""
        return not any(
            (compare(row.content, fact) is Relation.SAME and not self._learned.doubts_repeat(row.id, fact))
            or (row.timestamp > of.timestamp and compare(fact, row.content) is Relation.CONTRADICTS)
            for row in self.rows
        )

    def _relate(self, row: AtomicMemory, draft: ExtractedMemory, *, cosine: float | None) -> Relation:
        if row.timestamp <= draft.said_at:
            relation = compare(row.content, draft.content, cosine=cosine)
        else:
            relation = compare(draft.content, row.content, cosine=cosine)
        if _is_earlier(row, draft):
            if relation in REPEATS and self._learned.doubts_repeat(row.id, draft.content):
                relation = Relation.NEW
            if relation is Relation.SAME and fills_otherwise(row.content, draft.content):
                relation = Relation.REFINES
            if relation is not Relation.CONTRADICTS and self._learned.has_ended(row.id, draft.message_id):
                return Relation.CONTRADICTS
            if relation is Relation.CONTRADICTS and self._learned.doubts_end(row.id, draft.message_id):
                return Relation.DOUBTFUL  # neither has it ended nor is it said again: both stay
        if relation is Relation.DOUBTFUL:
            return draft.relation if draft.target == row.id else Relation.NEW
        if (
            relation is Relation.SAME
            and row.timestamp <= draft.said_at
            and not _is_all_said(draft.content, row.content)
        ):
            return Relation.NEW
        return relation


def _is_earlier(row: AtomicMemory, draft: ExtractedMemory) -> bool:
    return row.timestamp < draft.said_at and row.message_id != draft.message_id


def _is_all_said(content: str, known: str) -> bool:
    """Whether `known` says each sentence of `content`: one of them that it says takes the others nowhere."""
    sentences = split_sentences(content)
    return len(sentences) < 2 or all(compare(known, sentence) is Relation.SAME for sentence in sentences)
