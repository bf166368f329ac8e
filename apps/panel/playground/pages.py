"""The playground (M6): a message, what is recalled for it and why, and what other settings would change. Reads only.

The message comes by POST: texts in addresses would end up in logs (R3).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from apps.accounts.models import User
from apps.accounts.selectors import get_settings
from apps.accounts.services.people import update_settings
from apps.accounts.types import PREFIX, MemorySettings, read_setting_problems
from apps.chat.turn.open import set_stage
from apps.conversations.sessions import list_sessions
from apps.core.errors import NotFound
from apps.core.http import read_uuid
from apps.core.text.clean import clean_text
from apps.core.text.keywords import Fate, explain_keywords
from apps.core.text.time_expressions import find_times
from apps.core.words import ATOMIC_PARTS, COMPONENTS, Component
from apps.memory.recall.explain import COUNTED_HITS, Asked
from apps.panel.owned import sees_everybody
from apps.panel.pages import PanelPage
from apps.panel.playground.rows import (
    MAX_ROWS,
    Embedding,
    RoundRow,
    Row,
    Try,
    embed_message,
    find_widest,
    find_widest_atomic,
    show_atomic,
    show_candidate,
    show_long_term,
    show_rounds,
    try_message,
)
from apps.panel.settings import WEIGHT_LABELS, Kind
from apps.panel.settings import list_controls as list_setting_controls

# The settings that can be tried, beside the weights of the score.
TUNED = (
    "recency_half_life_days", "retrieval_limit", "rag_top_n", "rounds_top_n", "candidate_limit", "max_keywords",
    "semantic_candidates", "semantic_min_similarity", "token_budget",
)  # fmt: skip

# Where a slider goes in other steps, or less far, than the setting: from, to, step.
_SLIDES = {"recency_half_life_days": (0.5, 90.0, 0.5), "token_budget": (500.0, 20_000.0, 100.0)}
_SHARE = (0.0, 1.0, 0.01)


@dataclass(frozen=True, slots=True)
class ControlValue:
    """A slider or switch as it stands on the page: its value, the person's own, and what is wrong with it.

    ``slide``: from, to, step. ``unset``: what an empty value means, for a setting that may have none.
    """

    name: str
    title: str
    value: Any
    own: Any
    is_switch: bool
    slide: tuple[float, float, float]
    unset: str
    problems: tuple[str, ...] = ()

    @property
    def is_changed(self) -> bool:
        return bool(self.value != self.own)


def list_controls(
    own: MemorySettings, tried: MemorySettings, *, problems: Mapping[str, Any] | None = None
) -> list[ControlValue]:
    """Return every control with its values."""
    wrong = problems or {}
    weights = tuple(wrong.get(f"{PREFIX}score_weights", ()))
    controls = [
        ControlValue(
            name=f"weight_{name}",
            title=str(title),
            value=getattr(tried.score_weights, name),
            own=getattr(own.score_weights, name),
            is_switch=False,
            slide=_SHARE,
            unset="",
            problems=weights,
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
                problems=tuple(wrong.get(control.key, ())),
            )
        )
    return controls


def read_changes(given: Mapping[str, str], *, own: MemorySettings) -> dict[str, Any]:
    """Return the settings (prefixed names) that the form has other values for than the person has; unchecked."""
    changes: dict[str, Any] = {}
    weights = own.score_weights.model_dump()
    for name in WEIGHT_LABELS:
        text = given.get(f"weight_{name}", "")
        if text.strip():
            weights[name] = _read_number(text)
    if weights != own.score_weights.model_dump():
        changes[f"{PREFIX}score_weights"] = weights
    known = list_setting_controls()
    for name in TUNED:
        control, text = known[name], given.get(name, "")
        if control.kind is Kind.SWITCH:
            value: Any = text == "on" if f"{name}_shown" in given else None
        else:
            value = _read_number(text, whole=control.whole) if text.strip() else None
        if value is None and not (control.optional and name in given):
            continue
        if value != getattr(own, name):
            changes[control.key] = value
    return changes


def _read_number(text: str, *, whole: bool = False) -> Any:
    """Return the number of a text; the text itself, which is refused later, where it is none."""
    try:
        number = float(text)
    except ValueError:
        return text
    return int(number) if whole and number.is_integer() else number


def apply_changes(own: MemorySettings, changes: Mapping[str, Any]) -> MemorySettings:
    """Return the settings with `changes`, which are acceptable (`list_problems`)."""
    values = own.model_dump() | {name.removeprefix(PREFIX): value for name, value in changes.items()}
    return MemorySettings.model_validate(values)


def list_problems(changes: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return why changes are not acceptable, by prefixed name."""
    found = read_setting_problems(changes)
    return {name: [_("This value is out of range.")] for name in found}


MAX_MESSAGE = 32_000
MOST_PEOPLE = 200
MOST_SESSIONS = 30

# Memories under the floor that are named.
MOST_BELOW = 10


@dataclass(frozen=True, slots=True)
class Column:
    """One of the two sides: what the person's own settings give, and what the tried ones do."""

    tried: Try
    long_term: Sequence[Row]
    atomic: Sequence[Row]
    rounds: Sequence[RoundRow]
    more_long_term: int
    more_atomic: int


