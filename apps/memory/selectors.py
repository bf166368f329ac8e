"""What other apps may read of memory."""

from apps.memory.long_term.copies import list_copies
from apps.memory.long_term.selectors import get_memory

__all__ = [
    "get_memory",
    "list_copies",
]
