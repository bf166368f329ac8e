"""One writer at a time for what is remembered of a person."""

from __future__ import annotations

from django.db import connection

from apps.accounts.models import User


def lock_memories(user: User) -> None:
    """Make other writers of this person's long-term and atomic memories wait until the transaction ends.

    A unique index alone would keep one active row per key, but not the items that two writers add to one list, nor a
    deletion from being undone by work that read before it. Not the user's row: turns hold that one shared (R3), and
    two of them waiting to make it exclusive would block each other for good.
    """
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", [lock_name(user)])


def lock_name(user: User) -> str:
    """Return the name of that lock."""
    return f"long_term_memory:{user.pk}"
