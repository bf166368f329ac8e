"""The tables of a person's data in this app (R2, R3). Vectors are not exported: they mean nothing to anybody else."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from functools import partial
from typing import Any

from apps.accounts.models import User
from apps.accounts.services.personal_data import LeftOut, PersonalTable, Restoration, register_tables
from apps.memory.judge.types import PendingVerdict
from apps.memory.kinds import ATOMIC, KINDS, MemoryKind
from apps.memory.models import (
    AtomicEmbedding,
    Change,
    ContextEntry,
    ConversationEmbedding,
    ForgottenKey,
    LongTermEmbedding,
    SharedContext,
    WorkingMemory,
    WorkingMemoryRevision,
)
from apps.memory.vectors.memories import ask_for_vectors


def _prepare(kind: MemoryKind, memory: Any, _restoration: Restoration) -> None:
    kind.clean({name: getattr(memory, name) for name in kind.editable})
    if kind is ATOMIC:
        PendingVerdict.from_json(memory.proposal)
    kind.derive(memory)
    memory.embedding_refusals = None


def _prepare_forgotten(_forgotten: ForgottenKey, restoration: Restoration) -> None:
    """A digest is made with the installation's key, for this account: elsewhere nothing would ever match it."""
    if not restoration.digests_hold:
        raise LeftOut


def _embed_memories(_user: User, _keys: Collection[Any], _now: datetime) -> None:
    ask_for_vectors()


register_tables(
    *(
        PersonalTable(
            kind.model,
            not_exported=(*kind.derived, "embedding_refusals"),
            prepare=partial(_prepare, kind),
            finish=_embed_memories,
        )
        for kind in KINDS
    ),
    PersonalTable(LongTermEmbedding, not_exported=("embedding",), restored=False),
    PersonalTable(ForgottenKey, prepare=_prepare_forgotten, identity=("digest",)),
    PersonalTable(AtomicEmbedding, not_exported=("embedding",), restored=False),
    PersonalTable(WorkingMemory, identity=("session_id",)),
    PersonalTable(WorkingMemoryRevision, identity=("session_id", "started_at", "revision")),
    PersonalTable(ConversationEmbedding, not_exported=("embedding", "digest"), restored=False),
    PersonalTable(SharedContext),
    PersonalTable(ContextEntry),
    PersonalTable(Change, identity=("operation", "kind", "object_id", "action")),
)
