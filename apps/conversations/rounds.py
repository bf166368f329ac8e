"""Rounds: a message and its reply, from opening to closing, the window they make, and what a summary covers of them."""

from __future__ import annotations

import json
import uuid
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import reduce
from itertools import starmap
from operator import or_
from typing import Any

from django.db import IntegrityError, connection, transaction
from django.db.models import F, Q, QuerySet

from apps.accounts.models import User
from apps.accounts.spaces import changed_sql, sight_parameters
from apps.conversations.models import Message, MessageStatus, Role, Session, Work
from apps.conversations.pausing import PAUSED_SQL, WORK_WHILE_PAUSED
from apps.conversations.queue import add_work, wake_workers
from apps.conversations.sessions import get_message, lock_session, make_title
from apps.conversations.types import Line, OpenRound, Round, SaidRound, SessionSpace, Window
from apps.core.db import fetch_prepared
from apps.core.errors import Conflict, NotFound
from apps.core.llm.metering import ModelCall
from apps.core.text.sentences import cut_client_blocks
from apps.core.tracing import get_traceparent
from apps.costs.ledger import INSERT_CALLS, list_values

# The two halves of a turn are one statement each: fewer round trips while the user waits for the first token, and
# the session's row lock, which orders concurrent messages, is held for the shortest time possible.
#
# Whoever writes below a session locks it first: writers against each other (`lock_session`), closing a round only
# against deletion, and deletion against all (`delete_sessions`). So none of them waits for another in a circle.
OPEN_ROUND = f"""
WITH opened AS (
    UPDATE chat_session
    SET last_position = last_position + 2,
        last_active_at = GREATEST(last_active_at, %(now)s),
        title = CASE WHEN title = '' THEN %(title)s ELSE title END
    WHERE id = %(session)s AND user_id = %(user)s AND {changed_sql("chat_session")}
    RETURNING id, user_id, last_position, temporary, model, space_id, {PAUSED_SQL} AS paused_by
), said AS (
    INSERT INTO conversation (id, session_id, user_id, role, content, create_time, is_collected, status, position,
                              idempotency_key, attempt, lease_until, paused_by)
    SELECT %(message)s, id, user_id, 'user', %(content)s, %(said_at)s, FALSE, 'pending', last_position - 1,
           %(key)s, 1, %(lease)s, paused_by
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
SELECT said.position, opened.temporary, opened.model, opened.paused_by,
       (SELECT data_epoch FROM accounts_user WHERE id = %(user)s),
       (SELECT jsonb_agg(jsonb_build_array(id, role, content, reply_to_id) ORDER BY position)
        FROM (SELECT * FROM earlier UNION ALL SELECT * FROM summary) AS before),
       space.id, space.name, space.instructions, space.learns_to = 'space'
FROM said, opened LEFT JOIN space ON space.id = opened.space_id
"""  # noqa: S608 - no value is put into it

CLOSE_ROUND = f"""
WITH owner AS (
    SELECT id, service_id FROM accounts_user WHERE id = %(user)s AND data_epoch = %(epoch)s FOR KEY SHARE
), kept AS (
    SELECT id FROM chat_session WHERE id = %(session)s AND user_id = (SELECT id FROM owner) FOR KEY SHARE
), answered AS (
    UPDATE conversation
    SET status = 'complete', emotion = %(emotion)s, lease_until = NULL
    FROM kept
    WHERE conversation.id = %(message)s AND session_id = kept.id AND status <> 'complete' AND attempt = %(attempt)s
    RETURNING session_id, user_id, position, paused_by
), replied AS (
    INSERT INTO conversation (id, session_id, user_id, role, content, create_time, is_collected, status, position,
                              reply_to_id, attempt, stopped, paused_by)
    SELECT %(reply)s, session_id, user_id, 'assistant', %(content)s, %(now)s, FALSE, 'complete', position + 1,
           %(message)s, 1, %(stopped)s, paused_by
    FROM answered
    RETURNING session_id, user_id
), left_to_do AS (
    INSERT INTO work (kind, user_id, session_id, message_id, recorded, state, attempts, due_at, error, created_at,
                      trace)
    SELECT todo.kind, user_id, session_id, todo.message_id, %(recorded)s AND todo.kind = 'extract', 'due', 0, %(now)s,
           '', %(now)s, %(trace)s
    FROM replied, unnest(%(work_kinds)s::text[], %(work_messages)s::uuid[]) AS todo(kind, message_id)
    ON CONFLICT DO NOTHING
), recorded AS (
    {INSERT_CALLS} WHERE EXISTS (SELECT FROM replied)
)
SELECT count(*) FROM replied
"""  # noqa: S608 - no value is put into it


