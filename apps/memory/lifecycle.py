"""The life of memories of both kinds: written, updated, muted, merged, superseded, restored by hand (M2, L7, L10).

Each service is one transaction; writers of one person's memories take turns. What waits for review: `judge.review`;
what models propose: `entries` and `judge.verdicts`; deletion: `deletion`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

from django.db import connection, transaction
from django.utils.translation import gettext_noop

from apps.accounts.models import User
from apps.accounts.selectors import get_own_values, get_settings
from apps.conversations.sessions import find_room
from apps.core.db import fetch_rows
from apps.core.errors import Conflict, InvalidInput, Outdated
from apps.core.text.clean import readable_text
from apps.core.text.fold import normalize_value, spell_value
from apps.memory.changes.records import announce_changes
from apps.memory.judge.twins import KeyedValue, end_atomic_twins, list_lost
from apps.memory.keyed import Mode, apply_mode, list_items
from apps.memory.kinds import ATOMIC, CURRENT, KINDS, LONG_TERM, MemoryKind, join_contents
from apps.memory.locking import lock_all_memories, lock_memories, lock_name
from apps.memory.marks import sort_marks
from apps.memory.models import AtomicMemory, AtomicSource, Change, LongTermMemory, Status
from apps.memory.tombstones import add_tombstones, clear_tombstones, digest_values
from apps.memory.types import AtomicDraft
from apps.memory.validation import MAX_TAGS, extend_validity
from apps.memory.writer import Writer
from apps.webhooks.services import are_on

# What is stored together is this far apart, so that its order is known: an answer follows its question.
MOMENT = timedelta(microseconds=1)

# Two statements in one round trip: the rows are locked only once the person's lock is held.
RECORD_USE = """
SELECT pg_advisory_xact_lock(hashtextextended(%(lock)s, 0));
UPDATE long_term_memory
SET access_count = access_count + 1, last_accessed = %(now)s
WHERE user_id = %(user)s AND id = ANY(%(ids)s)
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
    writer = Writer(user, now=now)
    for number, draft in enumerate(drafts):
        at = now + number * MOMENT
        memory = AtomicMemory()
        given: dict[str, Any] = {"tags": list(dict.fromkeys(draft.tags)), "sensitive": list(draft.sensitive)}
        given["timestamp"] = draft.timestamp or at
        ATOMIC.assign(memory, asdict(draft) | given)
        writer.begin(operation or uuid4())
        writer.create(ATOMIC, memory, at=at)
    return writer.save()


@transaction.atomic
def create_atomic_memory(
    *,
    user: User,
    content: str,
    now: datetime,
    session_id: UUID | None = None,
    space_id: UUID | None = None,
    **fields: Any,
) -> tuple[AtomicMemory, bool]:
    """Store a memory its owner wrote; returns it, and whether it is new. `fields`: others of `ATOMIC.editable`.

    It goes to the space named, else to that of the session (`find_room`).
    An active one with the same content takes the new tags and spelling instead, so that nothing is there twice (A3).
    What was deleted before may be learned again from here on. Raises `InvalidInput`, `TooLarge`, and `NotFound` for a
    session or space that is not theirs.
    """
    values = ATOMIC.clean({"content": content, **fields})
    user = find_room(user, session_id=session_id, space_id=space_id)
    lock_memories(user)
    clear_tombstones(user=user, digests=ATOMIC.digests(user, values))
    stated = _find_same(ATOMIC, user, values).filter(source=AtomicSource.USER_STATED)
    same = stated.order_by("create_time").first()
    if same is None:
        draft = AtomicDraft(**values, session_id=session_id)
        return create_atomic_memories(user=user, drafts=[draft], now=now)[0], True
    respelled = spell_value(values["content"]) != spell_value(same.content)
    changes: dict[str, Any] = {"tags": list(dict.fromkeys([*same.tags, *values.get("tags", ())]))}
    changes |= {"content": values["content"]} if respelled else {}
    # Its owner says it again: it is valid again.
    changes["valid_until"] = extend_validity(same.valid_until, given=values.get("valid_until"), said_at=now)
    changes["sensitive"] = sort_marks([*same.sensitive, *values.get("sensitive", ())])
    writer = Writer(user, now=now)
    with writer.change(ATOMIC, same, Change.Action.EDIT if respelled else Change.Action.REFRESH):
        ATOMIC.assign(same, changes)
    writer.save()
    return same, False


