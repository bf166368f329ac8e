"""``jiyi import``."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from time import sleep
from typing import Any, BinaryIO, get_args

import click

from jiyi.cli.output import Given, with_server
from jiyi.errors import ImportRefused, JiyiError
from jiyi.types import Amounts, ImportFormat, ImportItem, PastImport, Preview

FORMATS = click.Choice(get_args(ImportFormat))
ENDED = frozenset({"done", "cancelled", "failed", "undone"})
# Between two looks at an import, in seconds; each pause is longer than the one before.
FIRST_PAUSE, LONGEST_PAUSE = 0.2, 3.0
SHOWN = 20


class ImportFailed(JiyiError):
    """An import ended before its file did."""


@click.command("import")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, allow_dash=True, path_type=str), required=False)
@click.option("--format", "form", type=FORMATS, help="Instead of finding the format by the content.")
@click.option("--space", help="ID or name of the space that all of it goes to.")
@click.option("--dry-run", is_flag=True, help="Show what the file holds; import nothing.")
@click.option("--long-term", is_flag=True, help="FILE is from `jiyi export --long-term`: all of it, or nothing.")
@click.option("--no-wait", is_flag=True, help="Return as soon as the file is sent.")
@click.option("--follow", "followed", metavar="ID", help="Wait for an import that was started before.")
@click.option("--undo", "undone", metavar="ID", help="Remove what an import created.")
@with_server
def import_(
    given: Given,
    file: str | None,
    form: ImportFormat | None,
    space: str | None,
    dry_run: bool,
    long_term: bool,
    no_wait: bool,
    followed: str | None,
    undone: str | None,
) -> None:
    """Import conversations and memories from a FILE; - is stdin.

    It is an export of ChatGPT or Claude (the .zip, or the conversations.json in it), of mem0, Letta or Zep, JSON lines,
    or an export of everything from Jiyi. Conversations become sessions, and what they say is remembered in the
    background. Importing a file again imports only what is new. The server works on when you interrupt this.
    """
    if sum((file is not None, followed is not None, undone is not None)) != 1:
        raise click.UsageError("Give a FILE, --follow or --undo.")
    if file is None:
        if form is not None or space is not None or dry_run or long_term:
            raise click.UsageError("--format, --space, --dry-run and --long-term are for a FILE.")
        found = given.client.imports.undo(undone) if undone else given.client.imports.get(str(followed))
        _finish(given, found, wait=not no_wait)
        return
    if long_term and (form is not None or space is not None or dry_run or no_wait):
        raise click.UsageError("--long-term goes with no other option.")
    with _open(file) as data:
        if long_term:
            _import_long_term(given, data)
            return
        imports, name = given.client.imports, "stdin" if file == "-" else Path(file).name
        if dry_run:
            with given.out.waiting("Reading…"):
                preview = imports.preview(data, name=name, format=form, space=space)
            _show_preview(given, preview)
            return
        with given.out.waiting("Sending…"):
            started = imports.create(data, name=name, format=form, space=space)
    _finish(given, started, wait=not no_wait)


def _open(file: str) -> BinaryIO:
    """Return the open file. What comes through a pipe is read first: sending it may need a second beginning."""
    if file == "-":
        return io.BytesIO(sys.stdin.buffer.read())
    return open(file, "rb")


# Following


def _finish(given: Given, found: PastImport, *, wait: bool) -> None:
    out = given.out
    if wait:
        try:
            found = _follow(given, found)
        except KeyboardInterrupt:
            out.message(f"The server continues. Look again with: jiyi import --follow {found.id}")
            raise
    if out.as_json:
        out.data(found)
    elif wait:
        _show_report(given, found)
    else:
        out.message(f"Started. Look again with: jiyi import --follow {found.id}")
        out.text(found.id)
    if found.state == "failed":
        raise ImportFailed(found.problem or "The import failed.")


def _follow(given: Given, found: PastImport) -> PastImport:
    """Return the import once it has ended."""
    with given.out.progress("Undoing" if found.state == "undoing" else "Importing") as show:
        for pause in _pauses():
            show(found.done, found.total)
            if found.state in ENDED:
                return found
            sleep(pause)
            found = given.client.imports.get(found.id)
    raise AssertionError("the pauses do not end")


def _pauses() -> Iterator[float]:
    pause = FIRST_PAUSE
    while True:
        yield pause
        pause = min(pause * 1.5, LONGEST_PAUSE)


# Showing


def _show_report(given: Given, found: PastImport) -> None:
    out, report = given.out, found.report
    if found.state == "undone" and report.undone is not None:
        out.message(f"Undone: {report.undone.sessions} sessions and {report.undone.operations} changes are removed.")
        if report.undone.kept:
            out.message(f"{report.undone.kept} changes stay, as something was changed since.")
        return
    if report.tables:
        restored = sum(table.restored for table in report.tables.values())
        out.message(f"Restored {restored} rows, left out {sum(it.left_out for it in report.tables.values())}.")
    elif report.imported is not None:
        out.message(f"Imported {_count(report.imported)}.")
    for reason, number in (report.skipped or {}).items():
        out.message(f"Skipped ({reason.replace('_', ' ')}): {number}")
    if report.failed:
        items = given.client.imports.iterate_items(found.id, state="failed", limit=SHOWN)
        _show_items(given, [*islice(items, SHOWN)], failed=report.failed)
    if found.problem:
        out.message(found.problem)
    if found.can_undo:
        out.message(f"Undo it with: jiyi import --undo {found.id}")


def _show_items(given: Given, items: list[ImportItem], *, failed: int) -> None:
    title = f"Not valid: {failed}" if failed <= SHOWN else f"Not valid: {failed}, of which the first {SHOWN}"
    given.out.note_table(("Item", "What", "Why"), [(it.number, it.label, it.detail) for it in items], title=title)


def _show_preview(given: Given, preview: Preview) -> None:
    out = given.out
    if out.as_json:
        out.data(preview)
        return
    rows: list[tuple[str, Any]] = [("Format", preview.format)]
    rows += [*preview.rows.items()] or [
        ("Conversations", preview.found.conversations),
        ("Messages", preview.found.messages),
        ("Memories", preview.found.memories),
        ("Memories that ended", preview.ended),
        ("Conversations for reading only", preview.unlearned),
        ("Proposals for the profile", preview.proposals),
    ]
    rows += [("From", preview.first), ("To", preview.last)]
    rows += [(f"Left out ({reason.replace('_', ' ')})", number) for reason, number in preview.left_out.items()]
    out.table(("What", "In the file"), [row for row in rows if row[1] not in (None, 0)])
    for sample in preview.conversations:
        out.message(f"Conversation: {sample.title or sample.said} ({sample.messages} messages)")
    for memory in preview.memories:
        out.message(f"Memory: {memory}")
    if preview.problem:
        out.message(f"Not all of it: {preview.problem}")


def _count(amounts: Amounts) -> str:
    conversations = f"{amounts.conversations} conversation{'' if amounts.conversations == 1 else 's'}"
    messages = f"{amounts.messages} message{'' if amounts.messages == 1 else 's'}"
    return f"{conversations} ({messages}) and {amounts.memories} memor{'y' if amounts.memories == 1 else 'ies'}"


# Long-term memories


def _import_long_term(given: Given, data: BinaryIO) -> None:
    try:
        with given.out.waiting("Importing…"):
            done = given.client.long_term.import_file(data)
    except ImportRefused as error:
        _show_bad_rows(given, error)
        raise
    if given.out.as_json:
        given.out.data(done)
    else:
        given.out.message(f"Created {done.created}, updated {done.updated}, unchanged {done.skipped}.")


def _show_bad_rows(given: Given, error: ImportRefused) -> None:
    rows = [
        (row.get("row"), field, " ".join(map(str, reasons)))
        for row in error.fields.get("errors", [])
        for field, reasons in row.get("reasons", {}).items()
    ]
    if rows:
        given.out.note_table(("Row", "Field", "Reason"), rows)
