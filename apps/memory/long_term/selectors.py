"""Reading long-term memories. Reading never counts as use (L4)."""

from __future__ import annotations

from collections.abc import Collection
from uuid import UUID

from django.db.models import BooleanField, F, Func, Q, QuerySet, Value

from apps.accounts.models import User
from apps.core.errors import NotFound
from apps.core.text.fold import normalize_key
from apps.core.text.index_terms import keyword_query
from apps.core.text.keywords import extract_keywords
from apps.memory.models import SEARCH_FIELDS, LongTermMemory

MAX_SEARCH_KEYWORDS = 50


def get_memory(user: User, memory_id: UUID) -> LongTermMemory:
    """Return a memory of any status, or raise `NotFound` for none and for another person's."""
    memory = LongTermMemory.objects.filter(user=user, id=memory_id).defer(*SEARCH_FIELDS).first()
    if memory is None:
        raise NotFound("This memory does not exist.")
    return memory


def get_memories_by_id(user: User, ids: Collection[UUID]) -> dict[UUID, LongTermMemory]:
    """Return those of the user's memories, of any status, that still exist."""
    return LongTermMemory.objects.filter(user=user).defer(*SEARCH_FIELDS).in_bulk(list(ids))


def list_memories(user: User) -> QuerySet[LongTermMemory]:
    """Return the person's memories of every status, newest first."""
    return LongTermMemory.objects.filter(user=user).defer(*SEARCH_FIELDS).order_by("-created_at", "-id")


def search_text(
    memories: QuerySet[LongTermMemory], text: str, *, by_index: bool | None = None
) -> QuerySet[LongTermMemory]:
    """Keep the memories that hold every keyword of `text` as the beginning of a word; without any, those that hold all
    of `text` as it stands.

    Chinese and English, traditional and simplified, whatever the case and punctuation (K3). The first are found by the
    index; only where it knows none, which takes a query to tell, are texts read. `by_index`: which of both, as told
    before.
    """
    if keywords := extract_keywords(text, limit=MAX_SEARCH_KEYWORDS):
        query = Value(" & ".join(map(keyword_query, keywords)))
        matches = Func(
            F("search_vector"),
            query,
            template="(%(expressions)s::tsquery)",
            arg_joiner=" @@ ",
            output_field=BooleanField(),
        )
        indexed = memories.filter(matches)
        if indexed.exists() if by_index is None else by_index:
            return indexed
    whole = normalize_key(text)
    return memories.filter(Q(normalized_key__contains=whole) | Q(normalized_value__contains=whole))
