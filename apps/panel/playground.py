"""The playground (M6): a message, what is recalled for it and why, and what other settings would change. Reads only.

The message comes by POST: texts in addresses would end up in logs (R3).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import TextChoices
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from apps.accounts.models import User
from apps.accounts.selectors import get_settings
from apps.accounts.services.people import update_settings
from apps.accounts.spaces import list_spaces, look_from
from apps.accounts.types import PREFIX, MemorySettings, read_setting_problems
from apps.chat.context.read import TurnInput
from apps.chat.context.types import LAYER_NAMES, Context
from apps.chat.turn.open import set_stage, try_context
from apps.conversations.sessions import list_sessions
from apps.core.errors import NotFound
from apps.core.http import read_uuid
from apps.core.text.clean import clean_text
from apps.core.text.keywords import Fate, explain_keywords
from apps.core.text.time_expressions import find_times
from apps.core.words import ATOMIC_PARTS, ATOMIC_SCORES, COMPONENTS, Component
from apps.memory.recall.explain import (
    COUNTED_HITS,
    Arm,
    Asked,
    ExplainedMemory,
    RecallExplanation,
    explain_recall,
)
from apps.memory.recall.query import find_earlier
from apps.memory.types import Candidate, ScoredAtomicMemory
from apps.memory.vectors.embedders import find_active_model
from apps.memory.vectors.queries import embed_query
from apps.panel.owned import sees_everybody
from apps.panel.pages import PanelPage, with_toast
from apps.panel.settings import WEIGHT_LABELS, Kind, read_number
from apps.panel.settings import list_controls as list_setting_controls
from apps.panel.texts import shorten
from apps.panel.words import show_value, split_score

# The settings that can be tried, beside the weights of the score.
TUNED = (
    "recency_half_life_days", "retrieval_limit", "rag_top_n", "rounds_top_n", "candidate_limit", "max_keywords",
    "semantic_candidates", "semantic_min_similarity", "token_budget",
)  # fmt: skip

# Where a slider goes in other steps, or less far, than the setting: from, to, step.
_SLIDES = {"recency_half_life_days": (0.5, 90.0, 0.5), "token_budget": (500.0, 20_000.0, 100.0)}
_SHARE = (0.0, 1.0, 0.01)

_MEMORIES = LAYER_NAMES.index("memories")

MAX_MESSAGE = 32_000
MOST_PEOPLE = 200
MOST_SESSIONS = 30

# Memories under the floor that are named.
MOST_BELOW = 10

# Characters of a memory on a line.
MAX_SHOWN = 300

# Of each kind in one column; the rest is counted.
MAX_ROWS = 40


# The settings to turn


@dataclass(frozen=True, slots=True)
class ControlValue:
    """A slider or switch as it stands on the page: its value, the person's own, and what is wrong with it.

    ``slide``: from, to, step. ``unset``: what an empty value means, for a setting that may have none.
    """

    name: str
    title: str
    value: Any
    own: Any
    is_switch: bool = False
    slide: tuple[float, float, float] = _SHARE
    unset: str = ""
    problems: tuple[str, ...] = ()

    @property
    def is_changed(self) -> bool:
        return bool(self.value != self.own)


def list_controls(
    own: MemorySettings, tried: MemorySettings, *, problems: Mapping[str, Any] | None = None
) -> list[ControlValue]:
    wrong = {name: tuple(found) for name, found in (problems or {}).items()}
    controls = [
        ControlValue(
            name=f"weight_{name}",
            title=str(title),
            value=getattr(tried.score_weights, name),
            own=getattr(own.score_weights, name),
            problems=wrong.get(f"{PREFIX}score_weights", ()),
        )
        for name, title in WEIGHT_LABELS.items()
    ]
    known = list_setting_controls()
    for name in TUNED:
        control = known[name]
        limits = (control.minimum or 0.0, control.maximum or 0.0, 1.0 if control.whole else 0.01)
        controls.append(
            ControlValue(
                name=name,
                title=control.label,
                value=getattr(tried, name),
                own=getattr(own, name),
                is_switch=control.kind is Kind.SWITCH,
                slide=_SLIDES.get(name, limits),
                unset=control.empty,
                problems=wrong.get(control.key, ()),
            )
        )
    return controls


def read_changes(given: Mapping[str, Any], *, own: MemorySettings) -> dict[str, Any]:
    """Return the settings (prefixed names) that the form has other values for than the person has; unchecked."""
    changes: dict[str, Any] = {}
    weights = own.score_weights.model_dump()
    for name in WEIGHT_LABELS:
        if text := given.get(f"weight_{name}", "").strip():
            weights[name] = read_number(text)
    if weights != own.score_weights.model_dump():
        changes[f"{PREFIX}score_weights"] = weights
    known = list_setting_controls()
    for name in TUNED:
        control, text = known[name], given.get(name, "")
        if control.kind is Kind.SWITCH:
            value: Any = text == "on" if f"{name}_shown" in given else None
        else:
            value = read_number(text, whole=control.whole) if text.strip() else None
        if value is None and not (control.optional and name in given):
            continue
        if value != getattr(own, name):
            changes[control.key] = value
    return changes


def list_problems(changes: Mapping[str, Any]) -> dict[str, list[str]]:
    return {name: [_("This value is out of range.")] for name in read_setting_problems(changes)}


# What a try recalls


class Outcome(TextChoices):
    """What became of a memory that was found."""

    USED = "used", gettext_lazy("in the prompt")
    RANK = "rank", gettext_lazy("beyond the limit")
    UNREMARKABLE = "unremarkable", gettext_lazy("does not stand out")
    BUDGET = "budget", gettext_lazy("cut to fit the budget")
    REPEATED = "repeated", gettext_lazy("already said")
    NOT_ASKED = "not_asked", gettext_lazy("not requested")


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
        """The outcome for the memory at this place, from 1, of its kind's ranking."""
        if not stands_out:
            return Outcome.UNREMARKABLE
        if str(memory_id) in {memory.id for memory in self.context.memories}:
            return Outcome.USED
        if rank > limit:
            return Outcome.RANK
        if str(memory_id) in {reference for cut in self.context.cut for reference in cut.refs}:
            return Outcome.BUDGET
        return Outcome.REPEATED if self.context.memories else Outcome.NOT_ASKED


