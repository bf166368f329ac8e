"""The profile document: its sections by name, what they may hold, and what the audit record keeps of them (L7)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from apps.accounts.models import User
from apps.core.errors import InvalidInput, TooLarge
from apps.core.text.clean import find_forbidden, normalize_line_ends
from apps.core.text.fold import normalize_key
from apps.core.text.secrets import describe_problem, find_secret
from apps.memory.changes.records import Snapshot, empty_history, forget_history, list_recorded
from apps.memory.models import Change
from apps.profile.models import ProfileProposal, UserProfile

# The sections that every document has, under fields of their own; all others are in `sections` (U1).
REPLY_STYLE = "reply_style"
TEXT_SECTIONS = (REPLY_STYLE, "language_habits", "background")

MAX_SECTION_CHARACTERS = 2_000
# Sections besides `TEXT_SECTIONS`.
MAX_SECTIONS = 50

MAX_NAME_CHARACTERS = 100
MAX_PENDING_PROPOSALS = 50


# Sections by name, those of `TEXT_SECTIONS` first, none of them blank.
Document = dict[str, str]


@dataclass(frozen=True, slots=True)
class ProfileSnapshot:
    """The document as one turn sees it (U1, U2). A section without text is an empty string, or not in `sections`."""

    reply_style: str
    language_habits: str
    background: str
    sections: Mapping[str, str]
    version: int
    updated_at: datetime

    @property
    def texts(self) -> Document:
        """The sections that say something, by name."""
        fixed = zip(TEXT_SECTIONS, (self.reply_style, self.language_habits, self.background), strict=True)
        return {name: text for name, text in (*fixed, *self.sections.items()) if text}

    @property
    def is_empty(self) -> bool:
        """Whether it says nothing."""
        return not self.texts


@dataclass(frozen=True, slots=True)
class ProposedSection:
    """The whole new text of a section of the profile, with what a message shows about the person (U3).

    `section` is one of `TEXT_SECTIONS` or one that the person has made. `said_at` is when the message was said: what is
    older than a deletion or an edit by hand does not come back, and what is older than the section's text does not
    replace it.
    """

    section: str
    text: str
    message_id: UUID | None
    said_at: datetime


def parse_state(state: Mapping[str, Any]) -> Document:
    """Return the sections of a state, as versions and audit records keep it."""
    texts = {name: state.get(name, "") for name in TEXT_SECTIONS} | state.get("sections", {})
    return {name: text for name, text in texts.items() if text}


def format_state(document: Document) -> Snapshot:
    """Return the state that holds these sections."""
    fixed = {name: document.get(name, "") for name in TEXT_SECTIONS}
    return {**fixed, "sections": {name: text for name, text in document.items() if name not in TEXT_SECTIONS}}


def snapshot(profile: UserProfile) -> Snapshot:
    """Return the state of a stored profile."""
    return {**{name: getattr(profile, name) for name in TEXT_SECTIONS}, "sections": dict(profile.sections)}


def read_document(profile: UserProfile) -> Document:
    """Return the sections of a stored profile."""
    return parse_state(snapshot(profile))


def write_document(profile: UserProfile, document: Document) -> None:
    """Set the sections of a profile; saving it is the caller's."""
    for name, value in format_state(document).items():
        setattr(profile, name, value)


def apply_changes(document: Document, changes: Mapping[str, Any]) -> Document:
    """Return the document with `changes`: texts of `TEXT_SECTIONS` and, under "sections", of others; blank removes one.

    Lines end with U+000A in it, however they were given.

    Raises `InvalidInput` with the reasons by field, or `TooLarge` for a text over `MAX_SECTION_CHARACTERS`.
    """
    if unknown := set(changes) - {*TEXT_SECTIONS, "sections"}:
        raise InvalidInput("Some fields cannot be changed.", fields={name: ["Cannot be changed."] for name in unknown})
    sections = changes.get("sections", {})
    if not isinstance(sections, Mapping):
        raise _refuse("sections", "Must be an object that maps names to texts.")
    fixed = {name: changes[name] for name in TEXT_SECTIONS if name in changes}
    others = {_check_name(name): text for name, text in sections.items()}
    if len(others) < len(sections):
        raise _refuse("sections", "The names must differ.")
    written = {name: _check_text(name, name, text) for name, text in fixed.items()}
    written |= {name: _check_text("sections", name, text) for name, text in others.items()}
    result = {name: text for name, text in (document | written).items() if text}
    if sum(name not in TEXT_SECTIONS for name in result) > MAX_SECTIONS:
        raise _refuse("sections", f"There can be at most {MAX_SECTIONS} sections.")
    return result


def _check_name(name: Any) -> str:
    if not isinstance(name, str) or not name.strip():
        raise _refuse("sections", "A section needs a name.")
    name = normalize_line_ends(name).strip()
    if found := find_forbidden(name):
        raise _refuse("sections", f"Must not contain {found}.")
    if len(name) > MAX_NAME_CHARACTERS:
        raise _refuse("sections", f"The name of a section can have at most {MAX_NAME_CHARACTERS} characters.")
    if name in TEXT_SECTIONS:
        raise _refuse("sections", f"{name} is a separate field.")
    return name


def _check_text(field: str, name: str, text: Any) -> str:
    if text is None and field == "sections":
        return ""
    if not isinstance(text, str):
        raise _refuse(field, f"{name} must be text.")
    if found := find_forbidden(text):
        raise _refuse(field, f"Must not contain {found}.")
    text = normalize_line_ends(text).strip()
    check_size(name, text, field=field)
    check_secret(name, text, field=field)
    return text


def check_size(name: str, text: str, *, field: str) -> None:
    """Raise `TooLarge` for a text no section can hold."""
    if len(text) > MAX_SECTION_CHARACTERS:
        message = f"{name} has over {MAX_SECTION_CHARACTERS:,} characters."
        raise TooLarge(message, fields={field: [message]})


def check_secret(name: str, text: str, *, field: str) -> None:
    """Raise `InvalidInput` for a text that holds a secret (D4); the name tells what the text is."""
    if kind := find_secret(text, label=name):
        raise _refuse(field, describe_problem(kind))


def _refuse(field: str, reason: str) -> InvalidInput:
    return InvalidInput(f"{field}: {reason}", fields={field: [reason]})


def find_section(name: str, *, among: Iterable[str]) -> str | None:
    """Return which section a model means by `name`: one of `TEXT_SECTIONS` or of those there are, else None.

    Case, spaces and underscores make no difference, so that "Reply style" is `reply_style`.
    """
    wanted = normalize_key(name.strip())
    return next((known for known in (*TEXT_SECTIONS, *among) if normalize_key(known) == wanted), None)


def snapshot_proposal(proposal: ProfileProposal) -> Snapshot:
    """Return what is proposed, and whether it waits for a decision."""
    return {"section": proposal.section, "text": proposal.text, "status": proposal.status}


def forget_decisions(*, user: User, where: Callable[[str], bool], now: datetime) -> None:
    """Empty the records of proposals in which a text stands that `where` is true of (L6).

    A deletion is recorded of those that are gone; others only lose the words that they were proposed in.
    """
    recorded = list_recorded(user=user, kind=Change.Kind.PROPOSAL, where=where)
    living = set(ProfileProposal.objects.filter(user=user, id__in=recorded).values_list("id", flat=True))
    empty_history(user=user, kind=Change.Kind.PROPOSAL, object_ids=living)
    forget_history(user=user, kind=Change.Kind.PROPOSAL, object_ids=recorded - living, now=now)
