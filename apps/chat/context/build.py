"""Put the layers together and trim them to the token budget (C3, C4). Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from apps.chat.context.layers import (
    render_case,
    render_conversation,
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
from apps.chat.context.types import LAYER_NAMES, Context, ContextInput, Layer
from apps.conversations.types import Round
from apps.core.llm.types import PromptMessage
from apps.core.text.tokens import estimate_tokens

SYSTEM, PROFILE, WORKING, MEMORIES, SUMMARIES, CONVERSATION, MESSAGE = range(7)


def build_context(given: ContextInput) -> Context:
    """Return the context of a turn: whole rounds that fit the window (C3), then what fits the budget (C4)."""
    rounds = fit_window(given.rounds, limit=given.context_limit)
    memories = given.memories if given.strategy is None or given.strategy.use_memory else ()
    return _assemble(_trim(replace(given, rounds=rounds, memories=tuple(memories))))


def fit_window(rounds: Sequence[Round], *, limit: int) -> tuple[Round, ...]:
    """Drop the oldest rounds, whole, until at most `limit` messages are left (C3).

    With the system message and the new one, that is `limit` + 2 messages to be sent.
    """
    kept = list(rounds)
    count = sum(len(lines) for lines in kept)
    while count > limit:
        count -= len(kept.pop(0))
    return tuple(kept)


def _trim(given: ContextInput) -> ContextInput:
    """Drop what matters least until the budget holds.

    First all rounds but the newest, oldest first; then summaries of other sessions, oldest first; then memories, last
    ranked first; then the newest round and the summary of this conversation; then shared contexts and variables, least
    recently written first; then the profile. Rules, forms and the new message stay whatever they take.
    """
    excess = sum(layer.tokens for layer in _render_layers(given)) - given.budget
    rounds, notes, memories = list(given.rounds), list(given.session_notes), list(given.memories)
    cases, variables = list(given.cases), dict(given.variables)
    summary, profile = given.summary, given.profile

    def drop(text: str) -> None:
        nonlocal excess
        excess -= max(estimate_tokens(text) - 1, 0)  # a part may count one more by itself than within its layer

    while excess > 0 and len(rounds) > 1:
        drop(render_rounds([rounds.pop(0)]))
    while excess > 0 and notes:
        drop(render_session_note(notes.pop()))
    while excess > 0 and memories:
        drop(render_memory(memories.pop()))
    while excess > 0 and rounds:
        drop(render_rounds([rounds.pop(0)]))
    if excess > 0 and summary:
        drop(render_summary(summary))
        summary = None
    while excess > 0 and cases:
        drop(render_case(cases.pop()))
    while excess > 0 and variables:
        name = next(iter(variables))
        drop(render_variable(name, variables.pop(name)))
    if excess > 0:
        profile = None
    return replace(
        given,
        rounds=tuple(rounds),
        session_notes=tuple(notes),
        memories=tuple(memories),
        summary=summary,
        cases=tuple(cases),
        variables=variables,
        profile=profile,
    )


def _render_layers(given: ContextInput) -> tuple[Layer, ...]:
    contents = {
        SYSTEM: render_system(strategy=given.strategy, emotions=given.emotions, now=given.now),
        PROFILE: render_profile(given.profile),
        WORKING: render_working_memory(
            topic=given.topic,
            variables=given.variables,
            forms=given.forms,
            submitted=given.submitted,
            cases=given.cases,
        ),
        MEMORIES: render_memories(given.memories),
        SUMMARIES: render_session_notes(given.session_notes),
        CONVERSATION: render_conversation(summary=given.summary, rounds=given.rounds),
        MESSAGE: given.message,
    }
    refs = {
        PROFILE: [str(given.profile.version)] if given.profile else [],
        WORKING: [case.id for case in given.cases],
        MEMORIES: [memory.id for memory in given.memories],
        SUMMARIES: [note.id for note in given.session_notes],
        CONVERSATION: [
            *([str(given.summary.id)] if given.summary else []),
            *(str(line.id) for lines in given.rounds for line in lines),
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


def _assemble(given: ContextInput) -> Context:
    layers = _render_layers(given)
    parts = [*(layer.content for layer in layers[:CONVERSATION]), render_summary(given.summary)]
    window = [
        PromptMessage(role="assistant" if line.role == "assistant" else "user", content=line.content)
        for lines in given.rounds
        for line in lines
    ]
    messages = (
        PromptMessage(role="system", content="\n\n".join(filter(None, parts))),
        *window,
        PromptMessage(role="user", content=given.message),
    )
    return Context(layers=layers, messages=messages, memories=tuple(given.memories), rounds=tuple(given.rounds))
