"""The first half of a turn: store the message, read what is remembered, build the prompt. Runs in a database thread."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings as django_settings
from django.db import transaction

from apps.accounts.models import User
from apps.accounts.types import MemorySettings
from apps.chat.context.read import list_said, read_context
from apps.chat.context.types import ClientLine, ClientPrompt, Context, ContextInput, Form
from apps.chat.emotions import get_strategy
from apps.chat.prompts import FORM_SUBMITTED
from apps.chat.selectors import get_turn_configuration
from apps.chat.turn.commands import describe_actions, run_message_commands
from apps.chat.turn.recounting import compose_memory_list_reply
from apps.chat.turn.tool_use.offering import offer_tools
from apps.chat.turn.types import ClientRequest, OpenTurn
from apps.chat.types import ReplyStrategy, StrategyTable
from apps.conversations.selectors import get_message, get_session, get_window
from apps.conversations.services import create_session, fail_round, open_round, reopen_round
from apps.conversations.services.attachments import attach, move_attachments
from apps.conversations.services.client_histories import find_session, open_client_round, open_round_again
from apps.conversations.types import MAX_CONTENT_CHARS, OpenRound, Window
from apps.core.errors import TooLarge
from apps.core.llm.client import ChosenModel, choose_chat_model
from apps.core.text.client_blocks import cut_client_blocks
from apps.core.text.commands import read_message
from apps.memory.selectors import (
    QueryEmbedding,
    WorkingMemorySnapshot,
    find_earlier,
    find_working_memory,
    start_embedding,
)
from apps.memory.services import archive_working_memory, count_turn, forget_embeddings, record_form


def open_message_turn(
    *,
    user: User,
    session_id: uuid.UUID,
    content: str,
    idempotency_key: str | None,
    now: datetime,
    said_at: datetime | None = None,
    attachments: Sequence[uuid.UUID] = (),
    instead_of: uuid.UUID | None = None,
) -> OpenTurn:
    """Store a new message of the user and prepare its reply.

    `said_at`: when it was said, if not now: it dates the message and is the time the prompt tells the model, so that
    上周六 is resolved from there. Everything that waits or expires goes by `now`.
    `attachments`: files that are sent with it. `instead_of`: a message whose files it takes over. Raises `NotFound`
    without the session, `AlreadySent` when the idempotency key was used before, `InvalidInput` about a file.
    """
    start = time.perf_counter()
    settings, table = get_turn_configuration(user)
    if settings.working_archive:  # the sweep may not have come by yet, and a new one is about to take its place (W4)
        archive_working_memory(user=user, session_id=session_id, now=now)
    working = wait_for_embedding = None
    with transaction.atomic():
        opened, window = open_round(
            user=user,
            session_id=session_id,
            content=content,
            idempotency_key=idempotency_key,
            window_limit=settings.context_limit,
            said_at=said_at or now,
            now=now,
            lease=_lease(),
        )
        if attachments:
            attach(user=user, session_id=session_id, message_id=opened.message_id, attachment_ids=attachments)
        if instead_of is not None:
            move_attachments(user=user, before=[instead_of], after=opened.message_id)
        if django_settings.USE_MEMORY_EMOTION_SYSTEM:
            working = count_turn(user=user, session_id=session_id, now=now, ttl_minutes=settings.working_ttl_minutes)
            if not opened.temporary and get_strategy(working.last_emotion, table=table).use_memory:
                # Now: it takes as long as all that is read before recall.
                own = cut_client_blocks(content)
                wait_for_embedding = start_embedding(own, earlier=find_earlier(own, list_said(window)))
    return _prepare(
        user,
        opened,
        window,
        working,
        settings=settings,
        table=table,
        wait_for_embedding=wait_for_embedding,
        now=now,
        start=start,
    )


def open_retry_turn(*, user: User, message_id: uuid.UUID, now: datetime) -> OpenTurn:
    """Take a failed message up again: nothing is stored or counted twice (C6).

    Raises `NotFound` without the message, `Conflict` when it has not failed.
    """
    start = time.perf_counter()
    settings, table = get_turn_configuration(user)
    ttl_minutes = settings.working_ttl_minutes
    if settings.working_archive:
        archive_working_memory(user=user, session_id=get_message(user, message_id).session_id, now=now)
    working = None
    with transaction.atomic():
        opened = reopen_round(user=user, message_id=message_id, now=now, lease=_lease())
        if django_settings.USE_MEMORY_EMOTION_SYSTEM:
            # What counted the message at first may have expired since: then it is the first one of the new (W4).
            working = find_working_memory(user, opened.session_id, now=now, ttl_minutes=ttl_minutes)
            working = working or count_turn(user=user, session_id=opened.session_id, now=now, ttl_minutes=ttl_minutes)
    window = get_window(user, opened.session_id, limit=settings.context_limit, before=opened.position)
    return _prepare(user, opened, window, working, settings=settings, table=table, now=now, start=start)


def open_another_turn(*, user: User, message_id: uuid.UUID, now: datetime) -> OpenTurn:
    """Prepare another reply to the newest message of a session; the present one gives way once the new one is stored.

    `message_id`: of the message or of its reply. What was learned from the message stays as it is. Raises `NotFound`
    without it, `Conflict` where it is not the newest one or has no reply.
    """
    start = time.perf_counter()
    settings, table = get_turn_configuration(user)
    ttl_minutes = settings.working_ttl_minutes
    message = get_message(user, message_id)
    working = None
    with transaction.atomic():
        opened = open_round_again(user=user, message_id=message.reply_to_id or message.id, now=now, lease=_lease())
        if django_settings.USE_MEMORY_EMOTION_SYSTEM:
            working = find_working_memory(user, opened.session_id, now=now, ttl_minutes=ttl_minutes)
            working = working or count_turn(user=user, session_id=opened.session_id, now=now, ttl_minutes=ttl_minutes)
    window = get_window(user, opened.session_id, limit=settings.context_limit, before=opened.position)
    return _prepare(user, opened, window, working, settings=settings, table=table, now=now, start=start)


def open_form_turn(
    *, user: User, session_id: uuid.UUID, title: str, fields: Mapping[str, Any], now: datetime
) -> OpenTurn:
    """Keep a submitted form and prepare the reply that continues from it; no message of the user is made (H1, H2).

    Raises `NotFound` without the session, `TooLarge` when the form does not fit (W5).
    """
    start = time.perf_counter()
    settings, table = get_turn_configuration(user)
    session = get_session(user, session_id)
    if settings.working_archive:
        archive_working_memory(user=user, session_id=session_id, now=now)
    working = record_form(user=user, session_id=session_id, title=title, fields=fields, now=now)
    strategy = get_strategy(working.last_emotion, table=table) if django_settings.USE_MEMORY_EMOTION_SYSTEM else None
    chosen = choose_chat_model(preferred=session.model)
    reading = time.perf_counter()
    context = read_context(
        user,
        session_id=session_id,
        message=FORM_SUBMITTED,
        window=get_window(user, session_id, limit=settings.context_limit),
        strategy=strategy,
        table=table,
        working=working,
        settings=settings,
        now=now,
        recalls=not session.temporary,
        submitted=Form(title=title, fields=fields),
        # The reply to a form learns nothing, so it writes nothing either.
        tools=offer_tools(
            settings=settings, strategy=strategy, reads=not session.temporary, writes=False, chosen=chosen
        ),
    )
    return OpenTurn(
        user=user,
        session_id=session_id,
        round=None,
        settings=settings,
        table=table,
        strategy=strategy,
        working=working,
        context=context,
        chosen=chosen,
        remembers=False,
        opened_at=now,
        opening=_measure(start, reading=reading),
    )


def open_client_turn(*, user: User, session_id: uuid.UUID | None, request: ClientRequest, now: datetime) -> OpenTurn:
    """Store what is new in a client's messages and prepare the reply (T3).

    `session_id`: None where the client names no session; then its history tells which one it is, or a new one is made.
    Raises `NotFound` without the session, `TooLarge` for a message that is too long to be stored.
    """
    start = time.perf_counter()
    settings, table = get_turn_configuration(user)
    if not request.stored:
        return _open_unstored(user, request, settings=settings, table=table, now=now, start=start)
    if len(request.given.message) > MAX_CONTENT_CHARS:
        raise TooLarge(f"The message has {len(request.given.message)} characters; {MAX_CONTENT_CHARS} are allowed.")
    embeds, wait_for_embedding = django_settings.USE_MEMORY_EMOTION_SYSTEM, None
    message = cut_client_blocks(request.given.message)
    if embeds and not request.given.is_new_only:
        said = [line.content for line in request.given.before]
        wait_for_embedding = start_embedding(message, earlier=find_earlier(message, said))
    if session_id is None:
        session_id = find_session(user=user, given=request.given, now=now) or create_session(user=user).id
    if settings.working_archive:
        archive_working_memory(user=user, session_id=session_id, now=now)
    working = None
    with transaction.atomic():
        opened, branch = open_client_round(
            user=user,
            session_id=session_id,
            given=request.given,
            window_limit=settings.context_limit,
            now=now,
            lease=_lease(),
        )
        if embeds and wait_for_embedding is None:
            said = list_said(opened.window)
            wait_for_embedding = start_embedding(message, earlier=find_earlier(message, said))
        if branch.replaced:
            forget_embeddings(message_ids=branch.replaced)
        if django_settings.USE_MEMORY_EMOTION_SYSTEM:
            ttl_minutes = settings.working_ttl_minutes
            working = find_working_memory(user, session_id, now=now, ttl_minutes=ttl_minutes) if branch.asked else None
            working = working or count_turn(user=user, session_id=session_id, now=now, ttl_minutes=ttl_minutes)
    return _prepare(
        user,
        opened.opened,
        opened.window,
        working,
        settings=settings,
        table=table,
        wait_for_embedding=wait_for_embedding,
        now=now,
        start=start,
        request=request,
        lines=opened.lines,
    )


def _open_unstored(
    user: User, request: ClientRequest, *, settings: MemorySettings, table: StrategyTable, now: datetime, start: float
) -> OpenTurn:
    """Prepare a reply that leaves nothing behind: memories are read, and nothing is stored, counted or learned."""
    strategy = get_strategy(None, table=table) if django_settings.USE_MEMORY_EMOTION_SYSTEM else None
    chosen = choose_chat_model(asked=request.model)
    session_id, reading = uuid.uuid4(), time.perf_counter()
    context = read_context(
        user,
        message=request.given.message,
        session_id=session_id,
        window=Window(),
        strategy=strategy,
        table=table,
        working=None,
        settings=settings,
        now=now,
        recalls=True,
        client=_make_prompt(request, lines=()),
        tools=_offer(request, settings=settings, strategy=strategy, reads=True, writes=False, chosen=chosen),
    )
    return OpenTurn(
        user=user,
        session_id=session_id,
        round=None,
        settings=settings,
        table=table,
        strategy=strategy if request.relayed is None else None,
        working=None,
        context=context,
        chosen=chosen,
        remembers=False,
        opened_at=now,
        opening=_measure(start, reading=reading),
        client=request,
    )


def _make_prompt(request: ClientRequest, *, lines: Sequence[uuid.UUID | None]) -> ClientPrompt:
    """What the client brings along for the prompt. `lines`: the stored messages of its history, as far as there are."""
    before = request.given.before
    ids = lines or [None] * len(before)
    history = [ClientLine(key, line.role, line.content) for key, line in zip(ids, before, strict=True)]
    return ClientPrompt(
        instructions=request.instructions,
        history=None if request.given.is_new_only else history,
        relayed=request.relayed is not None,
    )


def _offer(
    request: ClientRequest | None,
    *,
    settings: MemorySettings,
    strategy: ReplyStrategy | None,
    reads: bool,
    writes: bool,
    chosen: ChosenModel,
) -> tuple[str, ...]:
    """The tools that the model may call; none where a client's own request is passed on (T3)."""
    if request is not None and request.relayed is not None:
        return ()
    return offer_tools(settings=settings, strategy=strategy, reads=reads, writes=writes, chosen=chosen)


