"""Which table would be spread over servers by user, and what its keys need for that: the map to Citus in docs/scale.md.

    python -m benchmarks.citus_map            # print the table
    python -m benchmarks.citus_map --write    # write it into docs/scale.md
    python -m benchmarks.citus_map --sql      # what turns the keys of a database into those of the map

Citus spreads the rows of a table by one column, and keeps rows of the same value on one server. It wants that column,
never null, in the primary key, in every unique constraint, and in foreign keys between such tables. All of this is read
from the models.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from apps.core.same_owner import SameOwner

COLUMN = "user_id"
DOCUMENT = Path(__file__).parents[1] / "docs" / "scale.md"
BEGIN, END = "<!-- citus_map: begin -->", "<!-- citus_map: end -->"

_FIND_THE_PERSON = frozenset({"accounts_user", "accounts_apitoken", "accounts_loginsession"})
"""Tables of ours that are read to find out who asks, so before it is known which server has them."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a table would be, and which of its keys lack the column. `foreign`: those to tables that are spread; none
    of them should (`apps/core/same_owner.py`)."""

    table: str
    kind: str
    primary_key: str
    unique: tuple[str, ...] = ()
    foreign: tuple[str, ...] = ()
    nullable: bool = False
    """Whether there are rows that are nobody's."""


def make_map() -> list[Place]:
    """Return the place of every table, those that are spread first."""
    from django.apps import apps

    models = [model for model in apps.get_models(include_auto_created=True) if _has_table(model)]
    kinds = {model._meta.db_table: _choose_kind(model) for model in models}
    places = [_place(model, kinds) for model in models]
    order = {"spread": 0, "directory": 1, "reference": 2}
    return sorted(places, key=lambda place: (order[place.kind], place.table))


def _has_table(model: Any) -> bool:
    return bool(model._meta.managed and not model._meta.proxy and not model._meta.swapped)


def _choose_kind(model: Any) -> str:
    """``spread`` by user; ``directory``: reads who somebody is; ``reference``: the same for all, on every server."""
    table, ours = model._meta.db_table, model.__module__.startswith("apps.")
    has_user = any(field.column == COLUMN for field in model._meta.local_fields)
    if not ours or table in _FIND_THE_PERSON or model._meta.auto_created:
        return "directory"
    return "spread" if has_user else "reference"


def _place(model: Any, kinds: dict[str, str]) -> Place:
    meta = model._meta
    kind = kinds[meta.db_table]
    if kind != "spread":
        return Place(meta.db_table, kind, meta.pk.column)
    columns = {field.name: field.column for field in meta.local_fields}
    tied = {constraint.field for constraint in meta.constraints if isinstance(constraint, SameOwner)}
    foreign = [
        field.column
        for field in meta.local_fields
        if field.is_relation and kinds.get(field.related_model._meta.db_table) == "spread" and field.name not in tied
    ]
    nullable = any(field.column == COLUMN and field.null for field in meta.local_fields)
    return Place(
        meta.db_table, kind, meta.pk.column, tuple(sorted(_list_unique(meta, columns))), tuple(foreign), nullable
    )


def _list_unique(meta: Any, columns: dict[str, str]) -> Iterator[str]:
    """Unique constraints without the column; a primary key that is one by itself is not repeated."""
    for field in meta.local_fields:
        if field.unique and not field.primary_key and field.column != COLUMN:
            yield field.column
    named = [tuple(constraint.fields) for constraint in meta.constraints if hasattr(constraint, "fields")]
    for fields in (*meta.unique_together, *named):
        if columns and COLUMN not in (found := [columns[name] for name in fields]):
            yield ", ".join(found)


