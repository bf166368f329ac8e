"""The prompt that a message would get under other settings (M6: the playground). Stores and counts nothing."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from django.conf import settings as django_settings

from apps.accounts.models import User
from apps.accounts.types import MemorySettings
from apps.chat.context.read import list_said, list_shown_ids, read_context
from apps.chat.context.types import Context
from apps.chat.emotions import get_strategy
from apps.chat.selectors import get_turn_configuration
from apps.chat.turn.tool_use.offering import offer_tools
from apps.chat.types import ReplyStrategy, StrategyTable
from apps.conversations.rounds import get_window
from apps.conversations.sessions import get_session
from apps.conversations.types import Window
from apps.core.llm.client import choose_chat_model
from apps.memory.selectors import RecalledMemories, WorkingMemorySnapshot, find_working_memory
from apps.memory.working.types import Variables


@dataclass(frozen=True, slots=True)
class Stage:
    """Where a message would be said. `session_id` None: in a session that does not exist yet.

    `settings` are the person's own now. `recalls`: not in a temporary session (C7). `model`: what the session
    is set to. `said`: what was said there before, oldest first; `shown_ids`: these messages.
    """

    session_id: uuid.UUID | None
    settings: MemorySettings
    table: StrategyTable
    strategy: ReplyStrategy | None
    working: WorkingMemorySnapshot | None
    recalls: bool
    model: str
    said: Sequence[str] = ()
    shown_ids: Sequence[uuid.UUID] = ()


def set_stage(*, user: User, session_id: uuid.UUID | None, topic: str, now: datetime) -> Stage:
    """Read where a message would be said; `topic`, unless blank, in place of the one the session has (K7).

    Raises `NotFound` for a session that is not theirs.
    """
    settings, table = get_turn_configuration(user)
    working, recalls, window, model = None, True, Window(), ""
    if session_id is not None:
        window = get_window(user, session_id, limit=settings.context_limit)
        session = get_session(user, session_id)
        recalls, model = not session.temporary, session.model
        working = find_working_memory(user, session_id, now=now, ttl_minutes=settings.working_ttl_minutes)
    strategy = None
    if django_settings.USE_MEMORY_EMOTION_SYSTEM:
        strategy = get_strategy(working.last_emotion if working else None, table=table)
    if topic.strip():
        working = replace(working or _make_working_memory(now), current_topic=topic.strip())
    return Stage(
        session_id=session_id,
        settings=settings,
        table=table,
        strategy=strategy,
        working=working,
        recalls=recalls,
        model=model,
        said=list_said(window),
        shown_ids=list_shown_ids(window),
    )


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


def try_context(
    *, user: User, message: str, stage: Stage, settings: MemorySettings, recalled: RecalledMemories, now: datetime
) -> Context:
    """Return the context that `message` would get on this stage under `settings`, which `recalled` is for, too."""
    window = Window()
    if stage.session_id is not None:
        window = get_window(user, stage.session_id, limit=settings.context_limit)
    return read_context(
        user,
        session_id=stage.session_id or uuid.uuid4(),
        message=message,
        window=window,
        strategy=stage.strategy,
        table=stage.table,
        working=stage.working,
        settings=settings,
        now=now,
        recalls=stage.recalls,
        recalled=recalled,
        files=None if stage.session_id else (),
        tools=offer_tools(
            settings=settings,
            strategy=stage.strategy,
            reads=stage.recalls,
            writes=stage.recalls,
            chosen=choose_chat_model(preferred=stage.model) if settings.enable_agentic_search else None,
        ),
    )
