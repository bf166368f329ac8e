"""What a try of the playground recalls, and what it shows of each memory (M6)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from django.db.models import TextChoices
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy

from apps.accounts.models import User
from apps.accounts.types import MemorySettings, ScoreWeights
from apps.chat.context.read import TurnInput
from apps.chat.context.types import LAYER_NAMES, Context
from apps.chat.turn.open import try_context
from apps.core.words import ATOMIC_PARTS, ATOMIC_SCORES, COMPONENTS, Component
from apps.memory.recall.explain import Arm, Asked, ExplainedMemory, RecallExplanation, explain_recall
from apps.memory.recall.query import find_earlier
from apps.memory.types import Candidate, ScoredAtomicMemory
from apps.memory.vectors.embedders import find_active_model
from apps.memory.vectors.queries import QueryEmbedding, embed_query
from apps.panel.words import show_value

_MEMORIES = LAYER_NAMES.index("memories")


class Outcome(TextChoices):
    """What became of a memory that was found."""

    USED = "used", gettext_lazy("in the prompt")
    RANK = "rank", gettext_lazy("beyond the limit")
    UNREMARKABLE = "unremarkable", gettext_lazy("does not stand out")
    BUDGET = "budget", gettext_lazy("cut to fit the budget")
    REPEATED = "repeated", gettext_lazy("already said")
    NOT_ASKED = "not_asked", gettext_lazy("not requested")


class Embedding(StrEnum):
    """Whether the query has a vector, and why it has none."""

    USED = "used"
    NO_MODEL = "no_model"
    LATE = "late"


@dataclass(frozen=True, slots=True)
class Try:
    """What a message gets under `settings`."""

    settings: MemorySettings
    explanation: RecallExplanation
    context: Context

    @property
    def layer(self) -> str:
        """Layer 3 as the model would read it."""
        return self.context.layers[_MEMORIES].content

    @property
    def tokens(self) -> int:
        return self.context.layers[_MEMORIES].tokens

    def find_outcome(self, memory_id: UUID, *, rank: int, limit: int, stands_out: bool = True) -> Outcome:
        """What became of the memory of this place, from 1, in its kind's ranking."""
        if not stands_out:
            return Outcome.UNREMARKABLE
        if str(memory_id) in {memory.id for memory in self.context.memories}:
            return Outcome.USED
        if rank > limit:
            return Outcome.RANK
        cut = {reference for cut in self.context.cut for reference in cut.refs}
        if str(memory_id) in cut:
            return Outcome.BUDGET
        return Outcome.REPEATED if self.context.memories else Outcome.NOT_ASKED


def embed_message(message: str, *, stage: TurnInput) -> tuple[QueryEmbedding | None, Embedding]:
    """The vector of a message, by the same deadline as in a turn (A4), and whether there is one."""
    found = embed_query(message, earlier=find_earlier(message, stage.said))
    if found is not None:
        return found, Embedding.USED
    return None, Embedding.NO_MODEL if find_active_model() is None else Embedding.LATE


def try_message(
    *,
    user: User,
    message: str,
    stage: TurnInput,
    settings: MemorySettings,
    query_embedding: QueryEmbedding | None,
    asked: Asked,
    now: datetime,
) -> Try:
    """Recall for a message as a turn would under `settings`, with the reasons for everything.

    `asked`: what earlier tries of the message have asked the database.
    """
    explanation = explain_recall(
        user=user,
        message=message,
        earlier=find_earlier(message, stage.said),
        settings=settings,
        query_embedding=query_embedding,
        working_memory=stage.working,
        asked=asked,
        rounds_without=stage.shown_ids,
        now=now,
    )
    context = try_context(message=message, stage=stage, settings=settings, recalled=explanation.recalled)
    return Try(settings=settings, explanation=explanation, context=context)


# Characters of a memory on a line.
MAX_SHOWN = 300

# Of each kind in one column; the rest is counted.
MAX_ROWS = 40

Words = str | Promise

