"""Reading long-term memories. Reading never counts as use (L4)."""

from __future__ import annotations

from uuid import UUID

from apps.accounts.models import User
from apps.core.errors import NotFound
from apps.memory.models import LongTermMemory


def get_memory(user: User, memory_id: UUID) -> LongTermMemory:
    """Return a memory of any status, or raise `NotFound` for none and for another person's."""
    memory = LongTermMemory.objects.filter(user=user, id=memory_id).defer("search_vector").first()
    if memory is None:
        raise NotFound("There is no such memory.")
    return memory
