"""Writing atomic memories. Each service is one transaction; writers of one person's memories take turns."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import connection, transaction

from apps.accounts.models import User
from apps.conversations.sessions import get_session
from apps.core.errors import Conflict, InvalidInput, Outdated
from apps.core.text.fold import spell_value
from apps.core.text.sentences import split_sentences
from apps.memory.atomic.audit import describe_change, snapshot
from apps.memory.atomic.selectors import DERIVED_FIELDS, get_atomic_memory
from apps.memory.atomic.text import TEXT_FIELDS, set_content
from apps.memory.atomic.types import AtomicDraft
from apps.memory.atomic.validation import check_fields
from apps.memory.do_not_relearn import allow_again, record_forgotten
from apps.memory.embeddings.memories import write_embeddings
from apps.memory.history.services import forget_history, record_changes, stop_recalling_sources
from apps.memory.judging.exact import digest_content, normalize_content
from apps.memory.locking import lock_memories
from apps.memory.models import AtomicMemory, Change, Status
from apps.memory.muting import mute
from apps.memory.types import MemoryKind

EDITABLE_FIELDS = ("content", "tags", "timestamp", "event_start", "event_end")

MOMENT = timedelta(microseconds=1)
"""What is stored together is this far apart, so that its order is known: an answer follows its question."""

# With what they superseded, and with the ended memory of which one is what was left: that says it, too.
_WITH_HISTORY = """
WITH RECURSIVE doomed AS (
    SELECT id, left_of_id FROM atomic_memory WHERE user_id = %(user)s AND id = ANY (%(ids)s)
    UNION
    SELECT memory.id, memory.left_of_id
    FROM atomic_memory AS memory JOIN doomed ON memory.superseded_by_id = doomed.id OR memory.id = doomed.left_of_id
    WHERE memory.user_id = %(user)s
)
SELECT id FROM doomed
"""


@transaction.atomic
def create_atomic_memories(
    *, user: User, drafts: Sequence[AtomicDraft], now: datetime, operation: UUID | None = None
) -> list[AtomicMemory]:
    """Store these as they are, in order, with their terms and vectors; nothing is compared with what is there.

    The drafts are valid, and nothing in them is another person's. `operation`: the ID under which they are undone
    together, else each by itself. A few statements for any number of drafts.
    """
    lock_memories(user)
    memories = [_make(user, draft, now=now + number * MOMENT) for number, draft in enumerate(drafts)]
    AtomicMemory.objects.bulk_create(memories, batch_size=500)
    changes = [describe_change(memory, action=Change.Action.CREATE, before=None) for memory in memories]
    record_changes(user=user, changes=[replace(change, operation=operation) for change in changes], now=now)
    _write_vectors(user, memories)
    return memories


def _make(user: User, draft: AtomicDraft, *, now: datetime) -> AtomicMemory:
    memory = AtomicMemory(
        user=user,
        session_id=draft.session_id,
        message_id=draft.message_id,
        tags=list(dict.fromkeys(draft.tags)),
        timestamp=draft.timestamp or now,
        event_start=draft.event_start,
        event_end=draft.event_end,
        status=draft.status,
        create_time=now,
        updated_at=now,
    )
    set_content(memory, draft.content)
    return memory


def _write_vectors(user: User, memories: Iterable[AtomicMemory]) -> None:
    texts = {memory.id: memory.content for memory in memories}
    write_embeddings(user=user, kind=MemoryKind.ATOMIC, texts=texts)


@transaction.atomic
def create_atomic_memory(
    *,
    user: User,
    content: str,
    now: datetime,
    tags: Sequence[str] = (),
    timestamp: datetime | None = None,
    event_start: datetime | None = None,
    event_end: datetime | None = None,
    session_id: UUID | None = None,
) -> tuple[AtomicMemory, bool]:
    """Store a memory its owner wrote; returns it, and whether it is new.

    An active one with the same content takes the new tags and spelling instead, so that nothing is there twice (A3).
    What was deleted before may be learned again from here on. Raises `InvalidInput`, `TooLarge`, and `NotFound` for a
    session that is not theirs.
    """
    times = {"timestamp": timestamp, "event_start": event_start, "event_end": event_end}
    check_fields({"content": content, "tags": tags, **times})
    if session_id is not None:
        get_session(user, session_id)
    content, tags = content.strip(), [tag.strip() for tag in tags]
    lock_memories(user)
    allow_again(user=user, digests=[digest_content(user, content)])
    same = _find_same(user, content)
    if same is not None:
        before = snapshot(same)
        same.tags = list(dict.fromkeys([*same.tags, *tags]))
        same.updated_at = now
        respelled = spell_value(content) != spell_value(same.content)
        if respelled:
            set_content(same, content)
        same.save(update_fields=["tags", "updated_at", *(TEXT_FIELDS if respelled else ())])
        action = Change.Action.EDIT if respelled else Change.Action.REFRESH
        record_changes(user=user, changes=[describe_change(same, action=action, before=before)], now=now)
        if respelled:
            _write_vectors(user, [same])
        return same, False
    draft = AtomicDraft(
        content=content,
        tags=tags,
        timestamp=timestamp,
        event_start=event_start,
        event_end=event_end,
        session_id=session_id,
    )
    (memory,) = create_atomic_memories(user=user, drafts=[draft], now=now)
    return memory, True


def _find_same(user: User, content: str) -> AtomicMemory | None:
    active = AtomicMemory.objects.filter(user=user, status=Status.ACTIVE).defer(*DERIVED_FIELDS)
    return active.filter(normalized_content=normalize_content(content)).order_by("create_time").first()


@transaction.atomic
def update_atomic_memory(
    *, user: User, memory_id: UUID, changes: Mapping[str, Any], now: datetime, seen: datetime | None = None
) -> AtomicMemory:
    """Change fields of an active or pending memory: any of content, tags, timestamp, event_start, event_end.

    `seen`: its `updated_at` when it was read; `Outdated` where it has changed since. Raises `NotFound`; `InvalidInput`
    or `TooLarge` for the values; `Conflict` when another active memory says the same, or when the memory is history
    (superseded, rejected, evicted).
    """
    if unknown := set(changes) - set(EDITABLE_FIELDS):
        raise InvalidInput("Some fields cannot be changed.", fields={name: ["Cannot be changed."] for name in unknown})
    lock_memories(user)
    memory = get_atomic_memory(user, memory_id)
    if seen is not None and memory.updated_at != seen:
        raise Outdated("This memory was changed in the meantime.")
    if memory.status not in (Status.ACTIVE, Status.PENDING):
        raise Conflict(f"Only active and pending memories can be changed; this one is {memory.status}.")
    before = snapshot(memory)
    values = {name: changes.get(name, getattr(memory, name)) for name in EDITABLE_FIELDS}
    check_fields(values)
    memory.tags = list(dict.fromkeys(tag.strip() for tag in values["tags"]))
    for name in ("timestamp", "event_start", "event_end"):
        setattr(memory, name, values[name])
    memory.updated_at = now
    fields = ["tags", "timestamp", "event_start", "event_end", "updated_at"]
    content = values["content"].strip()
    rewritten = content != memory.content
    if rewritten:
        same = _find_same(user, content)
        if memory.status == Status.ACTIVE and same is not None and same.id != memory.id:
            message = "Another active memory already says this."
            raise Conflict(message, fields={"content": [message], "memory_id": str(same.id)})
        allow_again(user=user, digests=[digest_content(user, content)])
        set_content(memory, content)
        fields += TEXT_FIELDS
    memory.save(update_fields=fields)
    change = describe_change(memory, action=Change.Action.EDIT, before=before)
    record_changes(user=user, changes=[change], now=now)
    if rewritten:
        _write_vectors(user, [memory])
    return memory


def mute_atomic_memories(*, user: User, ids: Collection[UUID], muted: bool, now: datetime) -> int:
    """Mute active and pending memories, or no longer, as one operation (L10); returns how many were otherwise."""
    rows = AtomicMemory.objects.defer(*DERIVED_FIELDS)
    return mute(rows, user=user, ids=ids, muted=muted, snapshot=snapshot, describe=describe_change, now=now)


@transaction.atomic
def forget_atomic_memories(*, user: User, ids: Iterable[UUID], now: datetime) -> int:
    """Delete memories of any status, for good, with what they superseded; returns how many of those asked for are gone.

    IDs of none, or of another person's, are passed over. What is gone is not learned again from what was said before
    `now` (L6).
    """
    wanted = list(ids)
    if not wanted:
        return 0
    lock_memories(user)
    mine = AtomicMemory.objects.filter(user=user)
    count = mine.filter(id__in=wanted).count()
    with connection.cursor() as cursor:
        cursor.execute(_WITH_HISTORY, {"user": user.pk, "ids": wanted})
        doomed = [row[0] for row in cursor.fetchall()]
    _delete(user, doomed, now=now)
    return count


@transaction.atomic
def forget_all_atomic_memories(*, user: User, now: datetime) -> int:
    """Delete every atomic memory of any status, for good, and return how many."""
    lock_memories(user)
    doomed = list(AtomicMemory.objects.filter(user=user).values_list("id", flat=True))
    _delete(user, doomed, now=now)
    return len(doomed)


def _delete(user: User, ids: Sequence[UUID], *, now: datetime) -> None:
    rows = AtomicMemory.objects.filter(user=user, id__in=ids)
    contents = list(rows.values_list("content", flat=True))
    stop_recalling_sources(user, rows)
    rows.delete()
    forget_history(user=user, kind=Change.Kind.ATOMIC, object_ids=ids, now=now)
    # A merged memory holds what several messages said: each of its sentences may come from one of its own.
    told = {part.strip() for content in contents for part in (content, *split_sentences(content))}
    record_forgotten(user=user, digests={digest_content(user, part) for part in told if part}, now=now)
