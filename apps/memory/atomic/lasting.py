"""What of an ended memory still holds, kept as a memory of its own: who sold the cello still lives in Leeds."""

from __future__ import annotations

from collections.abc import Sequence

from apps.accounts.models import User
from apps.memory.atomic.compare import Relation, compare
from apps.memory.atomic.facts import join_facts
from apps.memory.atomic.relating import KnownMemories
from apps.memory.atomic.sifting import find_deleted
from apps.memory.models import AtomicMemory


def join_lasting(user: User, row: AtomicMemory, *, left: Sequence[str], known: KnownMemories) -> str:
    """Return as one text which of the facts that are left of an ended memory may be kept; "" for none.

    Not what its owner wrote by hand; nor what has been deleted since (L6), is known besides, or has ended, too.
    """
    if row.message_id is None or not left:
        return ""
    deleted = find_deleted(user, [(fact, row.timestamp) for fact in left])
    kept: list[str] = []
    for fact in left:
        if (
            (fact, row.timestamp) not in deleted
            and not any(compare(other, fact) is Relation.SAME for other in kept)
            and known.holds(fact, of=row)
        ):
            kept.append(fact)
    return join_facts(kept, like=row.content)
