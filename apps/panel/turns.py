"""Past turns (M6): the list, and of each the context inspector, from the prompt to its results."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.contrib import admin
from django.db.models import IntegerField, OuterRef, Q, QuerySet, Subquery, Value
from django.db.models.functions import Left
from django.http import HttpRequest
from django.shortcuts import get_object_or_404
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from apps.accounts.types import MemorySettings, ScoreWeights
from apps.chat.context.types import LONG_TERM
from apps.chat.emotions import NEUTRAL, StrategyTable
from apps.chat.inspect import Piece, RebuiltLayer, RebuiltPrompt, read_working, rebuild_prompt
from apps.chat.models import Turn
from apps.chat.selectors import get_turn_configuration, list_influential
from apps.chat.turn.commands import describe_commands
from apps.chat.turn.record import COMPOSED
from apps.conversations.models import Message, Work
from apps.core.db import fetch_rows
from apps.core.text.clean import readable_text
from apps.core.text.secrets import list_secret_kinds
from apps.core.words import COMPONENTS, LAYERS, word
from apps.memory import kinds
from apps.memory.models import SEARCH_FIELDS, AtomicMemory, LongTermMemory
from apps.panel.owned import PartAdmin, column
from apps.panel.pages import ReadingPage
from apps.panel.settings import WORDS as SETTING_WORDS
from apps.panel.templatetags.panel import emotion_chip
from apps.panel.words import list_kept, show_value, split_score

LIST_CHARACTERS = 80


@dataclass(frozen=True, slots=True)
class Neighbours:
    """IDs of the turns before and after in the session, and the emotion of the one before."""

    previous: UUID | None = None
    following: UUID | None = None
    emotion: dict[str, Any] | None = None


def find_neighbours(turn: Turn) -> Neighbours:
    """Return the turns beside this one in its session; one query."""
    turns = Turn.objects.filter(session_id=turn.session_id, user_id=turn.user_id)
    position = turn.assistant_message.position
    sides = [
        turns.filter(assistant_message__position__lt=position).order_by("-assistant_message__position"),
        turns.filter(assistant_message__position__gt=position).order_by("assistant_message__position"),
    ]
    before, after = (
        rows.annotate(side=Value(side, IntegerField())).values_list("side", "pk", "emotion")[:1]
        for side, rows in enumerate(sides)
    )
    found = {side: (pk, emotion) for side, pk, emotion in before.union(after, all=True)}
    previous, emotion = found.get(0, (None, None))
    following, _emotion = found.get(1, (None, None))
    return Neighbours(previous=previous, following=following, emotion=emotion)


# One statement, as the page of a turn has many to make.
_LEFT = """
SELECT 'work', id::text, kind, state, error FROM work WHERE message_id = ANY(%(messages)s)
UNION ALL
SELECT 'proposal', text, '', '', '' FROM profile_proposal WHERE message_id = ANY(%(messages)s)
UNION ALL
SELECT 'embedded', count(DISTINCT message_id)::text, '', '', ''
FROM conversation_embeddings WHERE message_id = ANY(%(messages)s)
"""


def find_turn_effects(turn: Turn) -> dict[str, Any]:
    """Return what was learned from a turn's messages, and the work that is left on them; three queries.

    ``proposals``: the texts of those to the profile. ``left_out``: the excluded categories of what was not remembered.
    ``embedded``: how many messages can be found by meaning.
    """
    messages = [key for key in (turn.user_message_id, turn.assistant_message_id) if key]
    mine: dict[str, Any] = {"user_id": turn.user_id, "message_id__in": messages}
    long_term = LongTermMemory.objects.filter(**mine).defer(*SEARCH_FIELDS)
    atomic = AtomicMemory.objects.filter(**mine).defer(*kinds.ATOMIC.derived)
    rows = fetch_rows(_LEFT, {"messages": messages})
    return {
        "long_term": list(long_term.order_by("created_at", "id")),
        "atomic": list(atomic.order_by("create_time", "id")),
        "proposals": [text for what, text, *_rest in rows if what == "proposal"],
        "work": [
            {
                "id": key,
                "title": f"{Work.Kind(kind).label}: {Work.State(state).label}",
                "failed": state == Work.State.FAILED,
                "error": error,
            }
            for what, key, kind, state, error in rows
            if what == "work"
        ],
        "left_out": [word("sensitive", mark) for mark in _list_left_out(turn)],
        "embedded": next(int(count) for what, count, *_rest in rows if what == "embedded"),
    }


def _list_left_out(turn: Turn) -> list[str]:
    """The categories for which something in the turn's messages is not remembered (D4), the reply's included."""
    messages = [message for message in (turn.user_message, turn.assistant_message) if message]
    return list(dict.fromkeys(mark for message in messages for mark in message.not_remembered or ()))


@dataclass(frozen=True, slots=True)
class Segment:
    """A part of a stacked bar or of a chart: `share` and `start` from 0 to 1 of its whole length."""

    name: str
    title: str
    value: float
    share: float
    start: float = 0.0
    about: str = ""


@dataclass(frozen=True, slots=True)
class UsedMemory:
    """A memory that stood in the prompt, and where its score came from."""

    piece: Piece
    kind: str
    score: float
    parts: Sequence[Segment]
    components: Sequence[Segment]


def describe_turn(turn: Turn) -> dict[str, Any]:
    """Return the page's content; the turn's messages and person must be loaded with it.

    ``used``: memories that carried weight; ``also_used``: what else stood in the prompt. ``calls``: of tools, each with
    its title and its outcome.
    """
    _settings, table = get_turn_configuration(turn.user)
    prompt = rebuild_prompt(turn)
    neighbours, effects = find_neighbours(turn), find_turn_effects(turn)
    phases = list(_list_phases(turn.timings))
    row = table.get((turn.strategy or {}).get("emotion", ""))
    whole = max(prompt.budget, prompt.total_tokens)
    used, weighty = list(_list_used(turn, prompt)), {item["id"] for item in list_influential(turn.memories_used)}
    return {
        "prompt": prompt,
        "layers": [(layer, _segment_layer(layer, whole=whole)) for layer in prompt.layers],
        "cut": [(cut, word("kind", cut.kind)) for cut in prompt.cut],
        "used": [memory for memory in used if memory.piece.id in weighty],
        "also_used": [memory for memory in used if memory.piece.id not in weighty],
        "updates": list(_list_updates(turn, effects["long_term"])),
        "commands": [{**item, "title": word("command", item["status"])} for item in describe_commands(turn)],
        "calls": [
            (word("tool", call.name) or _("Unknown tool"), word("outcome", call.outcome), call) for call in prompt.calls
        ],
        "in_mind": _list_in_mind(prompt),
        "settings": [
            (str(SETTING_WORDS[name].label if name in SETTING_WORDS else name), show_value(value))
            for name, value in prompt.settings.items()
        ],
        **_compare_working(turn, prompt),
        "why_strategy": _explain_strategy(turn, neighbours, prompt),
        "next_strategy": _explain_next(turn, prompt, table),
        "strategy": _list_strategy(turn.strategy or {}),
        "strategy_changed": bool(turn.strategy and (row is None or row.to_wire() != turn.strategy)),
        "phases": phases,
        "total_ms": sum(phase.value for phase in phases),
        "neighbours": neighbours,
        "effects": effects,
        "secrets": [word("secret", kind) for kind in _list_secrets(turn)],
        "answer": str(_ANSWERS.get(turn.sources.get("answer", ""), "")),
    }


def _list_secrets(turn: Turn) -> Sequence[str]:
    """The kinds of what the message holds that is never remembered (D4)."""
    return list_secret_kinds(turn.user_message.content) if turn.user_message else ()


def _segment_layer(layer: RebuiltLayer, *, whole: int) -> Segment:
    return Segment(
        name=f"layer-{layer.index}",
        title=str(LAYERS[layer.index]),
        value=layer.tokens,
        share=layer.tokens / whole if whole else 0.0,
    )


def _list_used(turn: Turn, prompt: RebuiltPrompt) -> Iterator[UsedMemory]:
    pieces = {piece.id: piece for layer in prompt.layers for piece in layer.pieces}
    own: Any = prompt.settings.get("score_weights")
    weights = ScoreWeights.model_validate(own) if own else ScoreWeights()
    for item in turn.memories_used:
        if "score" not in item:
            continue  # found by a tool
        yield UsedMemory(
            piece=pieces[item["id"]],
            kind=item["kind"],
            score=item["score"],
            parts=list(_list_parts(item, weights)) if item["kind"] == LONG_TERM else [],
            components=[
                Segment(
                    name=component.name,
                    title=str(component.title),
                    value=value,
                    share=max(0.0, min(1.0, value / component.full)),
                    about=str(component.about),
                )
                for component, value in list_kept(item)
            ],
        )


def _list_parts(item: Mapping[str, Any], weights: ScoreWeights) -> Iterator[Segment]:
    """What each component gives to the score, as a share of the highest that there can be."""
    values = {one.field: item.get(one.field, 1.0 if one.name == "topic" else 0.0) for one in COMPONENTS}
    whole = sum(points for *_rest, points in split_score({one.field: one.full for one in COMPONENTS}, weights))
    start = 0.0
    for component, _value, _weight, points in split_score(values, weights):
        yield Segment(component.name, str(component.title), points, share=points / whole, start=start)
        start += points / whole


def _list_updates(turn: Turn, learned: Sequence[LongTermMemory]) -> Iterator[dict[str, str]]:
    """What the reply remembered (L2); ``text`` is empty where it has been deleted since."""
    rows = {row.id: row for row in learned}
    if missing := {UUID(item["id"]) for item in turn.memory_updates} - rows.keys():
        rows |= kinds.LONG_TERM.by_ids(turn.user, missing)
    for item in turn.memory_updates:
        row = rows.get(UUID(item["id"]))
        text = f"{row.key}: {readable_text(row.value)}" if row else ""
        yield {"id": item["id"], "action": item["action"], "title": word("action", item["action"]), "text": text}


def _compare_working(turn: Turn, prompt: RebuiltPrompt) -> dict[str, Any]:
    """The topic before and after the turn, and the variables that it changed: name, before, after."""
    before = prompt.working
    after, _state = read_working(turn.user, turn.session_id, turn.sources.get("working_after"))
    if after is None:
        return {"topic": ("", ""), "variables": []}
    old = before.variables.plain if before else {}
    new = after.variables.plain
    changes = [
        (name, show_value(old.get(name)), show_value(new.get(name)))
        for name in {**old, **new}
        if name not in old or name not in new or old[name] != new[name]
    ]
    return {"topic": ((before.current_topic or "") if before else "", after.current_topic or ""), "variables": changes}


def _list_in_mind(prompt: RebuiltPrompt) -> list[tuple[str, str]]:
    working = prompt.working
    if working is None:
        return []
    named = [(_("topic"), working.current_topic)] if working.current_topic else []
    variables = [(name, show_value(value)) for name, value in working.variables.plain.items()]
    forms = [(form, show_value(value["fields"])) for form, value in working.variables.forms.items()]
    return [*named, *variables, *forms]


def _threshold(prompt: RebuiltPrompt) -> float:
    own: Any = prompt.settings.get("emotion_confidence", MemorySettings.model_validate({}).emotion_confidence)
    return float(own)


def _is_sure(emotion: Mapping[str, Any], threshold: float) -> bool:
    return bool(emotion["confidence"] >= threshold) and emotion["primary"] != "unknown"


def _explain_strategy(turn: Turn, neighbours: Neighbours, prompt: RebuiltPrompt) -> str:
    """Why this row of the table was used (E3): the emotion of the turn before, not of this one."""
    if not turn.strategy:
        return _("Memory was off, so no reply strategy was used.")
    used = word("emotion", turn.strategy["emotion"])
    emotion = neighbours.emotion
    if neighbours.previous is None or not emotion:
        return _("No emotion had been detected yet, as in every first turn, so the neutral strategy was used.")
    words = {"emotion": word("emotion", emotion["primary"]), "confidence": _share(emotion["confidence"]), "row": used}
    if not _is_sure(emotion, _threshold(prompt)):
        words["threshold"] = _share(_threshold(prompt))
        text = _(
            "The previous message sounded %(emotion)s, but the confidence of %(confidence)s is below the "
            "threshold of %(threshold)s, so the neutral strategy was used."
        )
    elif turn.strategy["emotion"] == emotion["primary"]:
        text = _(
            "The previous message sounded %(emotion)s (confidence %(confidence)s), so this reply used the "
            "“%(row)s” strategy. An emotion always shapes the next reply."
        )
    else:
        text = _(
            "The previous message sounded %(emotion)s, but working memory had expired or no such strategy "
            "existed, so “%(row)s” was used."
        )
    return text % words


def _explain_next(turn: Turn, prompt: RebuiltPrompt, table: StrategyTable) -> str:
    emotion = turn.emotion
    if not emotion:
        return ""
    threshold = _threshold(prompt)
    steering = emotion["primary"] if _is_sure(emotion, threshold) else NEUTRAL
    row = steering if steering in table else NEUTRAL
    if steering == NEUTRAL and emotion["primary"] != NEUTRAL:
        return _(
            "The confidence is below the threshold of %(threshold)s, so the next reply uses the neutral strategy."
        ) % {"threshold": _share(threshold)}
    return _("The next reply uses the “%(row)s” strategy.") % {"row": word("emotion", row)}


def _list_strategy(strategy: Mapping[str, Any]) -> list[tuple[str, str]]:
    if not strategy:
        return []
    yes = {True: _("yes"), False: _("no")}
    return [
        (_("tone"), word("tone", strategy["tone"])),
        (_("maximum length"), _("%(count)s characters") % {"count": strategy["max_length"]}),
        (_("formality"), word("formality", strategy["formality"])),
        (_("use memory"), yes[strategy["use_memory"]]),
        (_("follow-up question"), yes[strategy["proactive_question"]]),
        (_("emoji allowed"), yes[strategy["emoji_allowed"]]),
    ]


def _list_phases(timings: Mapping[str, float]) -> Iterator[Segment]:
    opening, context = timings.get("opening_ms", 0.0), timings.get("context_ms", 0.0)
    model = timings.get("model_ms", 0.0)
    first = min(timings.get("first_token_ms", model), model)
    lengths = {"storing": opening - context, "context": context, "first_token": first, "writing": model - first}
    total = sum(lengths.values())
    start = 0.0
    for name, length in lengths.items():
        if length > 0:
            yield Segment(name=name, title=word("phase", name), value=length, share=length / total, start=start / total)
            start += length


_ANSWERS = {
    "json": gettext_lazy("The model answered with a JSON object. These values were read from it."),
    "text": gettext_lazy("The model's answer was not JSON, so all of it was used as the reply."),
    COMPOSED: gettext_lazy("No model was asked: the reply lists what is stored."),
}


def _share(value: float) -> str:
    return f"{round(value * 100)} %"


@admin.register(Turn)
class TurnAdmin(ReadingPage, PartAdmin):
    """Every turn, newest first; its page is the context inspector. A turn goes with its session only."""

    list_display = (
        "said",
        "created_at",
        "user",
        "shown_emotion",
        "used_count",
        "update_count",
        "tokens",
        "wait",
        "model",
    )
    list_select_related = ("user",)
    list_filter = ("created_at",)
    list_before_template = "panel/inspector/before.html"
    fields = readonly_fields = ("created_at", "user", "session", "model")

    class Media:
        css = {"all": ["panel/inspector.css"]}

    def get_queryset(self, request: HttpRequest) -> QuerySet[Turn]:
        rows: QuerySet[Turn] = super().get_queryset(request)
        message = Message.objects.filter(pk=OuterRef("user_message")).values(start=Left("content", LIST_CHARACTERS))
        return rows.defer("sources").annotate(beginning=Subquery(message))

    def find(self, request: HttpRequest, key: UUID | None) -> Turn:
        """A turn is found by either of its messages; one of somebody else's is none."""
        rows: QuerySet[Turn] = super().get_queryset(request)
        rows = rows.select_related("user_message", "assistant_message", "session__space", "user")
        return get_object_or_404(rows, Q(pk=key) | Q(user_message_id=key))

    def show(self, request: HttpRequest, row: Turn) -> tuple[str, dict[str, Any]]:
        needed = {"title": _("What happened in this turn"), "page": describe_turn(row), "turn": row}
        return "panel/inspector/turn.html", needed

    @admin.display(description=gettext_lazy("message"))
    def said(self, turn: Turn) -> SafeString:
        beginning = getattr(turn, "beginning", None)
        if beginning is None:
            return format_html('<span class="muted">{}</span>', _("a form"))
        return format_html('<span dir="auto">{}{}</span>', beginning, "…" if len(beginning) == LIST_CHARACTERS else "")

    @admin.display(description=gettext_lazy("emotion"))
    def shown_emotion(self, turn: Turn) -> SafeString | str:
        name = (turn.emotion or {}).get("primary", "")
        if not name:
            return "–"
        return emotion_chip(name, (turn.emotion or {}).get("category", ""))

    @admin.display(description=gettext_lazy("recalled"))
    def used_count(self, turn: Turn) -> int:
        """As many as the chat page says: those that carried weight."""
        return len(list_influential(turn.memories_used))

    update_count = column(gettext_lazy("memory updates"), lambda turn: len(turn.memory_updates))
    tokens = column(gettext_lazy("tokens"), lambda turn: sum(layer["tokens"] for layer in turn.layers))

    @admin.display(description=gettext_lazy("first token after"))
    def wait(self, turn: Turn) -> str:
        waited = turn.timings.get("opening_ms", 0) + turn.timings.get("first_token_ms", 0)
        return f"{round(waited)} ms" if waited else "–"
