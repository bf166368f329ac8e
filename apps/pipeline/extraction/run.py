"""The extraction job: read what was claimed, ask once, compare and write."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, fields
from datetime import datetime, timedelta
from uuid import UUID
from zoneinfo import ZoneInfo

from django.db.models import Q
from django.utils import timezone

from apps.accounts.selectors import get_settings
from apps.accounts.types import MemorySettings
from apps.conversations.models import Message, MessageStatus, Role
from apps.conversations.queue.services import finish
from apps.conversations.queue.types import SessionClaim
from apps.core.db import release_connections
from apps.core.llm.client import ask_for_object
from apps.core.llm.types import ModelRequest
from apps.core.text.scripts import holds_chinese
from apps.core.text.time_expressions import TimeSpan, find_time, find_times
from apps.memory.atomic.compare import Relation
from apps.memory.atomic.recording import record_memories
from apps.memory.atomic.types import ExtractedMemory
from apps.memory.embeddings.queries import embed_query
from apps.memory.history.context import changed_by
from apps.memory.long_term.following import follow_memories
from apps.memory.long_term.reconcile import reconcile_keys
from apps.memory.long_term.services import record_entries
from apps.memory.long_term.types import ProposedEntry
from apps.memory.models import Change
from apps.memory.retrieval.atomic import retrieve_atomic_memories
from apps.memory.shared_context.services import record_context
from apps.pipeline.extraction.answer import ExtractionAnswer, MemoryAnswer, read_answer
from apps.pipeline.extraction.prompt import PromptLine, make_request
from apps.profile.selectors import get_user_profile
from apps.profile.services import propose_sections
from apps.profile.types import ProposedSection

KNOWN_MEMORIES = 30
"""Existing memories that the model is shown."""

REPLY_CHARACTERS = 1_000
"""Of each reply that the model is shown: only what the person says becomes memory."""

_HAS_YEAR = re.compile(r"(?:19|20)\d\d")


def extract(claim: SessionClaim) -> None:
    """Turn the claimed messages into memories, profile statements and shared context (A2, L3, U3, X1).

    One model call, with no transaction open. Raises `ModelUnavailable` when it fails or is no JSON: all is to be tried
    again. What is in the answer but not valid is left out.
    """
    now = timezone.now()
    batch = _read_batch(claim)
    answer = ExtractionAnswer() if not batch.said else read_answer(ask_for_object(_ask(claim, batch, now=now)))
    with finish(claim), changed_by(origin=Change.Origin.EXTRACTION, actor=None):
        _write(claim, batch, answer, now=timezone.now())


@dataclass(frozen=True, slots=True)
class _Batch:
    """What the model is shown. `said`: the user's messages by number; `recorded`: those that no turn has read (C9)."""

    lines: Sequence[PromptLine]
    said: dict[int, Message]
    recorded: frozenset[UUID]
    known: Sequence[tuple[UUID, str]]
    settings: MemorySettings


def _read_batch(claim: SessionClaim) -> _Batch:
    rounds = Q(id__in=claim.message_ids) | Q(reply_to__in=claim.message_ids)
    messages = Message.objects.filter(rounds, user=claim.user, status=MessageStatus.COMPLETE).order_by("position")
    lines, said = [], {}
    for number, message in enumerate(messages, start=1):
        user = message.role == Role.USER
        text = message.content if user else message.content[:REPLY_CHARACTERS]
        lines.append(PromptLine(number=number, role=str(message.role), text=text, said_at=message.create_time))
        if user:
            said[number] = message
    settings = get_settings(claim.user)
    text = "\n".join(message.content for message in said.values())
    nearest = retrieve_atomic_memories(
        user=claim.user, query=text, limit=KNOWN_MEMORIES, query_embedding=embed_query(text)
    )
    return _Batch(
        lines=lines,
        said=said,
        recorded=frozenset(item.message_id for item in claim.work if item.recorded),
        known=[(found.candidate.id, found.candidate.content) for found in nearest],
        settings=settings,
    )


def _ask(claim: SessionClaim, batch: _Batch, *, now: datetime) -> ModelRequest:
    profile = get_user_profile(user=claim.user) if batch.settings.enable_user_profile else None
    request = make_request(
        lines=batch.lines,
        known=[content for _id, content in batch.known],
        profile={} if profile is None else profile.texts,
        entries=bool(batch.recorded),
        context=batch.settings.auto_context,
        max_length=batch.settings.atomic_content_max_length,
        zone=batch.settings.zone,
        now=now,
    )
    release_connections()
    return request


