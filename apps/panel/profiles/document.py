"""The profile document as its page shows it: sections, what is proposed for each, and versions with differences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from apps.accounts.models import User
from apps.core.words import WORDS, word
from apps.profile.document import TEXT_SECTIONS
from apps.profile.models import ProfileProposal, ProfileVersion, UserProfile
from apps.profile.services import list_pending_proposals, list_versions, preview_proposals, to_snapshot

# Proposals shown at once, the oldest: each is compared with its section word by word.
WAITING = 10

# Proposals decided last that can be opened again.
DECIDED = 10

_ICONS = {"reply_style": "forum", "language_habits": "translate", "background": "badge"}


@dataclass(frozen=True, slots=True)
class Proposal:
    """A proposed change. ``after``: the section's text if it is accepted."""

    row: ProfileProposal
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Section:
    """A section of the document. Those that every document has are there without a text too.

    ``more``: proposals for it beside those shown.
    """

    name: str
    title: str
    icon: str
    hint: str
    text: str
    edited_at: datetime | None
    learned_at: datetime | None
    proposals: Sequence[Proposal]
    more: int

    @property
    def lines(self) -> list[str]:
        return self.text.splitlines()


@dataclass(frozen=True, slots=True)
class SectionChange:
    """A section in two versions."""

    title: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Version:
    """A version, what is different in it from the one before, and its whole text by title."""

    row: ProfileVersion
    changes: Sequence[SectionChange]
    current: bool

    @property
    def sections(self) -> list[tuple[str, str]]:
        return [(word("section", name), text) for name, text in flatten(self.row.document).items()]


def list_sections(profile: UserProfile | None, user: User) -> list[Section]:
    """The sections of a person's document, with what waits for a decision beside each; two queries."""
    document = to_snapshot(profile).texts if profile else {}
    rows = list(list_pending_proposals(user).select_related("message"))
    waiting: dict[str, list[Proposal]] = {row.section: [] for row in rows}
    changes = preview_proposals(rows[:WAITING])
    for row in rows[:WAITING]:
        change = changes[row.id]
        waiting[row.section].append(Proposal(row=row, before=change.before, after=change.after))
    more = Counter(row.section for row in rows[WAITING:])
    edited, learned = (profile.edited_at, profile.learned_at) if profile else ({}, {})
    return [
        Section(
            name=name,
            title=word("section", name),
            icon=_ICONS.get(name, "label"),
            hint=str(WORDS["section_hint"].get(name, "")),
            text=document.get(name, ""),
            edited_at=_read_time(edited, name),
            learned_at=_read_time(learned, name),
            proposals=waiting.get(name, []),
            more=more[name],
        )
        for name in dict.fromkeys((*TEXT_SECTIONS, *document, *waiting))
    ]


def list_decided(user: User) -> list[ProfileProposal]:
    """The proposals that were decided, the newest first."""
    decided = ProfileProposal.objects.filter(user=user, status__in=("accepted", "rejected"))
    return list(decided.order_by("-created_at", "-id")[:DECIDED])


def list_timeline(user: User, *, limit: int) -> tuple[list[Version], bool]:
    """The newest versions, each with what it changed, and whether there are more; one query."""
    rows = list(list_versions(user)[: limit + 1])
    earlier: list[ProfileVersion | None] = [*rows[1:], None]
    timeline = [
        Version(
            row=row,
            changes=compare(before.document if before else {}, row.document),
            current=index == 0,
        )
        for index, (row, before) in enumerate(zip(rows, earlier, strict=False))
    ]
    return timeline[:limit], len(rows) > limit


def compare(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[SectionChange]:
    """What is different between two documents as versions keep them, section by section."""
    old, new = flatten(before), flatten(after)
    return [
        SectionChange(title=word("section", name), before=old.get(name, ""), after=new.get(name, ""))
        for name in dict.fromkeys((*TEXT_SECTIONS, *old, *new))
        if old.get(name, "") != new.get(name, "")
    ]


def flatten(document: Mapping[str, Any]) -> dict[str, str]:
    """The sections of a document as versions keep it, by name."""
    fixed = {name: document.get(name, "") for name in TEXT_SECTIONS}
    return {name: text for name, text in (fixed | dict(document.get("sections", {}))).items() if text}


def _read_time(times: Mapping[str, str], name: str) -> datetime | None:
    return datetime.fromisoformat(times[name]) if name in times else None
