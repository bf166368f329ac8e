"""The tables of a person's data in this app (R2, R3). Vectors are not exported: they mean nothing to anybody else."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from typing import Any

from apps.accounts.models import User
from apps.accounts.services.personal_data import LeftOut, PersonalTable, Restoration, register_tables
from apps.memory.atomic.held_verdicts import HeldVerdict
from apps.memory.atomic.text import set_content
from apps.memory.atomic.validation import check_fields as check_atomic
from apps.memory.embeddings.memories import ask_for_vectors
from apps.memory.long_term.ledger import set_text
from apps.memory.long_term.validation import check_fields as check_long_term
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


def _prepare_long_term(memory: LongTermMemory, _restoration: Restoration) -> None:
    check_long_term({name: getattr(memory, name) for name in ("category", "key", "value", "confidence", "source")})
    set_text(memory, key=memory.key, value=memory.value)
    memory.embedding_refusals = None


def _prepare_atomic(memory: AtomicMemory, _restoration: Restoration) -> None:
    check_atomic({name: getattr(memory, name) for name in ("content", "tags", "timestamp", "event_start", "event_end")})
    HeldVerdict.from_json(memory.proposal)
    set_content(memory, memory.content)
    memory.embedding_refusals = None


def _prepare_forgotten(_forgotten: ForgottenKey, restoration: Restoration) -> None:
    """A digest is made with the installation's key, for this account: elsewhere nothing would ever match it."""
    if not restoration.digests_hold:
        raise LeftOut


def _embed_memories(_user: User, _keys: Collection[Any], _now: datetime) -> None:
    ask_for_vectors()


register_tables(
    PersonalTable(
        LongTermMemory,
        not_exported=("normalized_key", "normalized_value", "embedding_refusals", *SEARCH_FIELDS),
        prepare=_prepare_long_term,
        finish=_embed_memories,
    ),
    PersonalTable(LongTermEmbedding, not_exported=("embedding",), restored=False),
    PersonalTable(ForgottenKey, prepare=_prepare_forgotten, identity=("digest",)),
    PersonalTable(
        AtomicMemory,
        not_exported=("normalized_content", "terms", "term_count", "embedding_refusals"),
        prepare=_prepare_atomic,
        finish=_embed_memories,
    ),
    PersonalTable(AtomicEmbedding, not_exported=("embedding",), restored=False),
    PersonalTable(WorkingMemory, identity=("session_id",)),
    PersonalTable(WorkingMemoryRevision, identity=("session_id", "started_at", "revision")),
    PersonalTable(ConversationEmbedding, not_exported=("embedding", "digest"), restored=False),
    PersonalTable(SharedContext),
    PersonalTable(ContextEntry),
    PersonalTable(Change, identity=("operation", "kind", "object_id", "action")),
)
