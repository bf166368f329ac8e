"""The context inspector (M6): everything that happened in a turn, with words and shares for the pictures."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import IntegerField, Value
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from apps.accounts.types import MemorySettings, ScoreWeights
from apps.chat.context.types import LONG_TERM
from apps.chat.emotions import NEUTRAL, StrategyTable
from apps.chat.inspect import CutPieces, Piece, RebuiltCall, RebuiltLayer, RebuiltPrompt, read_working, rebuild_prompt
from apps.chat.models import Turn
from apps.chat.selectors import get_turn_configuration, list_influential
from apps.chat.turn.commands import describe_commands
from apps.chat.turn.record import COMPOSED
from apps.conversations.models import Work
from apps.core.db import fetch_rows
from apps.core.text.clean import readable_text
from apps.core.words import COMPONENTS, LAYERS, word
from apps.memory import kinds as memory_kinds
from apps.memory.models import SEARCH_FIELDS, AtomicMemory, LongTermMemory
from apps.panel.settings import LABELS as SETTING_LABELS
from apps.panel.words import list_kept, show_value


@dataclass(frozen=True, slots=True)
class Neighbours:
    """IDs of the turns before and after in the session, and the emotion of the one before."""

    previous: uuid.UUID | None = None
    following: uuid.UUID | None = None
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
SELECT 'proposal', id::text, section, text, status FROM profile_proposal WHERE message_id = ANY(%(messages)s)
UNION ALL
SELECT 'embedded', '', '', count(DISTINCT message_id)::text, ''
FROM conversation_embeddings WHERE message_id = ANY(%(messages)s)
"""


@dataclass(frozen=True, slots=True)
class WorkLeft:
    """Background work that is still to be done, or has failed, for a message."""

    id: str
    title: str
    failed: bool
    error: str


@dataclass(frozen=True, slots=True)
class Proposed:
    """The profile proposals that a message led to."""

    id: str
    section: str
    text: str
    status: str


@dataclass(frozen=True, slots=True)
class Aftermath:
    """What came of a turn's messages in the background. `embedded`: how many of them can be found by meaning."""

    long_term: Sequence[LongTermMemory]
    atomic: Sequence[AtomicMemory]
    proposals: Sequence[Proposed]
    work: Sequence[WorkLeft]
    embedded: int


def find_aftermath(turn: Turn) -> Aftermath:
    """Return what was learned from a turn's messages, and the work that is left on them; three queries."""
    messages = [key for key in (turn.user_message_id, turn.assistant_message_id) if key]
    mine: dict[str, Any] = {"user_id": turn.user_id, "message_id__in": messages}
    rows = fetch_rows(_LEFT, {"messages": messages})
    return Aftermath(
        long_term=list(LongTermMemory.objects.filter(**mine).defer(*SEARCH_FIELDS).order_by("created_at", "id")),
        atomic=list(
            AtomicMemory.objects.filter(**mine).defer(*memory_kinds.ATOMIC.derived).order_by("create_time", "id")
        ),
        proposals=[Proposed(*row) for what, *row in rows if what == "proposal"],
        work=[
            WorkLeft(
                id=key,
                title=f"{Work.Kind(kind).label}: {Work.State(state).label}",
                failed=state == Work.State.FAILED,
                error=error,
            )
            for what, key, kind, state, error in rows
            if what == "work"
        ],
        embedded=next(int(count) for what, _key, _kind, count, _error in rows if what == "embedded"),
    )


# Weights of the score, and the components each is for: the better one counts (K5, K9).
_WEIGHTED = (
    ("keyword", ("keyword_score", "semantic_score")),
    ("category", ("category_boost",)),
    ("recency", ("recency_score",)),
    ("frequency", ("frequency_score",)),
    ("confidence", ("confidence",)),
)


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
    """A memory that stood in the prompt, and where its score came from. ``is_weighty``: whether it carried weight."""

    piece: Piece
    kind: str
    score: float
    is_weighty: bool
    parts: Sequence[Segment]
    components: Sequence[Segment]