def _write(claim: SessionClaim, batch: _Batch, answer: ExtractionAnswer, *, now: datetime) -> None:
    drafts = [
        _draft(memory, batch.said[memory.about], batch) for memory in answer.memories if memory.about in batch.said
    ]
    memories = record_memories(
        user=claim.user,
        drafts=drafts,
        max_length=batch.settings.atomic_content_max_length,
        auto_accept_confidence=batch.settings.auto_accept_confidence,
        now=now,
    )
    _write_entries(claim, batch, answer, now=now)
    follow_memories(
        user=claim.user,
        memories=memories,
        auto_accept_confidence=batch.settings.auto_accept_confidence,
        now=now,
    )
    reconcile_keys(user=claim.user, message_ids=claim.message_ids, now=now)
    proposals = [
        ProposedSection(section=item.section, text=item.text, message_id=message.id, said_at=message.create_time)
        for item in answer.profile
        if (message := batch.said.get(item.about)) is not None
    ]
    propose_sections(user=claim.user, proposals=proposals, now=now)
    if answer.context is not None and batch.settings.auto_context and answer.context.about in batch.said:
        record_context(
            user=claim.user,
            title=answer.context.title,
            content=answer.context.content,
            session_id=claim.session_id,
            message_id=batch.said[answer.context.about].id,
            now=now,
        )


def _draft(memory: MemoryAnswer, message: Message, batch: _Batch) -> ExtractedMemory:
    zone, said_at = batch.settings.zone, message.create_time
    event = find_time(memory.event, said_at=said_at, zone=zone) if memory.event else None
    start, end = (event.start, event.end) if event else (memory.event_start, memory.event_end)
    target = memory.target or 0
    return ExtractedMemory(
        content=date_content(memory.content, event=memory.event, said_at=said_at, zone=zone),
        said_at=said_at,
        message_id=message.id,
        session_id=message.session_id,
        tags=memory.tags,
        event_start=start if start is None or start.tzinfo else start.replace(tzinfo=zone),
        event_end=end if end is None or end.tzinfo else end.replace(tzinfo=zone),
        confidence=memory.confidence,
        relation=Relation(memory.relation),
        target=batch.known[target - 1][0] if 0 < target <= len(batch.known) else None,
        is_aside=memory.aside,
    )


def date_content(content: str, *, event: str | None, said_at: datetime, zone: ZoneInfo) -> str:
    """Write after each relative expression the date it stood for: 上周六（2026-11-14）. It will be read years later.

    One that goes on (今年三岁, "today I drink tea") only where `event` says that it dates what happened.
    """
    dated, reached = "", 0
    for span in find_times(content, said_at=said_at, zone=zone):
        end = span.position + len(span.text)
        goes_on = span.start <= said_at < span.end and span.text.lower() not in (event or "").lower()
        if goes_on or _HAS_YEAR.search(span.text) or content[end : end + 1] in ("（", "("):
            continue
        opening, closing = ("（", "）") if holds_chinese(span.text) else (" (", ")")
        dated += content[reached:end] + opening + _show_dates(span) + closing
        reached = end
    return dated + content[reached:]


def _show_dates(span: TimeSpan) -> str:
    first, last = span.start.date(), (span.end - timedelta(seconds=1)).date()
    if first == last:
        return first.isoformat()
    if first.day == 1 and (last + timedelta(days=1)).day == 1:
        whole_year = first.month == 1 and last.month == 12 and first.year == last.year
        if whole_year or (first.year, first.month) == (last.year, last.month):
            return f"{first.year}" if whole_year else f"{first:%Y-%m}"
    return f"{first.isoformat()}~{last.isoformat()}"


def _write_entries(claim: SessionClaim, batch: _Batch, answer: ExtractionAnswer, *, now: datetime) -> None:
    """Long-term entries of messages that no turn has read."""
    for number, message in batch.said.items():
        if message.id not in batch.recorded:
            continue
        names = [field.name for field in fields(ProposedEntry)]
        entries = [
            ProposedEntry(**{name: getattr(entry, name) for name in names})
            for entry in answer.entries
            if entry.about == number
        ]
        record_entries(
            user=claim.user,
            entries=entries,
            session_id=message.session_id,
            message_id=message.id,
            said_at=message.create_time,
            message_text=message.content,
            auto_accept_confidence=batch.settings.auto_accept_confidence,
            now=now,
        )
