"""Shared contexts (X1, X3): made, added to, recorded from messages, withdrawn, deleted with their history (L6, L7)."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from uuid import UUID

from django.db import connection, transaction
from django.db.models import Func, IntegerField, Max, Prefetch, Q, QuerySet, Sum
from django.utils.translation import gettext_noop

from apps.accounts.models import User
from apps.accounts.services.people import get_program
from apps.accounts.spaces import changed_from, seen_from
from apps.conversations.sessions import find_room
from apps.core.db import fetch_prepared
from apps.core.errors import Conflict, InvalidInput, NotFound, TooLarge
from apps.core.text.clean import clean_text, find_forbidden
from apps.core.text.fold import normalize_key, normalize_value
from apps.core.text.grounding import Traces
from apps.core.text.instructions import is_instruction
from apps.core.text.keywords import extract_keywords, stem
from apps.core.text.secrets import describe_problem, find_secret, mask_secrets
from apps.memory.changes.records import (
    Snapshot,
    TrackedKind,
    describe_change,
    empty_history,
    find_states_since,
    forget_history,
    list_recorded,
    record_changes,
)
from apps.memory.deletion import CopyHolder, MemoryCopy
from apps.memory.models import Change, ContextEntry, SharedContext

MAX_TITLE_CHARACTERS = 200
MAX_AUTHOR_CHARACTERS = 100
MAX_CONTEXT_BYTES = 64 * 1024  # of the content and all entries together, as UTF-8 (X3)


@dataclass(frozen=True, slots=True)
class ContextEntrySnapshot:
    """One addition (X3)."""

    author: str
    text: str
    created_at: datetime


@dataclass(frozen=True, slots=True)
class ContextSnapshot:
    """A shared context as one turn sees it (X1): the background of a case, and what was added to it, in order."""

    id: UUID
    title: str
    content: str
    entries: Sequence[ContextEntrySnapshot]


_MAX_WORDS = 50


def names_same_case(one: str, other: str) -> bool:
    """Whether one title says all that the other does.

    合同纠纷 and 张三合同纠纷案 do; 李四合同纠纷案 and 张三合同纠纷案 are two cases.
    """
    if normalize_key(one) == normalize_key(other):
        return True
    words, others = _words(one), _words(other)
    return bool(words and others) and (words <= others or others <= words)


def _words(title: str) -> set[str]:
    return {stem(word) for word in extract_keywords(title, limit=_MAX_WORDS)}


def measure_contexts(ids: Collection[UUID]) -> dict[UUID, int]:
    """Return the bytes of content and entries of contexts, by ID; withdrawn entries take no room. Two queries."""
    if not ids:
        return {}
    sizes = dict(SharedContext.objects.filter(id__in=ids).order_by().values_list("id", byte_length("content")))
    entries = ContextEntry.objects.filter(context__in=ids, withdrawn=False).order_by().values("context")
    for row in entries.annotate(size=Sum(byte_length("text"))):
        sizes[row["context"]] += row["size"]
    return sizes


def byte_length(field: str) -> Func:
    """The bytes of a text in UTF-8, as PostgreSQL counts them."""
    return Func(field, function="octet_length", output_field=IntegerField())


_ENTRIES = Prefetch("entries", ContextEntry.objects.filter(withdrawn=False).order_by("position"))

_OF_SESSION = """
SELECT context.id, title, content, author, text, entry.created_at
FROM (
    SELECT id, title, content, updated_at
    FROM shared_context
    WHERE user_id = %(user)s AND session_id = %(session)s
    ORDER BY updated_at DESC, id DESC
    LIMIT %(limit)s
) AS context LEFT JOIN context_entry AS entry ON context_id = context.id AND NOT withdrawn
ORDER BY context.updated_at DESC, context.id DESC, position
"""


def list_contexts(user: User) -> QuerySet[SharedContext]:
    """Return the contexts that the person sees, with their entries, newest first."""
    mine = SharedContext.objects.filter(seen_from(user), user=user)
    return mine.prefetch_related(_ENTRIES).order_by("-created_at", "-id")


def get_context(user: User, context_id: UUID) -> SharedContext:
    """Return the context with its entries, or raise `NotFound` for none and for another person's."""
    context = list_contexts(user).filter(id=context_id).first()
    if context is None:
        raise NotFound("This context does not exist.")
    return context