@dataclass(frozen=True, slots=True)
class Update:
    """What the reply remembered (L2). `text` is empty where it has been deleted since."""

    id: str
    action: str
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class CommandLine:
    """What the message told the memory to do (L9), and what has become of it."""

    status: str
    title: str
    texts: Sequence[str]
    operation: str | None


@dataclass(frozen=True, slots=True)
class VariableChange:
    name: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class TurnPage:
    """Everything the page of a turn shows. ``used``: what carried weight; ``also_used``: what else stood in the prompt.

    ``calls``: of tools, each with its title and its outcome."""

    turn: Turn
    prompt: RebuiltPrompt
    layers: Sequence[tuple[RebuiltLayer, Segment]]
    cut: Sequence[tuple[CutPieces, str]]
    budget_share: float | None
    used: Sequence[UsedMemory]
    also_used: Sequence[UsedMemory]
    updates: Sequence[Update]
    commands: Sequence[CommandLine]
    calls: Sequence[tuple[str, str, RebuiltCall]]
    in_mind: Sequence[tuple[str, str]]
    settings: Sequence[tuple[str, str]]
    topic: tuple[str, str]
    variables: Sequence[VariableChange]
    why_strategy: str
    next_strategy: str
    strategy: Sequence[tuple[str, str]]
    strategy_changed: bool
    phases: Sequence[Segment]
    total_ms: float
    neighbours: Neighbours
    aftermath: Aftermath
    answer: str


def describe_turn(turn: Turn) -> TurnPage:
    """Return the page's content; the turn's messages and person must be loaded with it."""
    _settings, table = get_turn_configuration(turn.user)
    prompt = rebuild_prompt(turn)
    neighbours, aftermath = find_neighbours(turn), find_aftermath(turn)
    phases = list(_list_phases(turn.timings))
    topic, variables = _compare_working(turn, prompt)
    row = table.get((turn.strategy or {}).get("emotion", ""))
    whole = max(prompt.budget, prompt.total_tokens)
    used = _list_used(turn, prompt)
    return TurnPage(
        turn=turn,
        prompt=prompt,
        layers=[(layer, _segment_layer(layer, whole=whole)) for layer in prompt.layers],
        cut=[(cut, word("kind", cut.kind)) for cut in prompt.cut],
        budget_share=prompt.total_tokens / prompt.budget if prompt.budget else None,
        used=[memory for memory in used if memory.is_weighty],
        also_used=[memory for memory in used if not memory.is_weighty],
        updates=list(_list_updates(turn, aftermath)),
        commands=_list_commands(turn),
        calls=[(_name_tool(call), word("outcome", call.outcome), call) for call in prompt.calls],
        in_mind=_list_in_mind(prompt),
        settings=[(str(SETTING_LABELS.get(name, name)), show_value(value)) for name, value in prompt.settings.items()],
        topic=topic,
        variables=variables,
        why_strategy=_explain_strategy(turn, neighbours, prompt),
        next_strategy=_explain_next(turn, prompt, table),
        strategy=_list_strategy(turn.strategy or {}),
        strategy_changed=bool(turn.strategy and (row is None or row.to_wire() != turn.strategy)),
        phases=phases,
        total_ms=sum(phase.value for phase in phases),
        neighbours=neighbours,
        aftermath=aftermath,
        answer=_explain_answer(turn),
    )


def _segment_layer(layer: RebuiltLayer, *, whole: int) -> Segment:
    return Segment(
        name=f"layer-{layer.index}",
        title=str(LAYERS[layer.index]),
        value=layer.tokens,
        share=layer.tokens / whole if whole else 0.0,
    )


