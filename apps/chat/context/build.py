"""Build a turn's context: the text of each layer, rounds that fit the window, what fits the budget (C3, C4). Pure.

The request has the layers by how often they change, so that a model's server can reuse the beginning of the one before:
a system message, the window, then the person's words behind a block of what belongs to this turn. Remembered text is
data in escaped blocks (C5).
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from apps.chat.context.types import (
    LAYER_NAMES,
    MESSAGE,
    CaseNotes,
    ClientLine,
    Context,
    ContextInput,
    Cut,
    CutKind,
    Layer,
    Profile,
    RecalledMemory,
    SessionNote,
)
from apps.chat.prompts import (
    APPLICATION,
    INSTRUCTIONS,
    PAUSED_INSTRUCTIONS,
    PLAIN_APPLICATION,
    PLAIN_INSTRUCTIONS,
    RELAYED_INSTRUCTIONS,
    SENSITIVE_INSTRUCTIONS,
    TEMPORARY_INSTRUCTIONS,
    TOOL_INSTRUCTIONS,
    TOOL_LINES,
    TURN_CONTEXT,
)
from apps.conversations.types import RESUMED, Line, Round, SentFile
from apps.core.llm.types import PromptMessage, render_block, render_turn_block
from apps.core.text.clean import estimate_tokens
from apps.core.text.secrets import mask_secrets, mask_value
from apps.core.tracing import span
from apps.memory.marks import ASK_FOR_MARKS, quote_categories

SYSTEM, PROFILE, WORKING, MEMORIES, SUMMARIES, CONVERSATION, NEW_MESSAGE = range(7)


def build_context(given: ContextInput) -> Context:
    """Return the context of a turn: whole rounds that fit the window (C3), then what fits the budget (C4)."""
    with span("build context"):
        return _build(given)


def _build(given: ContextInput) -> Context:
    given = mask_context(given)
    given = replace(given, files=fit_files(given.files, budget=given.budget))
    rounds = fit_window(given.rounds, limit=given.context_limit)
    uses_memory = given.strategy is None or given.strategy.use_memory or given.everything
    memories = given.memories if uses_memory else ()
    kept, cut = _trim(replace(given, rounds=rounds, memories=tuple(memories)))
    return assemble(kept, cut=cut)


def mask_context(given: ContextInput) -> ContextInput:
    """Mask secrets in what was said or remembered before, where `masked` says so (D4)."""
    if not given.masked:
        return given
    return replace(
        given,
        topic=given.topic and mask_secrets(given.topic),
        variables=mask_value(dict(given.variables)),
        forms=[replace(form, fields=mask_value(dict(form.fields))) for form in given.forms],
        profile=given.profile and replace(given.profile, sections=mask_value(dict(given.profile.sections))),
        cases=[
            replace(
                case,
                title=mask_secrets(case.title),
                content=mask_secrets(case.content),
                entries=list(map(mask_secrets, case.entries)),
            )
            for case in given.cases
        ],
        memories=[replace(memory, line=_mask_memory(memory.line)) for memory in given.memories],
        session_notes=[
            replace(note, title=mask_secrets(note.title), snippet=mask_secrets(note.snippet))
            for note in given.session_notes
        ],
        summary=given.summary and _mask_line(given.summary),
        rounds=[tuple(map(_mask_line, lines)) for lines in given.rounds],
    )


def _mask_line(line: Line) -> Line:
    return replace(line, content=mask_secrets(line.content))


def _mask_memory(line: Mapping[str, Any]) -> dict[str, Any]:
    """Mask what a memory or a past round says; a long-term one has its value beside its key."""
    masked = {name: mask_secrets(text) if isinstance(text, str) else text for name, text in line.items()}
    if "key" in line and "value" in line:
        masked["value"] = mask_value(line["value"], label=str(line["key"]))
    return masked


def fit_window(rounds: Sequence[Round], *, limit: int) -> tuple[Round, ...]:
    """Drop the oldest rounds, whole, until at most `limit` messages are left (C3).

    With the system message and the new one, that is `limit` + 2 messages to be sent.
    """
    kept = list(rounds)
    count = sum(len(lines) for lines in kept)
    while count > limit:
        count -= len(kept.pop(0))
    return tuple(kept)


def fit_files(files: Sequence[SentFile], *, budget: int) -> tuple[SentFile, ...]:
    """Return the newest files that fit `budget` tokens, and of the first that does not its beginning."""
    kept: list[SentFile] = []
    left = budget
    for file in files:
        tokens = estimate_tokens(file.text)
        if tokens <= left:
            kept.append(file)
            left -= tokens
            continue
        text = file.text[: len(file.text) * left // tokens]
        if text.strip():
            kept.append(replace(file, text=text))
        break
    return tuple(kept)


def _trim(given: ContextInput) -> tuple[ContextInput, tuple[Cut, ...]]:
    """Drop what matters least until the budget holds; return what is left, and what was dropped, in that order.

    First all rounds but the newest, oldest first; then summaries of other sessions, oldest first; then memories, last
    ranked first; then the newest round and the summary of this conversation; then shared contexts and variables, least
    recently written first; then the profile. Rules, forms, what was done in memory and the new
    message stay whatever they take.
    """
    layers = _render_layers(given, _render_stable(given), _render_turn(given))
    excess = sum(layer.tokens for layer in layers) - given.budget - _count_own_tokens(given)
    rounds, notes, memories = list(given.rounds), list(given.session_notes), list(given.memories)
    cases, variables = list(given.cases), dict(given.variables)
    summary, profile = given.summary, given.profile

    cut: list[Cut] = []

    def drop(kind: CutKind, text: str, *refs: str) -> None:
        nonlocal excess
        tokens = estimate_tokens(text)
        excess -= max(tokens - 1, 0)  # a part may count one more by itself than within its layer
        cut.append(Cut(kind=kind, tokens=tokens, refs=refs))

    def drop_round(lines: Round) -> None:
        drop(CutKind.MESSAGES, render_rounds([lines]), *(str(line.id) for line in lines))

    while excess > 0 and len(rounds) > 1:
        drop_round(rounds.pop(0))
    while excess > 0 and notes:
        note = notes.pop()
        drop(CutKind.SESSION_SUMMARY, render_session_note(note), note.id)
    while excess > 0 and memories:
        memory = memories.pop()
        drop(CutKind(memory.kind), render_memory(memory, number=len(memories) + 1), memory.id)
    while excess > 0 and rounds:
        drop_round(rounds.pop(0))
    if excess > 0 and summary:
        drop(CutKind.CONVERSATION_SUMMARY, render_summary(summary), str(summary.id))
        summary = None
    while excess > 0 and cases:
        case = cases.pop()
        drop(CutKind.CONTEXT, render_case(case), case.id)
    while excess > 0 and variables:
        name = next(iter(variables))
        drop(CutKind.VARIABLE, render_variable(name, variables.pop(name)))
    if excess > 0 and profile:
        drop(CutKind.PROFILE, render_profile(profile), str(profile.version))
        profile = None
    kept = replace(
        given,
        rounds=tuple(rounds),
        session_notes=tuple(notes),
        memories=tuple(memories),
        summary=summary,
        cases=tuple(cases),
        variables=variables,
        profile=profile,
    )
    return kept, tuple(cut)


def _count_own_tokens(given: ContextInput) -> int:
    """What a client brings along, and files, come on top of the budget: how much that is, is their own choice."""
    files = render_files(given.files) if given.files else ""
    history = render_rounds([given.client.history or ()]) if given.client else ""
    return sum(estimate_tokens(text) for text in (files, given.application, history) if text)


def _list_rounds(given: ContextInput) -> Sequence[Sequence[Line | ClientLine]]:
    """The messages before the new one: a client's own, where it sends any (T3)."""
    history = given.client.history if given.client else None
    return given.rounds if history is None else [history]


