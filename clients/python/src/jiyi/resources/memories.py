"""Memories of every kind, their history, and shared contexts (``/memory``)."""

from __future__ import annotations

import builtins
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from typing import Any, BinaryIO, Literal

from jiyi._decoding import Into, ListOf, Number, PageOf
from jiyi._requests import (
    UNSET,
    Request,
    Resource,
    Transport,
    Unset,
    all_pages,
    call,
    delete,
    get,
    patch,
    post,
    put,
    unless_none,
    upload,
)
from jiyi.types import (
    AtomicMemory,
    AtomicSource,
    BatchDeleted,
    Category,
    Change,
    ChangeAction,
    ChangeKind,
    DeletedSpace,
    Imported,
    LearnsTo,
    LongTermMemory,
    MemoryCopy,
    MemoryStatus,
    Moved,
    Origin,
    Page,
    ScoredAtomic,
    ScoredMemory,
    Sensitive,
    SharedContext,
    Source,
    Space,
    SpaceKind,
    Tidying,
    ToldTidying,
    UndoneTidying,
    WorkingMemory,
)

# One status, several, or all of them. The server's default is active.
Statuses = MemoryStatus | Literal["all"] | Sequence[MemoryStatus]
# A time; text is ISO 8601.
Time = datetime | str


class LongTermMemories(Resource[Transport]):
    """Attributes remembered across sessions, as `key: value`."""

    @call
    def create(
        self,
        *,
        category: Category,
        key: str,
        value: Any,
        confidence: float | None = None,
        source: Source | None = None,
        valid_until: Time | None = None,
        sensitive: Sequence[Sensitive] | None = None,
        session_id: str | None = None,
        space: str | None = None,
    ) -> Request[LongTermMemory]:
        """Store a memory. It supersedes another value of the same key; the same value again changes nothing (L3)."""
        body = {
            "category": category,
            "key": key,
            "value": value,
            "confidence": unless_none(confidence),
            "source": unless_none(source),
            "valid_until": unless_none(valid_until),
            "sensitive": unless_none(sensitive),
            "session_id": unless_none(session_id),
            "space": unless_none(space),
        }
        return post("/memory/long-term", Into(LongTermMemory), body=body)

    @call
    def list(
        self,
        *,
        category: Category | None = None,
        source: Source | None = None,
        status: Statuses | None = None,
        muted: bool | None = None,
        sensitive: Sensitive | None = None,
        space: str | None = None,
        search: str | None = None,
        as_of: Time | date | None = None,
        ordering: str | None = None,
        limit: int | None = None,
        offset: int | None = None,
    ) -> Request[Page[LongTermMemory]]:
        """Return a page of the memories, newest first. `search`: those whose key or value contains the text.

        `space`: those that are there and nowhere else, by ID or name; "none": those that are everywhere.
        `as_of`: what was known then; a date is its end in the person's time zone.
        """
        query = {
            "category": category,
            "source": source,
            "status": status,
            "muted": muted,
            "sensitive": sensitive,
            "space": space,
            "search": search,
            "as_of": as_of,
            "ordering": ordering,
            "limit": limit,
            "offset": offset,
        }
        return get("/memory/long-term", PageOf(LongTermMemory), query=query)

    iterate = all_pages(list)

    @call
    def search(
        self, q: str, *, session_id: str | None = None, space: str | None = None, limit: int | None = None
    ) -> Request[builtins.list[ScoredMemory]]:
        """Return the memories that a message would recall, best first (K5). Counts no use.

        `space`: from where, by ID or name; "all": in all spaces.
        """
        query = {"q": q, "session_id": session_id, "space": space, "limit": limit}
        return get("/memory/long-term/search", ListOf(ScoredMemory), query=query)

    @call
    def get(self, memory_id: str) -> Request[LongTermMemory]:
        """Return one memory, of any status."""
        return get("/memory/long-term/{memory_id}", Into(LongTermMemory), memory_id=memory_id)

    @call
    def replace(
        self,
        memory_id: str,
        *,
        category: Category,
        key: str,
        value: Any,
        confidence: float | None = None,
        source: Source | None = None,
        valid_until: Time | Unset | None = UNSET,
        sensitive: Sequence[Sensitive] | None = None,
        muted: bool | None = None,
    ) -> Request[LongTermMemory]:
        """Write a memory as a whole. Raises `Conflict` if another active memory has the key."""
        body = _memory(category, key, value, confidence, source, valid_until, sensitive, muted)
        return put("/memory/long-term/{memory_id}", Into(LongTermMemory), body=body, memory_id=memory_id)

    @call
    def update(
        self,
        memory_id: str,
        *,
        category: Category | None = None,
        key: str | None = None,
        value: Any = UNSET,
        confidence: float | None = None,
        source: Source | None = None,
        valid_until: Time | Unset | None = UNSET,
        sensitive: Sequence[Sensitive] | None = None,
        muted: bool | None = None,
    ) -> Request[LongTermMemory]:
        """Change fields of a memory. Raises `Conflict` if another active memory has the key."""
        body = _memory(
            unless_none(category), unless_none(key), value, confidence, source, valid_until, sensitive, muted
        )
        return patch("/memory/long-term/{memory_id}", Into(LongTermMemory), body=body, memory_id=memory_id)

    @call
    def delete(self, memory_id: str, *, copies: bool | None = None) -> Request[int]:
        """Delete a memory for good (L6). `copies`: also what `copies()` lists. Returns the number of memories."""
        query = {"copies": copies}
        return delete("/memory/long-term/{memory_id}", Number("deleted"), query=query, memory_id=memory_id)

    @call
    def batch_delete(self, ids: Sequence[str], *, copies: bool | None = None) -> Request[BatchDeleted]:
        """Delete several memories for good."""
        body = {"ids": [*ids], "copies": unless_none(copies)}
        return post("/memory/long-term/batch-delete", Into(BatchDeleted), body=body)

    @call
    def clear(self, *, confirm: Literal["all"]) -> Request[int]:
        """Delete all long-term memories for good. Returns their number."""
        return delete("/memory/long-term", Number("deleted"), query={"confirm": confirm})

    @call
    def copies(self, memory_id: str) -> Request[builtins.list[MemoryCopy]]:
        """Return the other places that hold the text of a memory."""
        return get("/memory/long-term/{memory_id}/copies", ListOf(MemoryCopy), memory_id=memory_id)

    @call
    def accept(self, memory_id: str) -> Request[LongTermMemory]:
        """Accept a pending memory. Raises `Conflict` unless it is pending."""
        return post("/memory/long-term/{memory_id}/accept", Into(LongTermMemory), memory_id=memory_id)

    @call
    def reject(self, memory_id: str) -> Request[LongTermMemory]:
        """Reject a pending memory; it is not proposed again. Raises `Conflict` unless it is pending."""
        return post("/memory/long-term/{memory_id}/reject", Into(LongTermMemory), memory_id=memory_id)

    @call
    def export(self) -> Request[builtins.list[LongTermMemory]]:
        """Return the memories of every status, newest first."""
        read = ListOf(LongTermMemory, field=None)
        return get("/memory/long-term/export", read, query={"format": "json"})

    @call
    def import_file(self, file: bytes | BinaryIO) -> Request[Imported]:
        """Import an exported file: all of it or, with any bad row, nothing (M4). Raises `ImportRefused`."""
        return upload("/memory/long-term/import", Into(Imported), file=file, name="memories.json")


