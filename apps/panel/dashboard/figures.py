"""The figures of the overview: each is one statement that aggregates in the database, so many rows cost little."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta, tzinfo
from typing import Any
from uuid import UUID

from django.db.models import Aggregate, Count, F, FloatField, Func, IntegerField, JSONField, Model, QuerySet, Sum, Value
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import Cast, Left, TruncDate

from apps.accounts.models import User
from apps.chat.models import Turn
from apps.memory.models import AtomicMemory, LongTermMemory
from apps.panel.words import show_value

# Days that the charts over time can show.
PERIODS = (30, 90)


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
        """The beginning of the first day."""
        return datetime.combine(self.list_days()[0], time.min, tzinfo=self.zone)

    def list_days(self) -> list[date]:
        """Every day of the period, today last."""
        return [self.today - timedelta(days=ago) for ago in range(self.days - 1, -1, -1)]


MOST_USED = 6
_MEMORIES = Value('$[*] ? (@.kind != "message")')
SHOWN_CHARACTERS = 120

# Numbers of memories: by category, then by status. Atomic memories have one category, ``atomic``.
Counts = dict[str, dict[str, int]]

ATOMIC = "atomic"


@dataclass(frozen=True, slots=True)
class Growth:
    """Memories that came to be on each day, of each kind."""

    long_term: list[int]
    atomic: list[int]


@dataclass(frozen=True, slots=True)
class Activity:
    """Of each day: replies, and memories put before the model for them."""

    turns: list[int]
    uses: list[int]


@dataclass(frozen=True, slots=True)
class Latency:
    """How long replies took, in milliseconds: half of them less than `p50`, all but five in a hundred than `p95`."""

    p50: float
    p95: float
    turns: int


@dataclass(frozen=True, slots=True)
class UsedMemory:
    """A memory that replies rested on most often."""

    id: UUID
    uses: int


@dataclass(frozen=True, slots=True)
class Named:
    """A memory by its words."""

    kind: str
    text: str


class _Percentile(Aggregate):
    function = "percentile_cont"
    template = "%(function)s(%(share)s) WITHIN GROUP (ORDER BY %(expressions)s)"
    output_field = FloatField()

    def __init__(self, expression: Any, *, share: float) -> None:
        super().__init__(expression, share=share)


def count_memories(scope: Scope) -> Counts:
    """How many memories there are, by category and status."""
    counts: Counts = {}
    long_term = _count(scope.rows(LongTermMemory), what=F("category"), of=F("status"))
    atomic = _count(scope.rows(AtomicMemory), what=Value(ATOMIC), of=F("status"))
    for category, status, number in long_term.union(atomic, all=True):
        counts.setdefault(category, {})[status] = number
    return counts


def count_growth(scope: Scope) -> Growth:
    """How many memories came to be each day, whatever became of them."""
    long_term, atomic = (
        _count(
            scope.rows(model).filter(**{f"{made_at}__gte": scope.since}),
            what=Value(name),
            of=TruncDate(made_at, tzinfo=scope.zone),
        )
        for model, made_at, name in ((LongTermMemory, "created_at", ""), (AtomicMemory, "create_time", ATOMIC))
    )
    days: dict[str, dict[date, int]] = {"": {}, ATOMIC: {}}
    for name, day, number in long_term.union(atomic, all=True):
        days[name][day] = number
    return Growth(long_term=_fill(scope, days[""]), atomic=_fill(scope, days[ATOMIC]))


def _count(rows: QuerySet[Any], *, what: Any, of: Any) -> QuerySet[Any]:
    """How many rows there are of each pair."""
    counted: QuerySet[Any] = rows.values(what=what, of=of).annotate(n=Count("*")).values_list("what", "of", "n")
    return counted


def count_activity(scope: Scope) -> Activity:
    """How much was asked and recalled each day."""
    used = Func(F("memories_used"), function="jsonb_array_length", output_field=IntegerField())
    rows = _turns(scope).values_list(_day(scope)).annotate(turns=Count("*"), uses=Sum(used))
    turns, uses = {}, {}
    for day, number, recalled in rows:
        turns[day], uses[day] = number, recalled
    return Activity(turns=_fill(scope, turns), uses=_fill(scope, uses))


def count_emotions(scope: Scope) -> dict[str, list[int]]:
    """How often each emotion was found in what was said, day by day; the most frequent first."""
    primary = KeyTextTransform("primary", "emotion")
    rows = _turns(scope).filter(emotion__isnull=False).values_list(_day(scope), primary).annotate(n=Count("*"))
    by_emotion: dict[str, dict[date, int]] = {}
    for day, emotion, number in rows:
        by_emotion.setdefault(emotion, {})[day] = number
    ordered = sorted(by_emotion.items(), key=lambda item: (-sum(item[1].values()), item[0]))
    return {emotion: _fill(scope, days) for emotion, days in ordered}


def measure_latency(scope: Scope) -> Latency:
    """How long replies took from the question to their last word."""
    took = Cast(KeyTextTransform("model_ms", "timings"), FloatField()) + Cast(
        KeyTextTransform("opening_ms", "timings"), FloatField()
    )
    found = _turns(scope).aggregate(p50=_Percentile(took, share=0.5), p95=_Percentile(took, share=0.95), n=Count(took))
    return Latency(p50=found["p50"] or 0.0, p95=found["p95"] or 0.0, turns=found["n"])


def list_most_used(scope: Scope) -> list[UsedMemory]:
    """The memories that replies of the period rested on most often."""
    memory = Func(F("memories_used"), _MEMORIES, function="jsonb_path_query", output_field=JSONField())
    rows = _turns(scope).annotate(memory=memory).values_list(KeyTextTransform("id", "memory")).annotate(n=Count("*"))
    return [UsedMemory(id=UUID(found), uses=number) for found, number in rows.order_by("-n")[:MOST_USED]]


def _turns(scope: Scope) -> Any:
    return scope.rows(Turn).filter(created_at__gte=scope.since)


def _day(scope: Scope) -> TruncDate:
    return TruncDate("created_at", tzinfo=scope.zone)


def _fill(scope: Scope, found: Mapping[date, int]) -> list[int]:
    return [found.get(day, 0) for day in scope.list_days()]


def read_texts(scope: Scope, ids: Collection[UUID]) -> dict[UUID, Named]:
    """Memories of both kinds by their words, cut; what was deleted is left out. Two queries."""
    if not ids:
        return {}
    long_term = scope.rows(LongTermMemory).filter(id__in=ids).values_list("id", "key", "value")
    atomic = scope.rows(AtomicMemory).filter(id__in=ids).values_list("id", Left("content", SHOWN_CHARACTERS))
    named = {
        memory: Named("long_term", f"{key}: {show_value(value)}"[:SHOWN_CHARACTERS]) for memory, key, value in long_term
    }
    return named | {memory: Named(ATOMIC, content) for memory, content in atomic}
