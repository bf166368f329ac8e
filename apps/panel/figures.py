"""The figures of the overview: each is one statement that aggregates in the database, so many rows cost little."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta, tzinfo
from typing import Any
from uuid import UUID

from django.db.models import Aggregate, Count, F, FloatField, Func, IntegerField, JSONField, Model, QuerySet, Sum, Value
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import Cast, Left, TruncDate
from django.utils import formats

from apps.accounts.models import User
from apps.chat.models import Turn
from apps.memory.models import AtomicMemory, LongTermMemory
from apps.panel.words import show_value

# Days that the charts over time can show.
PERIODS = (30, 90)

MOST_USED = 6
SHOWN_CHARACTERS = 120

LONG_TERM, ATOMIC = "long_term", "atomic"

# Numbers of memories: by category, then by status. Atomic memories have one category, ``atomic``.
Counts = dict[str, dict[str, int]]

# Memories by their IDs: the kind of each, and its words.
Texts = dict[UUID, tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Scope:
    """One person's figures, or everybody's where `user` is None; the last `days` days as `zone` counts them."""

    user: User | None
    zone: tzinfo
    today: date
    days: int

    def rows(self, model: type[Model]) -> QuerySet[Any]:
        """The rows of a table that count, in no order."""
        rows = model._default_manager.order_by()
        return rows if self.user is None else rows.filter(user=self.user)

    @property
    def since(self) -> datetime:
        return datetime.combine(self.list_days()[0], time.min, tzinfo=self.zone)

    @property
    def turns(self) -> Any:
        return self.rows(Turn).filter(created_at__gte=self.since)

    def list_days(self) -> list[date]:
        """Every day of the period, today last."""
        return [self.today - timedelta(days=ago) for ago in range(self.days - 1, -1, -1)]

    def by_day(self, field: str = "created_at") -> TruncDate:
        return TruncDate(field, tzinfo=self.zone)

    def fill(self, found: Mapping[date, int]) -> list[int]:
        return [found.get(day, 0) for day in self.list_days()]


class _Percentile(Aggregate):
    function = "percentile_cont"
    template = "%(function)s(%(share)s) WITHIN GROUP (ORDER BY %(expressions)s)"
    output_field = FloatField()

    def __init__(self, expression: Any, *, share: float) -> None:
        super().__init__(expression, share=share)


def _count(rows: QuerySet[Any], *, what: Any, of: Any) -> QuerySet[Any]:
    counted: QuerySet[Any] = rows.values(what=what, of=of).annotate(n=Count("*")).values_list("what", "of", "n")
    return counted


def count_memories(scope: Scope) -> Counts:
    counts: Counts = {}
    long_term = _count(scope.rows(LongTermMemory), what=F("category"), of=F("status"))
    atomic = _count(scope.rows(AtomicMemory), what=Value(ATOMIC), of=F("status"))
    for category, status, number in long_term.union(atomic, all=True):
        counts.setdefault(category, {})[status] = number
    return counts


def count_growth(scope: Scope) -> dict[str, list[int]]:
    """How many memories of each kind came to be each day, whatever their status is now."""
    days: dict[str, dict[date, int]] = {LONG_TERM: {}, ATOMIC: {}}
    long_term, atomic = (
        _count(scope.rows(model).filter(**{f"{at}__gte": scope.since}), what=Value(name), of=scope.by_day(at))
        for model, at, name in ((LongTermMemory, "created_at", LONG_TERM), (AtomicMemory, "create_time", ATOMIC))
    )
    for name, day, number in long_term.union(atomic, all=True):
        days[name][day] = number
    return {name: scope.fill(found) for name, found in days.items()}


def count_activity(scope: Scope) -> tuple[list[int], list[int]]:
    """How many replies there were each day, and how many memories were put before the model for them."""
    used = Func(F("memories_used"), function="jsonb_array_length", output_field=IntegerField())
    rows = list(scope.turns.values_list(scope.by_day()).annotate(turns=Count("*"), uses=Sum(used)))
    turns, uses = ({row[0]: row[place] for row in rows} for place in (1, 2))
    return scope.fill(turns), scope.fill(uses)


def count_emotions(scope: Scope) -> dict[str, list[int]]:
    """How often each emotion was found in what was said, day by day; the most frequent first."""
    primary = KeyTextTransform("primary", "emotion")
    rows = scope.turns.filter(emotion__isnull=False).values_list(scope.by_day(), primary).annotate(n=Count("*"))
    by_emotion: dict[str, dict[date, int]] = {}
    for day, emotion, number in rows:
        by_emotion.setdefault(emotion, {})[day] = number
    ordered = sorted(by_emotion.items(), key=lambda item: (-sum(item[1].values()), item[0]))
    return {emotion: scope.fill(days) for emotion, days in ordered}


def measure_latency(scope: Scope) -> tuple[float, float, int]:
    """How long replies took, in milliseconds: half of them less than the first, 95 % less than the second; how many."""
    took = Cast(KeyTextTransform("model_ms", "timings"), FloatField()) + Cast(
        KeyTextTransform("opening_ms", "timings"), FloatField()
    )
    found = scope.turns.aggregate(p50=_Percentile(took, share=0.5), p95=_Percentile(took, share=0.95), n=Count(took))
    return found["p50"] or 0.0, found["p95"] or 0.0, found["n"]


def list_most_used(scope: Scope) -> list[tuple[UUID, int]]:
    """The memories that replies of the period rested on most often, with how often."""
    memories = Value('$[*] ? (@.kind != "message")')
    memory = Func(F("memories_used"), memories, function="jsonb_path_query", output_field=JSONField())
    rows = scope.turns.annotate(memory=memory).values_list(KeyTextTransform("id", "memory")).annotate(n=Count("*"))
    return [(UUID(found), number) for found, number in rows.order_by("-n")[:MOST_USED]]


def read_texts(scope: Scope, ids: Collection[UUID]) -> Texts:
    """Memories of both kinds by their words, cut; what was deleted is left out. Two queries."""
    if not ids:
        return {}
    long_term = scope.rows(LongTermMemory).filter(id__in=ids).values_list("id", "key", "value")
    atomic = scope.rows(AtomicMemory).filter(id__in=ids).values_list("id", Left("content", SHOWN_CHARACTERS))
    texts = {memory: (LONG_TERM, f"{key}: {show_value(value)}"[:SHOWN_CHARACTERS]) for memory, key, value in long_term}
    return texts | {memory: (ATOMIC, content) for memory, content in atomic}


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart over `days`, "bar" (stacked) or "line", as django-unfold draws it. `link`: the list behind it.

    ``series``: of each its name, its colour, or a CSS variable for it, and a number for each day. ``precision``: places
    of the numbers beside it; None as they need.
    """

    kind: str
    title: str
    days: list[date]
    series: Sequence[tuple[str, str, Sequence[float]]]
    link: str
    precision: int | None = 0

    @property
    def totals(self) -> list[tuple[str, float]]:
        return [(label, round(sum(numbers), 4)) for label, _colour, numbers in self.series]

    @property
    def rows(self) -> list[tuple[date, list[float]]]:
        """The days on which something was, newest first, with the number of each series."""
        found = [(day, [numbers[place] for *_about, numbers in self.series]) for place, day in enumerate(self.days)]
        return [row for row in reversed(found) if any(row[1])]

    @property
    def data(self) -> str:
        datasets = [
            {"label": label, "data": numbers, "backgroundColor": colour, "borderColor": colour, "maxBarThickness": 14}
            for label, colour, numbers in self.series
        ]
        labels = [formats.date_format(day, "MONTH_DAY_FORMAT") for day in self.days]
        return json.dumps({"labels": labels, "datasets": datasets})

    @property
    def options(self) -> str:
        stacked = self.kind == "bar"
        ticks: dict[str, Any] = {"color": "#8b949e", "maxTicksLimit": 5}
        if self.precision is not None:
            ticks["precision"] = self.precision
        return json.dumps(
            {
                "animation": False,
                "maintainAspectRatio": False,
                "interaction": {"mode": "index", "intersect": False},
                "elements": {"line": {"borderWidth": 2, "cubicInterpolationMode": "monotone"}, "point": {"radius": 0}},
                "scales": {
                    "x": {"stacked": stacked, "grid": {"display": False}, "ticks": {**ticks, "maxRotation": 0}},
                    "y": {"stacked": stacked, "beginAtZero": True, "grid": {}, "ticks": ticks},
                },
                "plugins": {"legend": {"position": "bottom", "align": "start", "labels": {**ticks, "boxWidth": 10}}},
            }
        )