class AlreadySent(Conflict):
    """A message with the same idempotency key is there: its outcome is the answer to this one too (C6)."""


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
    paused: bool = False,
    asked: bool = False,
) -> tuple[OpenRound, Window]:
    """Store a user's message as `pending` and reserve the place of its reply (C1, C6).

    Returns it with what was said before: the newest whole rounds of at most `window_limit` messages, as `get_window`
    gives them, in the same round trip. `said_at` dates the message; the lease counts from `now`, or a message said
    long ago would have failed at once. `paused`, `asked`: as in `find_pause`.
    An untitled session takes its title from the message. Raises `NotFound` without
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
        "paused": paused,
        "asked": asked,
        **sight_parameters(user),
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
    ((position, temporary, model, paused_by, data_epoch, earlier, *space),) = rows
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
        space=SessionSpace(*space) if space[0] else None,
        paused_by=paused_by,
    )
    return opened, window


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
    return describe_open(message, session=session, user=user, attempt=message.attempt + 1)


def describe_space(session: Session) -> SessionSpace | None:
    """Return the space that a session is in, as a turn needs it."""
    space = session.space
    if space is None:
        return None
    return SessionSpace(space.id, space.name, space.instructions, learns=session.learns_in is not None)


def describe_open(
    message: Message, *, session: Session, user: User, attempt: int, alternates: bool = False
) -> OpenRound:
    """Return a stored message of the session as an open round.

    `alternates`: a reply that it has, or that comes meanwhile, gives way.
    """
    return OpenRound(
        message_id=message.id,
        session_id=message.session_id,
        user_id=message.user_id,
        position=message.position,
        attempt=attempt,
        content=message.content,
        create_time=message.create_time,
        is_collected=message.is_collected,
        temporary=session.temporary,
        data_epoch=user.data_epoch,
        model=session.model,
        space=describe_space(session),
        paused_by=message.paused_by,
        alternates=alternates,
        learned=alternates and message.status == MessageStatus.COMPLETE,
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
    calls: Sequence[ModelCall] = (),
) -> Message:
    """Store the reply in its reserved place, mark the user's message answered, and leave the work that is to be done.

    `remembers`: whether the round may become memory; what is said in a temporary session (C7) leaves no work at all.
    `recorded`: no turn has read it, so that its long-term memories come from the background work, too (T3).
    `reply_id`: the reply's ID, a new one if None. `stopped`: the person stopped it. `calls`: what was asked of models
    for it, which the ledger gets in the same statement (Q1). A reply that comes after its lease
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
        paused_by=opened.paused_by,
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
    if opened.paused_by:
        todo = [(kind, message_id) for kind, message_id in todo if kind in WORK_WHILE_PAUSED]
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
        **list_values(calls, {opened.user_id: 1}),
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
    fail_rounds([(opened.message_id, opened.attempt)])


def fail_rounds(entries: Collection[tuple[uuid.UUID, int]]) -> int:
    """Mark pending messages as failed, each given with the attempt that has ended; returns how many."""
    ended = [Q(id=message_id, attempt=attempt) for message_id, attempt in entries]
    return _fail(Message.objects.filter(reduce(or_, ended))) if ended else 0


def fail_abandoned_rounds(*, now: datetime) -> int:
    """Mark the pending messages whose lease ran out as failed (C6); returns how many."""
    return _fail(Message.objects.filter(lease_until__lt=now))


def _fail(messages: QuerySet[Message]) -> int:
    return messages.filter(status=MessageStatus.PENDING).update(status=MessageStatus.FAILED, lease_until=None)


