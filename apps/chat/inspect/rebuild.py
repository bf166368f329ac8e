"""Rebuilding the prompt of a past turn from what the turn kept: references, revisions, and no text (M6).

Where nothing has been edited or deleted since, it is letter for letter what the model got: the same functions put it
together, and the digest of each layer tells.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from typing import Any
from zoneinfo import ZoneInfo

from apps.accounts.models import User
from apps.chat.context.build import CONVERSATION, MEMORIES, PROFILE, SUMMARIES, WORKING, assemble
from apps.chat.context.read import list_refused, read_forms
from apps.chat.context.types import (
    ATOMIC,
    LONG_TERM,
    MESSAGE,
    ClientLine,
    ClientPrompt,
    Context,
    ContextInput,
    CutKind,
    RecalledMemory,
)
from apps.chat.emotions import ReplyStrategy
from apps.chat.inspect import past
from apps.chat.inspect.past import CutPieces, Found, Piece, RebuiltCall, RebuiltLayer, RebuiltPrompt, State
from apps.chat.models import Turn
from apps.chat.prompts import FORM_SUBMITTED
from apps.chat.turn.commands import DELETED, describe_actions, restore_prompted
from apps.chat.turn.record import COMPOSED, NOT_KEPT, digest_layer, list_recalled
from apps.conversations.types import Line
from apps.core.text.client_blocks import cut_client_blocks
from apps.core.text.commands import Reading, read_message
from apps.core.text.json_text import json_text


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
    """Return what the model got in a turn, as far as what it was made from is still there. At most twelve queries."""
    record = _Record(turn)
    sources = record.sources
    found = _read(turn.user, record)
    working, working_state = past.read_working(turn.user, turn.session_id, sources["working"])
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
        files=past.read_files(turn.user, sources["files"]),
        actions=list_refused(_read_again(record, lines)) if sources["temporary"] else _rebuild_actions(turn, found),
        temporary=sources["temporary"],
        profile=found[f"profile {profile[0]}"].value if profile else None,
        cases=[found[ref].value for ref in record.refs(WORKING)],
        memories=[_add_end(found[item["id"]].value, item) for item in list_recalled(turn.memories_used)],
        everything=sources["everything"],
        tools=sources["tools"],
        session_notes=[found[ref].value for ref in record.refs(SUMMARIES)],
        client=_rebuild_client(sources["client"], lines),
        summary=next((line for line in lines if line.role == "summary"), None),
        rounds=[(line,) for line in lines if line.role != "summary"],
    )
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


def _read(user: User, record: _Record) -> dict[str, Found[Any]]:
    """Return everything that stood in the layers or was cut, by ID (the profile under its version)."""
    recalled = record.memory_kinds()
    kinds = {key: kind for key, kind in recalled.items() if kind != MESSAGE}
    notes = [uuid.UUID(ref) for ref in record.refs(SUMMARIES) + record.refs_cut(CutKind.SESSION_SUMMARY)]
    called = [call["context_id"] for call in record.turn.tool_calls if call["context_id"]]
    refs = dict.fromkeys([*record.refs(WORKING), *record.refs_cut(CutKind.CONTEXT), *called])
    cases = [uuid.UUID(ref) for ref in refs]
    lines = record.refs(CONVERSATION) + record.refs_cut(CutKind.MESSAGES, CutKind.CONVERSATION_SUMMARY)
    versions = record.refs(PROFILE) + record.refs_cut(CutKind.PROFILE)
    states = past.read_states(user, [*kinds, *notes], since=record.read_at)
    days = {ref: date.fromisoformat(day) for ref, day in record.sources["days"].items()}
    said = cut_client_blocks(record.message)
    found: dict[str, Found[Any]] = {}
    found |= past.read_memories(user, kinds, states=states, zone=record.zone)
    found |= past.read_recalled_rounds(user, recalled.keys() - kinds.keys(), message=said, zone=record.zone)
    found |= past.read_session_notes(user, notes, states=states, days=days, otherwise=record.now.date())
    found |= past.read_cases(user, cases, entries=record.sources["entries"], until=record.read_at)
    found |= past.read_lines(user, lines)
    for version in versions:
        found[f"profile {version}"] = past.read_profile(user, int(version), until=record.read_at)
    return found


def _rebuild_call(call: Mapping[str, Any], found: Mapping[str, Found[Any]]) -> RebuiltCall:
    refs = [*(memory["id"] for memory in call["memories"]), *([call["context_id"]] if call["context_id"] else [])]
    kept = {name: call[name] for name in ("name", "outcome", "keyword", "since", "until", "left_out", "ms")}
    return RebuiltCall(**kept, pieces=[found[ref].piece for ref in refs])


def _read_again(record: _Record, lines: Sequence[Line]) -> Reading:
    own = [line.content for line in lines if line.role == "user"]
    return read_message(record.message, before=own) if record.turn.user_message else Reading()


def _rebuild_actions(turn: Turn, found: Mapping[str, Found[Any]]) -> dict[str, Any]:
    texts = {key: found[key].piece.then or DELETED for item in turn.commands for key in item["memory_ids"]}
    return describe_actions(restore_prompted(turn.commands, user=turn.user, texts=texts))


def _list_pieces(record: _Record, found: Mapping[str, Found[Any]]) -> dict[int, list[Piece]]:
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


def _list_cut(cut: Mapping[str, Any], found: Mapping[str, Found[Any]]) -> list[Piece]:
    prefix = "profile " if cut["kind"] == CutKind.PROFILE else ""
    return [found[f"{prefix}{ref}"].piece for ref in cut["refs"]]


def _compare(turn: Turn, digest: str | None, content: str) -> bool | None:
    return None if digest is None else digest == digest_layer(user_id=turn.user_id, content=content)


def _add_end(memory: RecalledMemory, used: Mapping[str, Any]) -> RecalledMemory:
    """A memory of what used to be, with the day until which it held, as the prompt had it."""
    return replace(memory, line={**memory.line, "until": used["until"]}) if "until" in used else memory