@transaction.atomic
def update_memory(
    kind: MemoryKind,
    *,
    user: User,
    memory_id: UUID,
    changes: Mapping[str, Any],
    now: datetime,
    seen: datetime | None = None,
) -> Any:
    """Change fields of an active or pending memory: any of `kind.editable`.

    `seen`: its `updated_at` when it was read; `Outdated` where it has changed since. Raises `NotFound`; `InvalidInput`
    or `TooLarge` for the values; `Conflict` when another active memory has the key (L3) or says the same, or when the
    memory is history (superseded, rejected, evicted).
    """
    if unknown := set(changes) - set(kind.editable):
        raise InvalidInput("Some fields cannot be changed.", fields={name: ["Cannot be changed."] for name in unknown})
    lock_memories(user)
    memory = kind.get(user, memory_id, to_change=True)
    there = user.within(memory.space_id)
    if seen is not None and memory.updated_at != seen:
        raise Outdated("This memory was changed in the meantime.")
    if memory.status not in CURRENT:
        raise Conflict(f"Only active and pending memories can be changed; this one is {memory.status}.")
    values = kind.clean({name: changes.get(name, getattr(memory, name)) for name in kind.editable})
    is_rewritten = kind.get_text(memory) != {name: values[name] for name in kind.texts}
    if is_rewritten and memory.status == Status.ACTIVE:
        _refuse_taken(kind, there, values, but=[memory.id])
    writer = Writer(user, now=now)
    before = kind.snapshot(memory)
    with writer.change(kind, memory, Change.Action.EDIT):
        kind.assign(memory, values)
    if is_rewritten:
        clear_tombstones(user=user, digests=kind.digests(user, values))
    writer.save()
    if kind is LONG_TERM and "value" in changes and memory.status == Status.ACTIVE:
        lost = list_lost(before["value"], memory.value)
        ended = [KeyedValue(before["key"], item, memory.message_id) for item in lost]
        end_atomic_twins(there, ended, said_at=now, operation=writer.operation, now=now)
    return memory


def _find_same(kind: MemoryKind, user: User, values: Mapping[str, Any]) -> Any:
    return kind.held(user).filter(**{kind.identity: kind.identify(values)})


def _refuse_taken(kind: MemoryKind, user: User, values: Mapping[str, Any], *, but: Collection[UUID]) -> None:
    other = _find_same(kind, user, values).exclude(id__in=but).first()
    if other is not None:
        raise Conflict(kind.taken, fields={kind.named: [kind.taken], "memory_id": str(other.id)})


def mute_memories(kind: MemoryKind, *, user: User, ids: Collection[UUID], muted: bool, now: datetime) -> int:
    """Mute active and pending memories, or no longer (L10): kept, shown and known to the extraction, never recalled.

    One operation; returns how many were otherwise. IDs of none, of another person's and of history are passed over.
    """
    return _change_all(kind, user, ids, {"muted": muted}, action=Change.Action.MUTE, now=now)


def set_category(*, user: User, ids: Collection[UUID], category: str, now: datetime) -> int:
    """Move active and pending long-term memories to a category, as one operation; returns how many were in another.

    IDs of none, of another person's and of history are passed over. Raises `InvalidInput` for an unknown category.
    """
    values = LONG_TERM.clean({"category": category})
    return _change_all(LONG_TERM, user, ids, values, action=Change.Action.EDIT, now=now)


@transaction.atomic
def _change_all(
    kind: MemoryKind,
    user: User,
    ids: Collection[UUID],
    values: Mapping[str, Any],
    *,
    action: Change.Action,
    now: datetime,
) -> int:
    lock_memories(user)
    memories = list(kind.changeable(user).filter(id__in=ids, status__in=CURRENT).exclude(**values))
    writer = Writer(user, now=now)
    for memory in memories:
        with writer.change(kind, memory, action):
            kind.assign(memory, values)
    writer.save()
    return len(memories)


