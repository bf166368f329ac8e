"""The turns that used a memory, and how often that was week by week (M2)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from itertools import takewhile
from typing import Any
from uuid import UUID

from django.db import connection
from django.db.models.functions import Left
from django.utils import timezone

from apps.chat.models import Turn
from apps.panel.scores import Component, list_kept

MAX_TURNS = 5_000
"""The newest that are looked at; a memory that is used more often is used all the time."""

PER_PAGE = 10
WEEKS = 26
SNIPPET_CHARACTERS = 160

# First all of them, by the index of memories_used: PostgreSQL would rather walk through the person's turns by time.
_FIND = """
WITH used AS MATERIALIZED (
    SELECT assistant_message_id, created_at FROM turn
    WHERE user_id = %(user)s AND memories_used @> %(memory)s::jsonb
)
SELECT assistant_message_id, created_at FROM used ORDER BY created_at DESC, assistant_message_id LIMIT %(limit)s
"""


@dataclass(frozen=True, slots=True)
class Use:
    """One turn. ``score`` None: a search of the model found it. ``components``: of the score, as far as kept."""

    turn_id: UUID
    used_at: datetime
    session_title: str
    snippet: str
    score: float | None
    components: Sequence[tuple[Component, float]]


@dataclass(frozen=True, slots=True)
class Week:
    """How often the memory was used in the week from a day on. ``share``: of the week with most uses, 0..1."""

    starts: date
    count: int
    share: float


@dataclass(frozen=True, slots=True)
class Uses:
    """``is_more``: there are further pages; ``is_cut``: more than `MAX_TURNS` turns used it."""

    page: int
    rows: Sequence[Use]
    total: int
    is_cut: bool
    is_more: bool
    weeks: Sequence[Week]

    @property
    def next_page(self) -> int:
        return self.page + 1


def load_uses(memory: Any, *, page: int, now: datetime) -> Uses:
    """Return one page of a memory's uses, newest first, and the chart of the last half year. Two queries."""
    values = {"user": memory.user_id, "memory": json.dumps([{"id": str(memory.pk)}]), "limit": MAX_TURNS + 1}
    with connection.cursor() as cursor:
        cursor.execute(_FIND, values)
        found = cursor.fetchall()
    start = (page - 1) * PER_PAGE
    shown = [turn_id for turn_id, _time in found[start : start + PER_PAGE]]
    return Uses(
        page=page,
        rows=_read(memory, shown) if shown else [],
        total=min(len(found), MAX_TURNS),
        is_cut=len(found) > MAX_TURNS,
        is_more=len(found) > start + PER_PAGE,
        weeks=count_weeks([time for _id, time in found], now=now),
    )


def _read(memory: Any, turn_ids: Sequence[UUID]) -> list[Use]:
    turns = Turn.objects.filter(user=memory.user_id, pk__in=turn_ids)
    shown = turns.annotate(snippet=Left("user_message__content", SNIPPET_CHARACTERS))
    columns = shown.values("pk", "created_at", "memories_used", "snippet", "session__title")
    rows: dict[UUID, dict[str, Any]] = {row["pk"]: dict(row) for row in columns}
    return [_make(rows[turn_id], str(memory.pk)) for turn_id in turn_ids if turn_id in rows]


def _make(row: dict[str, Any], memory_id: str) -> Use:
    used: dict[str, Any] = next((item for item in row["memories_used"] if item.get("id") == memory_id), {})
    return Use(
        turn_id=row["pk"],
        used_at=row["created_at"],
        session_title=row["session__title"] or "",
        snippet=row["snippet"] or "",
        score=float(used["score"] or 0.0) if "score" in used else None,
        components=list(list_kept(used)),
    )


def count_weeks(times: Sequence[datetime], *, now: datetime) -> list[Week]:
    """Return the last `WEEKS` weeks, oldest first, this one last; `times` are in descending order."""
    today = timezone.localtime(now).date()
    this_week = today - timedelta(days=today.weekday())
    starts = [this_week - timedelta(weeks=back) for back in range(WEEKS - 1, -1, -1)]
    days = takewhile(lambda day: day >= starts[0], (timezone.localtime(time).date() for time in times))
    counts = dict.fromkeys(starts, 0)
    for day in days:
        week = day - timedelta(days=day.weekday())
        if week in counts:
            counts[week] += 1
    most = max(counts.values()) or 1
    return [Week(starts=start, count=count, share=count / most) for start, count in counts.items()]