class PlaygroundPage(PanelPage):
    """GET: the form."""

    title = gettext_lazy("Playground")
    template_name = "panel/playground/page.html"

    def get(self, request: HttpRequest) -> HttpResponse:
        own = get_settings(self.owner)
        return self.render(
            request,
            controls=list_controls(own, own),
            sessions=list_sessions(self.owner).only("id", "title", "last_active_at")[:MOST_SESSIONS],
            people=_list_people(request),
            max_message=MAX_MESSAGE,
        )


class TryPage(PlaygroundPage):
    """POST: what a message gets under the person's own settings and, where the form has others, under those."""

    http_method_names = ["post"]

    def post(self, request: HttpRequest) -> HttpResponse:
        return self.answer(request.POST)

    def answer(self, given: QueryDict, *, notice: str = "") -> HttpResponse:
        """Answer with the result of a form."""
        owner, own = self.owner, get_settings(self.owner)
        changes = read_changes({name: given.get(name, "") for name in given}, own=own)
        problems = list_problems(changes)
        if problems:
            return self._render(
                problem=_("Some values are out of range."), controls=list_controls(own, own, problems=problems)
            )
        tried = apply_changes(own, changes)
        message = clean_text(given.get("message", ""))[:MAX_MESSAGE]
        if not message.strip():
            return self._render(notice=notice, controls=list_controls(own, tried))
        now = timezone.now()
        try:
            stage = set_stage(
                user=owner, session_id=_read_session(given), topic=clean_text(given.get("topic", ""))[:200], now=now
            )
        except NotFound as error:
            raise Http404(error.message) from error
        vector, embedding = embed_message(message, stage=stage)
        settings = [own] if tried == own else [own, tried]
        asked = Asked()
        tries = [
            try_message(
                user=owner,
                message=message,
                stage=stage,
                settings=chosen,
                query_embedding=vector,
                asked=asked,
                now=now,
            )
            for chosen in settings
        ]
        columns = _show(tries)
        return self._render(
            notice=notice,
            controls=list_controls(own, tried),
            columns=columns,
            last=tries[-1],
            stage=stage,
            uses_memory=bool(stage.recalls and stage.strategy and stage.strategy.use_memory),
            words=_explain_words(message, limit=tried.max_keywords),
            times=list(find_times(message, said_at=now, zone=own.zone, of_past=True)),
            zone=own.zone,
            embedding=None if embedding is Embedding.USED else embedding.value,
            found=_count_arms(tries[-1]),
            counted_hits=COUNTED_HITS,
            preferences=_count_preferences(tries[-1]),
            below=[
                (show_candidate(candidate), similarity)
                for candidate, similarity in tries[-1].explanation.long_term.below_floor[:MOST_BELOW]
            ],
            more_below=max(len(tries[-1].explanation.long_term.below_floor) - MOST_BELOW, 0),
            components=COMPONENTS,
            atomic_components=_list_parts(columns),
        )

    def _render(self, **context: Any) -> HttpResponse:
        return self.render(self.request, template="panel/playground/result.html", **context)


class SavePage(TryPage):
    """POST: keep the tried settings as the person's own."""

    def post(self, request: HttpRequest) -> HttpResponse:
        changes = read_changes(request.POST.dict(), own=get_settings(self.owner))
        if changes and not list_problems(changes):
            update_settings(user=self.owner, changes=changes)
            return self.answer(request.POST, notice=_("Saved. The settings apply from the next message."))
        return self.answer(request.POST, notice=_("Nothing to save."))


def _list_people(request: HttpRequest) -> list[User]:
    return list(User.objects.order_by("username")[:MOST_PEOPLE]) if sees_everybody(request) else []


def _read_session(given: QueryDict) -> UUID | None:
    named = given.get("session", "")
    return read_uuid(named) if isinstance(named, str) and named else None


def _show(tries: Sequence[Try]) -> list[Column]:
    widest, widest_atomic = find_widest(tries), find_widest_atomic(tries)
    columns = []
    for number, tried in enumerate(tries):
        other = tries[0] if number else None
        explanation = tried.explanation
        columns.append(
            Column(
                tried=tried,
                long_term=show_long_term(tried, widest=widest, other=other),
                atomic=show_atomic(tried, widest=widest_atomic, other=other),
                rounds=show_rounds(tried),
                more_long_term=max(len(explanation.long_term.ranked) - MAX_ROWS, 0),
                more_atomic=max(len(explanation.atomic.ranked) - MAX_ROWS, 0) + explanation.atomic.more,
            )
        )
    return columns


def _list_parts(columns: Sequence[Column]) -> list[Component]:
    """The parts that any atomic memory on the page has."""
    shown = {part.component.name for column in columns for row in column.atomic for part in row.parts}
    return [component for component in ATOMIC_PARTS if component.name in shown]


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


def _count_arms(tried: Try) -> Counter[str]:
    return Counter(arm.value for memory in tried.explanation.long_term.ranked for arm in memory.arms)


def _count_preferences(tried: Try) -> int:
    ranked = tried.explanation.long_term.ranked
    return sum(memory.scored.candidate.category == "preference" for memory in ranked)
