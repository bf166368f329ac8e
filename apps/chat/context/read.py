"""Read from the database what may go into a turn's context; `apps.chat.context.build` decides what does."""

from __future__ import annotations

import uuid
from datetime import datetime

from apps.accounts.models import User
from apps.accounts.types import MemorySettings
from apps.chat.context.build import build_context
from apps.chat.context.types import Context, ContextInput, Form, Profile, RecalledMemory
from apps.chat.emotions import ReplyStrategy, StrategyTable
from apps.conversations.types import Window
from apps.core.text.json_text import json_text
from apps.memory.selectors import WorkingMemorySnapshot, retrieve_relevant_memories
from apps.memory.types import ScoredMemory
from apps.profile.selectors import get_user_profile
from apps.profile.types import TEXT_SECTIONS

COMPONENTS = (
    "keyword_score",
    "semantic_score",
    "category_boost",
    "recency_score",
    "frequency_score",
    "confidence",
    "topic_boost",
)


def read_context(
    user: User,
    *,
    message: str,
    session_id: uuid.UUID,
    window: Window,
    strategy: ReplyStrategy | None,
    table: StrategyTable,
    working: WorkingMemorySnapshot | None,
    settings: MemorySettings,
    now: datetime,
    recalls: bool,
    said_at: datetime | None = None,
    submitted: Form | None = None,
) -> Context:
    """Return the context of a turn with `message`; writes and counts nothing.

    `window`: what was said before the message. `recalls`: whether anything remembered may be read (not in a temporary
    session, C7). `said_at`: when the message was said, if not now.
    """
    profile: Profile | None = None
    memories: list[RecalledMemory] = []
    if recalls and strategy is not None and settings.enable_user_profile:
        profile = _read_profile(user)
    if recalls and strategy is not None and strategy.use_memory:
        memories = _recall(user, message=message, working=working, settings=settings, now=now)
    return build_context(
        ContextInput(
            message=message,
            now=(said_at or now).astimezone(settings.zone),
            budget=settings.token_budget,
            context_limit=settings.context_limit,
            strategy=strategy,
            emotions=tuple(table),
            topic=working.current_topic if working else None,
            variables=working.variables.plain if working else {},
            forms=_read_forms(working),
            submitted=submitted,
            profile=profile,
            memories=memories,
            rounds=window.rounds,
            summary=window.summary,
        )
    )


def _read_profile(user: User) -> Profile | None:
    found = get_user_profile(user=user)
    if found is None or found.is_empty:
        return None
    sections: dict[str, str] = {name: getattr(found, name) for name in TEXT_SECTIONS} | dict(found.sections)
    return Profile(version=found.version, sections={name: text for name, text in sections.items() if text})


def _recall(
    user: User, *, message: str, working: WorkingMemorySnapshot | None, settings: MemorySettings, now: datetime
) -> list[RecalledMemory]:
    scored = retrieve_relevant_memories(
        user=user,
        message=message,
        limit=settings.retrieval_limit,
        working_memory=working,
        candidate_limit=settings.candidate_limit,
        weights=settings.score_weights,
        half_life_days=settings.recency_half_life_days,
        max_keywords=settings.max_keywords,
        now=now,
    )
    return [_to_recalled(memory) for memory in scored]


def _to_recalled(memory: ScoredMemory) -> RecalledMemory:
    candidate = memory.candidate
    return RecalledMemory(
        id=str(candidate.id),
        kind="long_term",
        text=f"{candidate.key}: {json_text(candidate.value)}",
        line={"category": candidate.category, "key": candidate.key, "value": candidate.value},
        score=memory.score,
        components={name: getattr(memory, name) for name in COMPONENTS},
    )


def _read_forms(working: WorkingMemorySnapshot | None) -> list[Form]:
    if working is None:
        return []
    return [Form(title=title, fields=value["fields"]) for title, value in working.variables.forms.items()]
