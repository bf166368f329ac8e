"""Writing long-term memories. Each service is one transaction; writers of one person's memories take turns."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any
from uuid import UUID, uuid4

from django.db import connection, transaction

from apps.accounts.models import User
from apps.conversations.sessions import get_session
from apps.core.errors import Conflict, InvalidInput, Outdated
from apps.core.text.fold import normalize_key, spell_value
from apps.memory.do_not_relearn import find_forgotten
from apps.memory.history.services import record_changes
from apps.memory.history.types import Snapshot
from apps.memory.locking import lock_memories, lock_name
from apps.memory.long_term.audit import describe_change, snapshot
from apps.memory.long_term.changes import apply_mode, decide, list_claims
from apps.memory.long_term.learnable import clear_forgotten, digest_key, digest_values, keep_learnable
from apps.memory.long_term.ledger import TEXT_FIELDS, Ledger, set_text, write_vectors
from apps.memory.long_term.order import drop_overtaken
from apps.memory.long_term.proposals import (
    Proposal,
    is_first_person,
    read_proposal,
    reads_as_instruction,
    rests_on,
    says_nothing,
)
from apps.memory.long_term.same_keys import list_same_keys
from apps.memory.long_term.selectors import get_memory
from apps.memory.long_term.twins import KeyedValue, end_atomic_twins, list_lost
from apps.memory.long_term.types import Action, MemoryUpdate, Mode, ProposedEntry
from apps.memory.long_term.validation import check_fields
from apps.memory.models import SEARCH_FIELDS, Change, LongTermMemory, Source, Status
from apps.memory.muting import mute

# The lock and the change in one round trip: the rows are locked only once the lock's subquery has returned.
RECORD_USE = """
UPDATE long_term_memory
SET access_count = access_count + 1, last_accessed = %(now)s
FROM (SELECT pg_advisory_xact_lock(hashtextextended(%(lock)s, 0))) AS lock
WHERE user_id = %(user)s AND id = ANY(%(ids)s)
"""

EDITABLE_FIELDS = ("category", "key", "value", "confidence", "source")


def record_entries(
    *,
    user: User,
    entries: Sequence[ProposedEntry],
    session_id: UUID | None,
    message_id: UUID | None,
    said_at: datetime,
    message_text: str,
    said: str | None = None,
    others: str = "",
    auto_accept_confidence: float,
    now: datetime,
) -> list[MemoryUpdate]:
    """Store what a model proposes to remember, in a turn or in background work (L2, L3, L6).

    `said_at`, `message_text`: when and what the user said that the entries come from. Invalid entries are skipped one
    by one. Less certain than `auto_accept_confidence`, text that reads as an instruction to the system, a value in the
    first person, one that says nothing beside its key, or one that does not rest on `said` (`proposals.rests_on`):
    pending. `said`: all that the person said there, None where nothing can be compared; `others`: what others said. A
    key that names the attribute of an active one in other words joins it (`same_keys`). What was rejected (L1) or
    deleted (L6) is left out. What was said before the active memory of its key never supersedes it
    (`apps.memory.long_term.order`). Returns what happened; nothing for what was left out or is history.

    At most eight queries for any number of entries: lock, forgotten keys, memories, update, insert, audit records, and
    two for the vectors, which workers make where the embedder is elsewhere; none without a valid entry, one more for
    each key of which something later is known, and up to six where atomic memories say what ends.
    """
    return record_proposals(
        user=user,
        proposals=[proposal for entry in entries if (proposal := read_proposal(entry)) is not None],
        session_id=session_id,
        message_id=message_id,
        said_at=said_at,
        message_text=message_text,
        said=said,
        others=others,
        auto_accept_confidence=auto_accept_confidence,
        now=now,
    )


def record_proposals(
    *,
    user: User,
    proposals: Sequence[Proposal],
    session_id: UUID | None,
    message_id: UUID | None,
    said_at: datetime,
    message_text: str,
    said: str | None = None,
    others: str = "",
    auto_accept_confidence: float,
    now: datetime,
) -> list[MemoryUpdate]:
    """Store valid proposals as `record_entries` does."""
    if not proposals:
        return []
    with transaction.atomic(savepoint=False):
        lock_memories(user)
        proposals = _drop_forgotten(user, proposals, said_at=said_at, message_text=message_text)
        if not proposals:
            return []
        keys = {proposal.normalized_key for proposal in proposals}
        ledger = Ledger(user=user, keys=keys.union(*map(list_same_keys, keys)), now=now)
        for proposed in proposals:
            proposal = _join_same_key(ledger, proposed)
            is_sure = proposal.confidence >= auto_accept_confidence and rests_on(proposal, said=said, others=others)
            needs_look = (
                is_first_person(proposal.value)
                or says_nothing(proposal.key, proposal.value)
                or reads_as_instruction(key=proposal.key, value=proposal.value)
            )
            accept = is_sure and not needs_look
            origin = (session_id, message_id)
            if ledger.is_overtaken(proposal.normalized_key, said_at=said_at):
                _record_overtaken(ledger, proposal, said_at=said_at, accept=accept, origin=origin, now=now)
            else:
                _record(ledger, proposal, accept=accept, origin=origin)
        return ledger.save(message_id=message_id, said_at=said_at)


def _join_same_key(ledger: Ledger, proposal: Proposal) -> Proposal:
    """Return the proposal under the key that is there already for the same attribute, if one is."""
    if ledger.get(proposal.normalized_key).active is not None:
        return proposal
    for name in list_same_keys(proposal.normalized_key):
        if (active := ledger.get(name).active) is not None:
            return replace(proposal, key=active.key, normalized_key=name)
    return proposal


def _record(ledger: Ledger, proposal: Proposal, *, accept: bool, origin: tuple[UUID | None, UUID | None]) -> None:
    """`origin`: the session and the message."""
    rows = ledger.get(proposal.normalized_key)
    decision = decide(
        mode=proposal.mode,
        value=proposal.value,
        current=rows.current,
        accept=accept,
        pending=rows.pending_claims,
        rejected=rows.rejected_claims,
    )
    ledger.apply(
        decision,
        category=proposal.category,
        # A value said again keeps its key, which may be the owner's own: in a proposal it is the model's label.
        key=rows.active.key if decision.action is Action.REFRESHED and rows.active else proposal.key,
        source=proposal.source,
        confidence=proposal.confidence,
        mode=proposal.mode,
        session_id=origin[0],
        message_id=origin[1],
    )
    if decision.action not in (Action.IGNORED, Action.PENDING):
        claims = list_claims(mode=proposal.mode, value=proposal.value)
        ledger.settle(proposal.normalized_key, claims=claims)


def _record_overtaken(
    ledger: Ledger,
    proposal: Proposal,
    *,
    said_at: datetime,
    accept: bool,
    origin: tuple[UUID | None, UUID | None],
    now: datetime,
) -> None:
    """Take up what was said before the active memory of its key: another value is history, items count one by one."""
    rows = ledger.get(proposal.normalized_key)
    versions = ledger.list_versions(proposal.normalized_key)
    assert rows.active is not None
    if spell_value(proposal.value) == spell_value(rows.active.value) and proposal.mode is not Mode.REMOVE:
        _record(ledger, proposal, accept=accept, origin=origin)
        return
    if proposal.mode is not Mode.REPLACE:
        value = drop_overtaken(mode=proposal.mode, value=proposal.value, said_at=said_at, versions=versions)
        if value is not None:
            # The list as a whole is no older for it.
            origin = (rows.active.session_id, rows.active.message_id)
            _record(ledger, replace(proposal, value=value), accept=accept, origin=origin)
        return
    claims = list_claims(mode=proposal.mode, value=proposal.value)
    known = {spell_value(version.value) for version in versions}
    if not accept or claims <= rows.rejected_claims or spell_value(proposal.value) in known:
        return
    memory = LongTermMemory(
        user=rows.active.user,
        session_id=origin[0],
        message_id=origin[1],
        category=proposal.category,
        confidence=proposal.confidence,
        source=proposal.source,
        created_at=now,
        updated_at=now,
        last_accessed=now,
    )
    set_text(memory, key=proposal.key, value=proposal.value)
    ledger.add_history(memory)


def _drop_forgotten(
    user: User, proposals: Sequence[Proposal], *, said_at: datetime, message_text: str
) -> list[Proposal]:
    digests = {
        digest
        for proposal in proposals
        for digest in (digest_key(user, proposal.normalized_key), *digest_values(user, proposal.value))
    }
    forgotten = find_forgotten(user, digests)
    kept = []
    for proposal in proposals:
        value = proposal.value
        if proposal.mode is not Mode.REMOVE:
            value = keep_learnable(
                user=user,
                normalized_key=proposal.normalized_key,
                key=proposal.key,
                value=value,
                said_at=said_at,
                message_text=message_text,
                forgotten=forgotten,
            )
        if value is not None:
            kept.append(replace(proposal, value=value))
    return kept


@transaction.atomic
def create_memory(
    *,
    user: User,
    category: str,
    key: str,
    value: Any,
    now: datetime,
    confidence: float = 1.0,
    source: str = Source.USER_STATED,
    session_id: UUID | None = None,
) -> tuple[LongTermMemory, Action]:
    """Store a memory its owner wrote: CREATED, SUPERSEDED (it replaces the key's value) or REFRESHED (the same again).

    What was deleted or rejected before may be learned again from here on. Raises `InvalidInput`, `TooLarge`, and
    `NotFound` for a session that is not theirs.
    """
    check_fields({"category": category, "key": key, "value": value, "confidence": confidence, "source": source})
    if session_id is not None:
        get_session(user, session_id)
    key, normalized_key = key.strip(), normalize_key(key)
    lock_memories(user)
    clear_forgotten(user=user, normalized_key=normalized_key, value=value)
    ledger = Ledger(user=user, keys=[normalized_key], now=now)
    rows = ledger.get(normalized_key)
    decision = decide(mode=Mode.REPLACE, value=value, current=rows.current, accept=True)
    memory = ledger.apply(
        decision,
        category=category,
        key=key,
        source=source,
        confidence=confidence,
        mode=Mode.REPLACE,
        session_id=session_id,
        message_id=None,
    )
    assert memory is not None
    ledger.settle(normalized_key, claims=list_claims(mode=Mode.REPLACE, value=value), rejected=True)
    ledger.save()
    return memory, decision.action


@transaction.atomic
def update_memory(
    *, user: User, memory_id: UUID, changes: Mapping[str, Any], now: datetime, seen: datetime | None = None
) -> LongTermMemory:
    """Change fields of an active or pending memory: any of category, key, value, confidence, source.

    `seen`: its `updated_at` when it was read; `Outdated` where it has changed since. Raises `NotFound`; `InvalidInput`
    or `TooLarge` for the values; `Conflict` when the new key belongs to another active memory (L3), or when the memory
    is history (superseded, rejected, evicted).
    """
    if unknown := set(changes) - set(EDITABLE_FIELDS):
        raise InvalidInput("Some fields cannot be changed.", fields={name: ["Cannot be changed."] for name in unknown})
    check_fields(changes)
    lock_memories(user)
    memory = get_memory(user, memory_id)
    if seen is not None and memory.updated_at != seen:
        raise Outdated("This memory was changed in the meantime.")
    if memory.status not in (Status.ACTIVE, Status.PENDING):
        raise Conflict(f"Only active and pending memories can be changed; this one is {memory.status}.")
    key, value = changes.get("key", memory.key).strip(), changes.get("value", memory.value)
    if memory.status == Status.ACTIVE:
        _refuse_taken_key(user, memory, normalize_key(key))
    before = snapshot(memory)
    for name in ("category", "confidence", "source"):
        setattr(memory, name, changes.get(name, getattr(memory, name)))
    memory.updated_at = now
    fields = ["category", "confidence", "source", "updated_at"]
    if "key" in changes or "value" in changes:
        set_text(memory, key=key, value=value)
        clear_forgotten(user=user, normalized_key=memory.normalized_key, value=value)
        fields += TEXT_FIELDS
    memory.save(update_fields=fields)
    operation = uuid4()
    change = describe_change(memory, action=Change.Action.EDIT, before=before)
    record_changes(user=user, changes=[replace(change, operation=operation)], now=now)
    if "key" in changes or "value" in changes:
        write_vectors(user, [memory])
    if "value" in changes and memory.status == Status.ACTIVE:
        lost = [KeyedValue(before["key"], item, memory.message_id) for item in list_lost(before["value"], value)]
        end_atomic_twins(user, lost, said_at=now, operation=operation, now=now)
    return memory


@transaction.atomic
def set_category(*, user: User, ids: Collection[UUID], category: str, now: datetime) -> int:
    """Move active and pending memories to a category, as one operation; returns how many were in another one.

    IDs of none, of another person's and of history are passed over. Raises `InvalidInput` for an unknown category.
    """
    check_fields({"category": category})
    lock_memories(user)
    mine = LongTermMemory.objects.filter(user=user, id__in=ids, status__in=(Status.ACTIVE, Status.PENDING))
    memories = list(mine.exclude(category=category).defer(*SEARCH_FIELDS))
    changes = []
    for memory in memories:
        before = snapshot(memory)
        memory.category, memory.updated_at = category, now
        change = describe_change(memory, action=Change.Action.EDIT, before=before)
        changes.append(replace(change, group=""))
    LongTermMemory.objects.bulk_update(memories, ["category", "updated_at"], batch_size=500)
    record_changes(user=user, changes=changes, now=now)
    return len(memories)


def mute_memories(*, user: User, ids: Collection[UUID], muted: bool, now: datetime) -> int:
    """Mute active and pending memories, or no longer, as one operation (L10); returns how many were otherwise."""
    rows = LongTermMemory.objects.defer(*SEARCH_FIELDS)
    return mute(rows, user=user, ids=ids, muted=muted, snapshot=snapshot, describe=describe_change, now=now)


def _refuse_taken_key(user: User, memory: LongTermMemory, normalized_key: str) -> None:
    others = LongTermMemory.objects.filter(user=user, normalized_key=normalized_key, status=Status.ACTIVE)
    other = others.exclude(id=memory.id).first()
    if other is not None:
        message = "Another active memory already uses this key."
        raise Conflict(message, fields={"key": [message], "memory_id": str(other.id)})


@transaction.atomic
def accept_memory(*, user: User, memory_id: UUID, now: datetime) -> LongTermMemory:
    """Accept a pending memory: apply what it proposes to the current value of its key (L2).

    It becomes the active memory, with the resulting items if the value is a list, and supersedes the previous one. If
    it removes the last item, nothing remains active and it counts as superseded too. Raises `NotFound`; `Conflict`
    unless it is pending.
    """
    lock_memories(user)
    memory = _get_pending(user, memory_id)
    ledger = Ledger(user=user, keys=[memory.normalized_key], now=now)
    rows = ledger.get(memory.normalized_key)
    memory = next(row for row in rows.pending if row.id == memory_id)
    mode = Mode(memory.mode)
    claims = list_claims(mode=mode, value=memory.value)
    if mode is not Mode.REMOVE:
        clear_forgotten(user=user, normalized_key=memory.normalized_key, value=memory.value)
    result = apply_mode(mode=mode, current=rows.current, proposed=memory.value)
    rows.pending.remove(memory)
    if result is None:
        for row in (rows.active, memory):
            if row is not None:
                ledger.end(row)
        rows.active = None
    else:
        set_text(memory, key=memory.key, value=result)
        ledger.activate(memory)
    ledger.settle(memory.normalized_key, claims=claims)
    ledger.save()
    return memory


@transaction.atomic
def reject_memory(*, user: User, memory_id: UUID, now: datetime) -> LongTermMemory:
    """Turn a pending memory down: it is not proposed again (L1). Raises `NotFound`; `Conflict` unless pending."""
    lock_memories(user)
    memory = _get_pending(user, memory_id)
    before = snapshot(memory)
    memory.status, memory.updated_at = Status.REJECTED, now
    memory.save(update_fields=["status", "updated_at"])
    _record_change(user, memory, action=Change.Action.REJECT, before=before, now=now)
    return memory


def _record_change(
    user: User, memory: LongTermMemory, *, action: Change.Action, before: Snapshot, now: datetime
) -> None:
    change = describe_change(memory, action=action, before=before)
    record_changes(user=user, changes=[change], now=now)


def _get_pending(user: User, memory_id: UUID) -> LongTermMemory:
    memory = get_memory(user, memory_id)
    if memory.status != Status.PENDING:
        raise Conflict(f"Only a pending memory can be accepted or rejected; this one is {memory.status}.")
    return memory


def record_use(*, user: User, memory_ids: Collection[UUID], now: datetime) -> None:
    """Count that memories were put before the model in a turn with a stored reply (L4); each ID counts once.

    `updated_at` stays: use is no change. Taking the person's lock first keeps turns from waiting for each other's rows.
    """
    if memory_ids:
        with connection.cursor() as cursor:
            cursor.execute(RECORD_USE, {"lock": lock_name(user), "user": user.pk, "ids": list(memory_ids), "now": now})
