"""What the overview says in words: what is new, what changed and why, what waits for a decision, and what was used.

IDs are found first, of everything the page names; their texts are then read together (`figures.read_texts`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import Count, F, OuterRef, QuerySet, Subquery, TextField, Value
from django.db.models.functions import Left

from apps.chat.models import Turn
from apps.chat.selectors import list_influential
from apps.conversations.models import Message, Work
from apps.core.text.sentences import cut_at_sentence
from apps.core.words import word
from apps.memory.models import Change, Status
from apps.panel.changes import Entry, name_author, read_entry
from apps.panel.dashboard.figures import SHOWN_CHARACTERS, Named, Scope
from apps.panel.jobs import LABELS, Explanation, explain_error
from apps.panel.links import link_memory
from apps.panel.memories.kinds import BOTH
from apps.panel.words import show_value
from apps.profile.models import ProfileProposal

# How many of each are shown.
NEW, WAITING, CHANGED, USED = 6, 3, 5, 4

MEMORIES_OF_A_REPLY = 3
QUOTED = 90

# Of the newest: what was changed before is found in the list of changes.
SEARCHED_CHANGES = 2_000

# What is new, or says nothing else than before.
_NEITHER = (Change.Action.CREATE, Change.Action.REFRESH, Change.Action.IMPORT, Change.Action.ACCEPT, Change.Action.MUTE)

_TEXTS = ("value", "content", "text", "snippet")


@dataclass(frozen=True, slots=True)
class Latest:
    """IDs with the time of each, newest first: of memories that are in use, and of what waits.

    ``proposals``: to the profile; their words, as there is nothing else to read.
    """

    new: Sequence[tuple[UUID, datetime]]
    waiting: Sequence[tuple[UUID, datetime]]
    proposals: Mapping[UUID, str]

    @property
    def ids(self) -> list[UUID]:
        """Those whose texts are to be read."""
        return [key for key, _at in (*self.new, *self.waiting) if key not in self.proposals]


def find_latest(scope: Scope) -> Latest:
    """One query."""
    parts = []
    for kind in BOTH:
        rows = scope.rows(kind.model)
        parts += [
            _pick(rows.filter(status=status), made_at=kind.made_at, limit=limit)
            for status, limit in ((Status.ACTIVE, NEW), (Status.PENDING, WAITING))
        ]
    pending = scope.rows(ProfileProposal).filter(status="pending")
    parts.append(_pick(pending, made_at="created_at", limit=WAITING, section=F("section"), words=Left("text", QUOTED)))
    new: list[tuple[UUID, datetime]] = []
    waiting: list[tuple[UUID, datetime]] = []
    proposals = {}
    for key, status, at, section, words in parts[0].union(*parts[1:], all=True).order_by("-at", "-pk"):
        (new if status == Status.ACTIVE else waiting).append((key, at))
        if section:
            proposals[key] = f"{word('section', section)}: {words}"
    return Latest(new=new[:NEW], waiting=waiting[:WAITING], proposals=proposals)


def _pick(rows: QuerySet[Any], *, made_at: str, limit: int, **words: Any) -> QuerySet[Any]:
    nothing = Value("", output_field=TextField())
    columns = {"section": nothing, "words": nothing, **words}
    picked: QuerySet[Any] = rows.annotate(at=F(made_at), **{f"of_{name}": value for name, value in columns.items()})
    picked = picked.order_by("-at", "-pk").values_list("pk", "status", "at", "of_section", "of_words")
    return picked[:limit]


@dataclass(frozen=True, slots=True)
class Mention:
    """A memory in words. ``link``: its page."""

    text: str
    link: str
    at: datetime | None = None


def tell_new(latest: Latest, texts: Mapping[UUID, Named]) -> list[Mention]:
    """What was learned lately."""
    return [_tell(key, texts[key], at) for key, at in latest.new if key in texts]


def tell_waiting(latest: Latest, texts: Mapping[UUID, Named], *, link: str) -> list[Mention]:
    """The newest of what waits; all of it leads to the queue."""
    words = {key: texts[key].text for key, _at in latest.waiting if key in texts} | dict(latest.proposals)
    return [Mention(text=words[key], link=link, at=at) for key, at in latest.waiting if key in words]


def _tell(key: UUID, named: Named, at: datetime | None = None) -> Mention:
    return Mention(text=named.text, link=link_memory(named.kind, key), at=at)


@dataclass(frozen=True, slots=True)
class UsedReply:
    """A reply that memories carried weight in. ``said``: the message it answers, empty for a form or a deleted one."""

    id: UUID
    said: str
    at: datetime
    memories: Sequence[Mention]
    more: int


def find_used(scope: Scope) -> list[Turn]:
    """The last replies for which something was recalled, with the beginning of what they answer. One query."""
    said = Message.objects.filter(pk=OuterRef("user_message")).values(start=Left("content", QUOTED * 2))
    turns = scope.rows(Turn).filter(created_at__gte=scope.since).exclude(memories_used=[])
    turns = turns.only("created_at", "memories_used").annotate(said=Subquery(said))
    return list(turns.order_by("-created_at", "-pk")[:USED])


def list_used_ids(turns: Iterable[Turn]) -> list[UUID]:
    """The memories that are named of these replies, with as many more as may have been deleted."""
    return [UUID(item["id"]) for turn in turns for item in list_influential(turn.memories_used)]


def tell_used(turns: Iterable[Turn], texts: Mapping[UUID, Named]) -> list[UsedReply]:
    """Replies with the memories that are still there; without those of which nothing is left."""
    replies = []
    for turn in turns:
        weighty = [UUID(item["id"]) for item in list_influential(turn.memories_used)]
        there = [_tell(key, texts[key]) for key in weighty if key in texts]
        if there:
            shown, said = (
                there[:MEMORIES_OF_A_REPLY],
                cut_at_sentence((getattr(turn, "said", "") or "").strip(), QUOTED),
            )
            more = len(there) - len(shown)
            replies.append(UsedReply(id=turn.pk, said=said, at=turn.created_at, memories=shown, more=more))
    return replies


@dataclass(frozen=True, slots=True)
class Changed:
    """What one operation changed, in words: ``name`` is ``after`` now, ``before`` before.

    ``label``: which of its fields, unless it is what is remembered. Without ``before`` and ``after``, only that
    something was done to it. ``has_ended``: nothing took its place. ``said``: the message that caused it.
    """

    change: Change
    name: str
    link: str
    label: str
    before: str
    after: str
    has_ended: bool
    author: str
    said: str


def list_changed(scope: Scope) -> list[Changed]:
    """The last changes of what was there before. Two queries."""
    newest = scope.rows(Change).order_by("-id").values("pk")[:SEARCHED_CHANGES]
    changes = Change.objects.filter(pk__in=newest).exclude(action__in=_NEITHER).order_by("-id")
    by_operation: dict[UUID, Change] = {}
    for change in changes.select_related("user", "actor", "message")[: CHANGED * 4]:
        first = by_operation.setdefault(change.operation, change)
        if _rank(change) < _rank(first):
            by_operation[change.operation] = change
    shown = list(by_operation.values())[:CHANGED]
    successors = {str((change.after or {}).get("superseded_by")) for change in shown} - {"None"}
    made = Change.objects.filter(operation__in=[change.operation for change in shown], object_id__in=successors)
    taken = {str(key): after for key, after in made.values_list("object_id", "after") if after} if successors else {}
    return [_describe(change, taken) for change in shown]


def _rank(change: Change) -> int:
    """Of the records of one operation: first what was replaced, then what was edited, then anything."""
    order = (Change.Action.SUPERSEDE, Change.Action.EDIT, Change.Action.MERGE)
    return order.index(Change.Action(change.action)) if change.action in order else len(order)


def _describe(change: Change, taken: Mapping[str, Mapping[str, Any]]) -> Changed:
    entry = read_entry(change)
    old, new = change.before or {}, change.after or {}
    label, before, after = "", "", ""
    if change.action == Change.Action.SUPERSEDE:
        before, after = _read_text(old), _read_text(taken.get(str(new.get("superseded_by")), {}))
    elif old and new and change.action in (Change.Action.EDIT, Change.Action.MERGE):
        label, before, after = _read_line(entry, old, new)
    message = change.message
    return Changed(
        change=change,
        name="" if entry.name in (before, before[:SHOWN_CHARACTERS]) else entry.name,
        link=entry.link,
        label=label,
        before=_cut(before),
        after=_cut(after),
        has_ended=bool(before and not after),
        author=name_author(change),
        said=cut_at_sentence(message.content.strip(), QUOTED) if message else "",
    )


def _read_text(snapshot: Mapping[str, Any]) -> str:
    return next((show_value(snapshot[name]) for name in _TEXTS if snapshot.get(name)), "")


def _read_line(entry: Entry, old: Mapping[str, Any], new: Mapping[str, Any]) -> tuple[str, str, str]:
    before, after = _read_text(old), _read_text(new)
    if before != after:
        return "", before, after
    line = entry.lines[0] if entry.lines else None
    return (line.label, line.before, line.after) if line else ("", "", "")


def _cut(text: str) -> str:
    return text if len(text) <= SHOWN_CHARACTERS else f"{text[:SHOWN_CHARACTERS]}…"


@dataclass(frozen=True, slots=True)
class Failed:
    """Work that failed: what it was in words, how often, and why."""

    label: str
    count: int
    why: Explanation | None


def list_failed(scope: Scope) -> list[Failed]:
    """What failed, by what it was and why, the most frequent first. One query."""
    rows = scope.rows(Work).filter(state=Work.State.FAILED).values_list("kind", "error").annotate(n=Count("*"))
    found = rows.order_by("-n", "kind", "error")[:WAITING]
    return [
        Failed(label=str(LABELS[Work.Kind(kind)]), count=count, why=explain_error(error))
        for kind, error, count in found
    ]