def record_assistant_message(
    *,
    user: User,
    session_id: uuid.UUID,
    content: str,
    now: datetime,
    message_id: uuid.UUID | None = None,
    paused_by: str = "",
) -> Message:
    """Store a message of the assistant that answers no message of the user, at the end of the session (H1).

    `message_id`: a new one if None. `paused_by`: what paused remembering. Raises `IntegrityError` where a message
    has this ID already.
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
            paused_by=paused_by,
        )
        if not session.temporary:
            add_work(messages=[message], kinds=(Work.Kind.EMBED, Work.Kind.SUMMARIZE), now=now)
        return message


def get_window(user: User, session_id: uuid.UUID, *, limit: int, before: int | None = None) -> Window:
    """Return the newest whole rounds of at most `limit` messages in all, oldest first (C3), and the summary (S5).

    Only what was answered counts: a failed or still pending message is in nobody's window, nor is one that the summary
    covers. `before` leaves out everything from that position on: what a turn sees is what was said before its message.
    """
    answered = Message.objects.filter(
        user=user, session_id=session_id, status=MessageStatus.COMPLETE, summarized_by__isnull=True
    )
    fields = ("id", "role", "content", "reply_to_id")
    said = answered.filter(role__in=(Role.USER, Role.ASSISTANT))
    if before is not None:
        said = said.filter(position__lt=before)
    newest = list(said.order_by("-position").values_list(*fields)[:limit])
    summaries = answered.filter(role=Role.SUMMARY).order_by("-position").values_list(*fields)[:1]
    return make_window([*reversed(newest), *summaries], limit=limit)


def make_window(rows: Iterable[tuple[uuid.UUID, str, str, uuid.UUID | None]], *, limit: int) -> Window:
    """Return the window that these messages, oldest first, make; of several summaries the last counts.

    A reply whose question `limit` cut off is left out; one whose question is in the summary stands alone.
    """
    lines = [
        (Line(id=message_id, role=role, content=content), reply_to) for message_id, role, content, reply_to in rows
    ]
    said = [(line, reply_to) for line, reply_to in lines if line.role != Role.SUMMARY]
    rounds: list[list[Line]] = []
    seen: set[uuid.UUID] = set()
    for line, reply_to in said:
        if reply_to in seen:
            rounds[-1].append(line)
        elif reply_to is None or len(said) < limit:
            rounds.append([line])
        seen.add(line.id)
    summaries = [line for line, _reply_to in lines if line.role == Role.SUMMARY]
    return Window(rounds=tuple(map(tuple, rounds)), summary=summaries[-1] if summaries else None)


def read_rounds(user: User, message_ids: Collection[uuid.UUID]) -> dict[str, SaidRound]:
    """Return what the person said in these messages, and the replies to it, by message ID. Two queries, or none."""
    if not message_ids:
        return {}
    said = Message.objects.filter(user=user, id__in=message_ids, role=Role.USER)
    replies = Message.objects.filter(user=user, reply_to__in=message_ids, status=MessageStatus.COMPLETE)
    answers = dict(replies.values_list("reply_to_id", "content"))
    return {
        str(key): SaidRound(content, answers.get(key, ""), create_time)
        for key, content, create_time in said.values_list("id", "content", "create_time")
    }


# The newest messages, which no summary covers (S3).
KEPT_MESSAGES = 4
# Most rounds read for one summary; a recording of more (C9) takes several, one after the other.
MAX_COVERED_ROUNDS = 100


@dataclass(frozen=True, slots=True)
class Unsummarized:
    """What the next summary of a conversation is to cover: the summary before it and whole rounds, oldest first.

    `more`: there are further ones after them.
    """

    summary: Line | None
    rounds: tuple[Round, ...]
    more: bool = False


def get_conversation_summary(user: User, session_id: uuid.UUID) -> Line | None:
    """Return the summary that stands for the older part of the conversation (S5), or None if there is none yet."""
    newest = _list_uncovered(user, session_id).filter(role=Role.SUMMARY).order_by("-position").first()
    return Line(id=newest.id, role=newest.role, content=newest.content) if newest else None


def find_unsummarized(user: User, session_id: uuid.UUID, *, threshold: int) -> Unsummarized | None:
    """Return what is to be summarised, or None while no more than `threshold` messages are without a summary (S3).

    All but the newest `KEPT_MESSAGES`, and a message is kept or covered with its reply: the window shows no reply by
    itself.
    """
    said = _list_uncovered(user, session_id).filter(role__in=(Role.USER, Role.ASSISTANT)).order_by("position")
    rounds = _group(said.values_list("id", "reply_to_id"))
    if sum(map(len, rounds)) <= threshold:
        return None
    kept = 0
    while rounds and kept < KEPT_MESSAGES:
        kept += len(rounds.pop())
    if not rounds:
        return None
    chosen = rounds[:MAX_COVERED_ROUNDS]
    rows = said.filter(id__in=[message_id for ids in chosen for message_id in ids])
    lines = {line.id: line for line in starmap(read_line, rows.values_list("id", "role", "content"))}
    return Unsummarized(
        summary=get_conversation_summary(user, session_id),
        rounds=tuple(tuple(lines[message_id] for message_id in ids) for ids in chosen if lines.keys() >= set(ids)),
        more=len(chosen) < len(rounds),
    )


def _group(rows: Iterable[tuple[uuid.UUID, uuid.UUID | None]]) -> list[list[uuid.UUID]]:
    """Return IDs in order, each reply with what it answers; a reply whose message is not there stands alone."""
    rounds: dict[uuid.UUID, list[uuid.UUID]] = {}
    for message_id, reply_to in rows:
        if reply_to in rounds:
            rounds[reply_to].append(message_id)
        else:
            rounds[message_id] = [message_id]
    return list(rounds.values())


def read_line(message_id: uuid.UUID, role: str, content: str) -> Line:
    """Return a message as summaries read it: of a person's without what clients put around it."""
    return Line(message_id, role, cut_client_blocks(content) if role == Role.USER else content)


