"""What is decided without a judge: equal texts, and what its owner deleted, rejected or has under review (A2, A3)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import datetime
from uuid import UUID

from apps.accounts.models import User
from apps.core.text.clean import clean_text
from apps.core.text.fold import normalize_value
from apps.core.text.keywords import extract_keywords
from apps.core.text.sentences import cut_at_sentence
from apps.memory.do_not_relearn import digest_text, find_forgotten
from apps.memory.judging.types import JudgedStatement
from apps.memory.models import AtomicMemory, Status

Said = tuple[str, datetime]
"""A content, and when it was said."""

_MAX_KEYWORDS = 50


def normalize_content(content: str) -> str:
    """The form of a content in which sameness is decided (A3).

    Punctuation, case, width, script and pronouns make no difference.
    """
    return normalize_value(content)


def digest_content(user: User, content: str) -> str:
    """Return the digest by which a deleted content is recognised (L6)."""
    return digest_normalized(user, normalize_content(content))


def digest_normalized(user: User, normalized: str) -> str:
    """`digest_content` of a content in its normalized form."""
    return digest_text(user, kind="atomic", text=normalized)


def clean_statements(statements: Sequence[JudgedStatement], *, max_length: int) -> list[JudgedStatement]:
    """Return the statements as they can be stored, without the empty ones.

    Contents of over `max_length` characters are cut where a sentence ends: only a model that was given the limit and
    passed it writes such.
    """
    cleaned = (
        replace(statement, content=cut_at_sentence(clean_text(statement.content).strip(), max_length))
        for statement in statements
    )
    return [statement for statement in cleaned if statement.content]


def drop_decided(user: User, statements: Sequence[JudgedStatement]) -> list[JudgedStatement]:
    """Return the statements that nothing has been decided about.

    Left out: what was deleted since it was said, was rejected, waits for review, or was recorded from its message.
    Three queries.
    """
    deleted = find_deleted(user, [(statement.content, statement.source.said_at) for statement in statements])
    contents = {id(statement): normalize_content(statement.content) for statement in statements}
    mine = AtomicMemory.objects.filter(user=user)
    decided = mine.filter(normalized_content__in=set(contents.values()), status__in=[Status.REJECTED, Status.PENDING])
    known = set(decided.values_list("normalized_content", flat=True))
    recorded: defaultdict[UUID | None, list[str]] = defaultdict(list)
    of_messages = mine.filter(message_id__in={statement.source.message_id for statement in statements})
    for message, content in of_messages.values_list("message_id", "normalized_content"):
        recorded[message].append(content)
    return [
        statement
        for statement in statements
        if (statement.content, statement.source.said_at) not in deleted
        and contents[id(statement)] not in known
        and not any(contents[id(statement)] in one for one in recorded[statement.source.message_id])
    ]


def find_deleted(user: User, said: Collection[Said]) -> set[Said]:
    """Return those that were deleted since they were said: themselves, or a value they are about (L6). One query."""
    digests = {content: _digest(user, content) for content, _said_at in said}
    forgotten = find_forgotten(user, {digest for found in digests.values() for digest in found})
    return {
        (content, said_at)
        for content, said_at in said
        if any(digest in forgotten and said_at <= forgotten[digest] for digest in digests[content])
    }


def _digest(user: User, content: str) -> set[str]:
    """The digests under which the content, or a value that it is about, may have been deleted."""
    values = {normalize_value(word) for word in extract_keywords(content, limit=_MAX_KEYWORDS)}
    return {digest_content(user, content), *(digest_text(user, kind="value", text=value) for value in values if value)}
