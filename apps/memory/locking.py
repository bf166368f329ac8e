"""One writer at a time for what is remembered of a person."""

from __future__ import annotations

from collections.abc import Collection

from django.db import connection

from apps.accounts.models import User

# In this order: a subquery that locks rows has returned before what is selected from it is computed.
_LOCK = """
SELECT pg_advisory_xact_lock(hashtextextended('long_term_memory:' || id, 0))
FROM (SELECT id FROM accounts_user WHERE id = ANY (%s) ORDER BY id FOR KEY SHARE) AS owner
"""


def lock_memories(user: User) -> None:
    """Make other writers of this person's long-term and atomic memories wait until the transaction ends.

    A unique index alone would keep one active row per key, but not the items that two writers add to one list, nor a
    deletion from being undone by work that read before it. The user's row is locked before, but shared: writers wait
    there for an erasure (R3) before they hold anything it needs, and turns, which hold it too, do not wait for others.
    """
    lock_all_memories([user.pk])


def lock_all_memories(users: Collection[int]) -> None:
    """Do that for several people, given by ID, always in the same order."""
    with connection.cursor() as cursor:
        cursor.execute(_LOCK, [list(users)])


def lock_name(user: User) -> str:
    """Return the name of that lock."""
    return f"long_term_memory:{user.pk}"
