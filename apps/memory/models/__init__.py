"""The tables of what is remembered, one module per kind of memory."""

from apps.memory.models.embeddings import (
    EMBEDDING_DIMENSIONS,
    AtomicEmbedding,
    ConversationEmbedding,
    EmbeddingModel,
    LongTermEmbedding,
)
from apps.memory.models.history import Change
from apps.memory.models.memories import (
    SEARCH_FIELDS,
    AtomicMemory,
    AtomicSource,
    Category,
    ForgottenKey,
    LongTermMemory,
    Source,
    Status,
)
from apps.memory.models.shared_context import ContextEntry, SharedContext
from apps.memory.models.working import WorkingMemory, WorkingMemoryRevision

__all__ = [
    "EMBEDDING_DIMENSIONS",
    "SEARCH_FIELDS",
    "AtomicEmbedding",
    "AtomicMemory",
    "AtomicSource",
    "Category",
    "Change",
    "ContextEntry",
    "ConversationEmbedding",
    "EmbeddingModel",
    "ForgottenKey",
    "LongTermEmbedding",
    "LongTermMemory",
    "SharedContext",
    "Source",
    "Status",
    "WorkingMemory",
    "WorkingMemoryRevision",
]