def list_entries_at(user: User, context_ids: Collection[UUID], *, at: datetime) -> dict[UUID, list[ContextEntry]]:
    """Return the entries of contexts, by context and in order, that were not withdrawn at a time; two queries.

    Those that were added later are among them: they come last.
    """
    found: dict[UUID, list[ContextEntry]] = {context_id: [] for context_id in context_ids}
    entries = list(ContextEntry.objects.filter(user=user, context__in=context_ids).order_by("context", "position"))
    states = find_states_since(user=user, object_ids=[entry.id for entry in entries], since=at)
    for entry in entries:
        state = states.get(entry.id)
        if not (entry.withdrawn if state is None else state["withdrawn"]):
            found[entry.context_id].append(entry)
    return found


def list_session_contexts(user: User, session_id: UUID, *, limit: int = 3) -> list[ContextSnapshot]:
    """Return the contexts of a session that were written last, newest first, at most `limit`; one query."""
    rows = fetch_prepared(_OF_SESSION, {"user": user.pk, "session": session_id, "limit": limit})
    return [
        ContextSnapshot(
            id=context_id,
            title=title,
            content=content,
            entries=[
                ContextEntrySnapshot(author=author, text=text, created_at=created_at)
                for *_context, author, text, created_at in group
                if text is not None
            ],
        )
        for (context_id, title, content), group in groupby(rows, key=lambda row: row[:3])
    ]


@transaction.atomic
def create_context(
    *,
    user: User,
    title: str,
    content: str,
    now: datetime,
    session_id: UUID | None = None,
    space_id: UUID | None = None,
    message_id: UUID | None = None,
    number: int = 0,
) -> SharedContext:
    """Make a shared context with a new unique ID (X1), in the space named, else in that of the session.

    `message_id`: of the message that it is made for, in the session `session_id`; `number`: how many were made for it
    before. What was made for it as that one already, as its reply is tried again, is returned instead.
    Raises `InvalidInput`; `TooLarge` over 64 KiB; `NotFound` for a session or space that is not theirs.
    """
    title = _check_text("title", title, limit=MAX_TITLE_CHARACTERS)
    content = _check_text("content", content)
    _check_size("content", len(content.encode()))
    user = find_room(user, session_id=session_id, space_id=space_id)
    if session_id is not None and message_id is not None:
        _lock_contexts(session_id)
        made = SharedContext.objects.filter(user=user, session=session_id, message=message_id)
        if again := list(made.order_by("created_at", "id")[number : number + 1]):
            return get_context(user, again[0].id)
    return _create(user=user, title=title, content=content, session_id=session_id, message_id=message_id, now=now)


@transaction.atomic
def append_entry(
    *,
    user: User,
    context_id: UUID,
    text: str,
    now: datetime,
    author: str = "",
    message_id: UUID | None = None,
    number: int = 0,
) -> SharedContext:
    """Add a text to a context and return it; nothing in it changes, and no addition is lost (X3).

    `message_id`, `number`: as in `create_context`; what was added for a message already is not added again, even where
    it was withdrawn since.
    Raises `NotFound`; `InvalidInput`; `TooLarge` where content and entries would have over 64 KiB together.
    """
    text = _check_text("text", text)
    author = _check_text("author", author, limit=MAX_AUTHOR_CHARACTERS, blank=True)
    context = _lock_context(user, context_id, no_key=True)
    if message_id is None or context.entries.filter(message=message_id).count() <= number:
        _append(context, text=text, author=author, message_id=message_id, now=now)
    return get_context(user, context_id)


