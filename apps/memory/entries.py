"""Taking what is proposed for keys into long-term memory (L1–L3, L6, C9): read once, decided purely, written once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any
from uuid import UUID, uuid4
from zoneinfo import ZoneInfo

from django.db import transaction
from django.db.models import DateTimeField, F
from django.db.models.functions import Coalesce

from apps.accounts.models import User
from apps.accounts.spaces import held_by
from apps.accounts.types import REMEMBER_ALL, Handling, SensitiveHandling
from apps.conversations.sessions import find_room, note_not_remembered
from apps.core.text.fold import normalize_key, spell_value
from apps.core.times import UTC_ZONE
from apps.memory.judge.twins import KeyedValue, end_atomic_twins, list_lost
from apps.memory.judge.types import Said
from apps.memory.keyed import (
    Action,
    Claim,
    Decision,
    MemoryUpdate,
    Mode,
    ProposedEntry,
    Version,
    apply_mode,
    decide,
    drop_stale,
    list_claims,
    list_same_keys,
)
from apps.memory.kinds import LONG_TERM
from apps.memory.locking import lock_memories
from apps.memory.marks import sort_marks
from apps.memory.models import Change, LongTermMemory, Source, Status
from apps.memory.tombstones import clear_tombstones, find_tombstones, keep_learnable
from apps.memory.validation import (
    Proposal,
    extend_validity,
    find_secret_problems,
    is_first_person,
    is_supported_by,
    is_vacuous,
    read_proposal,
    read_until,
    reads_as_instruction,
)
from apps.memory.writer import Writer

_STORED = (Status.ACTIVE, Status.PENDING, Status.REJECTED)
# When what a memory holds was said: its message tells, or, without one, when it was last written.
_SAID_AT = Coalesce(F("message__create_time"), F("updated_at"), output_field=DateTimeField())


@dataclass(slots=True)
class KeyRows:
    """What is stored under one key: the active memory, and what was proposed for it.

    `operation`: the one that all its changes are. `was_active`: the active memory as it was read, and its value then.
    """

    operation: UUID
    active: LongTermMemory | None = None
    pending: list[LongTermMemory] = field(default_factory=list)
    rejected: list[LongTermMemory] = field(default_factory=list)
    said_at: datetime | None = None
    was_active: tuple[LongTermMemory, Any] | None = None

    @property
    def current(self) -> Any:
        """The active value, None when there is none."""
        return None if self.active is None else self.active.value


def _list_claims(rows: Iterable[LongTermMemory]) -> set[Claim]:
    return {claim for row in rows for claim in list_claims(mode=Mode(row.mode), value=row.value)}


class Ledger:
    """The memories under some keys of one person: read at once, changed in Python, stored at once by `save`.

    The caller is in a transaction and holds `lock_memories`. Of one space: the one that what they make goes to (P3).
    `keys` are normalised. `operation`: the one that all
    changes are part of, instead of one for each key.
    """

    def __init__(
        self,
        user: User,
        keys: Iterable[str],
        *,
        now: datetime,
        operation: UUID | None = None,
        message_id: UUID | None = None,
    ) -> None:
        self._user, self._now, self._message_id = user, now, message_id
        self._writer = Writer(user, now=now)
        self._keys = {key: KeyRows(operation or uuid4()) for key in keys}
        self._made: set[UUID] = set()
        self._updates: dict[UUID, tuple[LongTermMemory, Action, Any]] = {}
        rows = LONG_TERM.rows(user).filter(held_by(user), normalized_key__in=self._keys, status__in=_STORED)
        for row in rows.annotate(said_at=_SAID_AT).order_by("created_at", "id"):
            found = self._keys[row.normalized_key]
            match row.status:
                case Status.ACTIVE:
                    found.active, found.said_at, found.was_active = row, row.said_at, (row, row.value)
                case Status.PENDING:
                    found.pending.append(row)
                case Status.REJECTED:
                    found.rejected.append(row)

    def get(self, key: str) -> KeyRows:
        """Return what is stored under a normalised key, changes so far included."""
        return self._keys[key]

    def _begin(self, key: str) -> KeyRows:
        """Return what is stored under a key that is going to change: the writer writes in its operation from here."""
        rows = self._keys[key]
        self._writer.begin(rows.operation, message_id=self._message_id)
        return rows

    def is_stale(self, key: str, *, said_at: datetime) -> bool:
        """Whether the active memory of a normalised key was said after `said_at`.

        What the system kept of a working memory was said some time before it was written: it is later than nothing.
        """
        rows = self._keys[key]
        if rows.active is None or rows.active.source == Source.SYSTEM or rows.active.id in self._made:
            return False
        return rows.said_at is not None and rows.said_at > said_at

    def take(self, proposal: Proposal, *, accept: bool, said: Said) -> None:
        """Take up a proposal; what was said before the active memory of its key does not take its place (C9)."""
        rows = self._begin(proposal.normalized_key)
        if rows.active is not None and self.is_stale(proposal.normalized_key, said_at=said.said_at):
            value = self._keep_of_stale(rows.active, proposal, accept=accept, said=said)
            if value is None:
                return
            # The list as a whole is no older for it.
            proposal = replace(proposal, value=value)
            said = Said(rows.active.message_id, rows.active.session_id, said.said_at)
        decision = decide(
            mode=proposal.mode,
            value=proposal.value,
            current=rows.current,
            accept=accept,
            pending=_list_claims(rows.pending),
            rejected=_list_claims(rows.rejected),
        )
        if decision.action is Action.REFRESHED and rows.active is not None:
            # A value said again keeps its key, which may be the owner's own: in a proposal it is the model's label.
            proposal = replace(proposal, key=rows.active.key)
        self.apply(decision, proposal, said)
        if decision.action not in (Action.IGNORED, Action.PENDING):
            self.settle(proposal.normalized_key, claims=list_claims(mode=proposal.mode, value=proposal.value))

    def _keep_of_stale(self, active: LongTermMemory, proposal: Proposal, *, accept: bool, said: Said) -> Any:
        """Return what of a stale value counts still: items one by one; another value does not, it becomes history."""
        if spell_value(proposal.value) == spell_value(active.value) and proposal.mode is not Mode.REMOVE:
            return proposal.value
        versions = self._list_versions(proposal.normalized_key)
        if proposal.mode is not Mode.REPLACE:
            return drop_stale(mode=proposal.mode, value=proposal.value, said_at=said.said_at, versions=versions)
        is_known = spell_value(proposal.value) in {spell_value(version.value) for version in versions}
        claims = list_claims(mode=proposal.mode, value=proposal.value)
        if accept and not is_known and not claims <= _list_claims(self._keys[proposal.normalized_key].rejected):
            memory = self._make(proposal, proposal.value, said)
            memory.status, memory.superseded_by = Status.SUPERSEDED, active
            self._writer.create(LONG_TERM, memory)
        return None

    def _list_versions(self, key: str) -> list[Version]:
        """The values that a key with an active memory had, as they were said, the active one last."""
        rows = self._keys[key]
        ended = LONG_TERM.rows(self._user).filter(held_by(self._user), normalized_key=key, status=Status.SUPERSEDED)
        found = ended.annotate(said_at=_SAID_AT).order_by("said_at", "created_at", "id").values_list("value", "said_at")
        return [*(Version(*row) for row in found), Version(rows.current, rows.said_at or self._now)]

    def apply(self, decision: Decision, proposal: Proposal, said: Said) -> LongTermMemory | None:
        """Carry out a decision about a proposal; return the memory it made, changed or ended.

        A memory made by this very ledger is changed in place: entries of one answer for one key become one memory.
        """
        if decision.value is not None and find_secret_problems({"key": proposal.key, "value": decision.value}):
            # A list may hold one since before there was this rule: it takes no more items.
            return None
        rows = self._begin(proposal.normalized_key)
        active = rows.active
        match decision.action:
            case Action.IGNORED:
                return None
            case Action.REFRESHED:
                assert active is not None
                is_respelled = (proposal.key, decision.value) != (active.key, active.value)
                action = Change.Action.EDIT if is_respelled else Change.Action.REFRESH
                with self._writer.change(LONG_TERM, active, action):
                    active.confidence = max(active.confidence, proposal.confidence)
                    LONG_TERM.assign(active, {"key": proposal.key, "value": decision.value})
                    active.valid_until = extend_validity(
                        active.valid_until, given=proposal.valid_until, said_at=said.said_at
                    )
                    active.sensitive = sort_marks([*active.sensitive, *proposal.sensitive])
                return self._report(active, Action.REFRESHED)
            case Action.SUPERSEDED if decision.value is None:
                assert active is not None
                self.supersede(active)
                rows.active = None
                return self._report(active, Action.SUPERSEDED, left=[])
            case Action.SUPERSEDED if active is not None and active.id in self._made:
                with self._writer.change(LONG_TERM, active, Change.Action.EDIT):
                    active.confidence = max(active.confidence, proposal.confidence)
                    LONG_TERM.assign(active, {"value": decision.value, "valid_until": proposal.valid_until})
                    active.sensitive = sort_marks([*active.sensitive, *proposal.sensitive])
                return active
        memory = self._make(proposal, decision.value, said)
        if decision.action is Action.PENDING:
            memory.status, memory.mode = Status.PENDING, proposal.mode
            rows.pending.append(memory)
        else:
            self._activate(memory)
        self._writer.create(LONG_TERM, memory)
        self._made.add(memory.id)
        return self._report(memory, decision.action)

    def _make(self, proposal: Proposal, value: Any, said: Said) -> LongTermMemory:
        memory = LongTermMemory(
            session_id=said.session_id,
            message_id=said.message_id,
            category=proposal.category,
            confidence=proposal.confidence,
            source=proposal.source,
            valid_until=proposal.valid_until,
            sensitive=list(proposal.sensitive),
            last_accessed=self._now,
        )
        LONG_TERM.assign(memory, {"key": proposal.key, "value": value})
        return memory

    def _activate(self, memory: LongTermMemory) -> None:
        """Make `memory`, new or accepted, the active one of its key; the one before is superseded by it."""
        rows = self._keys[memory.normalized_key]
        if rows.active is not None:
            self.supersede(rows.active, by=memory)
            memory.muted = memory.muted or rows.active.muted  # L10: it is not to come up, whatever its value is
            memory.sensitive = sort_marks([*memory.sensitive, *rows.active.sensitive])  # what a list holds still is
        memory.status, memory.mode = Status.ACTIVE, Mode.REPLACE
        rows.active = memory

    def accept(self, memory_id: UUID, key: str) -> LongTermMemory:
        """Apply what a pending memory of a normalised key proposes; it becomes the active one, or ends with it."""
        rows = self._begin(key)
        memory = next(row for row in rows.pending if row.id == memory_id)
        mode = Mode(memory.mode)
        claims = list_claims(mode=mode, value=memory.value)
        result = apply_mode(mode=mode, current=rows.current, proposed=memory.value)
        rows.pending.remove(memory)
        if result is None:
            for row in filter(None, (rows.active, memory)):
                self.supersede(row)
            rows.active = None
        else:
            with self._writer.change(LONG_TERM, memory, Change.Action.ACCEPT):
                LONG_TERM.assign(memory, {"value": result})
                self._activate(memory)
        self.settle(key, claims=claims)
        return memory

    def settle(self, key: str, *, claims: set[Claim], rejected: bool = False) -> None:
        """Take the proposals that say nothing but `claims` out of the review queue: they have come true otherwise.

        With `rejected` also out of those turned down: a person has changed their mind.
        """
        rows = self._keys[key]
        for found in (rows.pending, rows.rejected) if rejected else (rows.pending,):
            for row in [row for row in found if _list_claims([row]) <= claims]:
                found.remove(row)
                self.supersede(row, by=rows.active)

    def supersede(self, memory: LongTermMemory, *, by: LongTermMemory | None = None) -> None:
        """End a memory, with nothing in its place where there is no successor."""
        self._begin(memory.normalized_key)
        self._writer.supersede(LONG_TERM, memory, by=by)

    def _report(self, memory: LongTermMemory, action: Action, *, left: Any = None) -> LongTermMemory:
        if action is not Action.REFRESHED or memory.id not in self._updates:
            self._updates[memory.id] = memory, action, left
        return memory

    def save(self, *, said_at: datetime | None = None, with_twins: bool = True) -> list[MemoryUpdate]:
        """Write all changes; return what happened, in order.

        `said_at`: when what caused them was said. `with_twins`: atomic memories that say what has ended end in the same
        operation.
        """
        self._writer.save()
        for rows in self._keys.values() if with_twins else ():
            if rows.was_active is not None and rows.was_active[0].status == Status.SUPERSEDED:
                row, value = rows.was_active
                ended = [KeyedValue(row.key, item, row.message_id) for item in list_lost(value, rows.current)]
                end_atomic_twins(
                    self._user,
                    ended,
                    said_at=said_at or self._now,
                    message_id=self._message_id,
                    operation=rows.operation,
                    now=self._now,
                )
        return [
            MemoryUpdate(
                id=memory.id,
                action=action,
                category=memory.category,
                key=memory.key,
                value=memory.value if left is None else left,
            )
            for memory, action, left in self._updates.values()
        ]


def record_entries(
    *,
    user: User,
    entries: Sequence[ProposedEntry | Proposal],
    session_id: UUID | None,
    message_id: UUID | None,
    said_at: datetime,
    message_text: str,
    said: str | None = None,
    others: str = "",
    auto_accept_confidence: float,
    sensitive: SensitiveHandling = REMEMBER_ALL,
    zone: ZoneInfo = UTC_ZONE,
    now: datetime,
) -> list[MemoryUpdate]:
    """Store what a model proposes to remember, in a turn or in background work (L2, L3, L6).

    What is or tells of a secret is among the invalid (D4).
    `said_at`, `message_text`: when and what the user said that the entries come from, in their `zone`. Invalid entries
    are skipped one by one; a `Proposal` is valid. Pending: what is less certain than `auto_accept_confidence`, reads as
    an instruction to the system, is a value in the first person, says nothing beside its key, or is not supported by
    `said` (`is_supported_by`). `said`: all that the person said there, None where nothing can be compared; `others`:
    what others said. `sensitive`: how its owner wants what the model marked to be handled (D4): it is pending, too, or
    left out and noted on its message; taking away is neither. A key that names the attribute of an active one in other
    words joins it. What was rejected (L1) or deleted (L6) is left out. What was said before the active memory of its
    key never supersedes it (`keyed.drop_stale`). Returns what happened; nothing for what was left out or is history.

    At most eight queries for any number of entries: lock, tombstones, memories, two updates, insert, audit records, and
    two for the vectors, which workers make where the embedder is elsewhere; none without a valid entry, one more for
    each key of which something later is known, and up to six where atomic memories say what ends.
    """
    proposals = []
    for entry in entries:
        if (proposal := read_proposal(entry)) is not None:
            if isinstance(entry, ProposedEntry) and entry.until:
                until = read_until(entry.until, said=message_text, said_at=said_at, zone=zone)
                proposal = replace(proposal, valid_until=until)
            proposals.append(proposal)
    if not proposals:
        return []
    with transaction.atomic(savepoint=False):
        lock_memories(user)
        proposals = _drop_deleted(user, proposals, said_at=said_at, message_text=message_text)
        proposals = _drop_excluded(user, proposals, sensitive, message_id=message_id)
        if not proposals:
            return []
        same = {proposal.normalized_key: list_same_keys(proposal.normalized_key) for proposal in proposals}
        keys = {*same, *(name for names in same.values() for name in names)}
        ledger = Ledger(user, keys, now=now, message_id=message_id)
        source = Said(message_id, session_id, said_at, message_text)
        for proposal in proposals:
            joined = _join_same_key(ledger, proposal, same[proposal.normalized_key])
            is_sure = joined.confidence >= auto_accept_confidence and not _needs_look(joined, sensitive)
            accept = is_sure and is_supported_by(joined, said=said, others=others)
            ledger.take(joined, accept=accept, said=source)
        return ledger.save(said_at=said_at)


def _drop_deleted(user: User, proposals: Sequence[Proposal], *, said_at: datetime, message_text: str) -> list[Proposal]:
    values = [{"key": proposal.key, "value": proposal.value} for proposal in proposals]
    forgotten = find_tombstones(user, {digest for each in values for digest in LONG_TERM.digests(user, each)})
    if not forgotten:
        return list(proposals)
    kept = []
    for proposal in proposals:
        value = proposal.value
        if proposal.mode is not Mode.REMOVE:
            value = keep_learnable(
                user, proposal.key, value, said_at=said_at, message_text=message_text, forgotten=forgotten
            )
        if value is not None:
            kept.append(replace(proposal, value=value))
    return kept


def _drop_excluded(
    user: User, proposals: Sequence[Proposal], sensitive: SensitiveHandling, *, message_id: UUID | None
) -> list[Proposal]:
    """Return what its owner did not exclude from being remembered (D4); the message is told what was left out."""
    excluded = [
        proposal
        for proposal in proposals
        if proposal.mode is not Mode.REMOVE and sensitive.decide(proposal.sensitive) is Handling.EXCLUDE
    ]
    if excluded and message_id is not None:
        marks = {mark for proposal in excluded for mark in proposal.sensitive}
        categories = marks.intersection(sensitive.select(Handling.EXCLUDE))
        note_not_remembered(user=user, message_id=message_id, categories=categories)
    return [proposal for proposal in proposals if proposal not in excluded]


def _join_same_key(ledger: Ledger, proposal: Proposal, same: Sequence[str]) -> Proposal:
    """Return the proposal under the key that is there already for the same attribute, if one is."""
    if ledger.get(proposal.normalized_key).active is not None:
        return proposal
    for name in same:
        if (active := ledger.get(name).active) is not None:
            return replace(proposal, key=active.key, normalized_key=name)
    return proposal


def _needs_look(proposal: Proposal, sensitive: SensitiveHandling) -> bool:
    """Whether a person looks at an entry first, however sure a model is."""
    return (
        sensitive.decide(proposal.sensitive) is Handling.REVIEW
        or is_first_person(proposal.value)
        or is_vacuous(proposal.key, proposal.value)
        or reads_as_instruction(key=proposal.key, value=proposal.value)
    )


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
    valid_until: datetime | None = None,
    sensitive: Sequence[str] = (),
    session_id: UUID | None = None,
    space_id: UUID | None = None,
) -> tuple[LongTermMemory, Action]:
    """Store a memory its owner wrote: CREATED, SUPERSEDED (it replaces the key's value) or REFRESHED (the same again).

    It goes to the space named, else to that of the session (`find_room`).
    What was deleted or rejected before may be learned again from here on. Raises `InvalidInput`, `TooLarge`, and
    `NotFound` for a session or space that is not theirs.
    """
    values = {"category": category, "key": key, "value": value, "confidence": confidence, "source": source}
    values = LONG_TERM.clean(values | {"valid_until": valid_until, "sensitive": list(sensitive)})
    user = find_room(user, session_id=session_id, space_id=space_id)
    normalized_key = normalize_key(values["key"])
    lock_memories(user)
    clear_tombstones(user=user, digests=LONG_TERM.digests(user, values))
    ledger = Ledger(user, [normalized_key], now=now)
    decision = decide(mode=Mode.REPLACE, value=value, current=ledger.get(normalized_key).current, accept=True)
    proposal = Proposal(**values, mode=Mode.REPLACE, normalized_key=normalized_key)
    memory = ledger.apply(decision, proposal, Said(None, session_id, now))
    assert memory is not None
    ledger.settle(normalized_key, claims=list_claims(mode=Mode.REPLACE, value=value), rejected=True)
    ledger.save()
    return memory, decision.action
