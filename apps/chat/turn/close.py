"""The second half of a turn: store the reply and all that came with it, in one transaction.

Runs in a database thread.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

from django.db import transaction

from apps.accounts.models import User
from apps.accounts.selectors import get_settings
from apps.accounts.types import Handling
from apps.chat.context.types import LONG_TERM, MESSAGE
from apps.chat.emotions import get_steering_emotion
from apps.chat.models import MAX_MODEL_CHARS, Turn
from apps.chat.prompts import Analysis
from apps.chat.selectors import get_turn
from apps.chat.turn.commands import commands_to_wire, forget_numbered, record_commands, show_recalled
from apps.chat.turn.record import (
    calls_to_wire,
    describe_layers,
    describe_remembered,
    describe_sources,
    list_found,
    message_to_wire,
    record_runs,
    turn_to_wire,
    without,
)
from apps.chat.turn.tools import ToolRun
from apps.chat.turn.types import OpenTurn
from apps.conversations.histories import close_client_round
from apps.conversations.models import Message, MessageStatus, Role
from apps.conversations.pausing import find_said_while_paused
from apps.conversations.rounds import close_round, record_assistant_message
from apps.conversations.sessions import get_session, get_shown_status
from apps.core.errors import ModelUnavailable
from apps.core.llm.metering import ModelCall
from apps.core.text.clean import json_text
from apps.core.text.grounding import read_questions
from apps.core.text.sentences import cut_client_blocks
from apps.costs.ledger import record_calls
from apps.memory.changes.records import Origin, changed_by
from apps.memory.changes.undo import retract_learned
from apps.memory.commands import CommandResult
from apps.memory.entries import record_entries
from apps.memory.keyed import MemoryUpdate
from apps.memory.lifecycle import record_use
from apps.memory.validation import is_supported_by, read_proposal
from apps.memory.vectors.messages import delete_embeddings
from apps.memory.working import find_working_memory, record_analysis

FAILED = "The model could not answer this message. It is kept and can be retried."


@dataclass(frozen=True, slots=True)
class Answer:
    """What is stored of an answer. `analysis`: None in plain chat (E6). `runs`: the tools that were called for it, and
    what they gave the model.

    `stopped`: the person stopped it.
    """

    reply: str
    analysis: Analysis | None
    model: str = ""
    stopped: bool = False
    runs: Sequence[ToolRun] = ()


@transaction.atomic
def close_turn(
    turn: OpenTurn,
    answer: Answer,
    *,
    reply_id: uuid.UUID,
    timings: Mapping[str, float],
    now: datetime,
    calls: Sequence[ModelCall] = (),
) -> dict[str, Any]:
    """Store the reply, what the model found, the memories it proposed and the use of those it was given (L2, L4, W3).

    `calls`: of models, for the ledger (Q1). Returns the turn on the wire. Raises `Conflict` when the message was
    deleted or taken up by another run meanwhile, and either that or `IntegrityError` when a reply of this ID is there;
    then nothing is stored.
    """
    analysis, runs = answer.analysis, answer.runs
    emotion = analysis.emotion if analysis and turn.round else None
    steering = emotion.primary if emotion else None
    message = _store_reply(turn, answer, reply_id=reply_id, emotion=steering, calls=calls, now=now)
    # Memories before working memory in every turn, or two turns could wait for each other.
    commands = _forget_as_named(turn, analysis=analysis, now=now)
    updates = _store_entries(turn, analysis=analysis, runs=runs, now=now)
    recalled = [{"id": memory.id, "kind": memory.kind} for memory in turn.context.memories]
    found = list_found(runs, recalled=recalled)
    used_ids = [uuid.UUID(item["id"]) for item in [*recalled, *found] if item["kind"] == LONG_TERM]
    record_use(user=turn.user, memory_ids=used_ids, now=now)
    working = turn.given.working
    if working and turn.round and analysis:
        settings = turn.given.settings
        working = record_analysis(
            user=turn.user,
            snapshot=working,
            topic=analysis.topic,
            variables=analysis.variables,
            last_emotion=get_steering_emotion(analysis.emotion, threshold=settings.emotion_confidence),
            max_bytes=settings.working_max_bytes,
            now=now,
        )
    told = describe_unstored(turn, emotion=emotion.to_wire() if emotion else None, runs=runs)
    shown = [{**asdict(update), "id": str(update.id)} for update in updates]
    Turn.objects.create(
        assistant_message=message,
        user_message_id=turn.round.message_id if turn.round else None,
        session_id=turn.session_id,
        user=turn.user,
        model=answer.model[:MAX_MODEL_CHARS],
        emotion=told["emotion"],
        strategy=told["strategy"],
        memories_used=[*without(told["memories_used"], "text"), *found],
        memory_updates=without(shown, "category", "key", "value"),
        commands=record_commands(commands, prompted=turn.commands),
        tool_calls=_record_calls(turn, runs),
        layers=describe_layers(turn),
        sources=describe_sources(turn, analysis=analysis, working=working),
        timings=dict(timings),
        created_at=now,
    )
    result = {
        **told,
        "user_message": user_message_to_wire(
            turn, status=MessageStatus.COMPLETE, emotion=steering, not_remembered=_read_not_remembered(turn)
        ),
        "assistant_message": message_to_wire(message),
        "memory_updates": shown,
        "commands": commands_to_wire(commands, user=turn.user),
        "working_memory": working.to_wire() if working else None,
    }
    if turn.given.settings.remembered_feedback:
        result["metadata"] = describe_remembered(shown)
    return result


def _read_not_remembered(turn: OpenTurn) -> list[str] | None:
    """Why something of the message was not remembered; asked only where it may be so (D4)."""
    if turn.round is None or not turn.given.settings.sensitive.select(Handling.EXCLUDE):
        return None
    noted: list[str] | None = Message.objects.values_list("not_remembered", flat=True).get(id=turn.round.message_id)
    return noted


def user_message_to_wire(
    turn: OpenTurn, *, status: str, emotion: str | None = None, not_remembered: list[str] | None = None
) -> dict[str, Any] | None:
    """Return the turn's message of the user on the wire, without reading it again; None for a form (H1)."""
    if turn.round is None:
        return None
    return message_to_wire(
        Message(
            id=turn.round.message_id,
            session_id=turn.session_id,
            role=Role.USER,
            content=turn.round.content,
            create_time=turn.round.create_time,
            is_collected=turn.round.is_collected,
            emotion=emotion,
            status=status,
            paused_by=turn.round.paused_by,
            not_remembered=not_remembered,
            lease_until=datetime.max.replace(tzinfo=UTC),
        )
    )