def _list_used(turn: Turn, prompt: RebuiltPrompt) -> list[UsedMemory]:
    pieces = {piece.id: piece for layer in prompt.layers for piece in layer.pieces}
    own: Any = prompt.settings.get("score_weights")
    weights = ScoreWeights.model_validate(own) if own else ScoreWeights()
    weighty = {item["id"] for item in list_influential(turn.memories_used)}
    used = []
    for item in turn.memories_used:
        if "score" not in item:
            continue  # found by a tool
        long_term = item["kind"] == LONG_TERM
        used.append(
            UsedMemory(
                piece=pieces[item["id"]],
                kind=item["kind"],
                score=item["score"],
                is_weighty=item["id"] in weighty,
                parts=list(_list_parts(item, weights)) if long_term else [],
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
        )
    return used


def _list_parts(item: Mapping[str, Any], weights: ScoreWeights) -> Iterator[Segment]:
    """What each component gives to the score: its value times its weight, times the topic (K5)."""
    topic = item.get("topic_boost", 1.0)
    values = {
        name: max(item.get(component, 0.0) for component in components) * getattr(weights, name) * topic
        for name, components in _WEIGHTED
    }
    titles = {component.name: component.title for component in COMPONENTS}
    start = 0.0
    highest = 1.3 * sum(getattr(weights, name) * (1.5 if name == "category" else 1) for name, _parts in _WEIGHTED)
    for name, _components in _WEIGHTED:
        share = values[name] / highest
        yield Segment(name=name, title=str(titles[name]), value=values[name], share=share, start=start)
        start += share


def _list_updates(turn: Turn, aftermath: Aftermath) -> Iterator[Update]:
    rows = {row.id: row for row in aftermath.long_term}
    missing = {uuid.UUID(item["id"]) for item in turn.memory_updates} - rows.keys()
    if missing:
        rows |= memory_kinds.LONG_TERM.by_ids(turn.user, missing)
    for item in turn.memory_updates:
        row = rows.get(uuid.UUID(item["id"]))
        text = f"{row.key}: {readable_text(row.value)}" if row else ""
        action = item["action"]
        yield Update(id=item["id"], action=action, title=word("action", action), text=text)


def _list_commands(turn: Turn) -> list[CommandLine]:
    return [
        CommandLine(
            status=item["status"],
            title=word("command", item["status"]),
            texts=item["texts"],
            operation=item["operation"],
        )
        for item in describe_commands(turn)
    ]


def _name_tool(call: RebuiltCall) -> str:
    return word("tool", call.name) or _("Unknown tool")


def _compare_working(turn: Turn, prompt: RebuiltPrompt) -> tuple[tuple[str, str], list[VariableChange]]:
    """The topic before and after the turn, and the variables that it changed."""
    before = prompt.working
    after, _state = read_working(turn.user, turn.session_id, turn.sources.get("working_after"))
    if after is None:
        return ("", ""), []
    old = before.variables.plain if before else {}
    new = after.variables.plain
    changes = [
        VariableChange(name=name, before=show_value(old.get(name)), after=show_value(new.get(name)))
        for name in {**old, **new}
        if name not in old or name not in new or old[name] != new[name]
    ]
    return ((before.current_topic or "" if before else ""), after.current_topic or ""), changes


def _list_in_mind(prompt: RebuiltPrompt) -> list[tuple[str, str]]:
    """What working memory said, by name: topic, variables and forms."""
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
        return (
            _(
                "The previous message sounded %(emotion)s, but the confidence of %(confidence)s is below the "
                "threshold of %(threshold)s, so the neutral strategy was used."
            )
            % words
        )
    if turn.strategy["emotion"] == emotion["primary"]:
        return (
            _(
                "The previous message sounded %(emotion)s (confidence %(confidence)s), so this reply used the "
                "“%(row)s” strategy. An emotion always shapes the next reply."
            )
            % words
        )
    return (
        _(
            "The previous message sounded %(emotion)s, but working memory had expired or no such strategy "
            "existed, so “%(row)s” was used."
        )
        % words
    )


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
    """The six fields of E2 in words."""
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
    """The phases of a turn, one after the other, as far as they were measured."""
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


def _explain_answer(turn: Turn) -> str:
    return str(_ANSWERS.get(turn.sources.get("answer", ""), ""))


def _share(value: float) -> str:
    return f"{round(value * 100)} %"