class AtomicMemories(Resource[Transport]):
    """Statements taken out of conversations."""

    @call
    def create(
        self,
        *,
        content: str,
        tags: Sequence[str] | None = None,
        timestamp: Time | None = None,
        event_start: Time | None = None,
        event_end: Time | None = None,
        valid_until: Time | None = None,
        sensitive: Sequence[Sensitive] | None = None,
        session_id: str | None = None,
        space: str | None = None,
    ) -> Request[AtomicMemory]:
        """Store a memory; `timestamp` is when it was said, `event_start` and `event_end` when it happened.

        `valid_until`: when it ceases to hold; it is not recalled after that (D3).
        """
        body = {
            **_statement(content, tags, timestamp, unless_none(event_start), unless_none(event_end)),
            "valid_until": unless_none(valid_until),
            "sensitive": unless_none(sensitive),
            "session_id": unless_none(session_id),
            "space": unless_none(space),
        }
        return post("/memory/atomic", Into(AtomicMemory), body=body)

    @call
    def list(
        self,
        *,
        status: Statuses | None = None,
        muted: bool | None = None,
        sensitive: Sensitive | None = None,
        space: str | None = None,
        search: str | None = None,
        as_of: Time | date | None = None,
        tags: Sequence[str] | None = None,
        session_id: str | None = None,
        source: AtomicSource | None = None,
        since: Time | None = None,
        until: Time | None = None,
        ordering: str | None = None,
        limit: int | None = None,
        offset: int | None = None,
    ) -> Request[Page[AtomicMemory]]:
        """Return a page of the memories, newest first. `tags`: those that have all of them. `source`: whose words.

        `space`: those that are there and nowhere else, by ID or name; "none": those that are everywhere.
        `as_of`: what was known then; a date is its end in the person's time zone.
        """
        query = {
            "status": status,
            "muted": muted,
            "sensitive": sensitive,
            "space": space,
            "search": search,
            "as_of": as_of,
            "tags": tags,
            "session_id": session_id,
            "source": source,
            "since": since,
            "until": until,
            "ordering": ordering,
            "limit": limit,
            "offset": offset,
        }
        return get("/memory/atomic", PageOf(AtomicMemory), query=query)

    iterate = all_pages(list)

    @call
    def search(
        self,
        q: str,
        *,
        top_n: int | None = None,
        since: Time | None = None,
        until: Time | None = None,
        space: str | None = None,
    ) -> Request[builtins.list[ScoredAtomic]]:
        """Return the memories that a message would recall, best first (A4). `space`: as of long-term memories."""
        query = {"q": q, "top_n": top_n, "since": since, "until": until, "space": space}
        return get("/memory/atomic/search", ListOf(ScoredAtomic), query=query)

    @call
    def get(self, atomic_id: str) -> Request[AtomicMemory]:
        """Return one memory, of any status."""
        return get("/memory/atomic/{atomic_id}", Into(AtomicMemory), atomic_id=atomic_id)

    @call
    def replace(
        self,
        atomic_id: str,
        *,
        content: str,
        tags: Sequence[str] | None = None,
        timestamp: Time | None = None,
        event_start: Time | Unset | None = UNSET,
        event_end: Time | Unset | None = UNSET,
        valid_until: Time | Unset | None = UNSET,
        sensitive: Sequence[Sensitive] | None = None,
        muted: bool | None = None,
    ) -> Request[AtomicMemory]:
        """Write a memory as a whole."""
        statement = _statement(content, tags, timestamp, event_start, event_end)
        body = {**statement, "valid_until": valid_until, "sensitive": unless_none(sensitive)}
        body["muted"] = unless_none(muted)
        return put("/memory/atomic/{atomic_id}", Into(AtomicMemory), body=body, atomic_id=atomic_id)

    @call
    def update(
        self,
        atomic_id: str,
        *,
        content: str | None = None,
        tags: Sequence[str] | None = None,
        timestamp: Time | None = None,
        event_start: Time | Unset | None = UNSET,
        event_end: Time | Unset | None = UNSET,
        valid_until: Time | Unset | None = UNSET,
        sensitive: Sequence[Sensitive] | None = None,
        muted: bool | None = None,
    ) -> Request[AtomicMemory]:
        """Change fields of a memory."""
        statement = _statement(unless_none(content), tags, timestamp, event_start, event_end)
        body = {**statement, "valid_until": valid_until, "sensitive": unless_none(sensitive)}
        body["muted"] = unless_none(muted)
        return patch("/memory/atomic/{atomic_id}", Into(AtomicMemory), body=body, atomic_id=atomic_id)

    @call
    def delete(self, atomic_id: str) -> Request[int]:
        """Delete a memory for good. Returns the number of memories."""
        return delete("/memory/atomic/{atomic_id}", Number("deleted"), atomic_id=atomic_id)

    @call
    def clear(self, *, confirm: Literal["all"]) -> Request[int]:
        """Delete all atomic memories for good. Returns their number."""
        return delete("/memory/atomic", Number("deleted"), query={"confirm": confirm})

    @call
    def accept(self, atomic_id: str) -> Request[AtomicMemory]:
        """Accept a pending memory. Raises `Conflict` unless it is pending."""
        return post("/memory/atomic/{atomic_id}/accept", Into(AtomicMemory), atomic_id=atomic_id)

    @call
    def reject(self, atomic_id: str) -> Request[AtomicMemory]:
        """Reject a pending memory; it is not proposed again. Raises `Conflict` unless it is pending."""
        return post("/memory/atomic/{atomic_id}/reject", Into(AtomicMemory), atomic_id=atomic_id)


