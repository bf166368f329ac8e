"""Which of the memories that a model took from messages count (A2, L6)."""

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
from apps.memory.atomic.services import digest_content
from apps.memory.atomic.text import normalize_content
from apps.memory.atomic.types import ExtractedMemory
from apps.memory.atomic.validation import MAX_TAG_CHARACTERS, MAX_TAGS, find_event_problem
from apps.memory.do_not_relearn import digest_text, find_forgotten
from apps.memory.models import AtomicMemory, Status

Said = tuple[str, datetime]
"""A content, and when it was said."""

_MAX_KEYWORDS = 50


def clean_drafts(drafts: Sequence[ExtractedMemory], *, max_length: int) -> list[ExtractedMemory]:
    """Return the drafts as they may be stored, without those that say nothing.

    Contents of over `max_length` characters are cut where a sentence ends, impossible events left out.
    """
    return [draft for draft in (_clean(draft, max_length=max_length) for draft in drafts) if draft.content]


def _clean(draft: ExtractedMemory, *, max_length: int) -> ExtractedMemory:
    tags = (" ".join(clean_text(tag).split())[:MAX_TAG_CHARACTERS] for tag in draft.tags)
    is_event = find_event_problem(draft.event_start, draft.event_end) is None
    return replace(
        draft,
        content=cut_at_sentence(clean_text(draft.content).strip(), max_length),
        tags=[tag for tag in dict.fromkeys(tags) if tag][:MAX_TAGS],
        event_start=draft.event_start if is_event else None,
        event_end=draft.event_end if is_event else None,
    )


def drop_known(user: User, drafts: Sequence[ExtractedMemory]) -> list[ExtractedMemory]:
    """Return the drafts without what was deleted since it was said, was rejected, waits, or came from its message."""
    deleted = find_deleted(user, [(draft.content, draft.said_at) for draft in drafts])
    contents = {id(draft): normalize_content(draft.content) for draft in drafts}
    decided = AtomicMemory.objects.filter(
        user=user, normalized_content__in=set(contents.values()), status__in=[Status.REJECTED, Status.PENDING]
    )
    known = set(decided.values_list("normalized_content", flat=True))
    recorded: defaultdict[UUID | None, list[str]] = defaultdict(list)
    of_messages = AtomicMemory.objects.filter(user=user, message_id__in={draft.message_id for draft in drafts})
    for message, content in of_messages.values_list("message_id", "normalized_content"):
        recorded[message].append(content)
    return [
        draft
        for draft in drafts
        if (draft.content, draft.said_at) not in deleted
        and contents[id(draft)] not in known
        and not any(contents[id(draft)] in one for one in recorded[draft.message_id])
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
    """The digests under which the content, or a value that it is about, may have been forgotten."""
    values = {normalize_value(word) for word in extract_keywords(content, limit=_MAX_KEYWORDS)}
    return {digest_content(user, content), *(digest_text(user, kind="value", text=value) for value in values if value)}
