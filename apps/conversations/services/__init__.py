"""Writing sessions and messages."""

from __future__ import annotations

import json
import uuid
from collections.abc import Collection
from datetime import datetime, timedelta
from functools import reduce
from operator import or_
from typing import Any

from django.db import IntegrityError, connection, transaction
from django.db.models import F, Q, QuerySet
from django.db.models.functions import Now

from apps.accounts.models import User
from apps.accounts.selectors import working_ttl
from apps.accounts.services.ledger import record_sessions
from apps.accounts.services.people import get_program, keep_account
from apps.conversations.models import Message, MessageStatus, Role, Session, Work
from apps.conversations.queue.services import add_work, wake_workers
from apps.conversations.selectors import get_message, get_session, make_window
from apps.conversations.types import MAX_AUTO_TITLE_CHARS, MAX_TITLE_CHARS, OpenRound, SessionChanges, Window
from apps.core.db import fetch_prepared
from apps.core.errors import Conflict, NotFound
from apps.core.text.client_blocks import cut_client_blocks
from apps.core.text.segment import pieces
from apps.core.tracing import get_traceparent

_READ_FOR_TITLE = 2_000
"""Characters of a message: white space may come first."""

# The two halves of a turn are one statement each: fewer round trips while the user waits for the first token, and
# the session's row lock, which orders concurrent messages, is held for the shortest time possible.
#
# Whoever writes below a session locks it first: writers against each other (`lock_session`), closing a round only
# against deletion, and deletion against all (`delete_sessions`). So none of them waits for another in a circle.
OPEN_ROUND = """
WITH opened AS (
    UPDATE chat_session
    SET last_position = last_position + 2,
        last_active_at = GREATEST(last_active_at, %(now)s),
        title = CASE WHEN title = '' THEN %(title)s ELSE title END
    WHERE id = %(session)s AND user_id = %(user)s
    RETURNING id, user_id, last_position, temporary, model
), said AS (
    INSERT INTO conversation (id, session_id, user_id, role, content, create_time, is_collected, status, position,
                              idempotency_key, attempt, lease_until)
    SELECT %(message)s, id, user_id, 'user', %(content)s, %(said_at)s, FALSE, 'pending', last_position - 1,
           %(key)s, 1, %(lease)s
    FROM opened
    RETURNING position
), earlier AS (
    SELECT id, role, content, reply_to_id, position
    FROM conversation
    WHERE session_id = %(session)s AND user_id = %(user)s AND status = 'complete' AND summarized_by_id IS NULL
      AND role IN ('user', 'assistant')
    ORDER BY position DESC
    LIMIT %(window)s
), summary AS (
    SELECT id, role, content, reply_to_id, position
    FROM conversation
    WHERE session_id = %(session)s AND user_id = %(user)s AND status = 'complete' AND summarized_by_id IS NULL
      AND role = 'summary'
    ORDER BY position DESC
    LIMIT 1
)
SELECT said.position, opened.temporary, opened.model, (SELECT data_epoch FROM accounts_user WHERE id = %(user)s),
       (SELECT jsonb_agg(jsonb_build_array(id, role, content, reply_to_id) ORDER BY position)
        FROM (SELECT * FROM earlier UNION ALL SELECT * FROM summary) AS before)
FROM said, opened
"""

CLOSE_ROUND = """
WITH owner AS (
    SELECT id FROM accounts_user WHERE id = %(user)s AND data_epoch = %(epoch)s FOR KEY SHARE
), kept AS (
    SELECT id FROM chat_session WHERE id = %(session)s AND user_id = (SELECT id FROM owner) FOR KEY SHARE
), answered AS (
    UPDATE conversation
    SET status = 'complete', emotion = %(emotion)s, lease_until = NULL
    FROM kept
    WHERE conversation.id = %(message)s AND session_id = kept.id AND status <> 'complete' AND attempt = %(attempt)s
    RETURNING session_id, user_id, position
), replied AS (
    INSERT INTO conversation (id, session_id, user_id, role, content, create_time, is_collected, status, position,
                              reply_to_id, attempt, stopped)
    SELECT %(reply)s, session_id, user_id, 'assistant', %(content)s, %(now)s, FALSE, 'complete', position + 1,
           %(message)s, 1, %(stopped)s
    FROM answered
    RETURNING session_id, user_id
), left_to_do AS (
    INSERT INTO work (kind, user_id, session_id, message_id, recorded, state, attempts, due_at, error, created_at,
                      trace)
    SELECT todo.kind, user_id, session_id, todo.message_id, %(recorded)s AND todo.kind = 'extract', 'due', 0, %(now)s,
           '', %(now)s, %(trace)s
    FROM replied, unnest(%(work_kinds)s::text[], %(work_messages)s::uuid[]) AS todo(kind, message_id)
    ON CONFLICT DO NOTHING
)
SELECT count(*) FROM replied
"""


