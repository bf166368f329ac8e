"""Reading atomic memories."""

from __future__ import annotations

from collections.abc import Collection
from uuid import UUID

from django.db.models import QuerySet

from apps.accounts.models import User
from apps.core.errors import NotFound
from apps.core.text.bm25_terms import bm25_terms
from apps.core.text.segment import is_cjk
from apps.memory.judging.exact import normalize_content
from apps.memory.models import AtomicMemory

DERIVED_FIELDS = ("normalized_content", "terms", "term_count")
"""What only search and comparison read of a memory."""


def list_atomic_memories(user: User) -> QuerySet[AtomicMemory]:
    """Return the person's atomic memories of every status, newest first."""
    return AtomicMemory.objects.filter(user=user).defer(*DERIVED_FIELDS).order_by("-create_time", "-id")


def get_atomic_memory(user: User, memory_id: UUID) -> AtomicMemory:
    """Return an atomic memory of any status, or raise `NotFound` for none and for another person's."""
    memory = list_atomic_memories(user).filter(id=memory_id).first()
    if memory is None:
        raise NotFound("This memory does not exist.")
    return memory


def get_atomic_memories_by_id(user: User, ids: Collection[UUID]) -> dict[UUID, AtomicMemory]:
    """Return those of the person's atomic memories, of any status, that still exist."""
    return list_atomic_memories(user).in_bulk(list(ids))


def search_content(
    memories: QuerySet[AtomicMemory], text: str, *, by_index: bool | None = None
) -> QuerySet[AtomicMemory]:
    """Keep the memories in which every term of `text` occurs; without any, those that hold all of `text` as it stands.

    Chinese and English, traditional and simplified, whatever the case, inflection and punctuation. The first are found
    by the index; only where it knows none, which takes a query to tell, are texts read. `by_index`: which of both, as
    told before.
    """
    # The index knows words and pairs of characters, not where one character is: that is read.
    if (terms := bm25_terms(text)) and not all(len(term) == 1 and is_cjk(term) for term in terms):
        indexed = memories.filter(terms__contains=list(dict.fromkeys(terms)))
        if indexed.exists() if by_index is None else by_index:
            return indexed
    return memories.filter(normalized_content__contains=normalize_content(text))
