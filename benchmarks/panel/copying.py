"""Very many rows at once: copied into their tables, which takes a fraction of the time of storing them one by one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.contrib.postgres.search import SearchVectorField
from django.db import connection
from django.db.models import AutoField, Model

from apps.memory.embeddings.indexing import index_large_collections


def copy_rows(rows: Iterable[Model]) -> None:
    """Store new rows of one table. Their keys must be known before, where others are to refer to them."""
    rows = iter(rows)
    first = next(rows, None)
    if first is None:
        return
    fields = [field for field in first._meta.concrete_fields if not isinstance(field, AutoField)]
    columns = ", ".join(f'"{field.column}"' for field in fields)
    statement = f'COPY "{first._meta.db_table}" ({columns}) FROM STDIN'
    with connection.cursor() as cursor, cursor.copy(statement) as copy:
        for row in (first, *rows):
            copy.write_row([_prepare(field, getattr(row, field.attname)) for field in fields])


def _prepare(field: Any, value: Any) -> Any:
    if isinstance(field, SearchVectorField):  # an expression that makes it of a list of terms
        (terms,) = value.get_source_expressions()
        return " ".join("'{}'".format(term.replace("\\", "\\\\").replace("'", "''")) for term in terms.value)
    return field.get_db_prep_save(value, connection)


def drop_vector_indexes() -> list[str]:
    """Drop the indexes of vectors, which grow slowly row by row; returns the statements that build them."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = current_schema() AND indexdef LIKE %s",
            ["% USING hnsw %"],
        )
        found = cursor.fetchall()
        for name, _definition in found:
            cursor.execute(f'DROP INDEX "{name}"')
    return [definition for _name, definition in found]


def build_indexes(definitions: Iterable[str]) -> None:
    """Build dropped indexes, with room for all of one in memory; whoever has many vectors by then is in them."""
    index_large_collections()  # as workers would
    with connection.cursor() as cursor:
        cursor.execute("SET maintenance_work_mem = '1GB'")
        for definition in definitions:
            cursor.execute(definition)
        cursor.execute("RESET maintenance_work_mem")
