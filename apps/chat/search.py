"""Search all that a person said and was told: by words and titles, and by meaning where an embedder answers."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Literal

from apps.accounts.models import User
from apps.accounts.selectors import get_settings
from apps.conversations.models import Session
from apps.conversations.search import find_in_files, find_messages, find_titled_sessions
from apps.conversations.types import FoundMessage
from apps.core.text.search import SearchTerms, cut_excerpt, find_ranges, parse_question, parse_search
from apps.core.times import ANY_TIME, TimeRange
from apps.memory.vectors.queries import QueryEmbedding, find_similar_messages, start_embedding

# The longest text that is searched for.
MAX_SEARCH_CHARS = 1_000
# Conversations that one search returns at most.
MAX_FOUND = 50


Mode = Literal["all", "words", "meaning"]
FoundBy = Literal["words", "meaning"]
Range = tuple[int, int]
Cut = Callable[[str], tuple[str, Sequence[Range]]]
# The best messages of one conversation that are shown.
MESSAGES = 3
# Newest messages with the words: more than can be shown, as many of them may be of one conversation.
CANDIDATES = 200
EXCERPT_CHARS = 160


@dataclass(frozen=True, slots=True)
class Hit:
    """A message that was found. `ranges`: where the words are in its excerpt. `similarity`: None if found by words."""

    id: uuid.UUID
    role: str
    create_time: datetime
    excerpt: str
    ranges: Sequence[Range]
    found_by: FoundBy
    similarity: float | None = None


@dataclass(frozen=True, slots=True)
class FoundConversation:
    """A conversation with its best hits. Without any, its title alone has the words."""

    session: Session
    title_ranges: Sequence[Range]
    messages: list[Hit] = field(default_factory=list)


def find_conversations(
    *,
    user: User,
    query: str,
    limit: int,
    mode: Mode = "all",
    within: TimeRange = ANY_TIME,
    excerpt: int = EXCERPT_CHARS,
) -> list[FoundConversation]:
    """Return at most `limit` conversations with what is being looked for, said `within`, the best first.

    Titles with all of the words come first, then messages with all of them, newest first, then what is near in meaning.
    Where nothing has all the words as they were typed, its keywords do: a question is found, too. By meaning nothing is
    found where the query cannot be embedded before the deadline of a turn (A4). `excerpt`: its most characters.
    """
    embed = start_embedding(query) if mode != "words" else lambda: None
    terms, titled, said = SearchTerms(), list[Session](), list[FoundMessage]()
    if mode != "meaning":
        terms, titled, said = _find_words(user, query, limit, within)
    needles = terms.needles
    cut = partial(cut_excerpt, needles=needles, length=excerpt)
    hits = [(message.session_id, _make_hit(message, cut)) for message in _choose(said, query, limit)]
    if (embedding := embed()) is not None:
        known = {hit.id for _session, hit in hits}
        hits += _find_meaning(user, embedding, cut, limit=limit, known=known, within=within)
    return _group(user, titled, hits, needles, limit=limit)


def _find_words(
    user: User, query: str, limit: int, within: TimeRange
) -> tuple[SearchTerms, list[Session], list[FoundMessage]]:
    """What holds all of the words as typed, or, where nothing does, all of the keywords; and which of the two."""
    typed, keywords = parse_search(query), parse_question(query)
    for terms in dict.fromkeys((typed, keywords)):
        titled = find_titled_sessions(user, terms, limit=limit, within=within)
        said = find_messages(user, terms, limit=CANDIDATES, within=within)
        said += find_in_files(user, terms, limit=CANDIDATES, within=within)
        said.sort(key=lambda message: message.create_time, reverse=True)
        if titled or said:
            return terms, titled, said
    return typed, [], []


def _choose(messages: Iterable[FoundMessage], query: str, limit: int) -> Iterator[FoundMessage]:
    """The best messages of each of the first conversations: with the words in a row first, else the newest."""
    phrase = query.strip().lower()
    by_session: dict[uuid.UUID, list[FoundMessage]] = {}
    for message in messages:
        by_session.setdefault(message.session_id, []).append(message)
    for found in list(by_session.values())[:limit]:
        yield from sorted(found, key=lambda message: phrase not in message.content.lower())[:MESSAGES]


def _make_hit(message: FoundMessage, cut: Cut) -> Hit:
    excerpt, ranges = cut(message.content)
    return Hit(message.id, message.role, message.create_time, excerpt, ranges, "words")


def _find_meaning(
    user: User, embedding: QueryEmbedding, cut: Cut, *, limit: int, known: set[uuid.UUID], within: TimeRange
) -> list[tuple[uuid.UUID, Hit]]:
    floor = get_settings(user).semantic_min_similarity
    threshold = embedding.min_similarity if floor is None else floor
    hits = []
    near = find_similar_messages(user=user, embedding=embedding, threshold=threshold, limit=2 * limit, within=within)
    for similar in near:
        if similar.id not in known:
            excerpt, ranges = cut(similar.content)
            hit = Hit(
                similar.id, similar.message_type, similar.created_at, excerpt, ranges, "meaning", similar.similarity
            )
            hits.append((similar.chat_id, hit))
    return hits


def _group(
    user: User, titled: Sequence[Session], hits: Sequence[tuple[uuid.UUID, Hit]], needles: Sequence[str], *, limit: int
) -> list[FoundConversation]:
    order = dict.fromkeys([*(session.id for session in titled), *(session_id for session_id, _hit in hits)])
    chosen = list(order)[:limit]
    sessions = Session.objects.filter(user=user).in_bulk(chosen)
    found = {
        key: FoundConversation(sessions[key], find_ranges(sessions[key].title, needles))
        for key in chosen
        if key in sessions  # else it was deleted just now
    }
    for session_id, hit in hits:
        if session_id in found and len(found[session_id].messages) < MESSAGES:
            found[session_id].messages.append(hit)
    return list(found.values())
