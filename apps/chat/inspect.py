"""Rebuilding the prompt of a past turn from what the turn kept: references, revisions, and no text (M6, L7).

Where nothing has been edited or deleted since, it is letter for letter what the model got: the same functions put it
together, and the digest of each layer tells. Of what has been deleted nothing is left; what has been edited since is
read from the audit record.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from enum import StrEnum
from typing import Any
from zoneinfo import ZoneInfo

from apps.accounts.models import User
from apps.accounts.types import SensitiveHandling
from apps.chat.context.build import CONVERSATION, MEMORIES, PROFILE, SUMMARIES, WORKING, assemble, mask_context
from apps.chat.context.read import describe_round, describe_until, list_refused, read_forms
from apps.chat.context.types import (
    ATOMIC,
    LONG_TERM,
    MESSAGE,
    CaseNotes,
    ClientLine,
    ClientPrompt,
    Context,
    ContextInput,
    CutKind,
    Profile,
    RecalledMemory,
    SessionNote,
)
from apps.chat.emotions import ReplyStrategy
from apps.chat.models import Turn
from apps.chat.prompts import FORM_SUBMITTED
from apps.chat.turn.commands import DELETED, describe_actions, restore_prompted
from apps.chat.turn.record import COMPOSED, NOT_KEPT, digest_layer, list_recalled
from apps.conversations.models import Attachment, Message
from apps.conversations.rounds import read_rounds
from apps.conversations.types import Line, SentFile
from apps.core.llm.types import PromptMessage
from apps.core.text.clean import json_text, readable_text
from apps.core.text.commands import Reading, read_message
from apps.core.text.sentences import cut_client_blocks
from apps.memory import kinds as memory_kinds
from apps.memory.changes.records import find_states_since
from apps.memory.contexts import list_contexts, list_entries_at
from apps.memory.recall.rounds import cut_round
from apps.memory.working import WorkingMemoryState, find_working_state
from apps.profile.services import find_profile_then_and_now
from apps.summaries.services import list_session_summaries


class State(StrEnum):
    """What has become of something since it was put before the model."""

    SAME = "same"
    EDITED = "edited"
    DELETED = "deleted"


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
    """The whole prompt. `sent` False: the turn composed its reply itself and asked no model.

    `settings`: those that were not at their default. `budget` in tokens. `working`: topic and variables as the turn
    found them. `calls`: of tools; what they returned stood in the requests after the first.
    """

    layers: Sequence[RebuiltLayer]
    messages: Sequence[PromptMessage]
    cut: Sequence[CutPieces]
    read_at: datetime
    budget: int
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


@dataclass(frozen=True, slots=True)
class Found:
    """Something as it was: its value for the prompt, and how it has changed since."""

    value: Any
    piece: Piece


def read_files(user: User, shown: Iterable[Mapping[str, Any]]) -> list[SentFile]:
    """Return attached files as the model got them, ``{"id", "chars"}`` each; of a deleted one, that it is deleted."""
    shown = list(shown)
    ids = [uuid.UUID(file["id"]) for file in shown]
    rows = Attachment.objects.filter(user=user).in_bulk(ids) if ids else {}
    files = []
    for key, file in zip(ids, shown, strict=True):
        row = rows.get(key)
        text = row.text if row else DELETED
        files.append(SentFile(key, row.name if row else DELETED, text[: file["chars"]], len(text)))
    return files


def read_memories(
    user: User, kinds: Mapping[uuid.UUID, str], *, states: Mapping[uuid.UUID, Any], zone: ZoneInfo
) -> dict[str, Found]:
    """Return memories of both kinds, by ID, as lines of layer 3. `states`: those that have changed since."""
    rows: dict[uuid.UUID, Any] = {}
    for one in (memory_kinds.LONG_TERM, memory_kinds.ATOMIC):
        if ids := [key for key, kind in kinds.items() if kind == one.name]:
            rows |= one.by_ids(user, ids)
    found = {}
    for key, kind in kinds.items():
        row = rows.get(key)
        now = None if row is None else memory_kinds.get_kind(kind).snapshot(row)
        then = states[key] if key in states and now else now
        line = {"text": DELETED} if then is None else _line(then, kind, zone=zone)
        memory = RecalledMemory(id=str(key), kind=kind, text="", line=line, score=0.0, components={})
        texts = [None if state is None else memory_kinds.get_kind(kind).say(state) for state in (then, now)]
        status = row.status if row else ""
        found[str(key)] = Found(memory, make_piece(kind, str(key), then=texts[0], now=texts[1], status=status))
    return found


def read_recalled_rounds(user: User, ids: Collection[uuid.UUID], *, message: str, zone: ZoneInfo) -> dict[str, Found]:
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
) -> dict[str, Found]:
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
) -> dict[str, Found]:
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


def read_profile(user: User, version: int, *, until: datetime) -> Found:
    """Return a version of the profile document."""
    then, now = find_profile_then_and_now(user=user, version=version, until=until)
    profile = Profile(version=version, sections=then.texts if then else {DELETED: ""})
    texts = ["\n".join(f"{name}: {text}" for name, text in one.texts.items()) if one else None for one in (then, now)]
    return Found(profile, make_piece(CutKind.PROFILE, str(version), then=texts[0], now=texts[1]))


def read_lines(user: User, ids: Iterable[str]) -> dict[str, Found]:
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


def make_piece(kind: str, key: str, *, then: str | None, now: str | None, status: str = "") -> Piece:
    """Return what a person reads of something; None as a text is that it is not there."""
    state = State.DELETED if then is None else State.SAME if then == now else State.EDITED
    there = then is not None
    return Piece(kind=str(kind), id=key, state=state, then=then or "", now=(now or "") if there else "", status=status)


def _line(memory: Mapping[str, Any], kind: str, *, zone: ZoneInfo) -> dict[str, Any]:
    """What the prompt says of a memory, from its audit record."""
    valid_until = memory.get("valid_until")
    until = describe_until(datetime.fromisoformat(valid_until) if valid_until else None, zone=zone)
    if kind == LONG_TERM:
        value = readable_text(memory["value"])
        return {"category": memory["category"], "key": memory["key"], "value": value, **until}
    said_at = datetime.fromisoformat(memory["event_start"] or memory["timestamp"])
    return {"text": memory["content"], "day": str(said_at.astimezone(zone).date()), **until}


@dataclass(frozen=True, slots=True)
class _Record:
    """What a turn kept."""

    turn: Turn

    @property
    def sources(self) -> Mapping[str, Any]:
        kept: Mapping[str, Any] = self.turn.sources
        return kept

    @property
    def zone(self) -> ZoneInfo:
        return ZoneInfo(self.sources["zone"])

    @property
    def read_at(self) -> datetime:
        return datetime.fromisoformat(self.sources["opened_at"])

    @property
    def now(self) -> datetime:
        return datetime.fromisoformat(self.sources["now"]).astimezone(self.zone)

    @property
    def message(self) -> str:
        return self.turn.user_message.content if self.turn.user_message else ""

    @property
    def cut(self) -> Sequence[Mapping[str, Any]]:
        cut: Sequence[Mapping[str, Any]] = self.sources["cut"]
        return cut

    def refs(self, layer: int) -> list[str]:
        return [ref for kept in self.turn.layers if kept["index"] == layer for ref in kept["refs"]]

    def refs_cut(self, *kinds: CutKind) -> list[str]:
        return [ref for cut in self.cut if cut["kind"] in kinds for ref in cut["refs"]]

    def memory_kinds(self) -> dict[uuid.UUID, str]:
        """Which kind each memory or past round is, those that were cut included."""
        used = {uuid.UUID(item["id"]): item["kind"] for item in self.turn.memories_used}
        cut = {uuid.UUID(ref): kind for kind in (LONG_TERM, ATOMIC, MESSAGE) for ref in self.refs_cut(CutKind(kind))}
        # What was remembered by command: its texts are in layer 2.
        kept = {uuid.UUID(key): ATOMIC for item in self.turn.commands for key in item["memory_ids"]}
        return kept | used | cut


def rebuild_prompt(turn: Turn) -> RebuiltPrompt:
    """Return what the model got in a turn, as far as what it was made from is still there. At most thirteen queries."""
    record = _Record(turn)
    sources = record.sources
    found = _read(turn.user, record)
    working, working_state = read_working(turn.user, turn.session_id, sources["working"])
    forms = read_forms(working)
    variables = dict(working.variables.plain) if working else {}
    for name in list(variables)[: sum(cut["kind"] == CutKind.VARIABLE for cut in record.cut)]:
        del variables[name]
    lines = [found[ref].value for ref in record.refs(CONVERSATION)]
    profile = record.refs(PROFILE)
    given = ContextInput(
        message=record.message if turn.user_message else FORM_SUBMITTED,
        now=record.now,
        budget=sources["budget"],
        context_limit=sources["context_limit"],
        strategy=ReplyStrategy(category="", **turn.strategy) if turn.strategy else None,
        emotions=sources["emotions"],
        topic=DELETED if working_state == State.DELETED else working.current_topic if working else None,
        variables=variables,
        forms=forms,
        submitted=forms[-1] if forms and turn.user_message is None else None,
        files=read_files(turn.user, sources["files"]),
        actions=_rebuild_actions(record, found, lines),
        temporary=sources["temporary"],
        paused_by=sources.get("paused_by", ""),  # turns from before there was a pause say nothing of it
        guarded=SensitiveHandling.model_validate(sources["settings"].get("sensitive", {})).guarded,
        profile=found[f"profile {profile[0]}"].value if profile else None,
        cases=[found[ref].value for ref in record.refs(WORKING)],
        memories=[_add_end(found[item["id"]].value, item) for item in list_recalled(turn.memories_used)],
        everything=sources["everything"],
        tools=sources["tools"],
        session_notes=[found[ref].value for ref in record.refs(SUMMARIES)],
        client=_rebuild_client(sources["client"], lines),
        summary=next((line for line in lines if line.role == "summary"), None),
        rounds=[(line,) for line in lines if line.role != "summary"],
        masked=sources.get("masked", False),  # no turn was, before there was this
    )
    given = mask_context(given)
    sent = sources["answer"] != COMPOSED
    context = assemble(given) if sent else Context(layers=(), messages=(), given=given)
    pieces = _list_pieces(record, found)
    if working is not None or working_state != State.SAME:
        text = json_text({"topic": given.topic, **variables, **{form.title: form.fields for form in forms}})
        pieces[WORKING].insert(0, Piece("working", str(turn.session_id), working_state, then=text, now=text))
    kept = {layer["index"]: layer for layer in turn.layers}
    return RebuiltPrompt(
        layers=[
            RebuiltLayer(
                index=layer.index,
                name=layer.name,
                tokens=kept[layer.index]["tokens"],
                content=layer.content,
                exact=_compare(turn, kept[layer.index].get("digest"), layer.content),
                pieces=pieces.get(layer.index, []),
            )
            for layer in context.layers
        ],
        messages=context.messages,
        cut=[CutPieces(cut["kind"], cut["tokens"], _list_cut(cut, found)) for cut in record.cut],
        read_at=record.read_at,
        budget=sources["budget"],
        settings=sources["settings"],
        working=working,
        sent=sent,
        calls=[_rebuild_call(call, found) for call in turn.tool_calls],
    )


def _rebuild_client(kept: Mapping[str, Any] | None, lines: Sequence[Line]) -> ClientPrompt | None:
    if kept is None:
        return None
    return ClientPrompt(
        instructions=NOT_KEPT if kept["instructions"] else "",
        history=[ClientLine(line.id, line.role, line.content) for line in lines] if kept["history"] else None,
        relayed=kept["relayed"],
    )


def _read(user: User, record: _Record) -> dict[str, Found]:
    """Return everything that stood in the layers or was cut, by ID (the profile under its version)."""
    recalled = record.memory_kinds()
    kinds = {key: kind for key, kind in recalled.items() if kind != MESSAGE}
    notes = [uuid.UUID(ref) for ref in record.refs(SUMMARIES) + record.refs_cut(CutKind.SESSION_SUMMARY)]
    called = [call["context_id"] for call in record.turn.tool_calls if call["context_id"]]
    refs = dict.fromkeys([*record.refs(WORKING), *record.refs_cut(CutKind.CONTEXT), *called])
    cases = [uuid.UUID(ref) for ref in refs]
    lines = record.refs(CONVERSATION) + record.refs_cut(CutKind.MESSAGES, CutKind.CONVERSATION_SUMMARY)
    heard = [key for call in record.turn.tool_calls for key in call["message_ids"]]
    versions = record.refs(PROFILE) + record.refs_cut(CutKind.PROFILE)
    changing = [*kinds, *notes]
    states = find_states_since(user=user, object_ids=changing, since=record.read_at) if changing else {}
    days = {ref: date.fromisoformat(day) for ref, day in record.sources["days"].items()}
    said = cut_client_blocks(record.message)
    found: dict[str, Found] = {}
    found |= read_memories(user, kinds, states=states, zone=record.zone)
    found |= read_recalled_rounds(user, recalled.keys() - kinds.keys(), message=said, zone=record.zone)
    found |= read_session_notes(user, notes, states=states, days=days, otherwise=record.now.date())
    found |= read_cases(user, cases, entries=record.sources["entries"], until=record.read_at)
    found |= read_lines(user, lines)
    found |= {f"message {key}": line for key, line in read_lines(user, heard).items()}
    for version in versions:
        found[f"profile {version}"] = read_profile(user, int(version), until=record.read_at)
    return found


def _rebuild_call(call: Mapping[str, Any], found: Mapping[str, Found]) -> RebuiltCall:
    refs = [*(memory["id"] for memory in call["memories"]), *([call["context_id"]] if call["context_id"] else [])]
    refs += [f"message {key}" for key in call["message_ids"]]
    kept = {name: call[name] for name in ("name", "outcome", "keyword", "since", "until", "left_out", "ms")}
    return RebuiltCall(**kept, pieces=[found[ref].piece for ref in refs])


def _rebuild_actions(record: _Record, found: Mapping[str, Found], lines: Sequence[Line]) -> dict[str, Any]:
    turn = record.turn
    if record.sources["temporary"]:
        own = [line.content for line in lines if line.role == "user"]
        return dict(list_refused(read_message(record.message, before=own) if turn.user_message else Reading()))
    texts = {key: found[key].piece.then or DELETED for item in turn.commands for key in item["memory_ids"]}
    return describe_actions(restore_prompted(turn.commands, user=turn.user, texts=texts))


def _list_pieces(record: _Record, found: Mapping[str, Found]) -> dict[int, list[Piece]]:
    """What each layer was made of; messages of the window are there as they are, in the layer's text."""
    kept = dict.fromkeys(key for item in record.turn.commands for key in item["memory_ids"])
    lines = [found[ref].piece for ref in record.refs(CONVERSATION)]
    return {
        PROFILE: [found[f"profile {ref}"].piece for ref in record.refs(PROFILE)],
        WORKING: [found[ref].piece for ref in [*record.refs(WORKING), *kept]],
        MEMORIES: [found[item["id"]].piece for item in list_recalled(record.turn.memories_used)],
        SUMMARIES: [found[ref].piece for ref in record.refs(SUMMARIES)],
        CONVERSATION: [piece for piece in lines if piece.kind != CutKind.MESSAGES],
    }


def _list_cut(cut: Mapping[str, Any], found: Mapping[str, Found]) -> list[Piece]:
    prefix = "profile " if cut["kind"] == CutKind.PROFILE else ""
    return [found[f"{prefix}{ref}"].piece for ref in cut["refs"]]


def _compare(turn: Turn, digest: str | None, content: str) -> bool | None:
    return None if digest is None else digest == digest_layer(user_id=turn.user_id, content=content)


def _add_end(memory: RecalledMemory, used: Mapping[str, Any]) -> RecalledMemory:
    """A memory of what used to be, with the day until which it held, as the prompt had it."""
    return replace(memory, line={**memory.line, "until": used["until"]}) if "until" in used else memory
