"""Taking what was extracted from messages into atomic memory, so that it stays clean over years (A2, A3)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID, uuid4

from django.db import connection, transaction

from apps.accounts.models import User
from apps.core.llm.offline.language import detect_language
from apps.core.text.clean import clean_text
from apps.core.text.fold import normalize_value
from apps.core.text.instructions import is_instruction
from apps.core.text.keywords import extract_keywords
from apps.core.text.sentences import cut_at_sentence, split_sentences
from apps.memory.atomic.audit import describe_change, snapshot
from apps.memory.atomic.compare import REPEATS, Relation, compare
from apps.memory.atomic.facts import find_left
from apps.memory.atomic.learned import LearnedComparison, group_contents
from apps.memory.atomic.repeats import fills_otherwise
from apps.memory.atomic.selectors import DERIVED_FIELDS
from apps.memory.atomic.services import digest_content
from apps.memory.atomic.text import TEXT_FIELDS, normalize_content, set_content
from apps.memory.atomic.validation import MAX_TAG_CHARACTERS, MAX_TAGS, find_event_problem
from apps.memory.atomic.vectors import make_statement
from apps.memory.embeddings.memories import MemoryKind, embed_memories, store_memory_embeddings
from apps.memory.embeddings.vectors import to_sql
from apps.memory.forgotten import digest_text, find_forgotten
from apps.memory.history.services import record_changes
from apps.memory.history.types import ChangeDraft, Snapshot
from apps.memory.locking import lock_memories
from apps.memory.models import AtomicMemory, Change, Status

COMPARED = 1_000
"""Active memories that a new one is compared with, newest first: an attribute has no words to be looked up by."""

_MAX_KEYWORDS = 50

# By the primary keys, not by the vector index: that one would find other people's neighbours first.
_COSINES = """
SELECT memory_id, 1 - (embedding <=> %(vector)s::vector) FROM atomic_embedding
WHERE model_id = %(model)s AND memory_id = ANY(%(memories)s)
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractedMemory:
    """What a model took from a message of the user, said at `said_at`.

    `relation`, `target`: what the model takes it to be to a memory it was shown; counts only where rules cannot tell.
    """

    content: str
    said_at: datetime
    message_id: UUID
    session_id: UUID | None
    tags: Sequence[str] = ()
    event_start: datetime | None = None
    event_end: datetime | None = None
    confidence: float = 1.0
    relation: Relation = Relation.NEW
    target: UUID | None = None


def record_memories(
    *,
    user: User,
    drafts: Sequence[ExtractedMemory],
    max_length: int,
    auto_accept_confidence: float,
    now: datetime,
) -> list[AtomicMemory]:
    """Take drafts into a person's atomic memories, the earliest said first; returns the rows made or changed.

    The same again refreshes the row that is there, more of the same is merged into it, a contradiction supersedes it
    (A3); what was said before a memory never supersedes it but is kept as its history. Text that reads as an
    instruction, and what the model is less sure of than `auto_accept_confidence`, waits as pending. Left out: what was
    deleted after it was said (L6), what was rejected, and what this very message has left already.
    `max_length`: of a content in characters; longer ones are cut where a sentence ends.
    """
    drafts = [draft for draft in (_clean(draft, max_length=max_length) for draft in drafts) if draft.content]
    if not drafts:
        return []
    with transaction.atomic(savepoint=False):
        lock_memories(user)
        drafts = _drop_known(user, drafts)
        if not drafts:
            return []
        unsure = [
            draft for draft in drafts if draft.confidence < auto_accept_confidence or is_instruction(draft.content)
        ]
        recorder = _Recorder(user, drafts, unsure=unsure, max_length=max_length, now=now)
        for draft in sorted(drafts, key=lambda draft: draft.said_at):
            recorder.record(draft)
        return recorder.save()


def _clean(draft: ExtractedMemory, *, max_length: int) -> ExtractedMemory:
    tags = (" ".join(clean_text(tag).split())[:MAX_TAG_CHARACTERS] for tag in draft.tags)
    start, end = draft.event_start, draft.event_end
    if find_event_problem(start, end):
        start = end = None
    return ExtractedMemory(
        content=cut_at_sentence(clean_text(draft.content).strip(), max_length),
        said_at=draft.said_at,
        message_id=draft.message_id,
        session_id=draft.session_id,
        tags=[tag for tag in dict.fromkeys(tags) if tag][:MAX_TAGS],
        event_start=start,
        event_end=end,
        confidence=draft.confidence,
        relation=draft.relation,
        target=draft.target,
    )


