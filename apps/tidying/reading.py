"""Reading what a run looks at: active memories, what of them is new since the last run, and how near they are."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID
from zoneinfo import ZoneInfo

import numpy.typing as npt
from django.db.models import Max
from pgvector import HalfVector

from apps.accounts.models import User
from apps.accounts.types import MemorySettings
from apps.core.errors import ModelUnavailable
from apps.core.llm.client import get_embedder
from apps.core.text.clean import estimate_tokens, readable_text
from apps.core.text.fold import normalize_value
from apps.core.text.time_expressions import find_times
from apps.memory.changes.records import find_written_by_owner
from apps.memory.judge.twins import shares_key
from apps.memory.keyed import list_items
from apps.memory.kinds import ATOMIC, KINDS, LONG_TERM
from apps.memory.models import AtomicMemory, AtomicSource, Change, LongTermMemory, Status
from apps.memory.types import KindName
from apps.memory.vectors.embedders import find_active_model
from apps.tidying.clusters import Item, Nearness
from apps.tidying.decide import Proposed
from apps.tidying.models import Tidying
from apps.tidying.prompt import TOKENS_PER_MEMORY, ReadMemory

# Newest memories of each kind that a run looks at.
MOST_READ = 3_000
_CHANGED_KINDS = (Change.Kind.LONG_TERM, Change.Kind.ATOMIC)


@dataclass(frozen=True, slots=True)
class Reading:
    """What a run works on: the memories, oldest first; `news`: those that are new since the last run.

    `newest`: the newest record that was read. `proposed`, `said`: as `apps.tidying.decide.Situation` has them.
    """

    memories: Sequence[ReadMemory]
    news: Collection[UUID]
    nearness: Nearness
    newest: int
    proposed: Proposed
    said: Collection[str]

    def is_related(self, one: ReadMemory, other: ReadMemory) -> bool:
        """Whether two memories are about the same: by key, by meaning, or a sentence tells what a key names."""
        if one.key and one.key == other.key:
            return True
        tells = any(memory.key and shares_key(memory.key, told.text) for memory, told in ((one, other), (other, one)))
        return tells or self.nearness.is_near(one.id, other.id)

    def list_items(self, space_id: UUID | None) -> list[Item]:
        """Return the memories of a space as they are grouped."""
        return [
            Item(memory.id, memory.key, estimate_tokens(memory.text) + TOKENS_PER_MEMORY)
            for memory in self.memories
            if memory.space_id == space_id
        ]


def read_memories(user: User, *, settings: MemorySettings, last: Tidying | None, now: datetime) -> Reading:
    """Read the active memories of every space that are recalled. `last`: the run before.

    News is what anybody but a run has changed since, and what has come to its end since. About ten queries.
    """
    user = user.overseeing()
    newest = Change.objects.filter(user=user).aggregate(newest=Max("id"))["newest"] or 0
    memories = [*_read_long_term(user), *_read_atomic(user, settings.zone)]
    memories = [memory for memory in memories if memory.until is None or memory.until > now]
    memories.sort(key=lambda memory: (memory.said_at, str(memory.id)))
    ids = [memory.id for memory in memories]
    by_owner, taken_back = find_written_by_owner(user, ids), _find_taken_back(user, ids)
    memories = [
        replace(memory, by_owner=memory.id in by_owner, fixed=memory.fixed or memory.id in taken_back)
        for memory in memories
    ]
    recorded = Change.objects.filter(user=user, id__gt=last.covered if last else 0, kind__in=_CHANGED_KINDS)
    news = set(recorded.exclude(origin=Change.Origin.TIDYING).values_list("object_id", flat=True))
    if last is not None and last.read_at is not None:
        news.update(last.left)
        news.update(one.id for one in memories if one.ends_at is not None and last.read_at < one.ends_at <= now)
    proposed, said = _read_decided(user)
    return Reading(memories, news, _read_nearness(user, set(ids)), newest, proposed, said)


def _read_long_term(user: User) -> list[ReadMemory]:
    rows = LONG_TERM.active(user).filter(muted=False)[:MOST_READ]
    return [
        ReadMemory(
            kind=KindName.LONG_TERM,
            id=row.id,
            text=f"{row.key}: {readable_text(row.value)}",
            said_at=row.updated_at,
            key=row.normalized_key,
            until=row.valid_until,
            # Of a list single items may hold and others not, which no proposal can say.
            fixed=isinstance(row.value, list | dict) and len(list_items(row.value)) > 1,
            space_id=row.space_id,
        )
        for row in rows
    ]


def _read_atomic(user: User, zone: ZoneInfo) -> list[ReadMemory]:
    rows = ATOMIC.active(user).filter(muted=False)[:MOST_READ]
    return [
        ReadMemory(
            kind=KindName.ATOMIC,
            id=row.id,
            text=row.content,
            said_at=row.timestamp,
            event=row.event_start,
            ends_at=_find_end(row, zone),
            until=row.valid_until,
            by_assistant=row.source == AtomicSource.ASSISTANT,
            space_id=row.space_id,
        )
        for row in rows
    ]


def _find_end(row: AtomicMemory, zone: ZoneInfo) -> datetime | None:
    """When what a memory tells is over: its event, else the last stretch of time that it names."""
    if row.event_start is not None:
        return row.event_end or row.event_start
    *_earlier, last = None, *find_times(row.content, said_at=row.timestamp, zone=zone)
    return last.end if last else None


def _find_taken_back(user: User, ids: Collection[UUID]) -> set[UUID]:
    """Return the memories of which a run changed something that their owner has undone: they stay as they are."""
    undone = Change.objects.filter(user=user, object_id__in=ids, origin=Change.Origin.TIDYING, undone_by__isnull=False)
    return set(undone.values_list("object_id", flat=True))


def _read_decided(user: User) -> tuple[Proposed, set[str]]:
    """Return the sets of memories that proposals named which wait or were rejected, and what all that says."""
    proposed, said = set(), set()
    rows = AtomicMemory.objects.filter(
        user=user, status__in=[Status.ACTIVE, Status.PENDING, Status.REJECTED]
    ).values_list("normalized_content", "status", "proposal")
    for content, status, proposal in rows.iterator():
        said.add(content)
        if proposal and status != Status.ACTIVE:
            proposed.add(frozenset(UUID(target["id"]) for target in proposal["targets"]))
    values = LongTermMemory.objects.filter(user=user, status=Status.ACTIVE).values_list("key", "value")
    said |= {normalize_value(f"{key}: {readable_text(value)}") for key, value in values}
    return proposed - {frozenset()}, said


def _read_nearness(user: User, ids: Collection[UUID]) -> Nearness:
    """Read the vectors of the model in use; without a model nothing is near."""
    model = find_active_model()
    if model is None:
        return Nearness({}, min_similarity=1.0)
    try:
        min_similarity = get_embedder(model.name).min_similarity
    except ModelUnavailable:
        min_similarity = 1.0
    vectors: dict[UUID, npt.ArrayLike] = {}
    for kind in KINDS:
        rows = kind.embeddings.objects.filter(user=user, model=model.id, memory__status=Status.ACTIVE)
        for memory_id, vector in rows.values_list("memory_id", "embedding").iterator():
            if memory_id in ids:
                vectors[memory_id] = vector.to_numpy() if isinstance(vector, HalfVector) else vector
    return Nearness(vectors, min_similarity=min_similarity)