def count_marked(user: User) -> dict[str, int]:
    """Return how many of the person's active memories are marked with each sensitive category (D4); two queries."""
    counts: Counter[str] = Counter()
    for kind in KINDS:
        marked = kind.active(user).exclude(sensitive=[]).values_list("sensitive", flat=True)
        counts.update(mark for marks in marked for mark in marks)
    return {mark: counts[mark] for mark in sort_marks(counts)}


def combine_texts(kind: MemoryKind, kept: Any, merged: Any) -> Any:
    """Return what two texts of a kind say together, each thing once; one of them where it says all that the other does.

    Values become one list, contents follow each other.
    """
    if kind is LONG_TERM:
        known = set(map(normalize_value, list_items(kept)))
        left = [item for item in list_items(merged) if normalize_value(item) not in known]
        return apply_mode(mode=Mode.ADD, current=kept, proposed=left) if left else kept
    return join_contents(kept, merged)


@transaction.atomic
def merge_memories(kind: MemoryKind, *, user: User, kept_id: UUID, merged_id: UUID, text: Any, now: datetime) -> Any:
    """Make one of two active memories: `kept` gets the text (the value, the content), and supersedes the other.

    A long-term memory is as sure as the surer of the two, and has the uses of both, which stay counted when this is
    undone; an atomic one has the tags of both, and the time of the other's event where it has none. One operation.
    Raises `NotFound`; `Conflict` for one that is not active, the same twice, one of the assistant's words with one of
    the person's (A6), or what a third one says; `InvalidInput` or `TooLarge`.
    """
    values = kind.clean({"value" if kind is LONG_TERM else "content": text})
    lock_memories(user)
    kept, merged = kind.get(user, kept_id, to_change=True), kind.get(user, merged_id, to_change=True)
    if kept.id == merged.id:
        raise Conflict(gettext_noop("A memory cannot be merged with itself."))
    if kept.space_id != merged.space_id:
        raise Conflict(gettext_noop("These two are in different spaces. Move one of them first."))
    if not kept.status == merged.status == Status.ACTIVE:
        raise Conflict(gettext_noop("Only active memories can be merged."))
    if kind is ATOMIC:
        if kept.source != merged.source:
            raise Conflict("What the assistant said cannot be merged with what you said.")
        _refuse_taken(kind, user.within(kept.space_id), values, but=[kept.id, merged.id])
    writer = Writer(user, now=now)
    # A merge that changes nothing about the memory kept is one still: the record of the other one says so.
    writer.supersede(kind, merged, by=kept)
    with writer.change(kind, kept, Change.Action.MERGE):
        is_rewritten = kind.assign(kept, values)
        absorb(kind, kept, merged)
    if is_rewritten:
        clear_tombstones(user=user, digests=kind.digests(user, kind.get_text(kept)))
    writer.save()
    return kept


def absorb(kind: MemoryKind, kept: Any, merged: Any) -> None:
    """Give a memory what another of its kind, which it takes the place of, has besides its text."""
    kept.sensitive = sort_marks([*kept.sensitive, *merged.sensitive])
    if kind is LONG_TERM:
        kept.confidence = max(kept.confidence, merged.confidence)
        kept.access_count += merged.access_count
        kept.last_accessed = max(kept.last_accessed, merged.last_accessed)
        return
    kept.tags = list(dict.fromkeys([*kept.tags, *merged.tags]))[:MAX_TAGS]
    if kept.event_start is None:
        kept.event_start, kept.event_end = merged.event_start, merged.event_end