def _drop_known(user: User, drafts: Sequence[ExtractedMemory]) -> list[ExtractedMemory]:
    """Without what was forgotten since it was said, was rejected, or has come from the same message before."""
    digests = {id(draft): _digests(user, draft.content) for draft in drafts}
    forgotten = find_forgotten(user, {digest for found in digests.values() for digest in found})
    contents = {normalize_content(draft.content) for draft in drafts}
    rows = AtomicMemory.objects.filter(user=user, normalized_content__in=contents)
    known = set(rows.values_list("normalized_content", "status"))
    rejected = {content for content, status in known if status == Status.REJECTED}
    waiting = {content for content, status in known if status == Status.PENDING}
    recorded: defaultdict[UUID | None, list[str]] = defaultdict(list)
    of_messages = AtomicMemory.objects.filter(user=user, message_id__in={draft.message_id for draft in drafts})
    for message, content in of_messages.values_list("message_id", "normalized_content"):
        recorded[message].append(content)
    kept = []
    for draft in drafts:
        content = normalize_content(draft.content)
        if _is_forgotten(digests[id(draft)], forgotten, said_at=draft.said_at):
            continue
        if content in rejected or content in waiting or any(content in one for one in recorded[draft.message_id]):
            continue
        kept.append(draft)
    return kept


def _digests(user: User, content: str) -> set[str]:
    """The digests under which the content, or a value that it is about, may have been forgotten."""
    values = {normalize_value(word) for word in extract_keywords(content, limit=_MAX_KEYWORDS)}
    return {digest_content(user, content), *(digest_text(user, kind="value", text=value) for value in values if value)}


def _is_forgotten(digests: Iterable[str], forgotten: Mapping[str, datetime], *, said_at: datetime) -> bool:
    """Whether anything with these digests was deleted since it was said (L6)."""
    return any(digest in forgotten and said_at <= forgotten[digest] for digest in digests)


def _is_all_said(content: str, known: str) -> bool:
    """Whether `known` says each sentence of `content`: one of them that it says takes the others nowhere."""
    sentences = split_sentences(content)
    return len(sentences) < 2 or all(compare(known, sentence) is Relation.SAME for sentence in sentences)


