"""Writing shared contexts. Each service is one transaction; writers of one context take turns (X1, X3)."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from django.db import connection, transaction
from django.db.models import Max, Q, Sum

from apps.accounts.models import User
from apps.accounts.services.people import get_program
from apps.conversations.sessions import get_session
from apps.core.errors import InvalidInput, NotFound, TooLarge
from apps.core.text.clean import clean_text, find_forbidden
from apps.core.text.fold import normalize_value
from apps.core.text.instructions import is_instruction
from apps.memory.changes.records import empty_history, forget_history, record_changes
from apps.memory.contexts.reading import byte_length, get_context
from apps.memory.contexts.tracking import describe_creation
from apps.memory.contexts.types import MAX_AUTHOR_CHARACTERS, MAX_CONTEXT_BYTES, MAX_TITLE_CHARACTERS, names_same_case
from apps.memory.models import Change, ContextEntry, SharedContext


@transaction.atomic
def create_context(
    *,
    user: User,
    title: str,
    content: str,
    now: datetime,
    session_id: UUID | None = None,
    message_id: UUID | None = None,
    number: int = 0,
) -> SharedContext:
    """Make a shared context with a new unique ID (X1).

    `message_id`: of the message that it is made for, in the session `session_id`; `number`: how many were made for it
    before. What was made for it as that one already, as its reply is tried again, is returned instead.
    Raises `InvalidInput`; `TooLarge` over 64 KiB; `NotFound` for a session that is not theirs.
    """
    title = _check_text("title", title, limit=MAX_TITLE_CHARACTERS)
    content = _check_text("content", content)
    _check_size("content", len(content.encode()))
    if session_id is not None:
        get_session(user, session_id)
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
    context = SharedContext.objects.select_for_update(no_key=True).filter(user=user, id=context_id).first()
    if context is None:
        raise NotFound("This context does not exist.")
    if message_id is None or context.entries.filter(message=message_id).count() <= number:
        _append(context, text=text, author=author, message_id=message_id, now=now)
    return get_context(user, context_id)


@transaction.atomic
def record_context(
    *, user: User, title: str, content: str, session_id: UUID, message_id: UUID, now: datetime
) -> SharedContext | None:
    """Keep the background of a case that a message sets out, in background work (X1); once per message.

    Where its session has a context with a title that names the same case, the content is appended to that one instead,
    unless an entry says so already, or said so and was withdrawn. Returns the context it is in; None for what cannot be
    kept: no title or content, more than there is room for, or text that reads as an instruction to the system.
    """
    title = clean_text(title).strip()[:MAX_TITLE_CHARACTERS].strip()
    content = clean_text(content).strip()
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
    context = SharedContext.objects.select_for_update().filter(user=user, id=context_id).first()
    if context is None:
        raise NotFound("This context does not exist.")
    entries = list(context.entries.values_list("id", flat=True))
    context.delete()
    empty_history(user=user, kind=Change.Kind.ENTRY, object_ids=entries)
    forget_history(user=user, kind=Change.Kind.CONTEXT, object_ids=[context_id], now=now)


def _create(
    *, user: User, title: str, content: str, session_id: UUID | None, message_id: UUID | None, now: datetime
) -> SharedContext:
    context = SharedContext.objects.create(
        user=user,
        session_id=session_id,
        message_id=message_id,
        title=title,
        content=content,
        created_at=now,
        updated_at=now,
    )
    record_changes(user=user, changes=[describe_creation(context)], now=now)
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


def _lock_contexts(session_id: UUID) -> None:
    """Make others who would record a case of this session wait: two of them could make two contexts of one."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", [f"shared_context:{session_id}"])


def _check_text(name: str, text: str, *, limit: int | None = None, blank: bool = False) -> str:
    stripped, reason = text.strip(), None
    if found := find_forbidden(text):
        reason = f"Must not contain {found}."
    elif not stripped and not blank:
        reason = "Must not be blank."
    elif limit is not None and len(stripped) > limit:
        reason = f"Must have at most {limit} characters."
    if reason:
        raise InvalidInput(f"{name}: {reason}", fields={name: [reason]})
    return stripped


def _check_size(name: str, size: int) -> None:
    if size > MAX_CONTEXT_BYTES:
        message = f"A shared context has at most {MAX_CONTEXT_BYTES:,} bytes in all; this would make {size:,}."
        raise TooLarge(message, fields={name: [message]})