_MODES = {
    1.0: gettext_lazy("whole word"),
    0.7: gettext_lazy("part of a longer word"),
    0.3: gettext_lazy("partial match"),
    0.0: gettext_lazy("no match"),
}


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a score. `points` of the score come from it; `width` in percent of the widest bar of its kind."""

    component: Component
    value: float
    weight: float | None
    points: float
    width: float


@dataclass(frozen=True, slots=True)
class Row:
    """A memory in one column. `moved`: places up (below 0: down) against the other column, None where it is new.

    `measures`: of an atomic memory, numbers that parts were computed from.
    """

    id: UUID
    rank: int
    text: str
    category: str
    score: float
    parts: Sequence[Part]
    outcome: Outcome
    arms: Sequence[Words]
    matches: Sequence[tuple[str, float, Words]]
    moved: int | None
    compared: bool
    measures: Sequence[tuple[Component, float]] = ()


@dataclass(frozen=True, slots=True)
class RoundRow:
    """A past round with its outcome; `words` and `meaning` are what its score is made of."""

    id: UUID
    session_id: UUID
    said_at: datetime
    text: str
    score: float
    words: float
    meaning: float
    outcome: Outcome


_ARMS = {
    Arm.FULL_TEXT: gettext_lazy("full text"),
    Arm.SUBSTRING: gettext_lazy("part of a word"),
    Arm.SEMANTIC: gettext_lazy("meaning"),
}

Ranks = Mapping[UUID, int]


def rank_long_term(tried: Try) -> Ranks:
    """The place of each long-term memory, from 1."""
    ranked = tried.explanation.long_term.ranked
    return {memory.scored.candidate.id: rank for rank, memory in enumerate(ranked, start=1)}


def rank_atomic(tried: Try) -> Ranks:
    """The place of each atomic memory that stands out, from 1; the others have none."""
    outstanding = [memory for memory in tried.explanation.atomic.ranked if memory.stands_out]
    return {memory.candidate.id: rank for rank, memory in enumerate(outstanding, start=1)}


def find_widest(tries: Sequence[Try]) -> float:
    """The highest score of a long-term memory on the page: the whole width of a bar."""
    scores = [memory.scored.score for tried in tries for memory in tried.explanation.long_term.ranked]
    return max(scores, default=1.0) or 1.0


def show_long_term(tried: Try, *, widest: float, other: Try | None) -> list[Row]:
    """The rows of one column, best first; `other`: the column it is compared with."""
    earlier = rank_long_term(other) if other else {}
    return [
        _show_memory(memory, rank, tried, widest=widest, earlier=earlier, compared=other is not None)
        for rank, memory in enumerate(tried.explanation.long_term.ranked[:MAX_ROWS], start=1)
    ]


def _show_memory(
    memory: ExplainedMemory, rank: int, tried: Try, *, widest: float, earlier: Ranks, compared: bool
) -> Row:
    scored = memory.scored
    candidate = scored.candidate
    limit = tried.explanation.long_term.limit
    return Row(
        id=candidate.id,
        rank=rank,
        text=show_candidate(candidate),
        category=candidate.category,
        score=scored.score,
        parts=_split_score(memory, weights=tried.settings.score_weights, widest=widest),
        outcome=tried.find_outcome(candidate.id, rank=rank, limit=limit),
        arms=[_ARMS[arm] for arm in memory.arms],
        matches=[(word, mode, _MODES[mode]) for word, mode in memory.modes.items()],
        moved=earlier[candidate.id] - rank if candidate.id in earlier else None,
        compared=compared,
    )


def show_candidate(candidate: Candidate) -> str:
    """Key and value on one line."""
    return _shorten(f"{candidate.key}: {show_value(candidate.value)}")


def _shorten(text: str) -> str:
    return text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}…"


def _split_score(memory: ExplainedMemory, *, weights: ScoreWeights, widest: float) -> list[Part]:
    """The parts whose points add up to the score (K5); of the two matches only the better one has any."""
    scored = memory.scored
    by_meaning = scored.semantic_score > scored.keyword_score
    weighted = {
        "keyword": (scored.keyword_score, 0.0 if by_meaning else weights.keyword),
        "semantic": (scored.semantic_score, weights.keyword if by_meaning else 0.0),
        "category": (scored.category_boost, weights.category),
        "recency": (scored.recency_score, weights.recency),
        "frequency": (scored.frequency_score, weights.frequency),
        "confidence": (scored.confidence, weights.confidence),
    }
    points = {name: value * weight for name, (value, weight) in weighted.items()}
    total = sum(points.values())
    points["topic"] = total * (scored.topic_boost - 1)
    values: dict[str, tuple[float, float | None]] = {**weighted, "topic": (scored.topic_boost, None)}
    return [
        Part(
            component=component,
            value=values[component.name][0],
            weight=values[component.name][1],
            points=points[component.name],
            width=100 * points[component.name] / widest,
        )
        for component in COMPONENTS
    ]


def find_widest_atomic(tries: Sequence[Try]) -> float:
    """The most points above 0 that an atomic memory on the page has: the whole width of a bar."""
    gains = [
        sum(points for points in memory.parts.values() if points > 0)
        for tried in tries
        for memory in tried.explanation.atomic.ranked
    ]
    return max(gains, default=1.0) or 1.0


def show_atomic(tried: Try, *, widest: float, other: Try | None) -> list[Row]:
    """The rows of one column, best first, those that do not stand out at the end."""
    earlier = rank_atomic(other) if other else {}
    ranks = rank_atomic(tried)
    ordered = sorted(tried.explanation.atomic.ranked, key=lambda memory: not memory.stands_out)
    return [
        _show_atomic_memory(memory, tried, rank=ranks.get(memory.candidate.id, 0), widest=widest, earlier=earlier)
        for memory in ordered[:MAX_ROWS]
    ]


def _show_atomic_memory(scored: ScoredAtomicMemory, tried: Try, *, rank: int, widest: float, earlier: Ranks) -> Row:
    candidate = scored.candidate
    return Row(
        id=candidate.id,
        rank=rank,
        text=_shorten(candidate.content),
        category="",
        score=scored.score,
        parts=[
            Part(
                component=component,
                value=points,
                weight=None,
                points=points,
                width=100 * max(points, 0.0) / widest,
            )
            for component in ATOMIC_PARTS
            if (points := scored.parts[component.name])
        ],
        outcome=tried.find_outcome(
            candidate.id,
            rank=rank,
            limit=tried.explanation.atomic.limit,
            stands_out=scored.stands_out,
        ),
        arms=[],
        matches=[],
        moved=earlier[candidate.id] - rank if rank and candidate.id in earlier else None,
        compared=bool(earlier),
        measures=[(component, getattr(scored, component.field)) for component in ATOMIC_SCORES],
    )


def show_rounds(tried: Try) -> list[RoundRow]:
    """The past rounds of one column, best first."""
    limit = tried.settings.rounds_top_n
    return [
        RoundRow(
            id=past.message_id,
            session_id=past.session_id,
            said_at=past.create_time,
            text=_shorten(past.said),
            score=past.score,
            words=past.keyword_score,
            meaning=past.semantic_score,
            outcome=tried.find_outcome(past.message_id, rank=rank, limit=limit),
        )
        for rank, past in enumerate(tried.explanation.rounds, start=1)
    ]
