"""What accepting a pending memory would do, without doing it (M6)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from apps.memory.long_term.changes import apply_mode
from apps.memory.long_term.types import Mode
from apps.memory.models import SEARCH_FIELDS, LongTermMemory, Status


@dataclass(frozen=True, slots=True)
class Acceptance:
    """What `accept_memory` would do now. `active`: the memory of the same key that it would supersede, if any.

    `result`: the value the key has afterwards, None when its last item goes.
    """

    active: LongTermMemory | None
    result: Any


def preview_acceptances(memories: Iterable[LongTermMemory]) -> Mapping[UUID, Acceptance]:
    """Return what accepting each of these pending memories, of any number of people, would do by itself. One query."""
    pending = list(memories)
    rows = LongTermMemory.objects.filter(
        user__in={memory.user_id for memory in pending},
        normalized_key__in={memory.normalized_key for memory in pending},
        status=Status.ACTIVE,
    )
    active = {(row.user_id, row.normalized_key): row for row in rows.defer(*SEARCH_FIELDS)} if pending else {}
    return {memory.id: _preview(memory, active.get((memory.user_id, memory.normalized_key))) for memory in pending}


def _preview(memory: LongTermMemory, active: LongTermMemory | None) -> Acceptance:
    current = None if active is None else active.value
    return Acceptance(active=active, result=apply_mode(mode=Mode(memory.mode), current=current, proposed=memory.value))