@transaction.atomic
def supersede_atomic_memory(*, user: User, memory_id: UUID, content: str, now: datetime) -> AtomicMemory:
    """Put a new memory, said now and with the same tags, in the place of an active one; returns the new one.

    Raises `NotFound`; `Conflict` for one that is not active and for a content that an active one has; `InvalidInput` or
    `TooLarge`.
    """
    values = ATOMIC.clean({"content": content})
    lock_memories(user)
    old = ATOMIC.get(user, memory_id, to_change=True)
    if old.status != Status.ACTIVE:
        raise Conflict(gettext_noop("Only an active memory can be superseded."))
    _refuse_taken(ATOMIC, user.within(old.space_id), values, but=[])
    memory = AtomicMemory(tags=list(old.tags), sensitive=list(old.sensitive), timestamp=now)
    ATOMIC.assign(memory, values)
    clear_tombstones(user=user, digests=ATOMIC.digests(user, values))
    writer = Writer(user, now=now)
    writer.create(ATOMIC, memory, beside=old)
    writer.supersede(ATOMIC, old, by=memory)
    writer.save()
    return memory


@transaction.atomic
def restore_memory(kind: MemoryKind, *, user: User, memory_id: UUID, now: datetime) -> Any:
    """Make a memory that is history active again; what took its place is superseded by it. Returns it.

    Raises `NotFound`; `Conflict` for one that is no history, or where an active one that did not take its place says
    the same.
    """
    lock_memories(user)
    memory = kind.get(user, memory_id, to_change=True)
    if memory.status in CURRENT:
        raise Conflict(gettext_noop("Only a superseded, rejected or evicted memory can be restored."))
    replaced = kind.list_replaced(user, memory)
    said = kind.get_text(memory)
    _refuse_taken(kind, user.within(memory.space_id), said, but=[row.id for row in replaced])
    writer = Writer(user, now=now)
    for row in replaced:
        writer.supersede(kind, row, by=memory)
    with writer.change(kind, memory, Change.Action.UNDO):
        memory.status, memory.superseded_by = Status.ACTIVE, None
        if kind is LONG_TERM:
            memory.mode = Mode.REPLACE
    clear_tombstones(user=user, digests=kind.digests(user, said))
    writer.save()
    return memory


@transaction.atomic
def remove_item(*, user: User, memory_id: UUID, index: int, text: str, now: datetime) -> None:
    """Take an item out of an active list; with its last item the memory ends. Not learned again from what was said.

    `index`, `text`: where the item stands and how it reads (`readable_text`), so that never another one goes. Raises
    `NotFound`; `Conflict` where the memory is not active, or the item is not there any more.
    """
    lock_memories(user)
    memory: LongTermMemory = LONG_TERM.get(user, memory_id, to_change=True)
    items = list_items(memory.value)
    if memory.status != Status.ACTIVE or not 0 <= index < len(items) or readable_text(items[index]) != text:
        raise Conflict(gettext_noop("This list was changed in the meantime."))
    left = LONG_TERM.join([item for at, item in enumerate(items) if at != index])
    writer = Writer(user, now=now)
    writer.rewrite(LONG_TERM, memory, left)
    add_tombstones(user=user, digests=digest_values(user, items[index]), now=now)
    writer.save()


def record_use(*, user: User, memory_ids: Collection[UUID], now: datetime) -> None:
    """Count that memories were put before the model in a turn with a stored reply (L4); each ID counts once.

    `updated_at` stays: use is no change. Taking the person's lock first keeps turns from waiting for each other's rows.
    """
    if memory_ids:
        with connection.cursor() as cursor:
            cursor.execute(RECORD_USE, {"lock": lock_name(user), "user": user.pk, "ids": list(memory_ids), "now": now})


USERS_AT_ONCE = 100

_FIND_USERS = """
SELECT user_id
FROM long_term_memory
LEFT JOIN unnest(%(users)s::bigint[], %(thresholds)s::integer[], %(floors)s::float8[])
    AS own (user_id, threshold, floor) USING (user_id)
WHERE status = 'active'
GROUP BY user_id, own.threshold, own.floor
HAVING count(*) > COALESCE(own.threshold, %(threshold)s::integer)
    OR min(confidence) < COALESCE(own.floor, %(floor)s::float8)
ORDER BY user_id
"""


_TRACKED = [(field, f"memory.{LONG_TERM.column(field.name).column}") for field in LONG_TERM.fields if field.tracked]


