"""One writer at a time for what is remembered of a person."""

from __future__ import annotations

from collections.abc import Collection

from apps.accounts.models import User
from apps.core.db import fetch_prepared

# Both in this order, person by person. The first is shared by all writers, and whom an erasure waits for (R3).
_LOCK = """
SELECT pg_advisory_xact_lock_shared(hashtextextended('personal_data:' || id, 0)),
       pg_advisory_xact_lock(hashtextextended('long_term_memory:' || id, 0))
FROM (SELECT id FROM unnest(%(users)s::bigint[]) AS users (id) ORDER BY id) AS owner
"""


def lock_memories(user: User) -> None:
    """Make other writers of this person's long-term and atomic memories wait until the transaction ends.

    A unique index alone would keep one active row per key, but not the items that two writers add to one list, nor a
    deletion from being undone by work that read before it. Not the user's row: turns hold that one shared (R3), and
    two of them waiting to make it exclusive would block each other for good. An erasure keeps writers out, too: they
    queue, so that however many there are, its turn comes.
    """
    lock_all_memories([user.pk])


def lock_all_memories(users: Collection[int]) -> None:
    """Do that for several people, given by ID, always in the same order."""
    fetch_prepared(_LOCK, {"users": list(users)})


def lock_name(user: User) -> str:
    """Return the name of that lock."""
    return f"long_term_memory:{user.pk}"