def describe_unstored(
    turn: OpenTurn, *, emotion: Mapping[str, Any] | None, runs: Sequence[ToolRun] = ()
) -> dict[str, Any]:
    """Return what is known of a turn before it is stored; all there is of one that leaves nothing behind (T3)."""
    calls = _record_calls(turn, runs)
    texts = {memory["id"]: memory["text"] for run in runs for memory in run.memories}
    return {
        "user_message": None,
        "assistant_message": None,
        "emotion": emotion,
        "strategy": turn.strategy.to_wire() if turn.strategy else None,
        "paused_by": turn.given.paused_by or None,
        "memories_used": [memory.to_wire() for memory in turn.context.memories],
        "memory_updates": [],
        "commands": [],
        "tool_calls": calls_to_wire(calls, texts=texts),
        "working_memory": None,
    }


def _record_calls(turn: OpenTurn, runs: Sequence[ToolRun]) -> list[dict[str, Any]]:
    return record_runs(runs, message="" if turn.given.submitted else turn.given.message)


def get_outcome(user: User, message: Message, *, now: datetime) -> dict[str, Any] | None:
    """Return the outcome of an earlier turn of `message`, None while it is under way.

    Raises `ModelUnavailable` when it failed, as the first answer did.
    """
    status = get_shown_status(message, now=now)
    if status == MessageStatus.FAILED:
        raise ModelUnavailable(FAILED, fields={"message_id": str(message.id)})
    if status == MessageStatus.PENDING:
        return None
    return get_stored_turn(user, message.id, now=now)


def get_stored_turn(user: User, message_id: uuid.UUID, *, now: datetime) -> dict[str, Any]:
    """Return the stored turn that a message belongs to; its working memory is as it is now. `NotFound` without one."""
    turn, settings = get_turn(user, message_id), get_settings(user)
    ttl_minutes = settings.working_ttl_minutes
    working = find_working_memory(user, turn.session_id, now=now, ttl_minutes=ttl_minutes) if turn.strategy else None
    result = turn_to_wire(turn, user=user, working=working)
    if settings.remembered_feedback:
        result["metadata"] = describe_remembered(result["memory_updates"])
    return result