class WorkingMemories(Resource[Transport]):
    """What live sessions are about, one for each."""

    @call
    def get(self, session_id: str) -> Request[WorkingMemory]:
        """Return the working memory of a session. Raises `NotFound` before its first message and after it expired."""
        return get("/memory/working/{session_id}", Into(WorkingMemory), session_id=session_id)

    @call
    def update(
        self,
        session_id: str,
        *,
        current_topic: str | Unset | None = UNSET,
        context_variables: Mapping[str, Any] | Unset = UNSET,
    ) -> Request[WorkingMemory]:
        """Change it. A topic of None clears it; variables are merged by key, and None removes a variable."""
        body = {"current_topic": current_topic, "context_variables": context_variables}
        return patch("/memory/working/{session_id}", Into(WorkingMemory), body=body, session_id=session_id)

    @call
    def delete(self, session_id: str) -> Request[int]:
        """Delete it. Returns the number of working memories."""
        return delete("/memory/working/{session_id}", Number("deleted"), session_id=session_id)


class SharedContexts(Resource[Transport]):
    """Key information that several agents share."""

    @call
    def create(
        self, *, title: str, content: str, session_id: str | None = None, space: str | None = None
    ) -> Request[SharedContext]:
        """Create a context."""
        body = {
            "title": title,
            "content": content,
            "session_id": unless_none(session_id),
            "space": unless_none(space),
        }
        return post("/memory/contexts", Into(SharedContext), body=body)

    @call
    def list(
        self,
        *,
        space: str | None = None,
        ordering: str | None = None,
        limit: int | None = None,
        offset: int | None = None,
    ) -> Request[Page[SharedContext]]:
        """Return a page of the contexts, newest first. `space`: an ID or a name, or "none"."""
        query = {"space": space, "ordering": ordering, "limit": limit, "offset": offset}
        return get("/memory/contexts", PageOf(SharedContext), query=query)

    iterate = all_pages(list)

    @call
    def get(self, context_id: str) -> Request[SharedContext]:
        """Return one context with its entries."""
        return get("/memory/contexts/{context_id}", Into(SharedContext), context_id=context_id)

    @call
    def add_entry(self, context_id: str, *, text: str, author: str | None = None) -> Request[SharedContext]:
        """Append an entry. Raises `TooLarge` if the context would exceed 64 KiB."""
        body = {"text": text, "author": unless_none(author)}
        return post("/memory/contexts/{context_id}/entries", Into(SharedContext), body=body, context_id=context_id)

    @call
    def delete(self, context_id: str) -> Request[int]:
        """Delete a context. Returns the number of contexts."""
        return delete("/memory/contexts/{context_id}", Number("deleted"), context_id=context_id)


