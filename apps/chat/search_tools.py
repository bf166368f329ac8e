"""The tools that search: what is remembered (T1), and what was said (T5)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field

from apps.accounts.models import User
from apps.accounts.selectors import get_settings
from apps.chat.search import MAX_SEARCH_CHARS, find_conversations
from apps.chat.tools import EVERYWHERE, Arguments, Caller, Result, Results, read_time, tool
from apps.conversations.models import Message, Role
from apps.conversations.sessions import find_offset, get_session, get_told_title, list_messages
from apps.conversations.types import MAX_CONTENT_CHARS
from apps.core.errors import InvalidInput, NotFound, TooLarge
from apps.core.text.clean import cut_to_tokens, estimate_tokens
from apps.core.text.secrets import mask_secrets
from apps.core.text.sentences import cut_client_blocks
from apps.core.times import TimeRange
from apps.memory.recall.both import FoundMemory
from apps.memory.recall.both import search_memories as find_memories
from apps.memory.recall.rounds import find_withheld

Since = Annotated[
    str | None,
    Field(description="ISO 8601 date or time, such as 2026-05-01 or 2026-05-01T08:00:00+08:00. Not before it."),
]
Until = Annotated[str | None, Field(description="ISO 8601 date or time. Not after it; a date means all of that day.")]

# Memories


class SearchTimes(Arguments):
    """The first and the last time, both included; each may be left out."""

    since: Since = None
    until: Until = None


@tool(
    "Search memories",
    "Search what is remembered about the person: facts, preferences, plans and events from all conversations. Use it "
    "before answering anything that may depend on what they said earlier. Finds words and meaning, in Chinese and "
    "English; an empty list means that nothing is remembered about it.",
    doors=EVERYWHERE,
)
def search_memories(
    caller: Caller,
    keyword: Annotated[
        str,
        Field(description="What to look for: keywords or a question, in the words the person would use."),
    ],
    time_range: Annotated[SearchTimes | None, Field(description="Only memories from within this time.")] = None,
) -> Results[FoundMemory]:
    """Return the memories of both kinds that `keyword` finds, best first (T1); dates are in the person's zone (C8)."""
    _check_text("keyword", keyword, longest=MAX_CONTENT_CHARS)
    times = time_range or SearchTimes()
    within = _read_range(caller.user, times.since, times.until, prefix="time_range.")
    return Results[FoundMemory](results=find_memories(user=caller.user, keyword=keyword, time_range=within))


def _check_text(name: str, text: str, *, longest: int) -> None:
    if not text.strip():
        raise InvalidInput(f"{name}: Must not be blank.", fields={name: ["Must not be blank."]})
    if len(text) > longest:
        raise TooLarge(f"{name} has over {longest:,} characters.")


def _read_range(user: User, since: str | None, until: str | None, *, prefix: str = "") -> TimeRange:
    zone = get_settings(user).zone
    within = TimeRange(
        since=read_time(f"{prefix}since", since, zone=zone),
        until=read_time(f"{prefix}until", until, zone=zone, end=True),
    )
    if within.since and within.until and within.since > within.until:
        raise InvalidInput(f"{prefix.removesuffix('.') or 'since'}: since is later than until.")
    return within


# Conversations

# One search returns at most so many conversations, of a message at most so many characters.
CONVERSATIONS, EXCERPT_CHARS = 8, 300
# Messages on each side of the one that is read around, in all no more tokens than a result of a tool may have.
AROUND, READ_TOKENS = 10, 1_300
# What a message may take of that: the one that is read around, and any other; and what its ID and time take.
OWN_TOKENS, OTHER_TOKENS, FRAME_TOKENS = 900, 250, 45


class SaidResult(Result):
    """A message, or the part of it around what was looked for."""

    id: UUID
    role: Literal["user", "assistant"]
    time: datetime
    text: str


class FoundConversationResult(Result):
    """A conversation that a search found, with its best messages; without any, its title has the words."""

    session_id: UUID
    title: str
    last_active_at: datetime
    messages: list[SaidResult]