def _render_stable(given: ContextInput) -> dict[int, str]:
    """What the system message has of each layer: the same in the next turn, mostly."""
    return {
        SYSTEM: render_rules(given),
        PROFILE: render_profile(given.profile),
        WORKING: render_files(given.files),
        SUMMARIES: render_session_notes(given.session_notes),
        CONVERSATION: render_summary(given.summary),
    }


def _render_turn(given: ContextInput) -> dict[int, str]:
    """What the block before the new message has of each layer: another one in every turn."""
    return {
        SYSTEM: render_moment(given),
        WORKING: render_working_memory(given),
        MEMORIES: render_memories(given.memories, everything=given.everything),
    }


def _join(texts: Iterable[str]) -> str:
    return "\n\n".join(filter(None, texts))


def _render_layers(given: ContextInput, stable: Mapping[int, str], turn: Mapping[int, str]) -> tuple[Layer, ...]:
    rounds = _list_rounds(given)
    said = {CONVERSATION: render_rounds(rounds), NEW_MESSAGE: given.message}
    refs = {
        PROFILE: [str(given.profile.version)] if given.profile else [],
        WORKING: [case.id for case in given.cases],
        MEMORIES: [memory.id for memory in given.memories],
        SUMMARIES: [note.id for note in given.session_notes],
        CONVERSATION: [
            *([str(given.summary.id)] if given.summary else []),
            *(str(line.id) for lines in rounds for line in lines if line.id is not None),
        ],
    }
    contents = [_join(texts.get(index, "") for texts in (stable, turn, said)) for index in range(len(LAYER_NAMES))]
    return tuple(
        Layer(
            index=index,
            name=name,
            content=contents[index],
            tokens=estimate_tokens(contents[index]),
            refs=tuple(refs.get(index, ())),
        )
        for index, name in enumerate(LAYER_NAMES)
    )