class Changes(Resource[Transport]):
    """The audit history of all that is remembered."""

    @call
    def list(
        self,
        *,
        kind: ChangeKind | None = None,
        action: ChangeAction | None = None,
        origin: Origin | None = None,
        object_id: str | None = None,
        operation: str | None = None,
        message_id: str | None = None,
        space: str | None = None,
        limit: int | None = None,
        offset: int | None = None,
    ) -> Request[Page[Change]]:
        """Return a page of the changes, newest first. `space`: an ID or a name, or "none"."""
        query = {
            "kind": kind,
            "action": action,
            "origin": origin,
            "object_id": object_id,
            "operation": operation,
            "message_id": message_id,
            "space": space,
            "limit": limit,
            "offset": offset,
        }
        return get("/memory/changes", PageOf(Change), query=query)

    iterate = all_pages(list)

    @call
    def undo(self, operation: str) -> Request[builtins.list[Change]]:
        """Undo all changes of an operation; returns the changes that this made. Raises `Conflict` if impossible."""
        return post("/memory/changes/{operation}/undo", ListOf(Change), operation=operation)


class Tidyings(Resource[Transport]):
    """Runs that tidy up memories: duplicates, what is no longer true or over, patterns (D1, D2)."""

    @call
    def list(self, *, limit: int | None = None, offset: int | None = None) -> Request[Page[Tidying]]:
        """Return a page of the runs, newest first."""
        return get("/memory/tidyings", PageOf(Tidying), query={"limit": limit, "offset": offset})

    iterate = all_pages(list)

    @call
    def create(self) -> Request[Tidying]:
        """Tidy up now; returns the run that waits. Raises `Conflict` where no model is connected."""
        return post("/memory/tidyings", Into(Tidying))

    @call
    def get(self, run_id: str) -> Request[ToldTidying]:
        """Return a run with what it changed."""
        return get("/memory/tidyings/{run_id}", Into(ToldTidying), run_id=run_id)

    @call
    def mark_seen(self, run_id: str) -> Request[Tidying]:
        """Note that the person has seen a run and those before it: the chat page tells of them no longer."""
        return post("/memory/tidyings/{run_id}/seen", Into(Tidying), run_id=run_id)

    @call
    def undo(self, run_id: str) -> Request[UndoneTidying]:
        """Undo all that a run did and that stands. Raises `Conflict` where nothing is left to undo."""
        return post("/memory/tidyings/{run_id}/undo", Into(UndoneTidying), run_id=run_id)