def render(places: Iterable[Place]) -> str:
    """Return the map as Markdown."""
    lines = [
        "| table | place | primary key | unique without `user_id` |",
        "|---|---|---|---|",
    ]
    for place in places:
        key = f"`{place.primary_key}`" if place.kind != "spread" else f"`user_id`, `{place.primary_key}`"
        unique = " · ".join(f"`{one}`" for one in place.unique)
        kind = f"{place.kind}; `user_id` may be null" if place.nullable else place.kind
        lines.append(f"| `{place.table}` | {kind} | {key} | {unique} |")
    return "\n".join(lines)


_UNIQUE_INDEXES = """
SELECT indexed.relname, index.relname, pg_get_indexdef(index.oid), own.contype
FROM pg_index JOIN pg_class AS index ON index.oid = indexrelid JOIN pg_class AS indexed ON indexed.oid = indrelid
LEFT JOIN pg_constraint AS own ON own.conindid = indexrelid AND own.contype IN ('p', 'u')
WHERE indisunique AND indexed.relname = ANY(%(tables)s) AND indexed.relnamespace = current_schema()::regnamespace
    AND NOT EXISTS (
        SELECT FROM pg_attribute WHERE attrelid = indrelid AND attname = %(column)s AND attnum = ANY(indkey)
    )
ORDER BY 1, 2
"""

_KEYS_TO_THE_DIRECTORY = """
SELECT conrelid::regclass::text, conname FROM pg_constraint
WHERE contype = 'f' AND conrelid = ANY(%(tables)s::regclass[]) AND confrelid = ANY(%(directory)s::regclass[])
ORDER BY 1, 2
"""


def list_statements(places: Iterable[Place]) -> list[str]:
    """Return the SQL that gives the tables of this database the keys of the map, in the order to run it.

    Every primary key and unique index of a table that is spread gets the column in front, with its conditions kept.
    Foreign keys to accounts go; those between such tables hold as they are, as they have the column already. A table
    with rows that are nobody's has to be split first and is left out.
    """
    from django.db import connection

    spread = [place.table for place in places if place.kind == "spread" and not place.nullable]
    directory = [place.table for place in places if place.kind == "directory"]
    with connection.cursor() as cursor:
        cursor.execute(_KEYS_TO_THE_DIRECTORY, {"tables": spread, "directory": directory})
        statements = [f'ALTER TABLE "{table}" DROP CONSTRAINT "{name}"' for table, name in cursor.fetchall()]
        cursor.execute(_UNIQUE_INDEXES, {"tables": spread, "column": COLUMN})
        for table, name, definition, constraint in cursor.fetchall():
            kept = f'ALTER TABLE "{table}" DROP CONSTRAINT "{name}"' if constraint else f'DROP INDEX "{name}"'
            statements += [kept, lead_by_user(definition)]
            if constraint == "p":
                statements.append(f'ALTER TABLE "{table}" ADD PRIMARY KEY USING INDEX "{name}"')
    return statements


def lead_by_user(definition: str) -> str:
    """Return the definition of an index (`pg_get_indexdef`) with the column in front of the others."""
    return definition.replace("(", f"({COLUMN}, ", 1)


def read_document() -> str:
    """Return the map that docs/scale.md has."""
    return DOCUMENT.read_text(encoding="utf-8").partition(BEGIN)[2].partition(END)[0].strip()


def write_document(rendered: str) -> None:
    """Write the map into docs/scale.md, between its two marks."""
    before, _, rest = DOCUMENT.read_text(encoding="utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    DOCUMENT.write_text(f"{before}{BEGIN}\n{rendered}\n{END}{after}", encoding="utf-8")


def main() -> None:
    """Print the map, or write it into the document."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="write it into docs/scale.md")
    parser.add_argument("--sql", action="store_true", help="print the SQL for the database that is configured")
    options = parser.parse_args()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "project.settings")
    import django

    django.setup()
    places = make_map()
    if options.sql:
        print(*(f"{statement};" for statement in list_statements(places)), sep="\n")
        return
    rendered = render(places)
    if options.write:
        write_document(rendered)
    else:
        Console(width=200).print(rendered, markup=False)


if __name__ == "__main__":
    main()
