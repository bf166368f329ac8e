"""Rebuilding the prompt of a past turn from what the turn kept: references, revisions, and no text (M6).

Where nothing has been edited or deleted since, it is letter for letter what the model got: the same functions put it
together, and the digest of each layer tells. And the prompt that a message would get under other settings, for the
playground: stores and counts nothing.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from typing import Any
from zoneinfo import ZoneInfo

from apps.accounts.models import User
from apps.accounts.types import MemorySettings
from apps.chat.context.build import assemble
from apps.chat.context.read import TurnInput, choose_strategy, list_refused, read_context
from apps.chat.context.types import (
    ATOMIC,
    LONG_TERM,
    MESSAGE,
    ClientLine,
    ClientPrompt,
    Context,
    ContextInput,
    CutKind,
    Form,
    RecalledMemory,
)
from apps.chat.emotions import ReplyStrategy, StrategyTable
from apps.chat.inspect import past
from apps.chat.inspect.past import CutPieces, Found, Piece, RebuiltCall, RebuiltLayer, RebuiltPrompt, State
from apps.chat.models import Turn
from apps.chat.prompts import FORM_SUBMITTED
from apps.chat.selectors import get_turn_configuration
from apps.chat.turn.commands import DELETED, describe_actions, restore_prompted
from apps.chat.turn.record import COMPOSED, NOT_KEPT, digest_layer
from apps.chat.turn.tool_use.offering import offer_tools
from apps.chat.turn.tool_use.record import list_recalled
from apps.conversations.rounds import get_window
from apps.conversations.sessions import get_session
from apps.conversations.types import Line
from apps.core.llm.client import choose_chat_model
from apps.core.text.client_blocks import cut_client_blocks
from apps.core.text.commands import Reading, read_message
from apps.core.text.json_text import json_text
from apps.memory.recall.both import RecalledMemories
from apps.memory.working import Variables, WorkingMemorySnapshot, find_working_memory

_PROFILE, _WORKING, _MEMORIES, _SUMMARIES, _CONVERSATION = range(1, 6)


@dataclass(frozen=True, slots=True)
class _Record:
    """What a turn kept; turns from before it was kept get the closest values there are."""

    turn: Turn
    settings: MemorySettings
    table: StrategyTable

    @property
    def sources(self) -> Mapping[str, Any]:
        kept: Mapping[str, Any] = self.turn.sources
        return kept

    @property
    def zone(self) -> ZoneInfo:
        return ZoneInfo(self.sources.get("zone") or self.settings.timezone)

    @property
    def said_at(self) -> datetime:
        message = self.turn.user_message
        return message.create_time if message else self.turn.created_at

    @property
    def read_at(self) -> datetime:
        return datetime.fromisoformat(self.sources["opened_at"]) if self.sources else self.said_at

    @property
    def now(self) -> datetime:
        told = datetime.fromisoformat(self.sources["now"]) if self.sources else self.said_at
        return told.astimezone(self.zone)

    @property
    def cut(self) -> Sequence[Mapping[str, Any]]:
        cut: Sequence[Mapping[str, Any]] = self.sources.get("cut", ())
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


def rebuild_prompt(turn: Turn, *, settings: MemorySettings, table: StrategyTable) -> RebuiltPrompt:
    """Return what the model got in a turn, as far as what it was made from is still there.

    `settings` and `table`: today's, for turns that did not keep their own. At most twelve queries.
    """
    record = _Record(turn=turn, settings=settings, table=table)
    found = _read(turn.user, record)
    working, working_state = past.read_working(turn.user, turn.session_id, record.sources.get("working"))
    if not record.sources and turn.strategy is not None:
        working_state = State.UNKNOWN
    forms = [Form(title, value["fields"]) for title, value in working.variables.forms.items()] if working else []
    variables = dict(working.variables.plain) if working else {}
    for name in list(variables)[: sum(cut["kind"] == CutKind.VARIABLE for cut in record.cut)]:
        del variables[name]
    memories = [_add_end(found[item["id"]].value, item) for item in list_recalled(turn.memories_used)]
    lines = [found[ref].value for ref in record.refs(_CONVERSATION)]
    profile = record.refs(_PROFILE)
    given = ContextInput(
        message=turn.user_message.content if turn.user_message else FORM_SUBMITTED,
        now=record.now,
        budget=record.sources.get("budget", settings.token_budget),
        context_limit=record.sources.get("context_limit", settings.context_limit),
        strategy=ReplyStrategy(category="", **turn.strategy) if turn.strategy else None,
        emotions=tuple(record.sources.get("emotions", table)),
        topic=DELETED if working_state == State.DELETED else working.current_topic if working else None,
        variables=variables,
        forms=forms,
        submitted=forms[-1] if forms and turn.user_message is None else None,
        files=past.read_files(turn.user, record.sources.get("files", ())),
        actions=list_refused(_read_again(turn, lines))
        if record.sources.get("temporary")
        else _rebuild_actions(turn, found),
        temporary=record.sources.get("temporary", False),
        profile=found[f"profile {profile[0]}"].value if profile else None,
        cases=[found[ref].value for ref in record.refs(_WORKING)],
        memories=memories,
        everything=record.sources.get("everything", False),
        tools=record.sources.get("tools", ()),
        session_notes=[found[ref].value for ref in record.refs(_SUMMARIES)],
        client=_rebuild_client(record, lines),
        summary=next((line for line in lines if line.role == "summary"), None),
        rounds=[(line,) for line in lines if line.role != "summary"],
    )
    sent = record.sources.get("answer") != COMPOSED
    context = assemble(given) if sent else Context(layers=(), messages=(), given=given)
    pieces = _list_pieces(record, found)
    if working is not None or working_state != State.SAME:
        text = json_text({"topic": given.topic, **variables, **{form.title: form.fields for form in forms}})
        pieces[_WORKING].insert(0, Piece("working", str(turn.session_id), working_state, then=text, now=text))
    kept = {layer["index"]: layer for layer in turn.layers}
    return RebuiltPrompt(
        layers=[
            RebuiltLayer(
                index=layer.index,
                name=layer.name,
                tokens=kept.get(layer.index, {}).get("tokens", layer.tokens),
                content=layer.content,
                exact=_compare(turn, kept.get(layer.index, {}).get("digest"), layer.content),
                pieces=pieces[layer.index],
            )
            for layer in context.layers
        ],
        messages=context.messages,
        cut=[
            CutPieces(kind=cut["kind"], tokens=cut["tokens"], pieces=list(_list_cut(cut, found))) for cut in record.cut
        ],
        read_at=record.read_at,
        recorded=bool(record.sources),
        budget=record.sources.get("budget"),
        settings=record.sources.get("settings", {}),
        working=working,
        sent=sent,
        calls=[_rebuild_call(call, found) for call in turn.tool_calls],
    )


def _rebuild_client(record: _Record, lines: Sequence[Line]) -> ClientPrompt | None:
    kept = record.sources.get("client")
    if kept is None:
        return None
    return ClientPrompt(
        instructions=NOT_KEPT if kept["instructions"] else "",
        history=[ClientLine(line.id, line.role, line.content) for line in lines] if kept["history"] else None,
        relayed=kept["relayed"],
    )


def _read(user: User, record: _Record) -> dict[str, Found[Any]]:
    """Return everything that stood in the layers or was cut, by ID (the profile under its version)."""
    recalled = record.memory_kinds()
    kinds = {key: kind for key, kind in recalled.items() if kind != MESSAGE}
    said = cut_client_blocks(record.turn.user_message.content) if record.turn.user_message else ""
    notes = [uuid.UUID(ref) for ref in record.refs(_SUMMARIES) + record.refs_cut(CutKind.SESSION_SUMMARY)]
    called = [call["context_id"] for call in record.turn.tool_calls if call["context_id"]]
    refs = dict.fromkeys([*record.refs(_WORKING), *record.refs_cut(CutKind.CONTEXT), *called])
    cases = [uuid.UUID(ref) for ref in refs]
    lines = record.refs(_CONVERSATION) + record.refs_cut(CutKind.MESSAGES, CutKind.CONVERSATION_SUMMARY)
    versions = record.refs(_PROFILE) + record.refs_cut(CutKind.PROFILE)
    states = past.read_states(user, [*kinds, *notes], since=record.read_at)
    days = {ref: date.fromisoformat(day) for ref, day in record.sources.get("days", {}).items()}
    found: dict[str, Found[Any]] = {}
    found |= past.read_memories(user, kinds, states=states, zone=record.zone)
    found |= past.read_recalled_rounds(user, recalled.keys() - kinds.keys(), message=said, zone=record.zone)
    found |= past.read_session_notes(user, notes, states=states, days=days, otherwise=record.now.date())
    found |= past.read_cases(user, cases, entries=record.sources.get("entries", {}), until=record.read_at)
    found |= past.read_lines(user, lines)
    for version in versions:
        found[f"profile {version}"] = past.read_profile(user, int(version), until=record.read_at)
    return found


def _rebuild_call(call: Mapping[str, Any], found: Mapping[str, Found[Any]]) -> RebuiltCall:
    refs = [*(memory["id"] for memory in call["memories"]), *([call["context_id"]] if call["context_id"] else [])]
    return RebuiltCall(
        name=call["name"],
        outcome=call["outcome"],
        keyword=call["keyword"],
        since=call["since"],
        until=call["until"],
        left_out=call["left_out"],
        ms=call["ms"],
        pieces=[found[ref].piece for ref in refs],
    )


def _read_again(turn: Turn, lines: Sequence[Any]) -> Reading:
    own = [line.content for line in lines if line.role == "user"]
    return read_message(turn.user_message.content, before=own) if turn.user_message else Reading()


def _rebuild_actions(turn: Turn, found: Mapping[str, Found[Any]]) -> dict[str, Any]:
    texts = {key: found[key].piece.then or DELETED for item in turn.commands for key in item["memory_ids"]}
    return describe_actions(restore_prompted(turn.commands, user=turn.user, texts=texts))


def _list_pieces(record: _Record, found: Mapping[str, Found[Any]]) -> dict[int, list[Piece]]:
    """What each layer was made of; messages of the window are there as they are, in the layer's text."""
    pieces: dict[int, list[Piece]] = {layer: [] for layer in range(7)}
    pieces[_PROFILE] = [found[f"profile {ref}"].piece for ref in record.refs(_PROFILE)]
    kept = dict.fromkeys(key for item in record.turn.commands for key in item["memory_ids"])
    pieces[_WORKING] = [found[ref].piece for ref in [*record.refs(_WORKING), *kept]]
    pieces[_MEMORIES] = [found[item["id"]].piece for item in list_recalled(record.turn.memories_used)]
    pieces[_SUMMARIES] = [found[ref].piece for ref in record.refs(_SUMMARIES)]
    lines = [found[ref].piece for ref in record.refs(_CONVERSATION)]
    pieces[_CONVERSATION] = [piece for piece in lines if piece.kind != CutKind.MESSAGES]
    return pieces


