"""Audit records as lines to read: what was changed, by whom, field by field, those of one operation together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any
from uuid import UUID

from django.core.exceptions import FieldDoesNotExist
from django.db.models import BooleanField, DateTimeField, Model
from django.urls import reverse
from django.utils.dateparse import parse_datetime
from django.utils.translation import gettext as _

from apps.core.text.sentences import cut_at_sentence
from apps.memory.models import AtomicMemory, Change, ContextEntry, LongTermMemory, SharedContext
from apps.panel.field_words import show_time
from apps.panel.sources.links import SourceLink, link_sources
from apps.panel.values import show_value
from apps.profile.models import ProfileProposal, UserProfile
from apps.summaries.models import SessionSummary

MODELS: dict[str, type[Model]] = {
    Change.Kind.LONG_TERM: LongTermMemory,
    Change.Kind.ATOMIC: AtomicMemory,
    Change.Kind.PROFILE: UserProfile,
    Change.Kind.PROPOSAL: ProfileProposal,
    Change.Kind.SUMMARY: SessionSummary,
    Change.Kind.CONTEXT: SharedContext,
    Change.Kind.ENTRY: ContextEntry,
}
_NAMING = ("key", "title", "content", "text")
_TECHNICAL = frozenset({"normalized_key", "normalized_content", "superseded_by", "superseded_by_id", "updated_at"})
"""Fields that say nothing a person does not see in the others."""

_USUAL = {"status": "active", "mode": "replace"}
"""What is not worth a line of a new memory."""

_SHOWN = 400
_BEFORE_CHANGE = 60


@dataclass(frozen=True, slots=True)
class Line:
    """One field of an object: its name in words, and its texts before and after."""

    label: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Entry:
    """One audit record. ``name``: what the object is called, empty once it was deleted; ``link``: its page."""

    change: Change
    name: str
    link: str
    lines: tuple[Line, ...]

    @property
    def tone(self) -> str:
        """The colour of the chip of what was done."""
        return _TONES[Change.Action(self.change.action)]


@dataclass(frozen=True, slots=True)
class Operation:
    """What was changed together, and is undone together."""

    id: UUID
    entries: tuple[Entry, ...]

    @property
    def first(self) -> Change:
        return self.entries[0].change

    @property
    def author(self) -> str:
        """Who made the change: a user name, or the assistant."""
        return name_author(self.first)

    @property
    def cause(self) -> str:
        """What the person said that caused it, shortened; empty where nothing did or the message was deleted."""
        message = self.first.message
        return cut_at_sentence(message.content.strip(), _SHOWN) if message else ""

    @property
    def sources(self) -> list[SourceLink]:
        """Where everything that came from the same source is listed."""
        message = self.first.message
        return link_sources(
            session=message.session_id if message else self.first.session_id,
            program=self.first.via,
            time=self.first.created_at,
        )

    @property
    def can_be_undone(self) -> bool:
        return all(entry.change.can_be_undone for entry in self.entries)

    @property
    def undone(self) -> bool:
        return self.first.undone_by is not None


_TONES = {
    Change.Action.CREATE: "teal",
    Change.Action.ACCEPT: "teal",
    Change.Action.EDIT: "blue",
    Change.Action.REFRESH: "blue",
    Change.Action.IMPORT: "blue",
    Change.Action.SUPERSEDE: "amber",
    Change.Action.MERGE: "amber",
    Change.Action.UNDO: "violet",
    Change.Action.REJECT: "red",
    Change.Action.EVICT: "red",
    Change.Action.MUTE: "grey",
    Change.Action.DELETE: "red",
}


def group_operations(changes: Iterable[Change]) -> list[Operation]:
    """Records as operations, in the order of a list; others' records may stand between those of one."""
    operations: dict[UUID, list[Entry]] = {}
    for change in changes:
        operations.setdefault(change.operation, []).append(read_entry(change))
    return [Operation(id=operation, entries=tuple(entries)) for operation, entries in operations.items()]


def name_author(change: Change) -> str:
    """A user name, or the assistant; an account that has been deleted since has no name any more."""
    if change.actor:
        return change.actor.get_username()
    by_hand = change.origin in (Change.Origin.PANEL, Change.Origin.API)
    return _("Deleted user") if by_hand else _("Assistant")


def read_entry(change: Change) -> Entry:
    """What an audit record says."""
    snapshot = change.after or change.before or {}
    name = next((show_value(snapshot[field]) for field in _NAMING if snapshot.get(field)), "")
    link = _link(change, snapshot) if snapshot else ""
    return Entry(change=change, name=name[:120], link=link, lines=tuple(list_lines(change)))


def list_lines(change: Change, *, whole: bool = False) -> Iterator[Line]:
    """What differs, field by field; long texts near to what differs only, unless `whole`."""
    before, after = change.before or {}, change.after or {}
    for name in {**before, **after}:
        old, new = before.get(name), after.get(name)
        is_usual = change.before is None and (not new or _USUAL.get(name) == new)
        if old == new or name in _TECHNICAL or is_usual:
            continue
        field = _find_field(change.kind, name)
        texts = (_show(old, field), _show(new, field))
        if not whole:
            texts = _cut(*texts)
        yield Line(str(getattr(field, "verbose_name", name)), *texts)


def _cut(before: str, after: str) -> tuple[str, str]:
    """Both texts from just before where they part: whole values are not compared for a list."""
    if max(len(before), len(after)) <= _SHOWN:
        return before, after
    parting = next((at for at, (old, new) in enumerate(zip(before, after, strict=False)) if old != new), 0)
    start = max(0, parting - _BEFORE_CHANGE)
    return _cut_at(before, start), _cut_at(after, start)


def _cut_at(text: str, start: int) -> str:
    return ("…" if start else "") + text[start : start + _SHOWN] + ("…" if len(text) > start + _SHOWN else "")


def _link(change: Change, snapshot: Mapping[str, Any]) -> str:
    if change.kind == Change.Kind.ENTRY:
        return reverse("admin:memory_sharedcontext_change", args=[snapshot["context"]])
    options = MODELS[change.kind]._meta
    pk: Any = change.user_id if change.kind == Change.Kind.PROFILE else change.object_id
    return reverse(f"admin:{options.app_label}_{options.model_name}_change", args=[pk])


@cache
def _find_field(kind: str, name: str) -> Any:
    """The field of a snapshot's entry; None for one that no column is named after."""
    try:
        return MODELS[kind]._meta.get_field(name.removesuffix("_id"))
    except FieldDoesNotExist:
        return None


def _show(value: Any, field: Any) -> str:
    """A value in words: those of a choice as the page calls them, yes and no, a time in the zone of who reads it."""
    choices = dict(getattr(field, "flatchoices", ()))
    if isinstance(value, bool) and isinstance(field, BooleanField):
        return _("yes") if value else _("no")
    if isinstance(value, str) and isinstance(field, DateTimeField) and (time := parse_datetime(value)):
        return show_time(field.name, time)
    return str(choices[value]) if isinstance(value, str) and value in choices else show_value(value)