def preview_context(*, user: User, session_id: uuid.UUID, message: str, now: datetime) -> Context:
    """Return the context that `message` would get now; stores and counts nothing."""
    session = get_session(user, session_id)
    settings, table = get_turn_configuration(user)
    strategy = working = None
    if django_settings.USE_MEMORY_EMOTION_SYSTEM:
        working = find_working_memory(user, session_id, now=now, ttl_minutes=settings.working_ttl_minutes)
        strategy = get_strategy(working.last_emotion if working else None, table=table)
    return read_context(
        user,
        session_id=session_id,
        message=message,
        window=get_window(user, session_id, limit=settings.context_limit),
        strategy=strategy,
        table=table,
        working=working,
        settings=settings,
        now=now,
        recalls=not session.temporary,
        tools=offer_tools(
            settings=settings,
            strategy=strategy,
            reads=not session.temporary,
            writes=not session.temporary,
            chosen=choose_chat_model(preferred=session.model),
        ),
    )


def _prepare(
    user: User,
    opened: OpenRound,
    window: Window,
    working: WorkingMemorySnapshot | None,
    *,
    settings: MemorySettings,
    table: StrategyTable,
    wait_for_embedding: Callable[[], QueryEmbedding | None] | None = None,
    now: datetime,
    start: float,
    request: ClientRequest | None = None,
    lines: Sequence[uuid.UUID | None] = (),
) -> OpenTurn:
    relayed = request is not None and request.relayed is not None
    strategy = get_strategy(working.last_emotion, table=table) if working else None
    try:
        chosen = choose_chat_model(asked=request.model if request else "", preferred=opened.model)
        # Before the prompt is built: it says what was done, and recalls what was just stored (L9).
        obeys = strategy is not None and not opened.temporary
        asked = read_message(opened.content, before=_list_own(window, request))
        commands = []
        if obeys:
            commands = run_message_commands(
                user=user, opened=opened, commands=asked.commands, settings=settings, now=now
            )
        reading = time.perf_counter()
        reply = None
        if strategy is not None and not relayed and asked.only_list:
            reply = compose_memory_list_reply(
                user=user, message=opened.content, settings=settings, results=commands, recalls=obeys
            )
            context = _make_unsent(opened, strategy=strategy, settings=settings, now=now)
        else:
            context = read_context(
                user,
                session_id=opened.session_id,
                message=opened.content,
                asked=asked,
                window=window,
                strategy=strategy,
                table=table,
                working=working,
                settings=settings,
                now=now,
                said_at=opened.create_time,
                actions=describe_actions(commands),
                candidates=[memory_id for command in commands for memory_id in command.unclear],
                recalls=not opened.temporary,
                wait_for_embedding=wait_for_embedding,
                client=_make_prompt(request, lines=lines) if request else None,
                tools=_offer(
                    request,
                    settings=settings,
                    strategy=strategy,
                    reads=not opened.temporary,
                    writes=not opened.temporary,
                    chosen=chosen,
                ),
            )
    except Exception:
        fail_round(opened=opened)
        raise
    return OpenTurn(
        user=user,
        session_id=opened.session_id,
        round=opened,
        settings=settings,
        table=table,
        strategy=None if relayed else strategy,
        working=working,
        context=context,
        chosen=chosen,
        remembers=not opened.temporary,
        opened_at=now,
        opening=_measure(start, reading=reading),
        commands=commands,
        reply=reply,
        client=request,
    )


def _list_own(window: Window, request: ClientRequest | None) -> list[str]:
    """What the person said in the session before, oldest first."""
    if request is not None and not request.given.is_new_only:
        return [line.content for line in request.given.before if line.role == "user"]
    return [line.content for exchange in window.rounds for line in exchange if line.role == "user"]


def _make_unsent(opened: OpenRound, *, strategy: ReplyStrategy, settings: MemorySettings, now: datetime) -> Context:
    """The context of a turn that asks no model: nothing was sent."""
    given = ContextInput(
        message=opened.content,
        now=now.astimezone(settings.zone),
        budget=settings.token_budget,
        context_limit=settings.context_limit,
        strategy=strategy,
    )
    return Context(layers=(), messages=(), given=given)


def _measure(start: float, *, reading: float) -> dict[str, float]:
    """What opening a turn took from `start` on, and of that what reading its context took from `reading` on."""
    return {"opening_ms": milliseconds_since(start), "context_ms": milliseconds_since(reading)}


def milliseconds_since(start: float) -> float:
    """Return the time since a `time.perf_counter` reading."""
    return round((time.perf_counter() - start) * 1000, 2)


def _lease() -> timedelta:
    return timedelta(seconds=django_settings.TURN_LEASE_SECONDS)
