"""Sessions, what was said in them, the turns with what they were made from, and work that is left."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from itertools import cycle
from typing import Any

from django.utils import timezone

from apps.chat.context.types import ATOMIC, LAYER_NAMES, LONG_TERM
from apps.chat.models import Strategy, Turn
from apps.conversations.models import Message, Role, Session, Work
from apps.memory.models import AtomicMemory, LongTermMemory, WorkingMemory, WorkingMemoryRevision
from apps.summaries.models import SessionSummary
from benchmarks.panel.copying import copy_rows
from benchmarks.panel.texts import THINGS, say, time_of

USED = 10
"""Memories before the model in a turn, half of each kind."""

ERRORS = ("model_unavailable: timeout", "model_unavailable: refused 400", "invalid", "worker_lost")


def fill_talk(
    user: Any, *, sessions: int, messages: int, longest: int, draw: random.Random
) -> tuple[list[Session], list[Message]]:
    """Store sessions with their summaries and what was said and replied in them; returns both, the oldest first.

    `longest` messages are in the first session, the others in the others in turns.
    """
    held = [_make_session(user, number, sessions, draw) for number in range(sessions)]
    said: list[Message] = []
    others = cycle(held[1:])
    while len(said) < messages:
        session = held[0] if len(said) < longest else next(others)
        said += _make_round(user, session, len(said), messages, draw)
    copy_rows(held)
    copy_rows(said)
    copy_rows(
        SessionSummary(
            user=user,
            session=session,
            title=session.title or "…",
            snippet=say(number, draw.choice(THINGS)) * 4,
            covered_until=session.last_position,
            edited=number % 20 == 0,
            created_at=session.last_active_at,
            updated_at=session.last_active_at,
        )
        for number, session in enumerate(held)
    )
    return held, said


def _make_session(user: Any, number: int, count: int, draw: random.Random) -> Session:
    begun = time_of(number / count)
    return Session(
        user=user,
        title=f"{draw.choice(THINGS)} {number}" if number % 10 else "",
        temporary=number % 100 == 99,
        created_at=begun,
        last_active_at=begun + timedelta(hours=1),
    )


def _make_round(user: Any, session: Session, number: int, count: int, draw: random.Random) -> Iterator[Message]:
    said_at = time_of(number / count)
    thing = draw.choice(THINGS)
    session.last_position += 2
    said = Message(
        user=user,
        session=session,
        role=Role.USER,
        content=say(number, thing),
        create_time=said_at,
        emotion=draw.choice(("joy", "sadness", "neutral", None)),
        is_collected=number % 100 == 0,
        position=session.last_position - 1,
    )
    reply = say(number + 1, thing)
    yield said
    yield Message(
        user=user,
        session=session,
        role=Role.ASSISTANT,
        content=reply,
        create_time=said_at + timedelta(seconds=5),
        position=session.last_position,
        reply_to=said,
    )


def fill_turns(
    user: Any,
    messages: Sequence[Message],
    count: int,
    long_term: Sequence[LongTermMemory],
    atomic: Sequence[AtomicMemory],
    draw: random.Random,
) -> None:
    """Store the newest turns. The first memory of each kind is in every tenth of them, the others as it falls out."""
    strategy = Strategy.objects.get(emotion="neutral")
    chosen = {name: getattr(strategy, name) for name in (
        "emotion", "tone", "max_length", "use_memory", "proactive_question", "formality", "emoji_allowed"
    )}  # fmt: skip
    rounds = list(zip(messages[::2], messages[1::2], strict=True))
    # Those of the longest session are among the first.
    kept = rounds[: count // 2] + rounds[-(count - count // 2) :]
    copy_rows(
        _make_turn(
            user,
            said,
            reply,
            used=[
                *_draw_used(long_term, LONG_TERM, number, draw),
                *_draw_used(atomic, ATOMIC, number, draw),
            ],
            strategy=chosen,
            learned=[str(draw.choice(long_term).id)] if number % 3 == 0 else [],
        )
        for number, (said, reply) in enumerate(kept)
    )


def _draw_used(memories: Sequence[Any], kind: str, number: int, draw: random.Random) -> list[dict[str, Any]]:
    found = draw.sample(memories, min(USED // 2, len(memories)))
    if number % 10 == 0 and memories[0] not in found:
        found[0] = memories[0]
    score = {"keyword_score": round(draw.random(), 4), "semantic_score": round(draw.random(), 4)}
    if kind == LONG_TERM:
        score |= {"category_boost": 1.2, "recency_score": 0.5, "frequency_score": 0.3, "confidence": 0.9}
        score["topic_boost"] = 1.0
    return [{"id": str(memory.id), "kind": kind, "score": round(draw.random(), 4), **score} for memory in found]


def _make_turn(
    user: Any,
    said: Message,
    reply: Message,
    *,
    used: list[dict[str, Any]],
    strategy: dict[str, Any],
    learned: list[str],
) -> Turn:
    time = said.create_time
    refs: dict[int, list[str]] = {3: [memory["id"] for memory in used], 6: [str(said.id)]}
    return Turn(
        assistant_message=reply,
        user_message=said,
        session_id=said.session_id,
        user=user,
        model="scripted",
        emotion=said.emotion and {"primary": said.emotion, "category": "neutral", "confidence": 0.9, "indicators": []},
        strategy=strategy,
        memories_used=used,
        memory_updates=[{"id": memory, "action": "created"} for memory in learned],
        layers=[
            {"index": index, "name": name, "tokens": 40 * index, "refs": refs.get(index, []), "digest": "0" * 32}
            for index, name in enumerate(LAYER_NAMES)
        ],
        sources=_describe_sources(time),
        timings={"opening_ms": 25.0, "context_ms": 12.0, "first_token_ms": 300.0, "model_ms": 900.0},
        created_at=reply.create_time,
    )


def _describe_sources(time: datetime) -> dict[str, Any]:
    return {
        "opened_at": time.isoformat(),
        "now": time.isoformat(),
        "zone": "UTC",
        "budget": 4000,
        "context_limit": 20,
        "settings": {},
        "emotions": ["joy", "sadness", "neutral"],
        "profile": None,
        "entries": {},
        "days": {},
        "working": None,
        "working_after": None,
        "cut": [],
        "answer": "json",
    }


def fill_work(user: Any, messages: Sequence[Message], count: int) -> None:
    """Leave work of the newest messages: a third of it failed for good."""
    copy_rows(
        Work(
            kind=list(Work.Kind)[number % 3],
            user=user,
            session_id=message.session_id,
            message=message,
            state=Work.State.DUE if number % 3 else Work.State.FAILED,
            attempts=number % 5,
            error=ERRORS[number % len(ERRORS)] if number % 3 == 0 else "",
        )
        for number, message in enumerate(messages[-count:])
    )


def fill_in_mind(user: Any, sessions: Sequence[Session], count: int, draw: random.Random) -> None:
    """Give the newest sessions working memories, each with its revisions so far."""
    now = timezone.now()
    live = sessions[-count:]
    states = [
        {
            "user": user,
            "current_topic": draw.choice(THINGS),
            "context_variables": {f"place {number}": number for number in range(5)},
            "written": [[f"place {number}", now.isoformat()] for number in range(5)],
        }
        for _ in live
    ]
    copy_rows(
        WorkingMemory(session=session, turn_count=3, last_emotion="joy", revision=3, updated_at=now, **state)
        for session, state in zip(live, states, strict=True)
    )
    copy_rows(
        WorkingMemoryRevision(session=session, started_at=now, revision=revision, **state)
        for session, state in zip(live, states, strict=True)
        for revision in range(1, 4)
    )
