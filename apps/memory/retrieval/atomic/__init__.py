"""Finding the atomic memories that matter for a message, by words and by meaning (A4). docs/retrieval.md tells how."""

from apps.memory.retrieval.atomic.retrieve import retrieve_atomic_memories

__all__ = ["retrieve_atomic_memories"]