def list_said_after(user: User, session_id: uuid.UUID, *, position: int) -> QuerySet[Message]:
    """The answered messages of the session after `position` and their replies, in order.

    For what other sessions are shown: without what was said while remembering was paused (D5).
    """
    said = Message.objects.filter(user=user, session_id=session_id, status=MessageStatus.COMPLETE, paused_by="")
    return said.filter(role__in=(Role.USER, Role.ASSISTANT), position__gt=position).order_by("position")


@transaction.atomic
def record_summary(
    *,
    user: User,
    session_id: uuid.UUID,
    content: str,
    covers: Sequence[uuid.UUID],
    replaces: uuid.UUID | None,
    now: datetime,
    summarize_on: bool = False,
) -> Message:
    """Store a summary at the end of the session, to be embedded, and mark what it covers with its ID (S4).

    `covers`: the messages. `replaces`: the summary before it, whose content the new one takes in. `summarize_on`: there
    is more to be summarised. Raises `NotFound` without the session, and `Conflict` when one of the messages is gone or
    was covered by another summary meanwhile; then nothing is stored.
    """
    session = lock_session(user=user, session_id=session_id)
    session.last_position += 1
    session.save(update_fields=["last_position"])
    current = get_conversation_summary(user, session_id)
    covered = {*covers, *([replaces] if replaces else [])}
    said_while_paused = Message.objects.filter(user=user, id__in=covered).exclude(paused_by="").order_by("position")
    summary = Message.objects.create(
        session=session,
        user=user,
        role=Role.SUMMARY,
        content=content,
        create_time=now,
        position=session.last_position,
        # What it says of them is learned from no more than they are.
        paused_by=said_while_paused.values_list("paused_by", flat=True).first() or "",
    )
    marked = _list_uncovered(user, session_id).filter(id__in=covered).update(summarized_by=summary)
    if marked != len(covered) or (current and current.id) != replaces:
        raise Conflict("The conversation changed while it was being summarised.")
    kinds = (Work.Kind.EMBED, Work.Kind.SUMMARIZE) if summarize_on else (Work.Kind.EMBED,)
    add_work(messages=[summary], kinds=kinds, now=now)
    return summary


def list_conversation_summaries(user: User) -> QuerySet[Message]:
    """Return the summaries of all the person's conversations, covered ones too, newest first."""
    return Message.objects.filter(user=user, role=Role.SUMMARY).order_by("-create_time", "-id")


def rewrite_summary(summary: Message, *, content: str, now: datetime) -> None:
    """Give a summary another text, to be embedded anew; a run that embeds the old one cannot store it any more.

    In the caller's transaction, which holds the session. Vectors of the old text are the caller's to delete.
    """
    Work.objects.filter(message=summary, kind=Work.Kind.EMBED).delete()
    summary.content = content
    summary.save(update_fields=["content"])
    add_work(messages=[summary], kinds=(Work.Kind.EMBED,), now=now)


def _list_uncovered(user: User, session_id: uuid.UUID) -> QuerySet[Message]:
    return Message.objects.filter(
        user=user, session_id=session_id, status=MessageStatus.COMPLETE, summarized_by__isnull=True
    )
