"""The first half of a turn: store the message, obey its commands, read what is remembered, build the prompt.

Runs in a database thread.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from django.conf import settings as django_settings
from django.db import transaction
from django.db.models import QuerySet

from apps.accounts.models import User
from apps.accounts.types import MemorySettings
from apps.chat.context.read import TurnInput, embed_message, read_context
from apps.chat.context.types import ClientLine, ClientPrompt, Context, ContextInput, Form
from apps.chat.models import Edit
from apps.chat.prompts import FORM_SUBMITTED
from apps.chat.selectors import get_turn_configuration
from apps.chat.turn.commands import compose_memory_list_reply, describe_actions, run_message_commands
from apps.chat.turn.tools import offer_tools
from apps.chat.turn.types import ClientRequest, OpenTurn
from apps.conversations.attachments import attach, move_attachments
from apps.conversations.histories import find_session, open_client_round, open_round_again
from apps.conversations.models import Session
from apps.conversations.pausing import find_pause
from apps.conversations.rounds import describe_space, fail_round, get_window, open_round, reopen_round
from apps.conversations.sessions import bring_back, create_session, get_message, get_session, replace_from
from apps.conversations.types import MAX_CONTENT_CHARS, OpenRound, Window
from apps.core.errors import NotFound, TooLarge
from apps.core.llm.client import choose_chat_model
from apps.memory.archive import archive_working_memory
from apps.memory.changes.undo import restore_retracted, retract_learned
from apps.memory.commands import CommandResult
from apps.memory.recall.both import RecalledMemories
from apps.memory.vectors.messages import delete_embeddings
from apps.memory.working import Variables, WorkingMemorySnapshot, count_turn, find_working_memory, record_form


def _begin(user: User, now: datetime) -> TurnInput:
    """Return what every turn of a person starts from; what is said comes to it."""
    started = time.perf_counter()
    settings, table = get_turn_configuration(user)
    return TurnInput(user=user, settings=settings, table=table, now=now, started=started)


def _archive(given: TurnInput, session_id: uuid.UUID) -> None:
    """Archive a working memory that has expired: the sweep may not have come by yet, and a new one follows (W4)."""
    if given.settings.working_archive:
        archive_working_memory(user=given.user, session_id=session_id, now=given.now)


def _find_working(given: TurnInput, session_id: uuid.UUID) -> WorkingMemorySnapshot | None:
    if not django_settings.USE_MEMORY_EMOTION_SYSTEM:
        return None
    ttl_minutes = given.settings.working_ttl_minutes
    return find_working_memory(given.user, session_id, now=given.now, ttl_minutes=ttl_minutes)


def _count(given: TurnInput, session_id: uuid.UUID, *, paused_by: str) -> WorkingMemorySnapshot | None:
    """Count a message in working memory; None without the memory system."""
    if not django_settings.USE_MEMORY_EMOTION_SYSTEM:
        return None
    ttl_minutes = given.settings.working_ttl_minutes
    return count_turn(
        user=given.user,
        session_id=session_id,
        now=given.now,
        ttl_minutes=ttl_minutes,
        paused=bool(paused_by),
    )


def _enter(given: TurnInput, session: Session) -> TurnInput:
    """Return what a turn of a session starts from."""
    return replace(
        given,
        user=given.user.within(session.space_id),
        space=describe_space(session),
        session_id=session.id,
        window=get_window(given.user, session.id, limit=given.settings.context_limit),
        recalls=not session.temporary,
        paused_by=find_pause(given.user, session=session, paused=given.settings.paused),
        model=session.model,
    )


def _hear(given: TurnInput, opened: OpenRound, window: Window, working: WorkingMemorySnapshot | None) -> TurnInput:
    """Return what the turn of a stored message starts from."""
    return replace(
        given,
        user=given.user.within(opened.space.id if opened.space else None),
        space=opened.space,
        session_id=opened.session_id,
        message=opened.content,
        window=window,
        working=working,
        recalls=not opened.temporary,
        paused_by=opened.paused_by,
        said_at=opened.create_time,
        model=opened.model,
    )


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
    given = _begin(user, now)
    _archive(given, session_id)
    with transaction.atomic():
        opened, window = open_round(
            user=user,
            session_id=session_id,
            content=content,
            idempotency_key=idempotency_key,
            window_limit=given.settings.context_limit,
            said_at=said_at or now,
            now=now,
            lease=_lease(),
            paused=given.settings.paused,
        )
        if attachments:
            attach(user=user, session_id=session_id, message_id=opened.message_id, attachment_ids=attachments)
        if instead_of is not None:
            move_attachments(user=user, before=[instead_of], after=opened.message_id)
        given = _hear(given, opened, window, _count(given, session_id, paused_by=opened.paused_by))
        if given.uses_memory:
            # Now: it takes as long as all that is read before recall.
            given = replace(given, wait_for_embedding=embed_message(content, said=given.said))
    return _prepare(given, opened=opened)


def open_retry_turn(*, user: User, message_id: uuid.UUID, now: datetime) -> OpenTurn:
    """Take a failed message up again: nothing is stored or counted twice (C6).

    Raises `NotFound` without the message, `Conflict` when it has not failed.
    """
    given = _begin(user, now)
    if given.settings.working_archive:
        _archive(given, get_message(user, message_id).session_id)
    return _take_up(given, partial(reopen_round, message_id=message_id))


def open_another_turn(*, user: User, message_id: uuid.UUID, now: datetime) -> OpenTurn:
    """Prepare another reply to the newest message of a session; the present one gives way once the new one is stored.

    `message_id`: of the message or of its reply. What was learned from the message stays as it is. Raises `NotFound`
    without it, `Conflict` where it is not the newest one or has no reply.
    """
    given = _begin(user, now)
    message = get_message(user, message_id)
    return _take_up(given, partial(open_round_again, message_id=message.reply_to_id or message.id))


def _take_up(given: TurnInput, take: Callable[..., OpenRound]) -> OpenTurn:
    """Prepare the reply to a message that is stored already; `take` takes it up."""
    with transaction.atomic():
        opened = take(user=given.user, now=given.now, lease=_lease())
        # Where what counted it at first has expired since, it is the first message of a new one (W4).
        working = _find_working(given, opened.session_id)
        working = working or _count(given, opened.session_id, paused_by=opened.paused_by)
    limit = given.settings.context_limit
    window = get_window(given.user, opened.session_id, limit=limit, before=opened.position)
    return _prepare(_hear(given, opened, window, working), opened=opened)


def open_form_turn(
    *, user: User, session_id: uuid.UUID, title: str, fields: Mapping[str, Any], now: datetime
) -> OpenTurn:
    """Keep a submitted form and prepare the reply that continues from it; no message of the user is made (H1, H2).

    Raises `NotFound` without the session, `TooLarge` when the form does not fit (W5).
    """
    given = _begin(user, now)
    session = get_session(user, session_id, to_change=True)
    _archive(given, session_id)
    given = _enter(given, session)
    working = record_form(
        user=user, session_id=session_id, title=title, fields=fields, now=now, paused=bool(given.paused_by)
    )
    submitted = Form(title=title, fields=fields)
    return _prepare(replace(given, message=FORM_SUBMITTED, working=working, submitted=submitted), opened=None)


def open_client_turn(*, user: User, session_id: uuid.UUID | None, request: ClientRequest, now: datetime) -> OpenTurn:
    """Store what is new in a client's messages and prepare the reply (T3).

    `session_id`: None where the client names no session; then its history tells which one it is, or a new one is made.
    Of a request that is not to be stored memories are read, and nothing is stored, counted or learned.
    Raises `NotFound` without the session, `TooLarge` for a message that is too long to be stored.
    """
    given, message = _begin(user, now), request.given.message
    if not request.stored:
        # It looks from one place, whatever else the person may see.
        given = replace(
            given, user=user.within(user.sight.space), message=message, client=_make_prompt(request, lines=())
        )
        return _prepare(given, opened=None, request=request)
    if len(message) > MAX_CONTENT_CHARS:
        raise TooLarge(f"The message has {len(message)} characters; {MAX_CONTENT_CHARS} are allowed.")
    embeds, wait_for_embedding = django_settings.USE_MEMORY_EMOTION_SYSTEM, None
    if embeds and not request.given.is_new_only:
        wait_for_embedding = embed_message(message, said=[line.content for line in request.given.before])
    if session_id is None:
        session_id = find_session(user=user, given=request.given, now=now) or create_session(user=user).id
    _archive(given, session_id)
    with transaction.atomic():
        found, branch = open_client_round(
            user=user,
            session_id=session_id,
            given=request.given,
            window_limit=given.settings.context_limit,
            now=now,
            lease=_lease(),
            paused=given.settings.paused,
            asked=request.paused,
        )
        if embeds and wait_for_embedding is None:
            said = [line.content for exchange in found.window.rounds for line in exchange]
            wait_for_embedding = embed_message(message, said=said)
        if branch.replaced:
            delete_embeddings(message_ids=branch.replaced)
        working = _find_working(given, session_id) if branch.asked else None
        working = working or _count(given, session_id, paused_by=found.opened.paused_by)
        given = _hear(given, found.opened, found.window, working)
    client = _make_prompt(request, lines=found.lines)
    given = replace(given, client=client, wait_for_embedding=wait_for_embedding)
    return _prepare(given, opened=found.opened, request=request)


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


def _prepare(given: TurnInput, *, opened: OpenRound | None, request: ClientRequest | None = None) -> OpenTurn:
    """Do what the message tells the memory, then build the prompt, or compose the reply that needs none (L9).

    `opened`: the stored message, None where none is; it fails where this does.
    """
    relayed = given.client is not None and given.client.relayed
    stores = opened is not None and given.recalls
    commands: Sequence[CommandResult] = ()
    reply = None
    try:
        chosen = choose_chat_model(asked=request.model if request else "", preferred=given.model)
        if opened is not None and stores and given.strategy is not None:
            # Before the prompt is built: it says what was done, and recalls what was just stored.
            commands = run_message_commands(given, opened=opened)
        reading = time.perf_counter()
        if opened is not None and given.strategy is not None and not relayed and given.asked.only_list:
            reply = compose_memory_list_reply(given, results=commands)
            context = _make_unsent(given)
        else:
            context = read_context(
                given,
                actions=describe_actions(commands),
                candidates=[memory_id for command in commands for memory_id in command.unclear],
                tools=offer_tools(given, writes=stores, chosen=chosen),
            )
    except Exception:
        if opened is not None:
            fail_round(opened=opened)
        raise
    return OpenTurn(
        given=given,
        round=opened,
        context=context,
        chosen=chosen,
        remembers=stores and not given.paused_by,
        opening={"opening_ms": milliseconds_since(given.started), "context_ms": milliseconds_since(reading)},
        commands=commands,
        reply=reply,
        client=request,
    )


def _make_unsent(given: TurnInput) -> Context:
    """The context of a turn that asks no model: nothing was sent."""
    unsent = ContextInput(
        message=given.message,
        now=given.now.astimezone(given.settings.zone),
        budget=given.settings.token_budget,
        context_limit=given.settings.context_limit,
        strategy=given.strategy,
    )
    return Context(layers=(), messages=(), given=unsent)


def milliseconds_since(start: float) -> float:
    """Return the time since a `time.perf_counter` reading."""
    return round((time.perf_counter() - start) * 1000, 2)


def _lease() -> timedelta:
    return timedelta(seconds=django_settings.TURN_LEASE_SECONDS)


def set_stage(*, user: User, session_id: uuid.UUID | None, topic: str = "", now: datetime) -> TurnInput:
    """Read where a message would be said, and store and count nothing.

    `session_id` None: in a session that does not exist yet. `topic`, unless blank, takes the place of the one that the
    session has (K7). Raises `NotFound` for a session that is not theirs.
    """
    session = None if session_id is None else get_session(user, session_id)
    stage = _begin(user.within(user.sight.space), now)
    if session is not None:
        stage = replace(_enter(stage, session), working=_find_working(stage, session.id))
    if topic.strip():
        working = stage.working or WorkingMemorySnapshot(
            session_id=stage.session_id,
            current_topic=None,
            variables=Variables(),
            turn_count=1,
            last_emotion=None,
            created_at=now,
            updated_at=now,
            revision=0,
        )
        stage = replace(stage, working=replace(working, current_topic=topic.strip()))
    return stage


def preview_context(*, user: User, session_id: uuid.UUID, message: str, now: datetime) -> Context:
    """Return the context that `message` would get now; stores and counts nothing."""
    given = replace(set_stage(user=user, session_id=session_id, now=now), message=message)
    return read_context(given, tools=offer_tools(given, writes=given.recalls))


def try_context(*, message: str, stage: TurnInput, settings: MemorySettings, recalled: RecalledMemories) -> Context:
    """Return the context that `message` would get on this stage under `settings`, which `recalled` is for, too."""
    window = get_window(stage.user, stage.session_id, limit=settings.context_limit)
    given = replace(stage, message=message, settings=settings, window=window)
    return read_context(given, recalled=recalled, tools=offer_tools(given, writes=given.recalls))


@dataclass(frozen=True, slots=True)
class Restored:
    """What undoing an edit brought back: messages, and changes of memories."""

    messages: int
    memories: int


def open_edited_turn(*, user: User, message_id: uuid.UUID, content: str, now: datetime) -> OpenTurn:
    """Store `content` in place of a message, and prepare its reply.

    The message and all that came after it give way, and what they alone taught is taken back; both are kept for
    `undo_edit`. Raises `NotFound` without the message, `Conflict` where it cannot be edited; then nothing is changed.
    """
    with transaction.atomic():
        session, replaced = replace_from(user=user, message_id=message_id, now=now)
        delete_embeddings(message_ids=replaced)
        retractions = retract_learned(user=user, message_ids=replaced, now=now)
        turn = open_message_turn(
            user=user, session_id=session.id, content=content, idempotency_key=None, now=now, instead_of=message_id
        )
        assert turn.round is not None, "a message was sent"
        Edit.objects.create(
            message_id=turn.round.message_id,
            session=session,
            user=user,
            replaced=replaced,
            retractions=retractions,
            created_at=now,
        )
    return turn


@transaction.atomic
def undo_edit(*, user: User, message_id: uuid.UUID, now: datetime) -> Restored:
    """Bring back what stood in the place of an edited message, and what it had taught.

    What has been said since the edit gives way, and what that taught is taken back. Raises `NotFound` where the message
    is no edited one, `Conflict` while a reply is under way.
    """
    edit = Edit.objects.filter(user=user, message=message_id).first()
    if edit is None:
        raise NotFound("This message was not edited.")
    replaced = bring_back(user=user, message_id=message_id, replaced=edit.replaced, now=now)
    delete_embeddings(message_ids=replaced)
    retract_learned(user=user, message_ids=replaced, now=now)
    move_attachments(user=user, before=[message_id], after=edit.replaced[0])
    restored = restore_retracted(user=user, operations=edit.retractions, now=now)
    edit.delete()
    return Restored(messages=len(edit.replaced), memories=restored)


def list_edits(user: User, session_id: uuid.UUID) -> QuerySet[Edit]:
    """The edits of a session whose undoing can be offered, newest first. Raises `NotFound` without the session."""
    get_session(user, session_id)
    return Edit.objects.filter(user=user, session=session_id, message__status__in=["complete", "failed"])
