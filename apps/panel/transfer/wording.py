"""What becomes of each row of a file, in words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext, gettext_lazy, gettext_noop

from apps.memory.transfer.selectors import LONG_TERM, TransferKind
from apps.memory.transfer.types import Note, PlannedRow, RowAction
from apps.panel.field_words import FIELD_LABELS, TEXT_FIELDS, show_field
from apps.panel.reasons import translate_reason
from apps.panel.values import show_value

SHOWN_CHARACTERS = 300

ACTIONS = {
    RowAction.CREATE: gettext_lazy("new"),
    RowAction.UPDATE: gettext_lazy("changed"),
    RowAction.SKIP: gettext_lazy("unchanged"),
    RowAction.ERROR: gettext_lazy("problem"),
}

TONES = {RowAction.CREATE: "teal", RowAction.UPDATE: "blue", RowAction.SKIP: "grey", RowAction.ERROR: "red"}

NOTES = {
    Note.NEW_ID: gettext_lazy("It gets a new ID, because another user’s memory has this ID."),
    Note.NO_SESSION: gettext_lazy("Its conversation does not exist here, so it is imported without it."),
    Note.NO_MESSAGE: gettext_lazy("Its message does not exist here, so it is imported without it."),
    Note.NO_SUCCESSOR: gettext_lazy("The memory that replaced it does not exist here, so it is imported without it."),
    Note.NO_ORIGIN: gettext_lazy("The memory it is a part of does not exist here, so it is imported without it."),
}

_REASONS = (
    gettext_noop("This field is missing."),
    gettext_noop("This is not an object."),
    gettext_noop("Unknown field."),
    gettext_noop("Must be a UUID."),
    gettext_noop("Must be text."),
    gettext_noop("Must be a whole number that is not negative."),
    gettext_noop("Must be an ISO 8601 time with an offset, such as 2026-11-20T08:30:00Z."),
    gettext_noop("The chain of replacements leads back to this memory."),
    gettext_noop("Only a superseded memory can have a successor."),
    gettext_noop("Must be null or what an export holds here."),
    gettext_noop("Requires event_start."),
    gettext_noop("Must not be before event_start."),
    gettext_noop("Out of range: it has no valid date in some time zones."),
    gettext_noop("The file is larger than 64 MiB."),
    gettext_noop("The file is not UTF-8 text."),
    gettext_noop("The file is not JSON."),
    gettext_noop("This file is an export of all data. Choose a file with one type of memory."),
    gettext_noop("The file is not a list of memories: it must begin with [ and end with ]."),
    gettext_noop("The file has more than 100,000 rows. Import it in parts."),
)

_PATTERNS = (
    (re.compile(r"Row (?P<row>\d+) already has this ID\."), gettext_noop("Row %(row)s already has this ID.")),
    (
        re.compile(r"Duplicates the active memory in row (?P<row>\d+)\."),
        gettext_noop("Duplicates the active memory in row %(row)s."),
    ),
    (re.compile(r"Must be one of: (?P<choices>.+)\."), gettext_noop("Must be one of: %(choices)s.")),
    (re.compile(r"Must not contain (?P<what>.+)\."), gettext_noop("Must not contain %(what)s.")),
)


@dataclass(frozen=True, slots=True)
class FieldChange:
    """What an update does to a field; `is_text`: to be compared word by word."""

    label: Any
    before: Any
    after: Any
    is_text: bool


@dataclass(frozen=True, slots=True)
class RowView:
    """A row as the page shows it. `reasons`: the field, and what is wrong with it."""

    number: int
    action: str
    action_name: Any
    tone: str
    title: str
    text: str
    changes: Sequence[FieldChange]
    reasons: Sequence[tuple[str, str]]
    notes: Sequence[Any]


def show_row(row: PlannedRow, kind: TransferKind) -> RowView:
    """Put a row into words."""
    values = {**(row.before or {}), **row.given}
    text = show_value(values.get("value")) if kind is LONG_TERM else str(values.get("content") or "")
    return RowView(
        number=row.number,
        action=row.action.value,
        action_name=ACTIONS[row.action],
        tone=TONES[row.action],
        title=str(values.get("key") or "") if kind is LONG_TERM else "",
        text=f"{text[:SHOWN_CHARACTERS]}…" if len(text) > SHOWN_CHARACTERS else text,
        changes=[_show_change(name, row) for name in row.changed] if row.action is RowAction.UPDATE else [],
        reasons=[(name, translate_row_reason(reason)) for name, given in row.reasons.items() for reason in given],
        notes=[NOTES[note] for note in row.notes],
    )


def _show_change(name: str, row: PlannedRow) -> FieldChange:
    before = (row.before or {})[name]
    return FieldChange(
        label=FIELD_LABELS.get(name, name),
        before=show_field(name, before),
        after=show_field(name, row.given[name]),
        is_text=name in TEXT_FIELDS,
    )


def translate_row_reason(reason: str) -> str:
    """Return what is wrong in the language of the page."""
    for pattern, text in _PATTERNS:
        if found := pattern.fullmatch(reason):
            return gettext(text) % found.groupdict()
    return translate_reason(reason)