def try_settings(
    user: User, message: str, stage: TurnInput, chosen: Sequence[MemorySettings], now: datetime
) -> tuple[list[Try], str]:
    """Recall for a message as a turn would under each of these settings, with the reasons for everything.

    Returns the tries, and why the message has no vector: "no_model", or "late" by the deadline of a turn (A4).
    """
    earlier, asked = find_earlier(message, stage.said), Asked()
    vector = embed_query(message, earlier=earlier)
    without = "" if vector is not None else "no_model" if find_active_model() is None else "late"
    tries = []
    for settings in chosen:
        explanation = explain_recall(
            user=user,
            message=message,
            earlier=earlier,
            settings=settings,
            query_embedding=vector,
            working_memory=stage.working,
            asked=asked,
            rounds_without=stage.shown_ids,
            now=now,
        )
        context = try_context(message=message, stage=stage, settings=settings, recalled=explanation.recalled)
        tries.append(Try(settings=settings, explanation=explanation, context=context))
    return tries, without


# What is shown of it

Words = str | Promise

_MODES = {
    1.0: gettext_lazy("whole word"),
    0.7: gettext_lazy("part of a longer word"),
    0.3: gettext_lazy("partial match"),
    0.0: gettext_lazy("no match"),
}

_ARMS = {
    Arm.FULL_TEXT: gettext_lazy("full text"),
    Arm.SUBSTRING: gettext_lazy("part of a word"),
    Arm.SEMANTIC: gettext_lazy("meaning"),
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

    rank: int
    text: str
    score: float
    parts: Sequence[Part]
    outcome: Outcome
    moved: int | None
    compared: bool
    arms: Sequence[Words] = ()
    matches: Sequence[tuple[str, float, Words]] = ()
    measures: Sequence[tuple[Component, float]] = ()


def show_columns(tries: Sequence[Try]) -> list[dict[str, Any]]:
    """Return what the person's own settings give, and beside it what the tried ones do; best first in each."""
    # The highest scores on the page: the whole width of a bar.
    scores = [memory.scored.score for tried in tries for memory in tried.explanation.long_term.ranked]
    gains = [
        sum(points for points in memory.parts.values() if points > 0)
        for tried in tries
        for memory in tried.explanation.atomic.ranked
    ]
    widest, widest_atomic = (max(found, default=1.0) or 1.0 for found in (scores, gains))
    columns = []
    for number, tried in enumerate(tries):
        long_term, atomic = tried.explanation.long_term, tried.explanation.atomic
        before = _rank(tries[0]) if number else None
        ranks = _rank(tried)
        # Those that do not stand out come at the end.
        ordered = sorted(atomic.ranked, key=lambda memory: not memory.stands_out)
        columns.append(
            {
                "tried": tried,
                "long_term": [_show_memory(one, tried, ranks, before, widest) for one in long_term.ranked[:MAX_ROWS]],
                "atomic": [_show_atomic(one, tried, ranks, before, widest_atomic) for one in ordered[:MAX_ROWS]],
                "rounds": _show_rounds(tried),
                "more_long_term": max(len(long_term.ranked) - MAX_ROWS, 0),
                "more_atomic": max(len(atomic.ranked) - MAX_ROWS, 0) + atomic.more,
            }
        )
    return columns


def _rank(tried: Try) -> dict[UUID, int]:
    """The place of each memory in its kind's ranking, from 1; atomic ones that do not stand out have none."""
    long_term = [memory.scored.candidate.id for memory in tried.explanation.long_term.ranked]
    atomic = [memory.candidate.id for memory in tried.explanation.atomic.ranked if memory.stands_out]
    return {memory_id: rank for ids in (long_term, atomic) for rank, memory_id in enumerate(ids, start=1)}


def _compare(memory_id: UUID, ranks: Mapping[UUID, int], before: Mapping[UUID, int] | None) -> dict[str, Any]:
    rank = ranks.get(memory_id, 0)
    moved = before[memory_id] - rank if before and rank and memory_id in before else None
    return {"rank": rank, "moved": moved, "compared": before is not None}


def _show_memory(memory: ExplainedMemory, tried: Try, ranks: Any, before: Any, widest: float) -> Row:
    scored = memory.scored
    place = _compare(scored.candidate.id, ranks, before)
    values = {component.field: getattr(scored, component.field) for component in COMPONENTS}
    limit = tried.explanation.long_term.limit
    return Row(
        **place,
        text=show_candidate(scored.candidate),
        score=scored.score,
        parts=[
            Part(component, value, weight, points, width=100 * points / widest)
            for component, value, weight, points in split_score(values, tried.settings.score_weights)
        ],
        outcome=tried.find_outcome(scored.candidate.id, rank=place["rank"], limit=limit),
        arms=[_ARMS[arm] for arm in memory.arms],
        matches=[(word, mode, _MODES[mode]) for word, mode in memory.modes.items()],
    )


def _show_atomic(scored: ScoredAtomicMemory, tried: Try, ranks: Any, before: Any, widest: float) -> Row:
    place = _compare(scored.candidate.id, ranks, before)
    limit = tried.explanation.atomic.limit
    return Row(
        **place,
        text=shorten(scored.candidate.content, MAX_SHOWN),
        score=scored.score,
        parts=[
            Part(component, points, None, points, width=100 * max(points, 0.0) / widest)
            for component in ATOMIC_PARTS
            if (points := scored.parts[component.name])
        ],
        outcome=tried.find_outcome(scored.candidate.id, rank=place["rank"], limit=limit, stands_out=scored.stands_out),
        measures=[(component, getattr(scored, component.field)) for component in ATOMIC_SCORES],
    )


def _show_rounds(tried: Try) -> list[dict[str, Any]]:
    """The past rounds of one column; ``words`` and ``meaning`` are what a score is made of."""
    limit = tried.settings.rounds_top_n
    return [
        {
            "id": past.message_id,
            "said_at": past.create_time,
            "text": shorten(past.said, MAX_SHOWN),
            "score": past.score,
            "words": past.keyword_score,
            "meaning": past.semantic_score,
            "outcome": tried.find_outcome(past.message_id, rank=rank, limit=limit),
        }
        for rank, past in enumerate(tried.explanation.rounds, start=1)
    ]


def show_candidate(candidate: Candidate) -> str:
    """Key and value on one line."""
    return shorten(f"{candidate.key}: {show_value(candidate.value)}", MAX_SHOWN)


def _explain_words(message: str, *, limit: int) -> list[tuple[str, str, str]]:
    """Each word of the message with how retrieval used it, as a name and in words."""
    told = {
        Fate.KEYWORD: _("keyword"),
        Fate.PRONOUN: _("pronoun"),
        Fate.STOP_WORD: _("stop word"),
        Fate.SHORT_NUMBER: _("short number"),
        Fate.ONE_CHARACTER: _("single character"),
        Fate.LESS_IMPORTANT: _("less important than other words"),
    }
    words = explain_keywords(message, limit=limit)
    return [(word[:60], fate.value, told[fate]) for word, fate in list(words.items())[:200]]


class PlaygroundPage(PanelPage):
    """GET: the form."""

    title = gettext_lazy("Playground")
    template_name = "panel/playground/page.html"

    def get(self, request: HttpRequest) -> HttpResponse:
        own = get_settings(self.owner)
        people = User.objects.order_by("username")[:MOST_PEOPLE] if sees_everybody(request) else []
        return self.render(
            request,
            controls=list_controls(own, own),
            spaces=list_spaces(self.owner),
            sessions=list_sessions(self.owner)[:MOST_SESSIONS],
            people=people,
            max_message=MAX_MESSAGE,
        )


class TryPage(PlaygroundPage):
    """POST: what a message gets under the person's own settings and, where the form has others, under those."""

    http_method_names = ["post"]

    def post(self, request: HttpRequest) -> HttpResponse:
        return self.answer(request.POST)

    def answer(self, given: QueryDict) -> HttpResponse:
        owner, own = self.owner, get_settings(self.owner)
        changes = read_changes(given.dict(), own=own)
        if problems := list_problems(changes):
            return self._render(
                problem=_("Some values are out of range."), controls=list_controls(own, own, problems=problems)
            )
        values = {name.removeprefix(PREFIX): value for name, value in changes.items()}
        tried = MemorySettings.model_validate(own.model_dump() | values)
        message = clean_text(given.get("message", ""))[:MAX_MESSAGE]
        if not message.strip():
            return self._render(controls=list_controls(own, tried))
        now, session = timezone.now(), given.get("session")
        try:
            topic = clean_text(given.get("topic", ""))[:200]
            # A conversation looks from where it is.
            named = given.get("space", "")
            seen = owner if session else look_from(owner, named) if named else owner.within(None)
            stage = set_stage(user=seen, session_id=read_uuid(session) if session else None, topic=topic, now=now)
        except NotFound as error:
            raise Http404(error.message) from error
        tries, without = try_settings(stage.user, message, stage, [own] if tried == own else [own, tried], now)
        columns, last = show_columns(tries), tries[-1]
        long_term = last.explanation.long_term
        shown = {part.component.name for column in columns for row in column["atomic"] for part in row.parts}
        return self._render(
            controls=list_controls(own, tried),
            columns=columns,
            last=last,
            stage=stage,
            place=list_spaces(owner).filter(pk=stage.user.sight.space).first() if stage.user.sight.space else None,
            uses_memory=bool(stage.recalls and stage.strategy and stage.strategy.use_memory),
            words=_explain_words(message, limit=tried.max_keywords),
            times=list(find_times(message, said_at=now, zone=own.zone, of_past=True)),
            zone=own.zone,
            embedding=without,
            found=Counter(arm.value for memory in long_term.ranked for arm in memory.arms),
            counted_hits=COUNTED_HITS,
            preferences=sum(memory.scored.candidate.category == "preference" for memory in long_term.ranked),
            below=[
                (show_candidate(candidate), similarity) for candidate, similarity in long_term.below_floor[:MOST_BELOW]
            ],
            more_below=max(len(long_term.below_floor) - MOST_BELOW, 0),
            components=COMPONENTS,
            atomic_components=[component for component in ATOMIC_PARTS if component.name in shown],
        )

    def _render(self, **context: Any) -> HttpResponse:
        return self.render(self.request, template="panel/playground/result.html", **context)


class SavePage(TryPage):
    """POST: keep the tried settings as the person's own."""

    def post(self, request: HttpRequest) -> HttpResponse:
        changes = read_changes(request.POST.dict(), own=get_settings(self.owner))
        if changes and not list_problems(changes):
            update_settings(user=self.owner, changes=changes)
            return with_toast(self.answer(request.POST), _("Saved. The settings apply from the next message."))
        return with_toast(self.answer(request.POST), _("Nothing to save."))