class AlreadySent(Conflict):
    """A message with the same idempotency key is there: its outcome is the answer to this one too (C6)."""


def create_session(*, user: User, title: str = "", temporary: bool = False, model: str = "") -> Session:
    """Start a conversation with a new unique ID and an empty window (C2)."""
    return Session.objects.create(user=user, title=title, temporary=temporary, model=model, via=get_program())


def lock_session(*, user: User, session_id: uuid.UUID) -> Session:
    """Return the session, locked until the transaction ends: what orders writers of one session. Or `NotFound`.

    Its owner's account is locked against erasure first, as erasure locks it first.
    """
    keep_account(user)
    session = Session.objects.select_for_update(no_key=True).filter(user=user, id=session_id).first()
    if session is None:
        raise NotFound("This session does not exist.")
    return session


def keep_sessions(user: User) -> None:
    """Keep all of the person's sessions from being deleted until the transaction ends.

    For services that write to several sessions in no fixed order: a deletion locks its session before anything in it.
    """
    keep_account(user)
    with connection.cursor() as cursor:
        cursor.execute("SELECT FROM chat_session WHERE user_id = %s ORDER BY id FOR KEY SHARE", [user.pk])


def update_session(*, user: User, session_id: uuid.UUID, changes: SessionChanges) -> Session:
    """Give the session another title, pin it or archive it; or `NotFound`. Its place by last activity stays."""
    Session.objects.filter(user=user, id=session_id).update(**changes)
    return get_session(user, session_id)


def rename_session(*, user: User, session_id: uuid.UUID, title: str) -> Session:
    """Give the session another title; or `NotFound`."""
    return update_session(user=user, session_id=session_id, changes={"title": title})


def delete_session(*, user: User, session_id: uuid.UUID) -> int:
    """Delete the session with its messages, turns and working memory; memories stay, pointing nowhere (W4)."""
    deleted = delete_sessions(Session.objects.filter(user=user, id=session_id))
    if not deleted:
        raise NotFound("This session does not exist.")
    return deleted


@transaction.atomic
def delete_sessions(sessions: QuerySet[Session], *, record: bool = True) -> int:
    """Delete these sessions as `delete_session` does; returns how many.

    Locked before anything in them: a turn that closes meanwhile is either in what is deleted or finds nothing to close.
    `record`: so that they are deleted again when an older backup is restored (R3).
    """
    ids = list(sessions.order_by("id").select_for_update(of=("self",)).values_list("id", flat=True))
    Session.objects.filter(id__in=ids).delete()
    if record:
        record_sessions(ids)
    return len(ids)


def delete_idle_temporary_sessions() -> int:
    """Delete temporary sessions idle as long as their owner lets working memory idle (C7); returns how many."""
    idle = Session.objects.filter(temporary=True, last_active_at__lt=Now() - working_ttl(user="user"))
    return delete_sessions(idle, record=False)  # a restored one is idle, too


def set_collected(*, user: User, message_id: uuid.UUID, is_collected: bool) -> Message:
    """Mark a message as a favourite, or no longer (C1)."""
    Message.objects.filter(user=user, id=message_id).update(is_collected=is_collected)
    return get_message(user, message_id)