def _list_cut(cut: Mapping[str, Any], found: Mapping[str, Found[Any]]) -> Iterator[Piece]:
    for ref in cut["refs"]:
        yield found[f"profile {ref}" if cut["kind"] == CutKind.PROFILE else ref].piece


def _compare(turn: Turn, digest: str | None, content: str) -> bool | None:
    return None if digest is None else digest == digest_layer(user_id=turn.user_id, content=content)


def _add_end(memory: RecalledMemory, used: Mapping[str, Any]) -> RecalledMemory:
    """A memory of what used to be, with the day until which it held, as the prompt had it."""
    return replace(memory, line={**memory.line, "until": used["until"]}) if "until" in used else memory


def set_stage(*, user: User, session_id: uuid.UUID | None, topic: str, now: datetime) -> TurnInput:
    """Read where a message would be said; `topic`, unless blank, in place of the one the session has (K7).

    `session_id` None: in a session that does not exist yet. Raises `NotFound` for a session that is not theirs.
    """
    settings, table = get_turn_configuration(user)
    stage = TurnInput(
        user=user, session_id=session_id or uuid.uuid4(), message="", settings=settings, table=table, now=now
    )
    if session_id is not None:
        session = get_session(user, session_id)
        stage = replace(
            stage,
            window=get_window(user, session_id, limit=settings.context_limit),
            working=find_working_memory(user, session_id, now=now, ttl_minutes=settings.working_ttl_minutes),
            recalls=not session.temporary,
            model=session.model,
        )
    stage = replace(stage, strategy=choose_strategy(stage.working, table=table))
    if topic.strip():
        working = replace(stage.working or _make_working_memory(now), current_topic=topic.strip())
        stage = replace(stage, working=working)
    return stage


def _make_working_memory(now: datetime) -> WorkingMemorySnapshot:
    return WorkingMemorySnapshot(
        session_id=uuid.uuid4(),
        current_topic=None,
        variables=Variables(),
        turn_count=1,
        last_emotion=None,
        created_at=now,
        updated_at=now,
        revision=0,
    )


def try_context(*, message: str, stage: TurnInput, settings: MemorySettings, recalled: RecalledMemories) -> Context:
    """Return the context that `message` would get on this stage under `settings`, which `recalled` is for, too."""
    window = get_window(stage.user, stage.session_id, limit=settings.context_limit)
    given = replace(stage, message=message, settings=settings, window=window)
    return read_context(
        given,
        recalled=recalled,
        tools=offer_tools(
            settings=settings,
            strategy=stage.strategy,
            reads=stage.recalls,
            writes=stage.recalls,
            chosen=choose_chat_model(preferred=stage.model) if settings.enable_agentic_search else None,
        ),
    )