@transaction.atomic
def record_context(
    *, user: User, title: str, content: str, session_id: UUID, message_id: UUID, now: datetime
) -> SharedContext | None:
    """Keep the background of a case that a message sets out, in background work (X1); once per message.

    Where its session has a context with a title that names the same case, the content is appended to that one instead,
    unless an entry says so already, or said so and was withdrawn. Secrets are masked in both (D4). Returns the context
    it is in; None for what cannot be kept: no title or content, more than there is room for, or text that reads as an
    instruction to the system.
    """
    title = mask_secrets(clean_text(title).strip())[:MAX_TITLE_CHARACTERS].strip()
    content = mask_secrets(clean_text(content).strip())
    if not title or not content or is_instruction(f"{title} {content}"):
        return None
    _lock_contexts(session_id)
    contexts = list(
        SharedContext.objects.select_for_update(no_key=True)
        .filter(user=user, session=session_id)
        .order_by("created_at", "id")
    )
    entries = ContextEntry.objects.filter(context__in=contexts).values_list("context", "message", "text")
    told = [(context.id, context.message_id, context.content) for context in contexts] + list(entries)
    by_id = {context.id: context for context in contexts}
    for context_id, told_by, _text in told:
        if told_by == message_id:
            return by_id[context_id]
    context = next((context for context in contexts if names_same_case(context.title, title)), None)
    try:
        if context is None:
            _check_size("content", len(content.encode()))
            return _create(
                user=user, title=title, content=content, session_id=session_id, message_id=message_id, now=now
            )
        same = normalize_value(content)
        if all(normalize_value(text) != same for context_id, _message, text in told if context_id == context.id):
            _append(context, text=content, author="", message_id=message_id, now=now)
    except TooLarge:
        return None
    return context


@transaction.atomic
def delete_context(*, user: User, context_id: UUID, now: datetime) -> None:
    """Delete a context with its entries, for good. Raises `NotFound`."""
    context = _lock_context(user, context_id)
    entries = list(context.entries.values_list("id", flat=True))
    context.delete()
    empty_history(user=user, kind=Change.Kind.ENTRY, object_ids=entries)
    forget_history(user=user, kind=Change.Kind.CONTEXT, object_ids=[context_id], now=now)


def _create(
    *, user: User, title: str, content: str, session_id: UUID | None, message_id: UUID | None, now: datetime
) -> SharedContext:
    context = SharedContext.objects.create(
        user=user,
        space_id=user.sight.space,
        session_id=session_id,
        message_id=message_id,
        title=title,
        content=content,
        created_at=now,
        updated_at=now,
    )
    made = describe_change(
        Change.Kind.CONTEXT, context, action=Change.Action.CREATE, before=None, space_id=context.space_id
    )
    record_changes(user=user, changes=[made], now=now)
    return context


def _append(context: SharedContext, *, text: str, author: str, message_id: UUID | None, now: datetime) -> None:
    """Add an entry to a context whose row is locked."""
    stored = context.entries.aggregate(last=Max("position"), size=Sum(byte_length("text"), filter=Q(withdrawn=False)))
    size = len(context.content.encode()) + (stored["size"] or 0) + len(text.encode())
    _check_size("text", size)
    ContextEntry.objects.create(
        context=context,
        user_id=context.user_id,
        author=author,
        text=text,
        message_id=message_id,
        position=(stored["last"] or 0) + 1,
        via=get_program(),
        created_at=now,
    )
    context.updated_at = now
    context.save(update_fields=["updated_at"])


def _lock_context(user: User, context_id: UUID, *, no_key: bool = False) -> SharedContext:
    found = SharedContext.objects.select_for_update(no_key=no_key).filter(changed_from(user), user=user, id=context_id)
    context = found.first()
    if context is None:
        raise NotFound("This context does not exist.")
    return context


