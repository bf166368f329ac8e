"""What other apps may read of memory."""

from apps.memory.history.selectors import list_changes
from apps.memory.long_term.copies import list_copies
from apps.memory.long_term.selectors import get_memories_by_id, get_memory, list_memories
from apps.memory.retrieval import retrieve_relevant_memories
from apps.memory.working.selectors import WorkingMemorySnapshot, find_working_memory, get_working_memory

__all__ = [
    "WorkingMemorySnapshot",
    "find_working_memory",
    "get_memories_by_id",
    "get_memory",
    "get_working_memory",
    "list_changes",
    "list_copies",
    "list_memories",
    "retrieve_relevant_memories",
]
