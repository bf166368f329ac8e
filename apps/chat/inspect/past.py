"""What was remembered at a time: texts from where they live now, at the revision they had then (L7, M6).

Of what has been deleted nothing is left; what has been edited since is read from the audit record. Each `Found` keeps
the value to build a prompt from and, for a person to read, the text as it was and as it is.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from enum import StrEnum
from typing import Any, Generic, TypeVar
from zoneinfo import ZoneInfo

from apps.accounts.models import User
from apps.chat.context.read import describe_round
from apps.chat.context.types import (
    ATOMIC,
    LONG_TERM,
    MESSAGE,
    AttachedFile,
    CaseNotes,
    CutKind,
    Profile,
    RecalledMemory,
    SessionNote,
)
from apps.chat.turn.commands import DELETED
from apps.conversations.models import Attachment, Message
from apps.conversations.rounds import read_rounds
from apps.conversations.types import Line
from apps.core.llm.types import PromptMessage
from apps.core.text.json_text import readable_text
from apps.memory import kinds as memory_kinds
from apps.memory.changes.records import find_states_since
from apps.memory.contexts import list_contexts, list_entries_at
from apps.memory.recall.rounds import cut_round
from apps.memory.working import WorkingMemoryState, find_working_state
from apps.profile.document import ProfileSnapshot
from apps.profile.services import find_profile_then_and_now
from apps.summaries.services import list_session_summaries


class State(StrEnum):
    """What has become of something since it was put before the model."""

    SAME = "same"
    EDITED = "edited"
    DELETED = "deleted"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Piece:
    """One thing that stood in a layer, or was cut: its text then, and now where that is another.

    `kind` is one of `CutKind`, or "working". `status`: of a memory, what it is now.
    """

    kind: str
    id: str
    state: State
    then: str
    now: str
    status: str = ""


@dataclass(frozen=True, slots=True)
class CutPieces:
    """Something the token budget left out; `pieces` is empty for a variable, which is kept by number only."""

    kind: str
    tokens: int
    pieces: Sequence[Piece]


@dataclass(frozen=True, slots=True)
class RebuiltLayer:
    """A layer as it can be rebuilt. `tokens` is what it took then.

    `exact`: whether it is letter for letter what was sent; None where no digest was kept.
    """

    index: int
    name: str
    tokens: int
    content: str
    exact: bool | None
    pieces: Sequence[Piece]


@dataclass(frozen=True, slots=True)
class RebuiltCall:
    """A tool that the model called (T1, X2). `pieces`: what it found, read, made or added to, as it was and is.

    `keyword` None: it was not kept, as it had other words than the message. `ms`: how long it ran.
    """

    name: str
    outcome: str
    keyword: str | None
    since: str | None
    until: str | None
    left_out: int
    ms: float
    pieces: Sequence[Piece]


@dataclass(frozen=True, slots=True)
class RebuiltPrompt:
    """The whole prompt. `recorded`: whether the turn kept the revisions of what it was made from; turns from before
    that was so are rebuilt from what there is now.

    `sent` False: the turn composed its reply itself and asked no model.

    `settings`: those that were not at their default. `budget` in tokens, None where it was not kept. `working`: topic
    and variables as the turn found them. `calls`: of tools; what they returned stood in the requests after the first.
    """

    layers: Sequence[RebuiltLayer]
    messages: Sequence[PromptMessage]
    cut: Sequence[CutPieces]
    read_at: datetime
    recorded: bool
    budget: int | None
    settings: Mapping[str, object]
    working: WorkingMemoryState | None = None
    sent: bool = True
    calls: Sequence[RebuiltCall] = ()

    @property
    def exact(self) -> bool | None:
        """Whether all of it is what was sent; None where that is not known of some layer."""
        known = [layer.exact for layer in self.layers]
        if False in known:
            return False
        return None if None in known else True

    @property
    def total_tokens(self) -> int:
        return sum(layer.tokens for layer in self.layers)

    @property
    def cut_tokens(self) -> int:
        return sum(cut.tokens for cut in self.cut)


V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class Found(Generic[V]):
    """Something as it was: its value for the prompt, and how it has changed since."""

    value: V
    piece: Piece


def read_files(user: User, shown: Iterable[Mapping[str, Any]]) -> list[AttachedFile]:
    """Return attached files as the model got them, ``{"id", "chars"}`` each; of a deleted one, that it is deleted."""
    shown = list(shown)
    ids = [uuid.UUID(file["id"]) for file in shown]
    rows = Attachment.objects.filter(user=user).in_bulk(ids) if ids else {}
    files = []
    for key, file in zip(ids, shown, strict=True):
        row = rows.get(key)
        text = row.text if row else DELETED
        files.append(AttachedFile(str(key), row.name if row else DELETED, text[: file["chars"]], len(text)))
    return files


def read_memories(
    user: User, kinds: Mapping[uuid.UUID, str], *, states: Mapping[uuid.UUID, Any], zone: ZoneInfo
) -> dict[str, Found[RecalledMemory]]:
    """Return memories of both kinds, by ID, as lines of layer 3. `states`: those that have changed since."""
    long_term_ids = [key for key, kind in kinds.items() if kind == LONG_TERM]
    atomic_ids = [key for key, kind in kinds.items() if kind == ATOMIC]
    rows: dict[uuid.UUID, Any] = {}
    if long_term_ids:
        rows |= memory_kinds.LONG_TERM.by_ids(user, long_term_ids)
    if atomic_ids:
        rows |= memory_kinds.ATOMIC.by_ids(user, atomic_ids)
    found = {}
    for key, kind in kinds.items():
        row = rows.get(key)
        now = None if row is None else _describe(row, kind)
        then = states[key] if key in states and now else now
        line = {"text": DELETED} if then is None else _line(then, kind, zone=zone)
        memory = RecalledMemory(id=str(key), kind=kind, text="", line=line, score=0.0, components={})
        piece = make_piece(
            kind,
            str(key),
            then=None if then is None else _read_out(then, kind),
            now=None if now is None else _read_out(now, kind),
            status=row.status if row else "",
        )
        found[str(key)] = Found(memory, piece)
    return found


def read_recalled_rounds(
    user: User, ids: Collection[uuid.UUID], *, message: str, zone: ZoneInfo
) -> dict[str, Found[RecalledMemory]]:
    """Return past rounds, by the ID of what the person said, as lines of layer 3 for a turn with `message` (A5)."""
    rows = read_rounds(user, ids)
    found = {}
    for key in map(str, ids):
        row = rows.get(key)
        line, text = {"text": DELETED}, None
        if row is not None:
            text, reply = cut_round(row.said, row.reply, message=message)
            line = describe_round(text, reply, day=row.create_time.astimezone(zone).date())
        memory = RecalledMemory(id=key, kind=MESSAGE, text="", line=line, score=0.0, components={})
        found[key] = Found(memory, make_piece(MESSAGE, key, then=text, now=text))
    return found


def read_session_notes(
    user: User,
    ids: Collection[uuid.UUID],
    *,
    states: Mapping[uuid.UUID, Any],
    days: Mapping[str, date],
    otherwise: date,
) -> dict[str, Found[SessionNote]]:
    """Return the summaries of other sessions, by ID; `days`: as the prompt had them, else `otherwise`."""
    rows = list_session_summaries(user).in_bulk(list(ids)) if ids else {}
    found = {}
    for key in ids:
        row = rows.get(key)
        now = None if row is None else (row.title, row.snippet)
        then = now
        if row is not None and key in states:
            state = states[key]
            then = None if state is None else (state["title"], state["snippet"])
        title, snippet = then or (DELETED, "")
        note = SessionNote(id=str(key), title=title, snippet=snippet, day=days.get(str(key), otherwise))
        texts = [None if text is None else ": ".join(text) for text in (then, now)]
        found[str(key)] = Found(note, make_piece(CutKind.SESSION_SUMMARY, str(key), then=texts[0], now=texts[1]))
    return found


def read_cases(
    user: User, ids: Collection[uuid.UUID], *, entries: Mapping[str, int], until: datetime
) -> dict[str, Found[CaseNotes]]:
    """Return shared contexts, by ID, with the entries they had: as many as `entries` says, else those of before."""
    rows = {context.id: context for context in list_contexts(user).filter(id__in=list(ids))} if ids else {}
    there = list_entries_at(user, rows, at=until) if rows else {}
    found = {}
    for key in ids:
        row = rows.get(key)
        if row is None:
            case = CaseNotes(id=str(key), title=DELETED, content="")
            found[str(key)] = Found(case, make_piece(CutKind.CONTEXT, str(key), then=None, now=None))
            continue
        count = entries.get(str(key), sum(entry.created_at <= until for entry in there[key]))
        given, lines = _read_out_entries(there[key][:count]), _read_out_entries(row.entries.all())
        case = CaseNotes(id=str(key), title=row.title, content=row.content, entries=given)
        then, now = ("\n".join([f"{row.title}: {row.content}", *part]) for part in (given, lines))
        found[str(key)] = Found(case, make_piece(CutKind.CONTEXT, str(key), then=then, now=now))
    return found


def _read_out_entries(entries: Iterable[Any]) -> list[str]:
    return [f"{entry.author}: {entry.text}" if entry.author else entry.text for entry in entries]


def read_profile(user: User, version: int, *, until: datetime) -> Found[Profile]:
    """Return a version of the profile document."""
    then, now = find_profile_then_and_now(user=user, version=version, until=until)
    profile = Profile(version=version, sections=then.texts if then else {DELETED: ""})
    texts = [_read_out_profile(each) if each else None for each in (then, now)]
    return Found(profile, make_piece(CutKind.PROFILE, str(version), then=texts[0], now=texts[1]))


def read_lines(user: User, ids: Iterable[str]) -> dict[str, Found[Line]]:
    """Return messages and summaries of conversations, by ID. Messages do not change; they go with their session."""
    wanted = list(ids)
    rows = Message.objects.filter(user=user).only("id", "role", "content").in_bulk(wanted) if wanted else {}
    by_id = {str(row.id): row for row in rows.values()}
    found = {}
    for key in wanted:
        row = by_id.get(key)
        role, content = (row.role, row.content) if row else ("user", None)
        kind = CutKind.CONVERSATION_SUMMARY if role == "summary" else CutKind.MESSAGES
        text = None if content is None else f"{role}: {content}"
        line = Line(id=uuid.UUID(key), role=role, content=DELETED if content is None else content)
        found[key] = Found(line, make_piece(kind, key, then=text, now=text))
    return found


def read_working(
    user: User, session_id: uuid.UUID, recorded: Mapping[str, Any] | None
) -> tuple[WorkingMemoryState | None, State]:
    """Return what working memory said at a recorded revision; nothing where it was empty, or has been deleted."""
    if recorded is None or recorded["empty"]:
        return None, State.SAME
    started_at = datetime.fromisoformat(recorded["started_at"])
    state = find_working_state(user, session_id, started_at=started_at, revision=recorded["revision"])
    return state, State.DELETED if state is None else State.SAME


def read_states(user: User, ids: Collection[uuid.UUID], *, since: datetime) -> Mapping[uuid.UUID, Any]:
    """Return what memories and summaries were then, for those changed since."""
    return find_states_since(user=user, object_ids=ids, since=since) if ids else {}


def make_piece(kind: str, key: str, *, then: str | None, now: str | None, status: str = "") -> Piece:
    """Return what a person reads of something; None as a text is that it is not there."""
    state = State.DELETED if then is None else State.SAME if then == now else State.EDITED
    there = then is not None
    return Piece(kind=str(kind), id=key, state=state, then=then or "", now=(now or "") if there else "", status=status)


def _describe(row: Any, kind: str) -> dict[str, Any]:
    if kind == LONG_TERM:
        return {"category": row.category, "key": row.key, "value": row.value}
    return {"content": row.content, "day": row.event_start or row.timestamp}


def _line(memory: Mapping[str, Any], kind: str, *, zone: ZoneInfo) -> dict[str, Any]:
    """What the prompt says of a memory, from a row or from its audit record."""
    if kind == LONG_TERM:
        return {"category": memory["category"], "key": memory["key"], "value": readable_text(memory["value"])}
    day = memory.get("day") or memory["event_start"] or memory["timestamp"]
    time = datetime.fromisoformat(day) if isinstance(day, str) else day
    return {"text": memory["content"], "day": str(time.astimezone(zone).date())}


def _read_out(memory: Mapping[str, Any], kind: str) -> str:
    return f"{memory['key']}: {readable_text(memory['value'])}" if kind == LONG_TERM else str(memory["content"])


def _read_out_profile(profile: ProfileSnapshot) -> str:
    return "\n".join(f"{name}: {text}" for name, text in profile.texts.items())
