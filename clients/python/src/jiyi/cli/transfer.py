"""``jiyi export`` and ``stats``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from jiyi._decoding import to_json
from jiyi.cli.output import Given, with_server
from jiyi.configuration import write_private
from jiyi.types import Category

CATEGORIES: tuple[Category, ...] = ("preference", "fact", "pattern")


@click.command()
@click.argument("file", type=click.Path(dir_okay=False, allow_dash=True, path_type=str), default="-")
@click.option("--long-term", is_flag=True, help="Only long-term memories, for `jiyi import --long-term`.")
@with_server
def export(given: Given, file: str, long_term: bool) -> None:
    """Write everything that is remembered as JSON to FILE, readable by you alone, or to stdout.

    `jiyi import` restores it, in an empty account.
    """
    with given.out.waiting("Exporting…"):
        data: Any = given.client.long_term.export() if long_term else given.client.account.export()
    if file == "-":
        given.out.data(data)
        return
    write_private(Path(file), json.dumps(to_json(data), ensure_ascii=False, indent=2) + "\n")
    tables: dict[str, Any] = {} if long_term else data.get("data", {})
    rows = len(data) if long_term else sum(len(table) for table in tables.values())
    if given.out.as_json:
        given.out.data({"file": file, "rows": rows})
    else:
        given.out.message(f"Exported {rows} rows to {file}.")


@click.command()
@with_server
def stats(given: Given) -> None:
    """Show how much is remembered."""
    with given.out.waiting("Counting…"):
        numbers = _count(given)
    if given.out.as_json:
        given.out.data(numbers)
        return
    rows: list[tuple[str, int]] = []
    for name, number in numbers.items():
        parts = number if isinstance(number, dict) else {"": number}
        rows += [(f"{name} {part}".replace("_", " ").strip(), count) for part, count in parts.items()]
    given.out.table(("What", "Number"), rows)


def _count(given: Given) -> dict[str, Any]:
    """Return numbers by kind; of memories by status and, for active long-term ones, by category."""
    client = given.client
    long_term, atomic = client.long_term, client.atomic
    return {
        "sessions": client.sessions.list(limit=1).count,
        "long_term": {
            "active": long_term.list(limit=1).count,
            **{kind: long_term.list(category=kind, limit=1).count for kind in CATEGORIES},
            "muted": long_term.list(muted=True, limit=1).count,
            "pending": long_term.list(status="pending", limit=1).count,
        },
        "atomic": {
            "active": atomic.list(limit=1).count,
            "muted": atomic.list(muted=True, limit=1).count,
            "pending": atomic.list(status="pending", limit=1).count,
        },
        "summaries": client.summaries.list(limit=1).count,
        "contexts": client.contexts.list(limit=1).count,
        "proposals": len(client.profile.get().proposals),
    }
