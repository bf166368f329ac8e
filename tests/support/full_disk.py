"""A database whose disk is full, as far as one can tell from outside."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection


@contextmanager
def full_disk(table: str, *, when: str = "true") -> Iterator[None]:
    """For the time of the block PostgreSQL refuses what is written to a table, with the SQLSTATE of a full disk."""
    with connection.cursor() as cursor:
        cursor.execute(
            "CREATE FUNCTION refuse_for_space() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
            " RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = '53100'; END $$"
        )
        cursor.execute(
            f"CREATE TRIGGER refuse_for_space BEFORE INSERT OR UPDATE ON {table}"
            f" FOR EACH ROW WHEN ({when}) EXECUTE FUNCTION refuse_for_space()"
        )
    try:
        yield
    finally:
        with connection.cursor() as cursor:
            cursor.execute("DROP FUNCTION refuse_for_space CASCADE")
