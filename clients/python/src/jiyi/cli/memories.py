"""``jiyi search``, ``list``, ``add`` and ``forget``."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import islice
from typing import Any

import click

from jiyi._decoding import to_readable
from jiyi.cli.output import Given, with_server
from jiyi.cli.spaces import find_id, in_space
from jiyi.errors import NotFound
from jiyi.types import AtomicMemory, Category, LongTermMemory, MemoryCopy

Memory = LongTermMemory | AtomicMemory
MAX_PAGE = 200
HEADINGS = {
    "last_active_at": "Last active",
    "created_at": "Created",
    "updated_at": "Updated",
    "title": "Title",
    "snippet": "Summary",
    "content": "Content",
    "id": "ID",
}
CATEGORIES = click.Choice(["preference", "fact", "pattern"])
STATUSES = click.Choice(["active", "pending", "rejected", "superseded", "evicted", "all"])


def get_text(memory: Memory) -> str:
    """Return what a memory says, in one text."""
    if isinstance(memory, AtomicMemory):
        return memory.content
    return f"{memory.key}: {to_readable(memory.value)}"


def get_kind(memory: Memory) -> str:
    """Return the kind of a memory as options have it."""
    return "atomic" if isinstance(memory, AtomicMemory) else "long-term"


@click.command()
@click.argument("query", nargs=-1, required=True)
@click.option("--messages", is_flag=True, help="Search in everything that was said, by meaning.")
@click.option("--limit", type=click.IntRange(1, 50), default=5, show_default=True, help="Results of each kind.")
@click.option("--space", metavar="SPACE", help="From this space, by name or ID; all: in all of them.")
@with_server
def search(given: Given, query: tuple[str, ...], messages: bool, limit: int, space: str | None) -> None:
    """Show what a message would recall, best first."""
    client, out, text = given.client, given.out, " ".join(query)
    if messages:
        _search_messages(given, text, limit=limit, space=space)
        return
    long_term = client.long_term.search(text, limit=limit, space=space)
    atomic = client.atomic.search(text, top_n=limit, space=space)
    if out.as_json:
        out.data({"long_term": long_term, "atomic": atomic})
        return
    rows = [_found(item.score, item.memory) for item in long_term]
    rows += [_found(item.score, item.memory) for item in atomic]
    if rows:
        out.table(("Score", "Kind", "Memory", "ID"), rows)
    else:
        out.message("Nothing found.")


def _search_messages(given: Given, text: str, *, limit: int, space: str | None) -> None:
    out, matches = given.out, given.client.conversations.search(text, top_k=limit, space=space)
    if out.as_json:
        out.data(matches)
    elif matches:
        rows = [(match.similarity, match.message_type, match.content, match.chat_id) for match in matches]
        out.table(("Similarity", "Role", "Message", "Session"), rows)
    else:
        out.message("Nothing found.")


def _found(score: float, memory: Memory) -> tuple[Any, ...]:
    return score, get_kind(memory), get_text(memory), memory.id


@click.command("list")
@click.argument(
    "what",
    type=click.Choice(["memories", "long-term", "atomic", "sessions", "summaries", "contexts"]),
    default="memories",
)
@click.option("--search", "text", metavar="TEXT", help="Memories that contain this text.")
@click.option("--status", type=STATUSES, help="Memories of this status; active by default.")
@click.option("--category", type=CATEGORIES, help="Long-term memories of this category.")
@click.option("--limit", type=click.IntRange(1), default=50, show_default=True, help="Rows of each kind.")
@click.option("--space", metavar="SPACE", help="Only what is in this space, by name or ID; none: what is in none.")
@with_server
def list_(
    given: Given,
    what: str,
    text: str | None,
    status: Any,
    category: Category | None,
    limit: int,
    space: str | None,
) -> None:
    """Show what is remembered, newest first.

    WHAT is memories (long-term and atomic ones; the default), long-term, atomic, sessions, summaries or contexts.
    """
    if what in ("memories", "long-term", "atomic"):
        if category is not None and what == "atomic":
            raise click.UsageError("Atomic memories have no category.")
        kinds = {what} if what != "memories" else {"long-term"} if category else {"long-term", "atomic"}
        _list_memories(given, kinds, text=text, status=status, category=category, limit=limit, space=space)
    elif text is not None or status is not None or category is not None:
        raise click.UsageError("--search, --status and --category are for memories.")
    else:
        _list_others(given, what, limit=limit, space=space)


def _list_others(given: Given, what: str, *, limit: int, space: str | None) -> None:
    client, out, page = given.client, given.out, min(limit, MAX_PAGE)
    found: Iterator[Any]
    names: tuple[str, ...]
    match what:
        case "sessions":
            found, names = client.sessions.iterate(limit=page, space=space), ("last_active_at", "title", "id")
        case "summaries":
            found, names = client.summaries.iterate(limit=page, space=space), ("created_at", "title", "snippet", "id")
        case _:
            found, names = client.contexts.iterate(limit=page, space=space), ("updated_at", "title", "content", "id")
    items = [*islice(found, limit)]
    if out.as_json:
        out.data(items)
    elif items:
        headings = [HEADINGS[name] for name in names]
        out.table(headings, [[getattr(item, name) for name in names] for item in items])
    else:
        out.message("There is nothing yet.")


def _list_memories(
    given: Given,
    kinds: set[str],
    *,
    text: str | None,
    status: Any,
    category: Category | None,
    limit: int,
    space: str | None,
) -> None:
    client, out, page = given.client, given.out, min(limit, MAX_PAGE)
    long_term: list[LongTermMemory] = []
    atomic: list[AtomicMemory] = []
    if "long-term" in kinds:
        found = client.long_term.iterate(search=text, status=status, category=category, limit=page, space=space)
        long_term = [*islice(found, limit)]
    if "atomic" in kinds:
        atomic = [*islice(client.atomic.iterate(search=text, status=status, limit=page, space=space), limit)]
    if out.as_json:
        out.data({"long_term": long_term, "atomic": atomic})
        return
    rows: list[tuple[Any, ...]] = [(it.created_at, "long-term", _with_status(it), it.id) for it in long_term]
    rows += [(it.timestamp, "atomic", _with_status(it), it.id) for it in atomic]
    if rows:
        out.table(("Date", "Kind", "Memory", "ID"), rows)
    else:
        out.message("Nothing found." if text or status or category or space else "Nothing is remembered yet.")


def _with_status(memory: Memory) -> str:
    notes: list[str] = [memory.status] if memory.status != "active" else []
    notes += ["muted"] if memory.muted else []
    return f"{get_text(memory)} ({', '.join(notes)})" if notes else get_text(memory)


@click.command()
@click.argument("values", nargs=-1, required=True, metavar="TEXT...")
@click.option("--key", metavar="KEY", help="Store a long-term memory: the value of this attribute, such as home.")
@click.option("--category", type=CATEGORIES, default="fact", show_default=True, help="With --key.")
@click.option("--tag", "tags", multiple=True, metavar="TAG", help="Tag of a memory without --key; several are fine.")
@in_space
@with_server
def add(
    given: Given,
    values: tuple[str, ...],
    key: str | None,
    category: Category,
    tags: tuple[str, ...],
    space: str | None,
) -> None:
    """Remember something.

    Without --key, TEXT is a statement such as "I am allergic to peanuts." (an atomic memory). With it, TEXT is a value;
    several are a list.
    """
    memory: Memory
    space = find_id(given.client, space)
    if key is None:
        text = sys.stdin.read() if values == ("-",) else " ".join(values)
        memory = given.client.atomic.create(content=text.strip(), tags=tags or None, space=space)
    elif tags:
        raise click.UsageError("--tag is for memories without --key.")
    else:
        value = values[0] if len(values) == 1 else list(values)
        memory = given.client.long_term.create(category=category, key=key, value=value, space=space)
    if given.out.as_json:
        given.out.data(memory)
    else:
        given.out.message(f"Remembered: {get_text(memory)}")
        given.out.text(memory.id)


@click.command()
@click.argument("ids", nargs=-1, metavar="ID...")
@click.option("--search", "text", metavar="TEXT", help="Forget the active and pending memories that contain this text.")
@click.option("--copies/--keep-copies", default=None, help="Delete other places that hold the text, too; else it asks.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@with_server
def forget(given: Given, ids: tuple[str, ...], text: str | None, copies: bool | None, yes: bool) -> None:
    """Delete memories for good, after showing them.

    They are named by their IDs, or found with --search. Deleted memories are not learned again from what was said
    before.
    """
    if bool(ids) == (text is not None and bool(text.strip())):
        raise click.UsageError("Give either IDs or --search TEXT.")
    memories = [*_find(given, ids, text)]
    if not memories:
        given.out.message("Nothing found.")
        if given.out.as_json:
            given.out.data({"deleted": 0, "copies": []})
        return
    found = [copy for memory in memories if isinstance(memory, LongTermMemory) for copy in _list_copies(given, memory)]
    if not yes:
        copies = _confirm(given, memories, found, copies)
    deleted = _delete(given, memories, copies=bool(copies))
    if given.out.as_json:
        given.out.data({"deleted": deleted, "copies": [] if copies else found})
        return
    given.out.message(f"Deleted {_count(deleted, 'memory', 'memories')}.")
    if found and not copies:
        places = _count(len(found), "other place", "other places")
        given.out.message(f"The text is also found in {places}. --copies deletes them, too.")


@click.command()
@click.argument("ids", nargs=-1, required=True, metavar="ID...")
@click.option("--off", is_flag=True, help="Recall them again.")
@with_server
def mute(given: Given, ids: tuple[str, ...], off: bool) -> None:
    """Keep memories without recalling them, or recall them again with --off."""
    client, changed = given.client, list[Memory]()
    for memory in _find(given, ids, None):
        resource = client.long_term if isinstance(memory, LongTermMemory) else client.atomic
        changed.append(resource.update(memory.id, muted=not off))
    if given.out.as_json:
        given.out.data(changed)
        return
    done = "Unmuted" if off else "Muted"
    given.out.message(f"{done} {_count(len(changed), 'memory', 'memories')}.")


def _find(given: Given, ids: tuple[str, ...], text: str | None) -> Iterator[Memory]:
    client = given.client
    for memory_id in dict.fromkeys(ids):
        try:
            yield client.long_term.get(memory_id)
        except NotFound:
            yield client.atomic.get(memory_id)
    if text is not None:
        yield from client.long_term.iterate(search=text, status=["active", "pending"], limit=MAX_PAGE)
        yield from client.atomic.iterate(search=text, status=["active", "pending"], limit=MAX_PAGE)


def _list_copies(given: Given, memory: LongTermMemory) -> list[MemoryCopy]:
    return given.client.long_term.copies(memory.id)


def _confirm(given: Given, memories: list[Memory], found: list[MemoryCopy], copies: bool | None) -> bool:
    """Show what would go and ask; returns whether copies go, too."""
    out = given.out
    out.note_table(("Kind", "Memory", "ID"), [(get_kind(it), _with_status(it), it.id) for it in memories])
    if not sys.stdin.isatty():
        raise click.UsageError("Nobody is there to confirm. Add --yes.")
    click.confirm(f"Delete {_count(len(memories), 'memory', 'memories')} for good?", abort=True, err=True)
    if not found or copies is not None:
        return bool(copies)
    out.note_table(("Also in", "Text"), [(copy.kind, copy.text) for copy in found])
    return click.confirm(f"Delete {_count(len(found), 'copy', 'copies')}, too?", err=True)


def _delete(given: Given, memories: list[Memory], *, copies: bool) -> int:
    client, deleted = given.client, 0
    long_term = [memory.id for memory in memories if isinstance(memory, LongTermMemory)]
    if long_term:
        deleted += client.long_term.batch_delete(long_term, copies=copies).deleted
    for memory in memories:
        if isinstance(memory, AtomicMemory):
            try:
                deleted += client.atomic.delete(memory.id)
            except NotFound:  # it was a copy of one of the others
                deleted += 1
    return deleted


def _count(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"
