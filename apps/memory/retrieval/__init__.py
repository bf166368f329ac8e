"""Finding the long-term memories that matter for a message (K1–K9). docs/retrieval.md tells how."""

from apps.memory.retrieval.retrieve import retrieve_relevant_memories

__all__ = ["retrieve_relevant_memories"]
