"""A person's rows, carried from one server to another byte by byte, compared there, and deleted here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from django.db.models import AutoField, ForeignKey
from psycopg import sql

from apps.accounts.models import User
from apps.accounts.services.personal_data import PersonalTable, list_tables
from apps.memory.models import EmbeddingModel
from apps.shards.servers import Server


class Differs(Exception):
    """What arrived is not what was sent. Nothing has been moved."""


@dataclass(frozen=True, slots=True)
class Table:
    """How rows of a table are carried. `columns` are taken as they are, `models` name an `embedding_model`, `people`
    somebody who acted; a key that the database gives is given anew.
    """

    name: str
    key: str
    columns: tuple[str, ...]
    models: tuple[str, ...]
    people: tuple[str, ...]


@lru_cache(maxsize=1)
def read_tables() -> tuple[Table, ...]:
    """Every table of personal data that is on the person's server, each before those that its rows refer to."""
    return tuple(_read_table(table) for table in list_tables() if not table.with_account)


def _read_table(table: PersonalTable) -> Table:
    fields: list[Any] = list(table.model._meta.concrete_fields)
    given = {field.column for field in fields if isinstance(field, AutoField)}
    models = tuple(field.column for field in fields if _refers_to(field, EmbeddingModel))
    people = tuple(field.column for field in fields if _refers_to(field, User) and field.name != table.owner)
    columns = tuple(field.column for field in fields if field.column not in {*given, *models})
    return Table(table.name, str(table.model._meta.pk.column), columns, models, people)


def _refers_to(field: Any, model: type[Any]) -> bool:
    return isinstance(field, ForeignKey) and issubclass(field.related_model, model)


def list_actors(server: Server, user_id: int) -> set[int]:
    """The IDs of accounts that a person's rows name besides the person."""
    found: set[int] = set()
    for table in read_tables():
        for column in table.people:
            statement = sql.SQL("SELECT DISTINCT {column} FROM {table} WHERE user_id = %s AND {column} IS NOT NULL")
            rows = server.fetch(
                statement.format(column=sql.Identifier(column), table=sql.Identifier(table.name)), [user_id]
            )
            found |= {row[0] for row in rows}
    return found - {user_id}


def carry(table: Table, user_id: int, *, source: Server, target: Server, models: Mapping[int, int]) -> int:
    """Copy a person's rows of a table; returns how many. `models`: IDs of embedding models there by those here; vectors
    of others are left behind.
    """
    read = sql.SQL("COPY (SELECT {columns} FROM {table} WHERE {rows} ORDER BY {key}) TO STDOUT (FORMAT BINARY)").format(
        columns=sql.SQL(", ").join(_select(table, models)),
        table=sql.Identifier(table.name),
        rows=_rows(table, user_id, models),
        key=sql.Identifier(table.key),
    )
    write = sql.SQL("COPY {table} ({columns}) FROM STDIN (FORMAT BINARY)").format(
        table=sql.Identifier(table.name),
        columns=sql.SQL(", ").join(map(sql.Identifier, [*table.columns, *table.models])),
    )
    with (
        source.connection.cursor() as reading,
        target.connection.cursor() as writing,
        reading.copy(read) as data,
        writing.copy(write) as into,
    ):
        for block in data:
            into.write(block)
    sent = _summarise(table, user_id, source, models)
    arrived = _summarise(table, user_id, target, {there: there for there in models.values()})
    if sent != arrived:
        raise Differs(f"{table.name}: {sent[0]} rows were sent and {arrived[0]} are there, or they are not the same.")
    return sent[0]


def delete(table: Table, user_id: int, *, source: Server) -> None:
    """Delete a person's rows of a table."""
    source.execute(sql.SQL("DELETE FROM {} WHERE user_id = %s").format(sql.Identifier(table.name)), [user_id])


def count(server: Server, user_id: int) -> dict[str, int]:
    """How many rows a server holds of a person, by table, in one statement; only tables that have any."""
    counts = sql.SQL(" UNION ALL ").join(
        sql.SQL("SELECT {name}, count(*) FROM {table} WHERE user_id = {user}").format(
            name=sql.Literal(table.name), table=sql.Identifier(table.name), user=sql.Literal(user_id)
        )
        for table in read_tables()
    )
    return {name: number for name, number in server.fetch(counts) if number}


def _select(table: Table, models: Mapping[int, int]) -> Sequence[sql.Composable]:
    chosen: list[sql.Composable] = [sql.Identifier(column) for column in table.columns]
    for column in table.models:
        # Without a case for each of them there is no row either.
        cases = sql.SQL(" ").join(
            sql.SQL("WHEN {} = {} THEN {}").format(sql.Identifier(column), sql.Literal(here), sql.Literal(there))
            for here, there in models.items()
        )
        chosen.append(sql.SQL("(CASE {} ELSE NULL END)::bigint").format(cases) if models else sql.SQL("NULL::bigint"))
    return chosen


def _rows(table: Table, user_id: int, models: Mapping[int, int]) -> sql.Composable:
    condition: sql.Composable = sql.SQL("user_id = {}").format(sql.Literal(user_id))
    for column in table.models:
        known = sql.SQL("{} = ANY({}::bigint[])").format(sql.Identifier(column), sql.Literal(list(models)))
        condition = sql.SQL("{} AND {}").format(condition, known)
    return condition


def _summarise(table: Table, user_id: int, server: Server, models: Mapping[int, int]) -> tuple[int, Any]:
    """The number of rows, and a sum over what is in them: the same for the same rows in whatever order."""
    statement = sql.SQL(
        "SELECT count(*), coalesce(sum(hashtextextended(ROW({columns})::text, 0)::numeric), 0)"
        " FROM {table} WHERE {rows}"
    ).format(
        columns=sql.SQL(", ").join(map(sql.Identifier, table.columns)),
        table=sql.Identifier(table.name),
        rows=_rows(table, user_id, models),
    )
    (row,) = server.fetch(statement)
    return row[0], row[1]