def assemble(given: ContextInput, *, cut: tuple[Cut, ...] = ()) -> Context:
    """Return the context that has all of `given`, whatever the budget."""
    stable, turn = _render_stable(given), _render_turn(given)
    block = render_turn_block(_join(turn.values()))
    window = [
        PromptMessage(role="assistant" if line.role == "assistant" else "user", content=line.content)
        for lines in _list_rounds(given)
        for line in lines
    ]
    messages = (
        PromptMessage(role="system", content=_join(stable.values())),
        *window,
        PromptMessage(role="user", content=_join([block, given.message])),
    )
    return Context(layers=_render_layers(given, stable, turn), messages=messages, given=given, cut=cut, block=block)


def render_rules(given: ContextInput) -> str:
    """Layer 0 without what `render_moment` has of it; plain without a strategy (E6).

    Of tools it says when to call them (T1); what each does, the request itself says.

    The instructions of the application, a space's or a client's own, stand in a block of their own, so that no rule is
    read as their continuation. Where the answer is relayed, nothing is said of how to reply (T3).
    """
    about_kind = TEMPORARY_INSTRUCTIONS if given.temporary else ""
    if given.paused_by:
        about_kind = PAUSED_INSTRUCTIONS.format(where=RESUMED[given.paused_by])
    block = PLAIN_APPLICATION if given.relayed or given.strategy is None else APPLICATION
    application = block.format(instructions=given.application) if given.application else ""
    if given.relayed:
        return _join((application, RELAYED_INSTRUCTIONS, TURN_CONTEXT, about_kind))
    if given.strategy is None:
        return _join((PLAIN_INSTRUCTIONS, application))
    rules, marks = INSTRUCTIONS.format(emotions=", ".join(given.emotions)), ""
    if given.guarded and not given.temporary:
        marks = SENSITIVE_INSTRUCTIONS.format(marks=ASK_FOR_MARKS, guarded=quote_categories(given.guarded))
    return _join((rules, TURN_CONTEXT, marks, about_kind, render_tools(given.tools), application))