def _store_reply(
    turn: OpenTurn,
    answer: Answer,
    *,
    reply_id: uuid.UUID,
    emotion: str | None,
    calls: Sequence[ModelCall],
    now: datetime,
) -> Message:
    if turn.round is None:
        record_calls(calls, owners={turn.owner: 1})
        return record_assistant_message(
            user=turn.user,
            session_id=turn.session_id,
            content=answer.reply,
            now=now,
            message_id=reply_id,
            paused_by=turn.given.paused_by,
        )
    is_relayed = turn.relayed is not None
    # A message that only asks what is remembered says nothing to learn from.
    says_something = turn.reply is None or bool(turn.commands)
    remembers = turn.remembers and (is_relayed or turn.strategy is not None) and says_something
    given: Any = {"opened": turn.round, "reply": answer.reply, "emotion": emotion, "now": now, "remembers": remembers}
    given |= {"recorded": is_relayed, "reply_id": reply_id, "stopped": answer.stopped, "calls": calls}
    if not turn.round.alternates:
        return close_round(**given)
    # The old reply's turn goes: a message has one.
    Turn.objects.filter(user_message=turn.round.message_id).delete()
    message, replaced = close_client_round(**given)
    if replaced:
        delete_embeddings(message_ids=replaced)
        # What the person said stands as it was; what the old reply promised or recommended does not.
        retract_learned(user=turn.user, message_ids=replaced, now=now)
    return message


def _store_entries(
    turn: OpenTurn, *, analysis: Analysis | None, runs: Sequence[ToolRun], now: datetime
) -> Sequence[MemoryUpdate]:
    if not (turn.remembers and turn.round and analysis and analysis.entries):
        return ()
    with changed_by(origin=Origin.TURN, actor=None):
        message = cut_client_blocks(turn.round.content)
        entries, paused = analysis.entries, _find_said_while_paused(turn)
        said, others = _join_said(turn, message, without=paused), _join_others(turn, runs)
        if paused:
            # The prompt has what is not to be learned: of what this turn proposes, only what was said besides counts.
            proposals = [(entry, read_proposal(entry)) for entry in entries]
            entries = tuple(
                entry for entry, read in proposals if read and is_supported_by(read, said=said, others=others)
            )
        # The session may have been moved while the model answered; from here on it is locked against that.
        session = get_session(turn.user.overseeing(), turn.session_id)
        return record_entries(
            user=turn.user.within(session.learns_in),
            entries=entries,
            session_id=turn.session_id,
            message_id=turn.round.message_id,
            said_at=turn.round.create_time,
            message_text=message,
            said=said,
            others=others,
            auto_accept_confidence=turn.given.settings.auto_accept_confidence,
            sensitive=turn.given.settings.sensitive,
            zone=turn.given.settings.zone,
            now=now,
        )


def _forget_as_named(turn: OpenTurn, *, analysis: Analysis | None, now: datetime) -> Sequence[CommandResult]:
    """What the message told the memory to do, with what the model found for a request that nothing plainly matched."""
    results = turn.commands
    memories = [memory for memory in turn.context.memories if memory.kind != MESSAGE]
    if turn.round and analysis and analysis.forget:
        results = forget_numbered(
            user=turn.user, opened=turn.round, results=results, memories=memories, numbers=analysis.forget, now=now
        )
    return show_recalled(results, memories)


def _find_said_while_paused(turn: OpenTurn) -> set[uuid.UUID]:
    """Which messages of the prompt's conversation were said while remembering was paused (D5), its summary included."""
    summary = turn.context.given.summary
    return find_said_while_paused(turn.user, [*turn.given.shown_ids, *([summary.id] if summary else [])])


def _join_said(turn: OpenTurn, message: str, *, without: Collection[uuid.UUID]) -> str:
    """What the person said in the window and now, and what they were asked: a short answer agrees to a question."""
    before = (
        cut_client_blocks(line.content) if line.role == "user" else read_questions(line.content)
        for lines in turn.context.rounds
        for line in lines
        if line.id not in without
    )
    return "\n".join([*before, message])


def _join_others(turn: OpenTurn, runs: Sequence[ToolRun]) -> str:
    """What the model was shown that is not the person's own: the assistant's replies, files, contexts, tool results."""
    given = turn.context.given
    replies = [line.content for lines in given.rounds for line in lines if line.role != "user"]
    cases = [text for case in given.cases for text in (case.title, case.content, *case.entries)]
    results = [json_text(dict(run.result)) for run in runs]
    return "\n".join([*replies, *(file.text for file in given.files), *cases, *results])
