"""The tools that search: what is remembered (T1), and what was said (T5)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Literal
from uuid import UUID

from pydantic import Field

from apps.accounts.models import User
from apps.accounts.selectors import get_settings
from apps.chat.search import MAX_SEARCH_CHARS, find_conversations
from apps.chat.tools import Arguments, Caller, Result, read_time
from apps.conversations.models import Message, Role
from apps.conversations.sessions import find_offset, get_session, get_told_title, list_messages
from apps.conversations.types import MAX_CONTENT_CHARS
from apps.core.errors import InvalidInput, NotFound, TooLarge
from apps.core.text.clean import cut_to_tokens, estimate_tokens
from apps.core.text.secrets import mask_secrets
from apps.core.text.sentences import cut_client_blocks
from apps.core.times import TimeRange
from apps.memory.recall.both import search_memories as find_memories
from apps.memory.recall.rounds import find_withheld

SINCE_HELP = "ISO 8601 date or time, such as 2026-05-01 or 2026-05-01T08:00:00+08:00. Not before it."
UNTIL_HELP = "ISO 8601 date or time. Not after it; a date means all of that day."

# Memories


class SearchTimes(Arguments):
    """The first and the last time, both included; each may be left out."""

    since: str | None = Field(None, description=SINCE_HELP)
    until: str | None = Field(None, description=UNTIL_HELP)


class SearchArguments(Arguments):
    """What to search for (T1)."""

    keyword: str = Field(description="What to look for: keywords or a question, in the words the person would use.")
    time_range: SearchTimes | None = Field(None, description="Only memories from within this time.")


class FoundMemoryResult(Result):
    """A memory that a search found."""

    id: UUID
    kind: Literal["long_term", "atomic"]
    text: str
    time: datetime = Field(description="When it was said or last changed.")


class SearchResult(Result):
    """What a search found, best first."""

    results: list[FoundMemoryResult]


def search(caller: Caller, arguments: SearchArguments) -> SearchResult:
    """Return the memories of both kinds that `keyword` finds (T1); dates are in the person's time zone (C8)."""
    _check_text("keyword", arguments.keyword, longest=MAX_CONTENT_CHARS)
    times = arguments.time_range or SearchTimes(since=None, until=None)
    within = _read_range(caller.user, times.since, times.until, prefix="time_range.")
    found = find_memories(user=caller.user, keyword=arguments.keyword, time_range=within)
    return SearchResult(
        results=[FoundMemoryResult(id=one.id, kind=one.kind, text=one.text, time=one.time) for one in found]
    )


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


class SearchConversationsArguments(Arguments):
    """What to search for, and from when to when it was said."""

    texts = frozenset({"query"})

    query: str = Field(description="What to look for: words that were said, or a question.")
    since: str | None = Field(None, description=SINCE_HELP)
    until: str | None = Field(None, description=UNTIL_HELP)


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


class ConversationsResult(Result):
    """What a search found, best first."""

    results: list[FoundConversationResult]


def search_conversations(caller: Caller, arguments: SearchConversationsArguments) -> ConversationsResult:
    """Return the conversations in which something was said (T5); dates are in the person's time zone (C8).

    Without temporary ones, what was edited away, and what no turn may be shown (`find_withheld`); nor the message that
    is being answered.
    """
    _check_text("query", arguments.query, longest=MAX_SEARCH_CHARS)
    within = _read_range(caller.user, arguments.since, arguments.until)
    found = find_conversations(
        user=caller.user, query=arguments.query, limit=CONVERSATIONS, within=within, excerpt=EXCERPT_CHARS
    )
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
    return ConversationsResult(results=[one for one in results if one.messages or one.session_id in titled])


class ReadConversationArguments(Arguments):
    """Which conversation, and where in it."""

    session_id: UUID = Field(description="The session_id of the conversation, as search_conversations returns it.")
    around: UUID | None = Field(None, description="The ID of a message in it; left out, its end is read.")


class ConversationResult(Result):
    """Part of a conversation, oldest first; `earlier` and `later` count the messages before and after it."""

    session_id: UUID
    title: str
    results: list[SaidResult]
    earlier: int
    later: int


def read_conversation(caller: Caller, arguments: ReadConversationArguments) -> ConversationResult:
    """Return what was said around a message, or at the end of a conversation (T5).

    `NotFound` for what is not there, is somebody else's or temporary. Long texts are cut.
    """
    session = get_session(caller.user, arguments.session_id)
    if session.temporary:
        raise NotFound("This session does not exist.")
    said = list_messages(caller.user, session.id).filter(role__in=(Role.USER, Role.ASSISTANT))
    count = said.count()
    centre = find_offset(said, arguments.around) if arguments.around else max(count - 1, 0)
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