def render_moment(given: ContextInput) -> str:
    """The rest of layer 0: the time, and the strategy with all its six fields (E2); of a relayed answer the time alone.

    Nothing in plain chat (E6).
    """
    now, strategy = given.now, given.strategy
    time = render_block("now", f"{now.isoformat(timespec='minutes')} {now:%A} {now.tzinfo}")
    if given.relayed:
        return time
    return _join((time, render_block("strategy", _json(strategy.to_wire())))) if strategy else ""


def render_tools(names: Collection[str]) -> str:
    """What layer 0 says of the tools: each has a line where it is offered (T1, X2)."""
    lines = [line for name, line in TOOL_LINES.items() if name in names]
    return "\n".join([TOOL_INSTRUCTIONS, *lines]) if lines else ""


def render_profile(profile: Profile | None) -> str:
    """Layer 1: the profile document (U2)."""
    return render_block("user_profile", _json(profile.sections)) if profile and profile.sections else ""


def render_working_memory(given: ContextInput) -> str:
    """Layer 2 without files: topic, variables, forms in order of submission, the one just submitted, shared contexts.

    Last what was done in memory because the message asked for it (L9).
    """
    forms = [asdict(form) for form in given.forms]
    parts = []
    if given.topic or given.variables or forms:
        body = {"topic": given.topic, "variables": given.variables, "forms": forms}
        parts.append(render_block("working_memory", _json(body)))
    if given.submitted is not None:
        parts.append(render_block("form_submitted", _json(asdict(given.submitted))))
    if lines := [render_case(case) for case in given.cases]:
        parts.append(render_block("shared_contexts", "\n".join(lines)))
    if given.actions:
        parts.append(render_block("memory_actions", _json(given.actions)))
    return _join(parts)


def render_case(case: CaseNotes) -> str:
    """The line of one shared context in layer 2."""
    return _json(asdict(case))


def render_files(files: Sequence[SentFile]) -> str:
    """The attached files in layer 2, the oldest first; of one that is not whole, how much there is of it."""
    return "\n".join(render_block("attached_file", _describe_file(file)) for file in reversed(files))


def _describe_file(file: SentFile) -> str:
    head = {"name": file.name}
    if len(file.text) < file.length:
        head |= {"shown": f"the first {len(file.text)} of {file.length} characters"}
    return f"{_json(head)}\n{file.text}"


def render_variable(name: str, value: Any) -> str:
    """What one variable takes in layer 2."""
    return _json({name: value})


def render_memory(memory: RecalledMemory, *, number: int) -> str:
    """The line of one memory in layer 3; the model names it by its number. A past round has none: it cannot end."""
    numbered = {} if memory.kind == MESSAGE else {"number": number}
    return _json({**numbered, "kind": memory.kind, **memory.line})


def render_memories(memories: Iterable[RecalledMemory], *, everything: bool = False) -> str:
    """Layer 3: one memory or past round a line, best first; `everything`: under another name, all there are (L9)."""
    lines = [render_memory(memory, number=number) for number, memory in enumerate(memories, start=1)]
    if everything:
        return render_block("everything_remembered", "\n".join(lines))
    return render_block("memories", "\n".join(lines)) if lines else ""


def render_session_notes(notes: Iterable[SessionNote]) -> str:
    """Layer 4: one line for each of the other sessions, newest first (S2)."""
    lines = [render_session_note(note) for note in notes]
    return render_block("session_summaries", "\n".join(lines)) if lines else ""


def render_session_note(note: SessionNote) -> str:
    """The line of one session in layer 4."""
    return " ".join(f"{note.day} {note.title}: {note.snippet}".split())


def render_summary(summary: Line | None) -> str:
    """The first part of layer 5: what the messages before the window were about (S5)."""
    return render_block("conversation_summary", summary.content) if summary else ""


def render_rounds(rounds: Iterable[Sequence[Line | ClientLine]]) -> str:
    """The rolling window as the inspector shows it; the model gets the same as messages."""
    return "\n".join(f"{line.role}: {line.content}" for lines in rounds for line in lines)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