class _Recorder:
    """The person's active memories, changed in Python and written at once."""

    def __init__(
        self,
        user: User,
        drafts: Sequence[ExtractedMemory],
        *,
        unsure: Sequence[ExtractedMemory],
        max_length: int,
        now: datetime,
    ) -> None:
        """`unsure`: of the drafts, those that wait as pending: nothing ends by them."""
        self._user, self._max_length, self._now = user, max_length, now
        self._unsure = {id(draft) for draft in unsure}
        sure = [draft for draft in drafts if id(draft) not in self._unsure]
        contents = [draft.content for draft in drafts]
        self._model, vectors = next(iter(embed_memories(contents, at_once=True).by_model.items()))
        self._vectors = dict(zip(contents, vectors, strict=True))
        active = AtomicMemory.objects.filter(user=user, status=Status.ACTIVE).defer(*DERIVED_FIELDS)
        self._active = list(active.order_by("-timestamp", "-create_time", "-id")[:COMPARED])
        self._contents = group_contents([(draft.message_id, draft.content) for draft in sure])
        doubted = {draft.message_id for draft in unsure}
        self._learned = LearnedComparison(user, rows=self._active, contents=self._contents, doubted=doubted)
        self._ended_by: dict[UUID, frozenset[UUID]] = {}
        self._before: dict[UUID, Snapshot] = {row.id: snapshot(row) for row in self._active}
        self._new: list[AtomicMemory] = []
        self._changes: dict[tuple[UUID, str], ChangeDraft] = {}
        self._touched: dict[UUID, AtomicMemory] = {}
        self._rewritten: dict[UUID, AtomicMemory] = {}

    def record(self, draft: ExtractedMemory) -> None:
        group = str(uuid4())
        if id(draft) in self._unsure:
            self._create(draft, status=Status.PENDING, group=group)
            return
        cosines = self._find_cosines(draft.content)
        related = [(row, self._relate(row, draft, cosines)) for row in self._active]
        newer = [row for row, relation in related if self._is_outdated(draft, row, relation)]
        if newer:
            memory = self._create(draft, status=Status.SUPERSEDED, group=group, superseded_by=newer[0])
            since = make_statement(newer[0].content)
            left = find_left(draft.content, since, taken=[row.content for row in newer])
            self._keep_left(memory, left, group=group)
            return
        ended = [row for row, relation in related if relation is Relation.CONTRADICTS]
        kept = [(row, relation) for row, relation in related if relation is not Relation.CONTRADICTS]
        repeated, how = self._find_repeated(draft, kept)
        if repeated is not None and how is Relation.SAME:
            successor = self._refresh(repeated, draft, group=group)
        elif repeated is not None and (merged := self._merge_contents(repeated, draft)):
            successor = self._merge(repeated, draft, content=merged, group=group)
        else:
            successor = self._create(draft, status=Status.ACTIVE, group=group)
        for row in ended:
            row.status, row.superseded_by, row.updated_at = Status.SUPERSEDED, successor, self._now
            self._active.remove(row)
            self._learned.drop(row)
            self._touch(row, Change.Action.SUPERSEDE, group)
            said = self._learned.get_said(draft.message_id)
            self._keep_left(row, find_left(row.content, said, taken=self._contents[draft.message_id]), group=group)

    def _find_repeated(
        self, draft: ExtractedMemory, related: Sequence[tuple[AtomicMemory, Relation]]
    ) -> tuple[AtomicMemory | None, Relation]:
        """The memory that the draft says again: by the rules, the same before more of it, else by the models."""
        for how in (Relation.SAME, Relation.REFINES):
            for row, relation in related:
                if relation is how:
                    return row, how
        rows = {row.id: row for row, relation in related if relation is Relation.NEW and self._is_earlier(row, draft)}
        found = self._learned.find_repeated(list(rows), draft.content)
        return (rows[found[0]], found[1]) if found else (None, Relation.NEW)

    def _keep_left(self, row: AtomicMemory, facts: Sequence[str], *, group: str) -> None:
        """Keep as a memory of its own what of an ended one still holds: who sold the cello still lives in Leeds.

        Not what its owner wrote by hand; nor what has been deleted since (L6), is known besides, or has ended, too.
        """
        if row.message_id is None or not facts:
            return
        digests = {fact: _digests(self._user, fact) for fact in facts}
        forgotten = find_forgotten(self._user, {digest for found in digests.values() for digest in found})
        kept: list[str] = []
        for fact in facts:
            if (
                not _is_forgotten(digests[fact], forgotten, said_at=row.timestamp)
                and not any(compare(known, fact) is Relation.SAME for known in kept)
                and self._holds(fact, row)
            ):
                kept.append(fact)
        content = ("" if detect_language(row.content) == "zh" else " ").join(kept)
        if not content or len(content) > self._max_length:
            return
        memory = AtomicMemory(
            user=self._user,
            session_id=row.session_id,
            message_id=row.message_id,
            tags=list(row.tags),
            timestamp=row.timestamp,
        )
        self._insert(memory, content, status=Status.ACTIVE, group=group)

    def _holds(self, fact: str, row: AtomicMemory) -> bool:
        """Whether a fact of an ended memory is in no other one, and nothing said since has ended it."""
        return not any(
            (compare(other.content, fact) is Relation.SAME and not self._learned.doubts_repeat(other.id, fact))
            or (other.timestamp > row.timestamp and compare(fact, other.content) is Relation.CONTRADICTS)
            for other in self._active
        )

    def _relate(self, row: AtomicMemory, draft: ExtractedMemory, cosines: dict[UUID, float]) -> Relation:
        if row.timestamp <= draft.said_at:
            relation = compare(row.content, draft.content, cosine=cosines.get(row.id))
        else:
            relation = compare(draft.content, row.content, cosine=cosines.get(row.id))
        if self._is_earlier(row, draft):
            if relation in REPEATS and self._learned.doubts_repeat(row.id, draft.content):
                relation = Relation.NEW
            if relation is Relation.SAME and fills_otherwise(row.content, draft.content):
                relation = Relation.REFINES
            if relation is not Relation.CONTRADICTS and self._is_ended(row, draft):
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

    @staticmethod
    def _is_earlier(row: AtomicMemory, draft: ExtractedMemory) -> bool:
        return row.timestamp < draft.said_at and row.message_id != draft.message_id

    def _is_ended(self, row: AtomicMemory, draft: ExtractedMemory) -> bool:
        """Whether the message as a whole has ended the memory."""
        if draft.message_id not in self._ended_by:
            self._ended_by[draft.message_id] = self._learned.find_ended(draft.message_id)
        return row.id in self._ended_by[draft.message_id]

    @staticmethod
    def _is_outdated(draft: ExtractedMemory, row: AtomicMemory, relation: Relation) -> bool:
        return relation is Relation.CONTRADICTS and row.timestamp > draft.said_at

    def _find_cosines(self, content: str) -> dict[UUID, float]:
        """The cosines of the stored memories, by ID; none where the model cannot answer at once."""
        vector = self._vectors[content]
        if not self._active or vector is None:
            return {}
        values: dict[str, Any] = {
            "vector": to_sql(vector),
            "model": self._model,
            "memories": [row.id for row in self._active],
        }
        with connection.cursor() as cursor:
            cursor.execute(_COSINES, values)
            return dict(cursor.fetchall())

    def _create(
        self, draft: ExtractedMemory, *, status: Status, group: str, superseded_by: AtomicMemory | None = None
    ) -> AtomicMemory:
        memory = AtomicMemory(
            superseded_by=superseded_by,
            user=self._user,
            session_id=draft.session_id,
            message_id=draft.message_id,
            tags=list(draft.tags),
            timestamp=draft.said_at,
            event_start=draft.event_start,
            event_end=draft.event_end,
        )
        return self._insert(memory, draft.content, status=status, group=group)

    def _insert(self, memory: AtomicMemory, content: str, *, status: Status, group: str) -> AtomicMemory:
        memory.status, memory.create_time, memory.updated_at = status, self._now, self._now
        set_content(memory, content)
        self._new.append(memory)
        self._rewritten[memory.id] = memory
        if status is Status.ACTIVE:
            self._active.insert(0, memory)
            self._learned.add(memory)
        self._touch(memory, Change.Action.CREATE, group)
        return memory

    def _refresh(self, row: AtomicMemory, draft: ExtractedMemory, *, group: str) -> AtomicMemory:
        row.tags = list(dict.fromkeys([*row.tags, *draft.tags]))[:MAX_TAGS]
        row.updated_at = self._now
        self._touch(row, Change.Action.REFRESH, group)
        return row

    def _merge_contents(self, row: AtomicMemory, draft: ExtractedMemory) -> str | None:
        """Both contents as one text, the earlier said first; None where they are too long for one memory."""
        first, second = row.content, draft.content
        if row.timestamp > draft.said_at:
            first, second = second, first
        if normalize_content(first) in normalize_content(second):
            return second
        gap = "" if first.endswith(("。", "！", "？", "\n")) else " "
        merged = f"{first}{gap}{second}"
        return merged if len(merged) <= self._max_length else None

    def _merge(self, row: AtomicMemory, draft: ExtractedMemory, *, content: str, group: str) -> AtomicMemory:
        set_content(row, content)
        row.tags = list(dict.fromkeys([*row.tags, *draft.tags]))[:MAX_TAGS]
        row.event_start, row.event_end = (
            (draft.event_start, draft.event_end) if draft.event_start else (row.event_start, row.event_end)
        )
        if draft.said_at >= row.timestamp:
            row.timestamp, row.message_id, row.session_id = draft.said_at, draft.message_id, draft.session_id
        row.updated_at = self._now
        self._rewritten[row.id] = row
        self._learned.add(row)
        self._touch(row, Change.Action.MERGE, group)
        return row

    def _touch(self, row: AtomicMemory, action: Change.Action, group: str) -> None:
        """Note a change that was made to a row: what one operation does to it in several steps is one change."""
        self._touched[row.id] = row
        first = self._changes.get((row.id, group))
        before = first.before if first else self._before.get(row.id)
        made = first is not None and first.action is Change.Action.CREATE
        self._changes[row.id, group] = describe_change(
            row, action=Change.Action.CREATE if made else action, before=before, group=group
        )
        self._before[row.id] = snapshot(row)

    def save(self) -> list[AtomicMemory]:
        """Write everything with one INSERT and one UPDATE, vectors and records besides; return what was touched."""
        AtomicMemory.objects.bulk_create(self._new)
        made = {row.id for row in self._new}
        changed = [row for row in self._touched.values() if row.id not in made]
        if changed:
            fields = ["tags", "status", "superseded_by", "updated_at", "timestamp", "event_start", "event_end"]
            fields += ["message", "session"]
            rewritten = [row for row in changed if row.id in self._rewritten]
            AtomicMemory.objects.bulk_update(changed, fields)
            if rewritten:
                AtomicMemory.objects.bulk_update(rewritten, list(TEXT_FIELDS))
        self._write_vectors(self._rewritten.values())
        record_changes(user=self._user, changes=list(self._changes.values()), now=self._now)
        return list(self._touched.values())

    def _write_vectors(self, rows: Iterable[AtomicMemory]) -> None:
        rows = list(rows)
        if rows:
            vectors = embed_memories([row.content for row in rows], at_once=True)
            store_memory_embeddings(
                user=self._user, kind=MemoryKind.ATOMIC, memory_ids=[row.id for row in rows], vectors=vectors
            )