def open_round(
    *,
    user: User,
    session_id: uuid.UUID,
    content: str,
    idempotency_key: str | None,
    window_limit: int,
    said_at: datetime,
    now: datetime,
    lease: timedelta,
) -> tuple[OpenRound, Window]:
    """Store a user's message as `pending` and reserve the place of its reply (C1, C6).

    Returns it with what was said before: the newest whole rounds of at most `window_limit` messages, as `get_window`
    gives them, in the same round trip. `said_at` dates the message; the lease counts from `now`, or a message said
    long ago would have failed at once. An untitled session takes its title from the message. Raises `NotFound` without
    the session, `AlreadySent` when a message with the same idempotency key is there.
    """
    message_id = uuid.uuid4()
    values: dict[str, Any] = {
        "said_at": said_at,
        "now": now,
        "lease": now + lease,
        "title": make_title(content),
        "session": session_id,
        "user": user.pk,
        "message": message_id,
        "content": content,
        "key": idempotency_key,
        "window": window_limit,
    }
    try:
        # No savepoint: a caller has nothing of its own to keep when this is refused.
        with transaction.atomic(savepoint=False):
            rows = fetch_prepared(OPEN_ROUND, values)
    except IntegrityError as error:
        if "message_idempotency_unique" in str(error):
            raise AlreadySent("A message with this Idempotency-Key was already sent.") from error
        raise
    if not rows:
        raise NotFound("This session does not exist.")
    ((position, temporary, model, data_epoch, earlier),) = rows
    window = make_window(
        (
            (uuid.UUID(key), role, text, reply_to and uuid.UUID(reply_to))
            for key, role, text, reply_to in json.loads(earlier or "[]")
        ),
        limit=window_limit,
    )
    opened = OpenRound(
        message_id=message_id,
        session_id=session_id,
        user_id=user.pk,
        position=position,
        attempt=1,
        content=content,
        create_time=said_at,
        is_collected=False,
        temporary=temporary,
        data_epoch=data_epoch,
        model=model,
    )
    return opened, window


def make_title(content: str) -> str:
    """Return the title an untitled session takes from a message: its beginning, on one line, in whole words.

    "" where clients put everything into it that it holds.
    """
    line = " ".join(cut_client_blocks(content)[:_READ_FOR_TITLE].split())
    if len(line) <= MAX_AUTO_TITLE_CHARS:
        return line
    begun = ""
    for piece in pieces(line):
        if len(begun) + len(piece) >= MAX_AUTO_TITLE_CHARS:
            break
        begun += piece
    return f"{begun.rstrip() or line[: MAX_AUTO_TITLE_CHARS - 1]}…"


def entitle_session(*, user: User, session_id: uuid.UUID, title: str, earlier: str = "") -> None:
    """Give a session a title that tells what it is about, in the place of the beginning of its first message.

    `earlier`: one that it was given in this way before, which gives way too. What a person called it stays. Does
    nothing for a blank title and where the session is gone.
    """
    session = Session.objects.filter(user=user, id=session_id).first()
    title = " ".join(title.split())[:MAX_TITLE_CHARS]
    if session is None or not title:
        return
    said = session.messages.filter(role=Role.USER).exclude(status=MessageStatus.REPLACED).order_by("position").first()
    if session.title in {earlier or title, make_title(said.content) if said else title}:
        # Only if it is still called that: somebody may rename it at this moment.
        Session.objects.filter(user=user, id=session_id, title=session.title).update(title=title)


def is_made_title(session: Session) -> bool:
    """Whether a session is called by the beginning of its first message, and not what a person called it."""
    said = session.messages.filter(role=Role.USER).exclude(status=MessageStatus.REPLACED).order_by("position").first()
    return said is not None and session.title == make_title(said.content)


def reopen_round(*, user: User, message_id: uuid.UUID, now: datetime, lease: timedelta) -> OpenRound:
    """Take a failed message up again (C6): it becomes `pending` under a new attempt; nothing is stored twice.

    A pending message whose lease ran out counts as failed. Raises `Conflict` for any other, `NotFound` without it.
    """
    message = get_message(user, message_id)
    session = lock_session(user=user, session_id=message.session_id)
    failed = Q(status=MessageStatus.FAILED) | Q(status=MessageStatus.PENDING, lease_until__lt=now)
    taken = Message.objects.filter(failed, id=message_id, attempt=message.attempt).update(
        status=MessageStatus.PENDING, attempt=F("attempt") + 1, lease_until=now + lease
    )
    if not taken:
        raise Conflict("Only a failed message can be retried.", fields={"message_id": str(message_id)})
    return OpenRound(
        message_id=message.id,
        session_id=message.session_id,
        user_id=message.user_id,
        position=message.position,
        attempt=message.attempt + 1,
        content=message.content,
        create_time=message.create_time,
        is_collected=message.is_collected,
        temporary=session.temporary,
        data_epoch=user.data_epoch,
        model=session.model,
    )


