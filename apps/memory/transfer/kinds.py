"""What differs between the two kinds of memories when they are taken along and brought in (M4)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, ClassVar
from uuid import UUID

from apps.accounts.models import User
from apps.core.errors import JiyiError
from apps.core.text.fold import normalize_key
from apps.memory.atomic.audit import describe_change as describe_atomic
from apps.memory.atomic.audit import snapshot as snapshot_atomic
from apps.memory.atomic.held_verdicts import HeldVerdict
from apps.memory.atomic.selectors import DERIVED_FIELDS
from apps.memory.atomic.text import TEXT_FIELDS as ATOMIC_TEXT_FIELDS
from apps.memory.atomic.text import set_content
from apps.memory.atomic.validation import check_fields as check_atomic
from apps.memory.atomic.validation import find_event_problem
from apps.memory.embeddings.memories import long_term_text
from apps.memory.history.types import ChangeDraft, Snapshot
from apps.memory.judging.exact import digest_content, normalize_content
from apps.memory.long_term.audit import describe_change as describe_long_term
from apps.memory.long_term.audit import snapshot as snapshot_long_term
from apps.memory.long_term.learnable import digest_key, digest_values
from apps.memory.long_term.ledger import TEXT_FIELDS as LONG_TERM_TEXT_FIELDS
from apps.memory.long_term.ledger import set_text
from apps.memory.long_term.types import Mode
from apps.memory.long_term.validation import check_fields as check_long_term
from apps.memory.models import SEARCH_FIELDS, AtomicMemory, Change, LongTermMemory, Source, Status
from apps.memory.serializers import AtomicMemorySerializer, LongTermMemorySerializer
from apps.memory.transfer.reading import (
    Reader,
    read_bool,
    read_choice,
    read_count,
    read_id,
    read_optional_id,
    read_optional_time,
    read_time,
)
from apps.memory.types import MemoryKind

_LINKS: Mapping[str, Reader] = {
    "id": read_id,
    "session_id": read_optional_id,
    "message_id": read_optional_id,
    "superseded_by": read_optional_id,
    "status": read_choice(*Status.values),
    "muted": read_bool,
}


class TransferKind(ABC):
    """One kind. `fields`: those of an object, as in the API; `identity`: the one two active memories may not share."""

    name: ClassVar[str]
    model: ClassVar[type[Any]]
    fields: ClassVar[tuple[str, ...]]
    derived: ClassVar[tuple[str, ...]]
    required: ClassVar[tuple[str, ...]]
    readers: ClassVar[Mapping[str, Reader]]
    made_at: ClassVar[str]
    identity: ClassVar[str]
    named: ClassVar[str]
    """The field in which a clash of `identity` is told."""
    taken: ClassVar[str]
    embedded: ClassVar[MemoryKind]
    links: ClassVar[tuple[str, ...]] = ("superseded_by",)
    """Fields that name another memory of the kind."""

    @abstractmethod
    def check(self, values: Mapping[str, Any]) -> str | None:
        """Return why a whole row cannot be, beyond what is wrong with single fields."""

    @abstractmethod
    def identify(self, values: Mapping[str, Any]) -> str:
        """Return the form by which an active memory is told from the others."""

    @abstractmethod
    def complete(self, given: Mapping[str, Any], *, now: datetime) -> dict[str, Any]:
        """Return all fields of a new row but the ID, those that are not given with what a new memory has."""

    @abstractmethod
    def apply(self, memory: Any, values: Mapping[str, Any]) -> None:
        """Set fields of a memory, with what is derived from them."""

    @abstractmethod
    def snapshot(self, memory: Any) -> Snapshot:
        """Return what the audit record keeps of it."""

    @abstractmethod
    def describe(self, memory: Any, *, before: Snapshot | None) -> ChangeDraft:
        """Return the record of the import of a memory."""

    @abstractmethod
    def text(self, memory: Any) -> str:
        """Return what is embedded of it."""

    @abstractmethod
    def digests(self, user: User, memory: Any) -> Iterable[str]:
        """Return the digests by which it would be known as deleted."""

    def read_values(self, memory: Any) -> dict[str, Any]:
        """Return the fields of a stored memory, as Python values."""
        return {name: getattr(memory, self.column(name)) for name in self.fields}

    def column(self, name: str) -> str:
        """Return the attribute that holds a field."""
        return f"{name}_id" if name in self.links else name

    @abstractmethod
    def rename(self, given: dict[str, Any], own_ids: Mapping[UUID, UUID]) -> None:
        """Put the IDs that memories get here into what a row says beside its links."""


def _apply_plain(kind: TransferKind, memory: Any, values: Mapping[str, Any], *, but: tuple[str, ...]) -> None:
    for name, value in values.items():
        if name not in but:
            setattr(memory, kind.column(name), value)


def _read_proposal(value: Any) -> dict[str, Any] | None:
    """What accepting a pending memory does (A3)."""
    try:
        found = None if value is None else HeldVerdict.from_json(value)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ValueError("Must be null or what an export holds here.") from error
    return found.to_json() if found else None


def _read_by(check: Any, name: str) -> Reader:
    """A reader that takes what the services take for a field."""

    def read(value: Any) -> Any:
        try:
            check({name: value})
        except JiyiError as error:
            raise ValueError(error.fields[name][0]) from error
        return value

    return read


class LongTermTransfer(TransferKind):
    """Long-term memories (L1)."""

    name = "long-term"
    model = LongTermMemory
    fields = LongTermMemorySerializer.Meta.fields
    derived = ("normalized_key", "normalized_value", *SEARCH_FIELDS)
    required = ("category", "key", "value")
    made_at = "created_at"
    identity, named, taken = "normalized_key", "key", "Another active memory already uses this key."
    embedded = MemoryKind.LONG_TERM
    readers = {
        **_LINKS,
        **{name: _read_by(check_long_term, name) for name in ("category", "value", "source")},
        "key": lambda value: _read_by(check_long_term, "key")(value).strip(),
        "confidence": lambda value: float(_read_by(check_long_term, "confidence")(value)),
        "mode": read_choice(*(mode.value for mode in Mode)),
        **dict.fromkeys(("created_at", "updated_at", "last_accessed"), read_time),
        "access_count": read_count,
    }

    def check(self, values: Mapping[str, Any]) -> str | None:
        return None

    def rename(self, given: dict[str, Any], own_ids: Mapping[UUID, UUID]) -> None:
        """A long-term memory names others by its links only."""

    def identify(self, values: Mapping[str, Any]) -> str:
        return normalize_key(values["key"])

    def complete(self, given: Mapping[str, Any], *, now: datetime) -> dict[str, Any]:
        made = given.get("created_at", now)
        absent = {
            "session_id": None, "message_id": None, "confidence": 1.0, "source": Source.USER_STATED,
            "status": Status.ACTIVE, "mode": Mode.REPLACE, "superseded_by": None, "muted": False, "created_at": made,
            "updated_at": made, "last_accessed": made, "access_count": 0,
        }  # fmt: skip
        return absent | dict(given)

    def apply(self, memory: Any, values: Mapping[str, Any]) -> None:
        _apply_plain(self, memory, values, but=LONG_TERM_TEXT_FIELDS)
        set_text(memory, key=values.get("key", memory.key), value=values.get("value", memory.value))

    def snapshot(self, memory: Any) -> Snapshot:
        return snapshot_long_term(memory)

    def describe(self, memory: Any, *, before: Snapshot | None) -> ChangeDraft:
        return describe_long_term(memory, action=Change.Action.IMPORT, before=before)

    def text(self, memory: Any) -> str:
        return long_term_text(key=memory.key, value=memory.value)

    def digests(self, user: User, memory: Any) -> Iterable[str]:
        return {digest_key(user, memory.normalized_key), *digest_values(user, memory.value)}


class AtomicTransfer(TransferKind):
    """Atomic memories (A1).

    A file also holds what accepting a pending one does, and of which memory one is the rest.
    """

    name = "atomic"
    model = AtomicMemory
    fields = (*AtomicMemorySerializer.Meta.fields, "left_of", "proposal")
    links = ("superseded_by", "left_of")
    derived = DERIVED_FIELDS
    required = ("content",)
    made_at = "create_time"
    identity, named, taken = "normalized_content", "content", "Another active memory already says this."
    embedded = MemoryKind.ATOMIC
    readers = {
        **_LINKS,
        "content": lambda value: _read_by(check_atomic, "content")(value).strip(),
        "tags": lambda value: list(dict.fromkeys(tag.strip() for tag in _read_by(check_atomic, "tags")(value))),
        **dict.fromkeys(("timestamp", "create_time", "updated_at"), read_time),
        **dict.fromkeys(("event_start", "event_end"), read_optional_time),
        "left_of": read_optional_id,
        "proposal": _read_proposal,
    }

    def rename(self, given: dict[str, Any], own_ids: Mapping[UUID, UUID]) -> None:
        for target in (given.get("proposal") or {}).get("targets", ()):
            if target["kind"] == MemoryKind.ATOMIC:
                target["id"] = str(own_ids.get(UUID(target["id"]), target["id"]))

    def check(self, values: Mapping[str, Any]) -> str | None:
        return find_event_problem(values.get("event_start"), values.get("event_end"))

    def identify(self, values: Mapping[str, Any]) -> str:
        return normalize_content(values["content"])

    def complete(self, given: Mapping[str, Any], *, now: datetime) -> dict[str, Any]:
        made = given.get("create_time", now)
        absent = {
            "session_id": None, "message_id": None, "tags": [], "timestamp": made, "event_start": None,
            "event_end": None, "status": Status.ACTIVE, "superseded_by": None, "muted": False, "create_time": made,
            "updated_at": made, "left_of": None, "proposal": None,
        }  # fmt: skip
        return absent | dict(given)

    def apply(self, memory: Any, values: Mapping[str, Any]) -> None:
        _apply_plain(self, memory, values, but=ATOMIC_TEXT_FIELDS)
        set_content(memory, values.get("content", memory.content))

    def snapshot(self, memory: Any) -> Snapshot:
        return snapshot_atomic(memory)

    def describe(self, memory: Any, *, before: Snapshot | None) -> ChangeDraft:
        return describe_atomic(memory, action=Change.Action.IMPORT, before=before)

    def text(self, memory: Any) -> str:
        return str(memory.content)

    def digests(self, user: User, memory: Any) -> Iterable[str]:
        return {digest_content(user, memory.content)}


LONG_TERM, ATOMIC = LongTermTransfer(), AtomicTransfer()

KINDS: Mapping[str, TransferKind] = {kind.name: kind for kind in (LONG_TERM, ATOMIC)}
