"""Undoing an operation as if it had never been: what it made is gone, and may be learned again."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from uuid import UUID

from django.db import transaction

from apps.accounts.models import User
from apps.core.errors import Conflict, NotFound
from apps.core.text.sentences import split_sentences
from apps.memory.atomic.services import forget_atomic_memories
from apps.memory.do_not_relearn import allow_again, find_forgotten
from apps.memory.history.undo import undo_operation
from apps.memory.judging.exact import digest_content
from apps.memory.locking import lock_memories
from apps.memory.long_term.deletion import forget_memories
from apps.memory.long_term.learnable import digest_key, digest_values
from apps.memory.models import AtomicMemory, Change, LongTermMemory


@transaction.atomic
def withdraw_operation(*, user: User, operation: UUID, now: datetime) -> bool:
    """Undo an operation and delete the memories that it made; False, with nothing changed, where that cannot be.

    An ordinary undo rejects what was made, and a deletion is remembered: neither lets the same be learned again. Here
    the owner takes back what led to the memories, such as an import, and may bring it again.
    """
    lock_memories(user)
    made = list(
        Change.objects.filter(user=user, operation=operation, before__isnull=True, after__isnull=False).values_list(
            "kind", "object_id"
        )
    )
    try:
        undo_operation(user=user, operation=operation, now=now)
    except (Conflict, NotFound):
        return False
    atomic = [object_id for kind, object_id in made if kind == Change.Kind.ATOMIC]
    long_term = [object_id for kind, object_id in made if kind == Change.Kind.LONG_TERM]
    digests = {*_digest_atomic(user, atomic), *_digest_long_term(user, long_term)}
    before = find_forgotten(user, digests)
    forget_atomic_memories(user=user, ids=atomic, now=now)
    forget_memories(user=user, ids=long_term, now=now)
    allow_again(user=user, digests=digests - before.keys())
    return True


def _digest_atomic(user: User, ids: list[UUID]) -> Iterator[str]:
    for content in AtomicMemory.objects.filter(user=user, id__in=ids).values_list("content", flat=True):
        for part in (content, *split_sentences(content)):
            if part.strip():
                yield digest_content(user, part.strip())


def _digest_long_term(user: User, ids: list[UUID]) -> Iterator[str]:
    rows = LongTermMemory.objects.filter(user=user, id__in=ids).values_list("normalized_key", "value")
    for normalized_key, value in rows:
        yield digest_key(user, normalized_key)
        yield from digest_values(user, value)
