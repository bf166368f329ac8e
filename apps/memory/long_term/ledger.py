"""The memories under some keys of one person: read once under the person's lock, changed in Python, written at once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any
from uuid import UUID, uuid4

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.search import SearchVectorField
from django.db.models import DateTimeField, F, Func, TextField, Value
from django.db.models.functions import Coalesce

from apps.accounts.models import User
from apps.core.text.fold import normalize_key, normalize_value
from apps.core.text.index_terms import index_terms
from apps.memory.embeddings.memories import long_term_text, write_embeddings
from apps.memory.history.services import record_changes
from apps.memory.history.types import ChangeDraft, Snapshot
from apps.memory.long_term.audit import describe_change, snapshot
from apps.memory.long_term.changes import Claim, Decision, list_claims
from apps.memory.long_term.order import Version
from apps.memory.long_term.twins import KeyedValue, end_atomic_twins, list_lost
from apps.memory.long_term.types import Action, MemoryUpdate, Mode
from apps.memory.models import SEARCH_FIELDS, Change, LongTermMemory, Source, Status
from apps.memory.text import add_question_words, join_text, list_words
from apps.memory.types import MemoryKind

TEXT_FIELDS = ("key", "value", "normalized_key", "normalized_value", *SEARCH_FIELDS)
"""The fields that `set_text` sets: what saves one of them must save them all."""

SAID_AT = Coalesce(F("message__create_time"), F("updated_at"), output_field=DateTimeField())
"""When what a memory holds was said: its message tells, or, without one, when it was last written."""

_CURRENT = (Status.ACTIVE, Status.PENDING, Status.REJECTED)


def set_text(memory: LongTermMemory, *, key: str, value: Any) -> None:
    """Set key and value with what is derived from them: identity, sameness (L3), index terms (K3) and words (K4)."""
    memory.key, memory.value = key, value
    memory.normalized_key, memory.normalized_value = normalize_key(key), normalize_value(value)
    text = add_question_words(join_text(key=key, value=value), key=key)
    memory.words = list_words(text)
    memory.search_vector = Func(
        Value(index_terms(text), output_field=ArrayField(TextField())),
        function="array_to_tsvector",
        output_field=SearchVectorField(),
    )


def write_vectors(user: User, memories: Iterable[LongTermMemory]) -> None:
    """Give memories whose text is new their vectors (K9), in the transaction that stores the text."""
    texts = {memory.id: long_term_text(key=memory.key, value=memory.value) for memory in memories}
    write_embeddings(user=user, kind=MemoryKind.LONG_TERM, texts=texts)


@dataclass(slots=True)
class KeyRows:
    """What is stored under one key: the active memory, and what was proposed for it."""

    active: LongTermMemory | None = None
    pending: list[LongTermMemory] = field(default_factory=list)
    rejected: list[LongTermMemory] = field(default_factory=list)

    @property
    def current(self) -> Any:
        """The active value, None when there is none."""
        return None if self.active is None else self.active.value

    @property
    def pending_claims(self) -> set[Claim]:
        return _claims(self.pending)

    @property
    def rejected_claims(self) -> set[Claim]:
        return _claims(self.rejected)


def _claims(rows: Iterable[LongTermMemory]) -> set[Claim]:
    return {claim for row in rows for claim in list_claims(mode=Mode(row.mode), value=row.value)}


class Ledger:
    """Reads the rows under `keys` (normalised), takes changes, and writes them with at most one UPDATE and one INSERT,
    and one more INSERT for their audit records (L7).

    The caller is in a transaction and holds `lock_memories`.
    """

    def __init__(self, *, user: User, keys: Iterable[str], now: datetime) -> None:
        self._user, self._now = user, now
        self._keys: dict[str, KeyRows] = {key: KeyRows() for key in keys}
        self._new: dict[UUID, LongTermMemory] = {}
        self._changed: dict[UUID, LongTermMemory] = {}
        self._accepted: dict[UUID, LongTermMemory] = {}
        self._before: dict[UUID, Snapshot] = {}
        self._respelled: set[UUID] = set()
        self._said_at: dict[UUID, datetime] = {}
        self._actions: dict[UUID, tuple[LongTermMemory, Action, Any]] = {}
        rows = LongTermMemory.objects.filter(user=user, normalized_key__in=self._keys, status__in=_CURRENT)
        for row in rows.annotate(said_at=SAID_AT).defer(*SEARCH_FIELDS).order_by("created_at", "id"):
            self._before[row.id] = snapshot(row)
            self._said_at[row.id] = row.said_at
            self._place(row)

    def _place(self, row: LongTermMemory) -> None:
        found = self._keys[row.normalized_key]
        match row.status:
            case Status.ACTIVE:
                found.active = row
            case Status.PENDING:
                found.pending.append(row)
            case Status.REJECTED:
                found.rejected.append(row)

    def get(self, key: str) -> KeyRows:
        """Return what is stored under a normalised key, changes so far included."""
        return self._keys[key]

    def is_overtaken(self, key: str, *, said_at: datetime) -> bool:
        """Whether the active memory of a normalised key was said after `said_at`.

        What the system kept of a working memory was said some time before it was written: it overtakes nothing.
        """
        active = self._keys[key].active
        if active is None or active.source == Source.SYSTEM:
            return False
        return self._said_at.get(active.id, said_at) > said_at

    def list_versions(self, key: str) -> list[Version]:
        """The values that a normalised key with an active memory had, as they were said, the active one last."""
        active = self._keys[key].active
        assert active is not None
        ended = LongTermMemory.objects.filter(user=self._user, normalized_key=key, status=Status.SUPERSEDED)
        rows = ended.annotate(said_at=SAID_AT).order_by("said_at", "created_at", "id").values_list("value", "said_at")
        return [*(Version(*row) for row in rows), Version(active.value, self._said_at.get(active.id, self._now))]

    def add_history(self, memory: LongTermMemory) -> None:
        """Keep a new memory, whose text is set, as what was true before the active one of its key."""
        memory.status, memory.superseded_by = Status.SUPERSEDED, self._keys[memory.normalized_key].active
        self._new[memory.id] = memory

    def apply(
        self,
        decision: Decision,
        *,
        category: str,
        key: str,
        source: str,
        confidence: float,
        mode: Mode,
        session_id: UUID | None,
        message_id: UUID | None,
    ) -> LongTermMemory | None:
        """Carry out a decision about a proposal for `key`; return the memory it made, changed or ended.

        A memory made by this very ledger is changed in place: entries of one answer for one key become one memory.
        """
        rows = self._keys[normalize_key(key)]
        active = rows.active
        match decision.action:
            case Action.IGNORED:
                return None
            case Action.REFRESHED:
                assert active is not None
                active.confidence = max(active.confidence, confidence)
                if (key, decision.value) != (active.key, active.value):
                    set_text(active, key=key, value=decision.value)
                    self._respelled.add(active.id)
                self._change(active)
                return self._report(active, Action.REFRESHED)
            case Action.SUPERSEDED if decision.value is None:
                assert active is not None
                self.end(active)
                rows.active = None
                return self._report(active, Action.SUPERSEDED, left=[])
            case Action.SUPERSEDED if active is not None and active.id in self._new:
                set_text(active, key=active.key, value=decision.value)
                active.confidence = max(active.confidence, confidence)
                return active
        memory = LongTermMemory(
            user=self._user,
            session_id=session_id,
            message_id=message_id,
            category=category,
            confidence=confidence,
            source=source,
            status=Status.ACTIVE,
            created_at=self._now,
            updated_at=self._now,
            last_accessed=self._now,
        )
        set_text(memory, key=key, value=decision.value)
        self._new[memory.id] = memory
        if decision.action is Action.PENDING:
            memory.status, memory.mode = Status.PENDING, mode
            rows.pending.append(memory)
        else:
            self.activate(memory)
        return self._report(memory, decision.action)

    def activate(self, memory: LongTermMemory) -> None:
        """Make `memory`, new or accepted, the active one of its key; the one before is superseded by it."""
        rows = self._keys[memory.normalized_key]
        if rows.active is not None:
            self.end(rows.active, successor=memory)
            memory.muted = memory.muted or rows.active.muted  # L10: it is not to come up, whatever its value is
        memory.status, memory.mode, memory.updated_at = Status.ACTIVE, Mode.REPLACE, self._now
        rows.active = memory
        if memory.id not in self._new:
            self._accepted[memory.id] = memory

    def settle(self, key: str, *, claims: set[Claim], rejected: bool = False) -> None:
        """Take the proposals that say nothing but `claims` out of the review queue: they have come true otherwise.

        With `rejected` also out of those turned down: a person has changed their mind.
        """
        rows = self._keys[key]
        for found in (rows.pending, rows.rejected) if rejected else (rows.pending,):
            for row in [row for row in found if list_claims(mode=Mode(row.mode), value=row.value) <= claims]:
                found.remove(row)
                self.end(row, successor=rows.active)

    def end(self, memory: LongTermMemory, *, successor: LongTermMemory | None = None) -> None:
        """Supersede a memory, with nothing in its place where there is no successor."""
        memory.status, memory.superseded_by = Status.SUPERSEDED, successor
        self._change(memory)

    def _change(self, memory: LongTermMemory) -> None:
        memory.updated_at = self._now
        if memory.id not in self._new:
            self._changed[memory.id] = memory

    def _report(self, memory: LongTermMemory, action: Action, *, left: Any = None) -> LongTermMemory:
        if action is not Action.REFRESHED or memory.id not in self._actions:
            self._actions[memory.id] = memory, action, left
        return memory

    def save(
        self,
        *,
        message_id: UUID | None = None,
        said_at: datetime | None = None,
        operation: UUID | None = None,
        with_twins: bool = True,
    ) -> list[MemoryUpdate]:
        """Write all changes; return what happened, in order. The old active row makes way before the new one comes.

        `message_id`, `said_at`: what was said that caused the changes, and when; `operation`: the one they are part of,
        instead of one for each key. `with_twins`: atomic memories that say what has ended end in the same operation.
        """
        if self._changed:
            fields = ["status", "superseded_by", "confidence", "updated_at"]
            LongTermMemory.objects.bulk_update(self._changed.values(), fields)
        respelled = [self._changed[memory_id] for memory_id in self._respelled & self._changed.keys()]
        for memory in respelled:
            memory.save(update_fields=TEXT_FIELDS)
        if self._new:
            LongTermMemory.objects.bulk_create(self._new.values())
        for memory in self._accepted.values():
            memory.save(update_fields=["status", "mode", "muted", "updated_at", *TEXT_FIELDS])
        operations: defaultdict[str, UUID] = defaultdict(uuid4)
        changes = [
            replace(draft, message_id=message_id, operation=operation or operations[draft.group])
            for draft in self._list_changes()
        ]
        record_changes(user=self._user, changes=changes, now=self._now)
        # Workers look for memories without a vector: the respelled have an old one.
        write_vectors(self._user, [*self._new.values(), *self._accepted.values(), *respelled])
        if with_twins:
            for key, ended in self._list_ended().items():
                end_atomic_twins(
                    self._user,
                    ended,
                    said_at=said_at or self._now,
                    message_id=message_id,
                    operation=operation or operations[key],
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
            for memory, action, left in self._actions.values()
        ]

    def _name_change(self, row: LongTermMemory) -> Change.Action:
        if row.status == Status.SUPERSEDED:
            return Change.Action.SUPERSEDE
        return Change.Action.EDIT if row.id in self._respelled else Change.Action.REFRESH

    def _list_ended(self) -> dict[str, list[KeyedValue]]:
        """What the active memories of keys held, and hold no longer."""
        ended = {}
        for row in self._changed.values():
            before = self._before[row.id]
            if before["status"] == Status.ACTIVE and row.status == Status.SUPERSEDED:
                lost = list_lost(before["value"], self._keys[row.normalized_key].current)
                ended[row.normalized_key] = [KeyedValue(row.key, item, row.message_id) for item in lost]
        return ended

    def _list_changes(self) -> list[ChangeDraft]:
        created = [describe_change(row, action=Change.Action.CREATE, before=None) for row in self._new.values()]
        changed = [
            describe_change(
                row,
                action=self._name_change(row),
                before=self._before[row.id],
            )
            for row in self._changed.values()
        ]
        accepted = [
            describe_change(row, action=Change.Action.ACCEPT, before=self._before[row.id])
            for row in self._accepted.values()
        ]
        return [*changed, *created, *accepted]