def close_round(
    *,
    opened: OpenRound,
    reply: str,
    emotion: str | None,
    now: datetime,
    remembers: bool = True,
    recorded: bool = False,
    reply_id: uuid.UUID | None = None,
    stopped: bool = False,
) -> Message:
    """Store the reply in its reserved place, mark the user's message answered, and leave the work that is to be done.

    `remembers`: whether the round may become memory; what is said in a temporary session (C7) leaves no work at all.
    `recorded`: no turn has read it, so that its long-term memories come from the background work, too (T3).
    `reply_id`: the reply's ID, a new one if None. `stopped`: the person stopped it. A reply that comes after its lease
    ran out is as good as any, as long as no other run has taken the message up.
    Raises `Conflict` when one has, when the message was deleted, or when its owner had everything erased (R3).
    """
    message = Message(
        id=reply_id or uuid.uuid4(),
        session_id=opened.session_id,
        user_id=opened.user_id,
        role=Role.ASSISTANT,
        content=reply,
        create_time=now,
        position=opened.position + 1,
        reply_to_id=opened.message_id,
        stopped=stopped,
    )
    todo: list[tuple[str, uuid.UUID]] = []
    if not opened.temporary:
        todo = [
            (Work.Kind.EMBED, opened.message_id),
            (Work.Kind.EMBED, message.id),
            (Work.Kind.SUMMARIZE, message.id),
        ]
        if remembers:
            todo.append((Work.Kind.EXTRACT, opened.message_id))
    values: dict[str, Any] = {
        "session": opened.session_id,
        "message": opened.message_id,
        "attempt": opened.attempt,
        "emotion": emotion,
        "reply": message.id,
        "content": reply,
        "now": now,
        "user": opened.user_id,
        "epoch": opened.data_epoch,
        "recorded": recorded,
        "stopped": stopped,
        "work_kinds": [kind for kind, _message in todo],
        "work_messages": [message_id for _kind, message_id in todo],
        "trace": get_traceparent(),
    }
    with connection.cursor() as cursor:
        cursor.execute(CLOSE_ROUND, values)
        if cursor.fetchone() != (1,):
            raise Conflict("The message was deleted or taken up again meanwhile.")
    wake_workers({kind for kind, _message in todo})
    message._state.adding = False
    return message


def fail_round(*, opened: OpenRound) -> None:
    """Keep the user's message as `failed`, unless another run has taken it up (C6)."""
    Message.objects.filter(id=opened.message_id, status=MessageStatus.PENDING, attempt=opened.attempt).update(
        status=MessageStatus.FAILED, lease_until=None
    )


def fail_rounds(entries: Collection[tuple[uuid.UUID, int]]) -> int:
    """Mark pending messages as failed, each given with the attempt that has ended; returns how many."""
    if not entries:
        return 0
    ended = reduce(or_, (Q(id=message_id, attempt=attempt) for message_id, attempt in entries))
    rows = Message.objects.filter(ended, status=MessageStatus.PENDING)
    return rows.update(status=MessageStatus.FAILED, lease_until=None)


def fail_abandoned_rounds(*, now: datetime) -> int:
    """Mark the pending messages whose lease ran out as failed (C6); returns how many."""
    return Message.objects.filter(status=MessageStatus.PENDING, lease_until__lt=now).update(
        status=MessageStatus.FAILED, lease_until=None
    )


def record_assistant_message(
    *, user: User, session_id: uuid.UUID, content: str, now: datetime, message_id: uuid.UUID | None = None
) -> Message:
    """Store a message of the assistant that answers no message of the user, at the end of the session (H1).

    `message_id`: a new one if None. Raises `IntegrityError` where a message has it already.
    """
    with transaction.atomic():
        session = lock_session(user=user, session_id=session_id)
        session.last_position += 1
        session.last_active_at = max(session.last_active_at, now)
        session.save(update_fields=["last_position", "last_active_at"])
        message = Message.objects.create(
            id=message_id or uuid.uuid4(),
            session=session,
            user=user,
            role=Role.ASSISTANT,
            content=content,
            create_time=now,
            position=session.last_position,
        )
        if not session.temporary:
            add_work(messages=[message], kinds=(Work.Kind.EMBED, Work.Kind.SUMMARIZE), now=now)
        return message


def forget_rounds(*, user: User, message_ids: Collection[uuid.UUID]) -> None:
    """Let no later turn recall these messages: something that they said has been deleted (A5, L6)."""
    Message.objects.filter(user=user, id__in=message_ids, recallable=True).update(recallable=False)
