"""What other apps may write in memory."""

from apps.memory.long_term.forgetting import forget_all, forget_memories
from apps.memory.long_term.services import (
    accept_memory,
    create_memory,
    record_entries,
    record_use,
    reject_memory,
    update_memory,
)

__all__ = [
    "accept_memory",
    "create_memory",
    "forget_all",
    "forget_memories",
    "record_entries",
    "record_use",
    "reject_memory",
    "update_memory",
]
