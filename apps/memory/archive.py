"""What working memory leaves behind when it expires (W4): important context becomes long-term memory, where wanted."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction

from apps.accounts.models import User
from apps.accounts.selectors import get_own_values, get_settings
from apps.conversations.sessions import lock_session
from apps.core.errors import NotFound
from apps.core.text.clean import json_text
from apps.core.text.fold import normalize_key
from apps.core.text.segment import cjk_runs
from apps.memory.changes.records import changed_by
from apps.memory.entries import record_entries
from apps.memory.keyed import Mode
from apps.memory.kinds import LONG_TERM
from apps.memory.locking import lock_memories
from apps.memory.models import Category, Change, Source, WorkingMemory
from apps.memory.validation import MAX_PROPOSED_CHARACTERS, Proposal, find_problems, measure_value, tells_secret
from apps.memory.working import WorkingMemorySnapshot, list_idle, to_snapshot

CONFIDENCE = 0.7  # of what is archived: it comes from what a person said, but they did not state it as lasting


def expire_working_memory(*, now: datetime) -> int:
    """Delete working memory that idled too long (W4), archived before where its owner wants that; returns how many."""
    default, own = get_settings(None).working_archive, get_own_values("working_archive")
    wanting = {user_id for user_id, wants in own.items() if wants}
    refusing = own.keys() - wanting
    idle = list_idle(now=now)
    to_archive = idle.exclude(user__in=refusing) if default else idle.filter(user__in=wanting)
    expired = sum(
        archive_working_memory(user=row.user, session_id=row.session_id, now=now)
        for row in to_archive.select_related("user").only("session_id", "user")
    )
    deleted, _by_model = (idle.filter(user__in=refusing) if default else idle.exclude(user__in=wanting)).delete()
    return expired + deleted


@transaction.atomic
def archive_working_memory(*, user: User, session_id: uuid.UUID, now: datetime) -> bool:
    """Keep what is important of a session's expired working memory as long-term memory, and delete it: both or none.

    Topic, forms and variables become facts of the source `system`. They do not take the place of what came from the
    person themself, and bring nothing back that was deleted or rejected. Of a temporary session nothing is kept (C7),
    nor where something was said while remembering was paused (D5). Returns whether there was anything to expire.
    """
    settings = get_settings(user)
    # In the order in which turns lock: what is remembered, the session, its working memory.
    lock_memories(user)
    try:
        session = lock_session(user=user, session_id=session_id)
    except NotFound:  # deleted meanwhile, working memory and all
        return False
    idle_since = now - timedelta(minutes=settings.working_ttl_minutes)
    rows = WorkingMemory.objects.select_for_update().filter(session_id=session_id, updated_at__lt=idle_since)
    row = rows.first()
    if row is None:
        return False
    important = [] if session.temporary or row.paused else list_important(to_snapshot(row))
    learner = user.within(session.learns_in)
    row.delete()
    with changed_by(origin=Change.Origin.LIFE_CYCLE, actor=None):
        record_entries(
            user=learner,
            entries=_leave_stated(learner, important),
            session_id=session_id,
            message_id=None,
            said_at=row.created_at,
            message_text="",
            auto_accept_confidence=settings.auto_accept_confidence,
            zone=settings.zone,
            now=now,
        )
    return True


def list_important(snapshot: WorkingMemorySnapshot) -> list[Proposal]:
    """Return what of a working memory is worth keeping: its topic, its forms, and variables that state something.

    A variable that is only a switch or is empty states nothing.
    """
    found: dict[str, Any] = {**snapshot.variables.plain, **snapshot.variables.forms}
    stated = {key: value["fields"] if key in snapshot.variables.forms else value for key, value in found.items()}
    if snapshot.current_topic:
        topic = snapshot.current_topic
        stated["最近的话题" if cjk_runs(topic) else "recent topic"] = topic
    return [
        Proposal(
            category=Category.FACT,
            key=key.strip(),
            value=value,
            source=Source.SYSTEM,
            confidence=CONFIDENCE,
            mode=Mode.REPLACE,
            normalized_key=normalize_key(key),
        )
        for key, value in stated.items()
        if _states_something(key, value)
    ]


def _states_something(key: str, value: Any) -> bool:
    if isinstance(value, bool) or not json_text(value).strip() or value in ([], {}):
        return False
    if tells_secret(f"{key} {json_text(value)}"):
        return False
    return not find_problems({"key": key, "value": value}) and measure_value(value) <= MAX_PROPOSED_CHARACTERS


def _leave_stated(user: User, proposals: Sequence[Proposal]) -> list[Proposal]:
    """Drop what is known already from the person themself, or from what they said: it is surer than this."""
    asked = [proposal.normalized_key for proposal in proposals]
    known = LONG_TERM.active(user).filter(normalized_key__in=asked).exclude(source=Source.SYSTEM)
    keys = set(known.values_list("normalized_key", flat=True))
    return [proposal for proposal in proposals if proposal.normalized_key not in keys]
