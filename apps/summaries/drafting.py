"""Writing summaries with a model: bounded prompts in, text that fits out. Reads and writes no database."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from apps.conversations.rounds import Unsummarized
from apps.conversations.types import Line, Round
from apps.core.errors import ModelUnavailable
from apps.core.llm.blocks import escape
from apps.core.llm.client import ask_for_object
from apps.core.llm.types import ModelRequest
from apps.core.text.citations import drop_contained, find_citations
from apps.core.text.sentences import cut_at_sentence, split_sentences
from apps.core.text.tokens import estimate_tokens
from apps.summaries.fitting import MAX_SUMMARY_CHARACTERS, fit_summary
from apps.summaries.prompts import (
    ConversationSummaryAnswer,
    SessionSummaryAnswer,
    ask_conversation_summary,
    ask_session_summary,
    render_line,
)
from apps.summaries.types import ConversationDraft, SessionNote

MIN_ROOM, MAX_ROOM = 1000, 8000
"""Tokens of conversation in one prompt: what the person's turns may have, less the rest of the prompt."""

_REST = 1500
"""Tokens of the instructions, the summary so far and the citations, about."""

MAX_CALLS = 4
"""Model calls for one conversation summary; what does not fit waits for the next. A longer round than that is read
whole all the same: it cannot be summarised in halves."""

MAX_LISTED_CITATIONS = 40
"""In a prompt. What is not listed is put back after the model nevertheless."""

MAX_CITATION_CHARACTERS = 4000
"""Of the citations that one summary keeps: some two hundred statutes, such as only a pasted index cites more of."""

OPENING_LINES = 2
"""Of a conversation too long for its session's note: they tell what the person came for."""

MAX_LINE_SHARE = 4
"""A message takes at most one over this of the room in a session's note."""

_TELLING_CHARACTERS = 12
"""A shorter sentence may be found in an example by chance."""

TITLE_CHARACTERS, SNIPPET_CHARACTERS = 80, 300

Answer = TypeVar("Answer", bound=BaseModel)


def get_room(token_budget: int) -> int:
    """Return how many tokens of conversation a prompt may hold, for a person whose turns have `token_budget`."""
    return min(max(token_budget - _REST, MIN_ROOM), MAX_ROOM)


def draft_session_note(*, earlier: SessionNote | None, said: Sequence[Line], room: int) -> SessionNote:
    """Return the note of a session, from the one so far and what was said since: one call (S1).

    Raises `ModelUnavailable`.
    """
    request = ask_session_summary(earlier=earlier, lines=list(_choose_lines(said, room=room)))
    answer = _ask(request, SessionSummaryAnswer)
    return SessionNote(
        title=cut_at_sentence(" ".join(answer.title.split()), TITLE_CHARACTERS),
        snippet=cut_at_sentence(" ".join(answer.snippet.split()), SNIPPET_CHARACTERS),
    )


def draft_conversation_summary(found: Unsummarized, *, room: int) -> ConversationDraft:
    """Return a summary of the first rounds of `found` that `MAX_CALLS` prompts hold, at least one round (S3).

    Each prompt holds the summary so far and what comes next, so that the cost does not grow with the conversation.
    Citations of either are in the summary, whatever the model leaves out (S5). Raises `ModelUnavailable`.
    """
    count, parts = _take_rounds(found.rounds, room=room)
    covered = [line for lines in found.rounds[:count] for line in lines]
    summary = found.summary.content if found.summary else ""
    citations = _list_citations([summary, *(line.content for line in covered)])
    for lines in parts:
        request = ask_conversation_summary(
            earlier=summary[: 2 * MAX_SUMMARY_CHARACTERS],
            citations=citations[-MAX_LISTED_CITATIONS:],
            lines=lines,
        )
        summary = fit_summary(_ask(request, ConversationSummaryAnswer).summary, citations=citations)
    return ConversationDraft(
        content=summary,
        covers=tuple(line.id for line in covered),
        replaces=found.summary.id if found.summary else None,
        unfinished=found.more or count < len(found.rounds),
    )


def _list_citations(texts: Iterable[str]) -> list[str]:
    """Return what `texts` cite, in order; of more than anybody can use, the newest."""
    citations = find_citations("\n".join(texts))
    room = MAX_CITATION_CHARACTERS
    kept = len(citations)
    while kept and (room := room - len(citations[kept - 1])) >= 0:
        kept -= 1
    return drop_contained(citations[kept:])


def _take_rounds(rounds: Sequence[Round], *, room: int) -> tuple[int, list[list[str]]]:
    """Return how many of `rounds` are taken, and their lines by prompt."""
    taken: list[list[str]] = []
    for count, lines in enumerate(rounds):
        parts = _pack([piece for line in lines for piece in _cut(line, room=room)], after=taken, room=room)
        if len(parts) > MAX_CALLS and count:
            return count, taken
        taken = parts
    return len(rounds), taken


def _pack(pieces: Sequence[str], *, after: Sequence[list[str]], room: int) -> list[list[str]]:
    parts = [list(part) for part in after]
    left = room - sum(map(_measure, parts[-1])) if parts else 0
    for piece in pieces:
        size = _measure(piece)
        if size > left:
            parts.append([])
            left = room
        parts[-1].append(piece)
        left -= size
    return parts


def _cut(line: Line, *, room: int) -> list[str]:
    """Return the line, or pieces of it that each have room in a prompt."""
    count = 1
    while True:
        size = max(math.ceil(len(line.content) / count), 1)
        starts = range(0, max(len(line.content), 1), size)
        pieces = [render_line(line.role, line.content[start : start + size]) for start in starts]
        if size == 1 or all(_measure(piece) <= room for piece in pieces):
            return pieces
        count += 1 + count // 4


def _choose_lines(said: Sequence[Line], *, room: int) -> Iterator[str]:
    """Yield what there is room for: the opening and as many as possible of the newest messages, long ones shortened."""
    lines = [_shorten(line, room=room // MAX_LINE_SHARE) for line in said]
    room -= sum(map(_measure, lines[:OPENING_LINES]))
    newest = len(lines)
    while newest > OPENING_LINES and (size := _measure(lines[newest - 1])) <= room:
        room -= size
        newest -= 1
    yield from lines[:OPENING_LINES]
    yield from lines[max(newest, OPENING_LINES) :]


def _shorten(line: Line, *, room: int) -> str:
    """Return the line, or its beginning and its end: what is asked stands before or after a long paste."""
    rendered = render_line(line.role, line.content)
    half = len(line.content)
    while half > 1 and _measure(rendered) > room:
        half //= 2
        rendered = render_line(line.role, f"{line.content[:half]} … {line.content[-half:]}")
    return rendered


def _measure(line: str) -> int:
    return estimate_tokens(escape(line))  # as it will stand in its block


def _ask(request: ModelRequest, kind: type[Answer]) -> Answer:
    try:
        answer = kind.model_validate(ask_for_object(request))
    except ValidationError as error:
        raise _refuse("The model's answer is not the requested summary.") from error
    if _repeats_example(answer, instructions=request.messages[0].content):
        raise _refuse("The model repeated an example from its instructions.")
    return answer


def _repeats_example(answer: BaseModel, *, instructions: str) -> bool:
    """Whether a sentence of the answer is copied from the instructions, as small models do: it would be remembered."""
    sentences = (sentence.strip() for text in answer.model_dump().values() for sentence in split_sentences(text))
    return any(len(sentence) >= _TELLING_CHARACTERS and sentence in instructions for sentence in sentences)


def _refuse(message: str) -> ModelUnavailable:
    return ModelUnavailable(message, fields={"reason": "bad_answer"})