def _lock_contexts(session_id: UUID) -> None:
    """Make others who would record a case of this session wait: two of them could make two contexts of one."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", [f"shared_context:{session_id}"])


def _check_text(name: str, text: str, *, limit: int | None = None, blank: bool = False) -> str:
    stripped, reason = text.strip(), None
    if found := find_forbidden(text):
        reason = f"Must not contain {found}."
    elif not stripped and not blank:
        reason = gettext_noop("Must not be blank.")
    elif limit is not None and len(stripped) > limit:
        reason = f"Must have at most {limit} characters."
    elif kind := find_secret(text):
        reason = describe_problem(kind)
    if reason:
        raise InvalidInput(f"{name}: {reason}", fields={name: [reason]})
    return stripped


def _check_size(name: str, size: int) -> None:
    if size > MAX_CONTEXT_BYTES:
        message = f"A shared context has at most {MAX_CONTEXT_BYTES:,} bytes in all; this would make {size:,}."
        raise TooLarge(message, fields={name: [message]})


def snapshot(context: SharedContext) -> Snapshot:
    """Return what a context was made with."""
    return {"title": context.title, "content": context.content}


def _read_contexts(user: User, ids: Collection[UUID]) -> Mapping[UUID, SharedContext]:
    return SharedContext.objects.filter(user=user).in_bulk(list(ids))


def _refuse(*, user: User, rows: Sequence[tuple[SharedContext, Snapshot | None]], now: datetime) -> None:
    raise Conflict("Changes to a shared context cannot be undone. Delete the context instead.")


def _snapshot_entry(entry: ContextEntry) -> Snapshot:
    context = str(entry.context_id)
    return {"context": context, "author": entry.author, "text": entry.text, "withdrawn": entry.withdrawn}


def _read_entries(user: User, ids: Collection[UUID]) -> Mapping[UUID, ContextEntry]:
    entries = ContextEntry.objects.filter(user=user, id__in=ids)
    # Writers of a context hold its row, so only those of the contexts in question have to wait.
    contexts = SharedContext.objects.filter(user=user, id__in=entries.values("context_id")).order_by("id")
    held = list(contexts.select_for_update(no_key=True))
    return entries.filter(context__in=held).select_related("context").in_bulk()


def _restore_entries(*, user: User, rows: Sequence[tuple[ContextEntry, Snapshot | None]], now: datetime) -> None:
    """Withdraw entries or bring them back; the others of their contexts, and the order, stay as they are."""
    for entry, before in rows:
        entry.withdrawn = before is None or before["withdrawn"]
    entries = [entry for entry, _before in rows]
    ContextEntry.objects.bulk_update(entries, ["withdrawn"], batch_size=500)
    contexts = {entry.context_id for entry in entries}
    SharedContext.objects.filter(user=user, id__in=contexts).update(updated_at=now)
    returned = {entry.context_id for entry in entries if not entry.withdrawn}
    if any(size > MAX_CONTEXT_BYTES for size in measure_contexts(returned).values()):
        raise Conflict(gettext_noop("The shared context no longer has room for what would come back."))


KIND = TrackedKind(read=_read_contexts, snapshot=snapshot, restore=_refuse)
ENTRIES = TrackedKind(read=_read_entries, snapshot=_snapshot_entry, restore=_restore_entries)


REMOVED = "…"  # what stands where nothing is left: a title, a content and an entry are never blank


def _find(*, user: User, traces: Traces) -> Iterator[MemoryCopy]:
    contexts = SharedContext.objects.filter(user=user).order_by("-created_at", "-id")
    for context in contexts:
        for field in ("title", "content"):
            for text in traces.cut_from(getattr(context, field)).removed:
                yield MemoryCopy(kind="context", id=context.id, field=field, text=text)
    entries = ContextEntry.objects.filter(user=user).order_by("context", "position")
    for context_id, entry in entries.values_list("context", "text"):
        for text in traces.cut_from(entry).removed:
            yield MemoryCopy(kind="context", id=context_id, field="entry", text=text)


def _remove(*, user: User, traces: Traces, now: datetime) -> None:
    changed = set()
    contexts = SharedContext.objects.filter(user=user).order_by("id").select_for_update(no_key=True)
    for context in contexts:
        title, content = traces.cut_from(context.title), traces.cut_from(context.content)
        if title.removed or content.removed:
            context.title, context.content = title.text or REMOVED, content.text or REMOVED
            context.updated_at = now
            context.save(update_fields=["title", "content", "updated_at"])
            changed.add(context.id)
    for entry in ContextEntry.objects.filter(user=user).order_by("context", "position"):
        cut = traces.cut_from(entry.text)
        if cut.removed:
            entry.text = cut.text or REMOVED
            entry.save(update_fields=["text"])
            changed.add(entry.context_id)
    recorded = list_recorded(user=user, kind=Change.Kind.ENTRY, where=traces.stand_in)
    empty_history(user=user, kind=Change.Kind.ENTRY, object_ids=recorded)
    changed |= list_recorded(user=user, kind=Change.Kind.CONTEXT, where=traces.stand_in)
    forget_history(user=user, kind=Change.Kind.CONTEXT, object_ids=changed, now=now)


HOLDER = CopyHolder(find=_find, remove=_remove)
