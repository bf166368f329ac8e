"""Put the layers together and trim them to the token budget (C3, C4). Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from apps.chat.context.layers import (
    render_case,
    render_conversation,
    render_files,
    render_memories,
    render_memory,
    render_profile,
    render_rounds,
    render_session_note,
    render_session_notes,
    render_summary,
    render_system,
    render_variable,
    render_working_memory,
)
from apps.chat.context.types import LAYER_NAMES, AttachedFile, ClientLine, Context, ContextInput, Cut, CutKind, Layer
from apps.conversations.types import Line, Round
from apps.core.llm.types import PromptMessage
from apps.core.text.tokens import estimate_tokens
from apps.core.tracing import span

SYSTEM, PROFILE, WORKING, MEMORIES, SUMMARIES, CONVERSATION, MESSAGE = range(7)


def build_context(given: ContextInput) -> Context:
    """Return the context of a turn: whole rounds that fit the window (C3), then what fits the budget (C4)."""
    with span("build context"):
        return _build(given)


def _build(given: ContextInput) -> Context:
    given = replace(given, files=fit_files(given.files, budget=given.budget))
    rounds = fit_window(given.rounds, limit=given.context_limit)
    uses_memory = given.strategy is None or given.strategy.use_memory or given.everything
    memories = given.memories if uses_memory else ()
    kept, cut = _trim(replace(given, rounds=rounds, memories=tuple(memories)))
    return assemble(kept, cut=cut)


def fit_window(rounds: Sequence[Round], *, limit: int) -> tuple[Round, ...]:
    """Drop the oldest rounds, whole, until at most `limit` messages are left (C3).

    With the system message and the new one, that is `limit` + 2 messages to be sent.
    """
    kept = list(rounds)
    count = sum(len(lines) for lines in kept)
    while count > limit:
        count -= len(kept.pop(0))
    return tuple(kept)


def fit_files(files: Sequence[AttachedFile], *, budget: int) -> tuple[AttachedFile, ...]:
    """Return the newest files that fit `budget` tokens, and of the first that does not its beginning."""
    kept: list[AttachedFile] = []
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
    excess = sum(layer.tokens for layer in _render_layers(given)) - given.budget - _count_own_tokens(given)
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
    files = estimate_tokens(render_files(given.files)) if given.files else 0
    if given.client is None:
        return files
    history = render_rounds([given.client.history or ()])
    return files + estimate_tokens(given.client.instructions) + estimate_tokens(history)


def _list_rounds(given: ContextInput) -> Sequence[Sequence[Line | ClientLine]]:
    """The messages before the new one: a client's own, where it sends any (T3)."""
    history = given.client.history if given.client else None
    return given.rounds if history is None else [history]


def _render_layers(given: ContextInput) -> tuple[Layer, ...]:
    rounds = _list_rounds(given)
    contents = {
        SYSTEM: render_system(
            strategy=given.strategy,
            emotions=given.emotions,
            now=given.now,
            client=given.client,
            tools=given.tools,
            temporary=given.temporary,
        ),
        PROFILE: render_profile(given.profile),
        WORKING: render_working_memory(
            topic=given.topic,
            variables=given.variables,
            forms=given.forms,
            submitted=given.submitted,
            cases=given.cases,
            actions=given.actions,
            files=given.files,
        ),
        MEMORIES: render_memories(given.memories, everything=given.everything),
        SUMMARIES: render_session_notes(given.session_notes),
        CONVERSATION: render_conversation(summary=given.summary, rounds=rounds),
        MESSAGE: given.message,
    }
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
    layers = _render_layers(given)
    parts = [*(layer.content for layer in layers[:CONVERSATION]), render_summary(given.summary)]
    window = [
        PromptMessage(role="assistant" if line.role == "assistant" else "user", content=line.content)
        for lines in _list_rounds(given)
        for line in lines
    ]
    messages = (
        PromptMessage(role="system", content="\n\n".join(filter(None, parts))),
        *window,
        PromptMessage(role="user", content=given.message),
    )
    return Context(layers=layers, messages=messages, given=given, cut=cut)