class Spaces(Resource[Transport]):
    """Projects, assistants and characters, with memories of their own (P1)."""

    @call
    def create(
        self,
        *,
        name: str,
        kind: SpaceKind | None = None,
        instructions: str | None = None,
        learns_to: LearnsTo | None = None,
        paused: bool | None = None,
    ) -> Request[Space]:
        """Make a space. Raises `Conflict` if another one has the name."""
        body = {**_space(name, kind, instructions, learns_to), "paused": unless_none(paused)}
        return post("/memory/spaces", Into(Space), body=body)

    @call
    def list(self, *, limit: int | None = None, offset: int | None = None) -> Request[Page[Space]]:
        """Return a page of the spaces, in the order in which they were made."""
        return get("/memory/spaces", PageOf(Space), query={"limit": limit, "offset": offset})

    iterate = all_pages(list)

    @call
    def get(self, space_id: str) -> Request[Space]:
        """Return one space."""
        return get("/memory/spaces/{space_id}", Into(Space), space_id=space_id)

    @call
    def update(
        self,
        space_id: str,
        *,
        name: str | None = None,
        kind: SpaceKind | None = None,
        instructions: str | None = None,
        learns_to: LearnsTo | None = None,
        archived: bool | None = None,
        paused: bool | None = None,
    ) -> Request[Space]:
        """Change what is given of a space. Raises `Conflict` if another one has the name.

        `paused`: whether nothing new is remembered from what is said in its sessions from now on.
        """
        body = {
            **_space(unless_none(name), kind, instructions, learns_to),
            "archived": unless_none(archived),
            "paused": unless_none(paused),
        }
        return patch("/memory/spaces/{space_id}", Into(Space), body=body, space_id=space_id)

    @call
    def delete(
        self, space_id: str, *, memories: Literal["move", "erase"], to: str | None = None, confirm: str | None = None
    ) -> Request[DeletedSpace]:
        """Delete a space for good, and move or erase what is in it, conversations too.

        `to`: where to move it, the ID of another space, or "none" for everywhere. `confirm`: to erase it, the name of
        the space.
        """
        query = {"memories": memories, "to": to, "confirm": confirm}
        return delete("/memory/spaces/{space_id}", Into(DeletedSpace), query=query, space_id=space_id)

    @call
    def move(self, ids: Sequence[str], *, space: str | None) -> Request[Moved]:
        """Move memories of either kind to a space, by its ID; None: they are everywhere. `changes.undo` undoes it."""
        return post("/memory/move", Into(Moved), body={"ids": [*ids], "space": space})


def _space(
    name: str | Unset, kind: SpaceKind | None, instructions: str | None, learns_to: LearnsTo | None
) -> dict[str, Any]:
    return {
        "name": name,
        "kind": unless_none(kind),
        "instructions": unless_none(instructions),
        "learns_to": unless_none(learns_to),
    }


def _memory(
    category: Category | Unset,
    key: str | Unset,
    value: Any,
    confidence: float | None,
    source: Source | None,
    valid_until: Time | Unset | None,
    sensitive: Sequence[Sensitive] | None,
    muted: bool | None,
) -> dict[str, Any]:
    return {
        "category": category,
        "key": key,
        "value": value,
        "confidence": unless_none(confidence),
        "source": unless_none(source),
        "valid_until": valid_until,
        "sensitive": unless_none(sensitive),
        "muted": unless_none(muted),
    }


def _statement(
    content: str | Unset,
    tags: Sequence[str] | None,
    timestamp: Time | None,
    event_start: Time | Unset | None,
    event_end: Time | Unset | None,
) -> dict[str, Any]:
    return {
        "content": content,
        "tags": UNSET if tags is None else [*tags],
        "timestamp": unless_none(timestamp),
        "event_start": event_start,
        "event_end": event_end,
    }
