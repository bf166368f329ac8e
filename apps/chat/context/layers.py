"""The text of each layer (C4), as the model reads it. Remembered text is data in escaped blocks (C5)."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from apps.chat.context.types import (
    MESSAGE,
    AttachedFile,
    CaseNotes,
    ClientLine,
    ClientPrompt,
    Form,
    Profile,
    RecalledMemory,
    SessionNote,
)
from apps.chat.prompts import (
    APPLICATION,
    INSTRUCTIONS,
    PLAIN_APPLICATION,
    PLAIN_INSTRUCTIONS,
    RELAYED_INSTRUCTIONS,
    TEMPORARY_INSTRUCTIONS,
    TOOL_INSTRUCTIONS,
    TOOL_LINES,
)
from apps.chat.types import ReplyStrategy
from apps.conversations.types import Line
from apps.core.llm.blocks import render_block


def render_system(
    *,
    strategy: ReplyStrategy | None,
    emotions: Sequence[str],
    now: datetime,
    client: ClientPrompt | None,
    tools: Sequence[str] = (),
    temporary: bool = False,
) -> str:
    """Layer 0: the rules, today's date, and the strategy with all its six fields (E2); plain without one (E6).

    Of tools it says when to call them (T1); what each does, the request itself says.

    A client's own instructions stand in a block of their own, so that no rule is read as their continuation. Where its
    answer is relayed, nothing is said of how to reply (T3).
    """
    about_kind = TEMPORARY_INSTRUCTIONS if temporary else ""
    time = render_block("now", f"{now.isoformat(timespec='minutes')} {now:%A} {now.tzinfo}")
    own = client.instructions if client else ""
    relayed = client is not None and client.relayed
    block = PLAIN_APPLICATION if relayed or strategy is None else APPLICATION
    application = block.format(instructions=own) if own else ""
    if relayed:
        return "\n\n".join(filter(None, (application, RELAYED_INSTRUCTIONS, about_kind, time)))
    if strategy is None:
        return "\n\n".join(filter(None, (PLAIN_INSTRUCTIONS, application)))
    rules = INSTRUCTIONS.format(emotions=", ".join(emotions))
    how_to_reply = render_block("strategy", _json(strategy.to_wire()))
    about_tools = render_tools(tools)
    return "\n\n".join(filter(None, (rules, about_kind, about_tools, application, time, how_to_reply)))


def render_tools(names: Collection[str]) -> str:
    """What layer 0 says of the tools: each has a line where it is offered (T1, X2)."""
    lines = [line for name, line in TOOL_LINES.items() if name in names]
    return "\n".join([TOOL_INSTRUCTIONS, *lines]) if lines else ""


def render_profile(profile: Profile | None) -> str:
    """Layer 1: the profile document (U2)."""
    return render_block("user_profile", _json(profile.sections)) if profile and profile.sections else ""


def render_working_memory(
    *,
    topic: str | None,
    variables: Mapping[str, Any],
    forms: Iterable[Form],
    submitted: Form | None,
    cases: Iterable[CaseNotes],
    actions: Mapping[str, Any],
    files: Sequence[AttachedFile] = (),
) -> str:
    """Layer 2: topic, variables, forms in order of submission, the form just submitted by itself, shared contexts,
    files.

    Last what was done in memory because the message asked for it (L9).
    """
    shown = [{"title": form.title, "fields": form.fields} for form in forms]
    parts = []
    if topic or variables or shown:
        body = {"topic": topic, "variables": variables, "forms": shown}
        parts.append(render_block("working_memory", _json(body)))
    if submitted is not None:
        parts.append(render_block("form_submitted", _json({"title": submitted.title, "fields": submitted.fields})))
    if lines := [render_case(case) for case in cases]:
        parts.append(render_block("shared_contexts", "\n".join(lines)))
    if files:
        parts.append(render_files(files))
    if actions:
        parts.append(render_block("memory_actions", _json(actions)))
    return "\n\n".join(parts)


def render_case(case: CaseNotes) -> str:
    """The line of one shared context in layer 2."""
    return _json({"id": case.id, "title": case.title, "content": case.content, "entries": list(case.entries)})


def render_files(files: Sequence[AttachedFile]) -> str:
    """The attached files in layer 2, the oldest first; of one that is not whole, how much there is of it."""
    return "\n".join(render_block("attached_file", _describe_file(file)) for file in reversed(files))


def _describe_file(file: AttachedFile) -> str:
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


def render_conversation(*, summary: Line | None, rounds: Iterable[Sequence[Line | ClientLine]]) -> str:
    """Layer 5 as the inspector shows it."""
    return "\n\n".join(filter(None, (render_summary(summary), render_rounds(rounds))))


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
