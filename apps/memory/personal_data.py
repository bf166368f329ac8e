"""The tables of a person's data in this app (R2, R3). Vectors are not exported: they mean nothing to anybody else."""

from __future__ import annotations

from apps.accounts.services.personal_data import PersonalTable, register_tables
from apps.memory.models import (
    SEARCH_FIELDS,
    AtomicEmbedding,
    AtomicMemory,
    Change,
    ContextEntry,
    ConversationEmbedding,
    ForgottenKey,
    LongTermEmbedding,
    LongTermMemory,
    SharedContext,
    WorkingMemory,
    WorkingMemoryRevision,
)

register_tables(
    PersonalTable(LongTermMemory, not_exported=("normalized_key", "normalized_value", *SEARCH_FIELDS)),
    PersonalTable(LongTermEmbedding, not_exported=("embedding",)),
    PersonalTable(ForgottenKey),
    PersonalTable(AtomicMemory, not_exported=("normalized_content", "terms", "term_count")),
    PersonalTable(AtomicEmbedding, not_exported=("embedding",)),
    PersonalTable(WorkingMemory),
    PersonalTable(WorkingMemoryRevision),
    PersonalTable(ConversationEmbedding, not_exported=("embedding", "digest")),
    PersonalTable(SharedContext),
    PersonalTable(ContextEntry),
    PersonalTable(Change),
)