def _write_snapshot() -> str:
    """`LONG_TERM.snapshot` of a row, as the database writes it."""
    always = ", ".join(f"'{field.name}', {column}" for field, column in _TRACKED if not field.if_set)
    if_set = [
        f"CASE WHEN {column}::text IN ('false', '{{}}') OR {column} IS NULL THEN '{{}}' "
        f"ELSE jsonb_build_object('{field.name}', {column}) END"
        for field, column in _TRACKED
        if field.if_set
    ]
    return " || ".join([f"jsonb_build_object({always})", *if_set])


# The snapshot is made of what the update returns, not by it: Citus returns only what is immutable.
_EVICT = f"""
WITH ranked AS (
    SELECT memory.id, confidence, COALESCE(own.threshold, %(threshold)s::integer) AS threshold,
           COALESCE(own.floor, %(floor)s::float8) AS floor,
           row_number() OVER (
               PARTITION BY user_id ORDER BY confidence DESC, last_accessed DESC, created_at DESC, memory.id DESC
           ) AS place
    FROM long_term_memory AS memory
    LEFT JOIN unnest(%(users)s::bigint[], %(thresholds)s::integer[], %(floors)s::float8[])
        AS own (user_id, threshold, floor) USING (user_id)
    WHERE status = 'active' AND user_id = ANY (%(over)s)
), evicted AS (
    UPDATE long_term_memory AS memory SET status = 'evicted', updated_at = %(now)s
    FROM ranked WHERE memory.id = ranked.id AND (place > threshold OR ranked.confidence < floor)
    RETURNING memory.id, user_id, {", ".join(column for _field, column in _TRACKED)}
), recorded AS (
    SELECT id, user_id, space_id, {_write_snapshot()} AS after FROM evicted AS memory
)
INSERT INTO memory_change (user_id, space_id, origin, action, kind, object_id, before, after, operation, created_at)
SELECT user_id, space_id, %(origin)s, %(action)s, %(kind)s, id, after || '{{"status": "active"}}', after,
       gen_random_uuid(), %(now)s
FROM recorded
"""  # noqa: S608 - the only things put in are our own names


def evict_memories(*, now: datetime) -> int:
    """Evict what passes `memory.eviction_threshold` or is below `memory.confidence_floor`; returns how many.

    Of too many the least certain go first, and of equally certain ones those not used the longest. Two statements for
    each hundred people who have too much, whatever the number of memories.
    """
    limits = _read_limits()
    if limits is None:
        return 0
    over = [user_id for (user_id,) in fetch_rows(_FIND_USERS, limits)]
    return sum(
        _evict(over[start : start + USERS_AT_ONCE], limits, now=now) for start in range(0, len(over), USERS_AT_ONCE)
    )


@transaction.atomic
def _evict(users: Sequence[int], limits: dict[str, Any], *, now: datetime) -> int:
    lock_all_memories(users)
    values = {
        **limits,
        "over": list(users),
        "now": now,
        "origin": Change.Origin.LIFE_CYCLE,
        "action": Change.Action.EVICT,
        "kind": Change.Kind.LONG_TERM,
    }
    with connection.cursor() as cursor:
        cursor.execute(_EVICT, values)
        evicted = int(cursor.rowcount)
    for user in User.objects.filter(id__in=users) if are_on() else ():
        changes = Change.objects.filter(user=user, action=Change.Action.EVICT, created_at=now)
        announce_changes(user, changes, now=now)
    return evicted


def _read_limits() -> dict[str, Any] | None:
    """Return the limits of everybody and of those who set their own; None where nobody has any."""
    settings = get_settings(None)
    thresholds, floors = get_own_values("eviction_threshold"), get_own_values("confidence_floor")
    if settings.eviction_threshold is None and settings.confidence_floor is None and not thresholds and not floors:
        return None
    users = sorted(thresholds.keys() | floors.keys())
    return {
        "threshold": settings.eviction_threshold,
        "floor": settings.confidence_floor,
        "users": users,
        "thresholds": [thresholds.get(user) for user in users],
        "floors": [floors.get(user) for user in users],
    }