@tool(
    "Search conversations",
    "Search what the person and the assistant said in past conversations, word for word: where no memory tells it, or "
    "the exact words or the assistant's own answers matter. Returns excerpts with their IDs and times; "
    "read_conversation has what was said around one.",
    doors=EVERYWHERE,
)
def search_conversations(
    caller: Caller,
    query: Annotated[str, Field(description="What to look for: words that were said, or a question.")],
    since: Since = None,
    until: Until = None,
) -> Results[FoundConversationResult]:
    """Return the conversations in which something was said, best first (T5); dates are in the person's zone (C8).

    Without temporary ones, what was edited away, and what no turn may be shown (`find_withheld`); nor the message that
    is being answered.
    """
    _check_text("query", query, longest=MAX_SEARCH_CHARS)
    within = _read_range(caller.user, since, until)
    found = find_conversations(user=caller.user, query=query, limit=CONVERSATIONS, within=within, excerpt=EXCERPT_CHARS)
    mask = _get_mask(caller.user)
    hidden = find_withheld(caller.user, [hit.id for one in found for hit in one.messages]) | {caller.message_id}
    titles = {one.session.id: get_told_title(one.session) for one in found}
    results = [
        FoundConversationResult(
            session_id=one.session.id,
            title=mask(titles[one.session.id]),
            last_active_at=one.session.last_active_at,
            messages=[
                SaidResult.model_validate(
                    {"id": hit.id, "role": hit.role, "time": hit.create_time, "text": mask(hit.excerpt)}
                )
                for hit in one.messages
                if hit.id not in hidden
            ],
        )
        for one in found
    ]
    # A session is called by its first words: those of the conversation itself are no find.
    titled = {
        one.session.id
        for one in found
        if one.title_ranges and titles[one.session.id] and one.session.id != caller.session_id
    }
    return Results[FoundConversationResult](
        results=[one for one in results if one.messages or one.session_id in titled]
    )


class ConversationResult(Result):
    """Part of a conversation, oldest first; `earlier` and `later` count the messages before and after it."""

    session_id: UUID
    title: str
    results: list[SaidResult]
    earlier: int
    later: int


@tool(
    "Read conversation",
    "Read part of a past conversation by its session_id, oldest first: its end, or what was said around a message. "
    "earlier and later count the messages before and after; read on around the first or last one.",
    doors=EVERYWHERE,
)
def read_conversation(
    caller: Caller,
    session_id: Annotated[
        UUID, Field(description="The session_id of the conversation, as search_conversations returns it.")
    ],
    around: Annotated[UUID | None, Field(description="The ID of a message in it; left out, its end is read.")] = None,
) -> ConversationResult:
    """Return what was said around a message, or at the end of a conversation (T5).

    `NotFound` for what is not there, is somebody else's or temporary. Long texts are cut.
    """
    session = get_session(caller.user, session_id)
    if session.temporary:
        raise NotFound("This session does not exist.")
    said = list_messages(caller.user, session.id).filter(role__in=(Role.USER, Role.ASSISTANT))
    count = said.count()
    centre = find_offset(said, around) if around else max(count - 1, 0)
    first = max(centre - AROUND, 0)
    rows = list(said[first : centre + AROUND + 1])
    hidden = find_withheld(caller.user, [row.id for row in rows])
    mask = _get_mask(caller.user)
    texts = ["" if row.id in hidden else _read(row, tokens=OTHER_TOKENS, mask=mask) for row in rows]
    if texts and texts[centre - first]:
        texts[centre - first] = _read(rows[centre - first], tokens=OWN_TOKENS, mask=mask)
    shown = _choose(texts, centre=centre - first)
    return ConversationResult(
        session_id=session.id,
        title=mask(get_told_title(session)),
        results=[
            SaidResult.model_validate({"id": row.id, "role": row.role, "time": row.create_time, "text": text})
            for row, text in zip(rows[shown.start : shown.stop], texts[shown.start : shown.stop], strict=True)
            if text
        ],
        earlier=first + shown.start,
        later=count - first - shown.stop,
    )


def _get_mask(user: User) -> Callable[[str], str]:
    """Return what masks secrets in what a model gets, if the person wants that (D4)."""
    return mask_secrets if get_settings(user).mask_secrets else str


def _read(message: Message, *, tokens: int, mask: Callable[[str], str]) -> str:
    text = mask(cut_client_blocks(message.content) if message.role == Role.USER else message.content)
    return text if estimate_tokens(text) <= tokens else cut_to_tokens(text, tokens) + "…"


def _choose(texts: Sequence[str], *, centre: int) -> range:
    """Return which of the texts fit, those next to the centre first and in a row."""
    shown, room = range(centre, centre), READ_TOKENS
    for at in sorted(range(len(texts)), key=lambda at: abs(at - centre)):
        room -= estimate_tokens(texts[at]) + FRAME_TOKENS
        if room < 0:
            break
        shown = range(min(at, shown.start), max(at + 1, shown.stop))
    return shown
