"""Rounds of clients that manage their own history: found by content, continued, edited, answered anew (T3)."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from django.db import transaction
from django.db.models import Exists, F, OuterRef, Q
from django.db.models.functions import MD5

from apps.accounts.models import User
from apps.accounts.spaces import changed_from, changed_sql, sight_parameters
from apps.conversations.matching import MAX_COMPARED, Branch, StoredMessage, follow, normalise
from apps.conversations.models import Message, MessageStatus, Role, Session, Work
from apps.conversations.pausing import find_pause
from apps.conversations.queue import add_work
from apps.conversations.rounds import close_round, describe_open, get_window, open_round
from apps.conversations.sessions import get_message, lock_session, make_title
from apps.conversations.types import MAX_CONTENT_CHARS, OpenRound, RecordedMessage, Window
from apps.core.db import fetch_prepared
from apps.core.errors import Conflict

# Sessions that are compared with a history; more have the same replies only where these are commonplace.
MAX_CANDIDATES = 5
# The newest replies of a history by which its session is looked for: the last one may come from elsewhere.
_EVIDENCE = 3
# Stored messages that are read beyond twice as many as the history has: what was edited away stands between them.
_SPARE = 20
# How long a first message that failed waits for the client to send it again.
ASKED_AGAIN = timedelta(minutes=10)
# How long a message waits for the results of the tools that its answer called.
TOOLS_RUN = timedelta(days=1)


# Written by hand, as what every turn of such a client asks: composing a query by the ORM takes longer than its answer.
CANDIDATES = f"""
SELECT session_id
FROM conversation JOIN chat_session ON chat_session.id = session_id AND NOT temporary
     AND {changed_sql("chat_session")}
WHERE conversation.user_id = %(user)s AND md5(content) = ANY(%(digests)s) AND role = 'assistant' AND NOT from_history
ORDER BY create_time DESC
LIMIT 50
"""  # noqa: S608 - no value is put into it

STORED = """
SELECT said.id, said.role, said.content, said.position, asked.position, said.status, said.reply_to_id, said.from_history
FROM conversation AS said LEFT JOIN conversation AS asked ON asked.id = said.reply_to_id
WHERE said.session_id = %(session)s AND said.user_id = %(user)s AND said.role <> 'summary'
ORDER BY said.position DESC
LIMIT %(limit)s
"""


@dataclass(frozen=True, slots=True)
class ClientHistory:
    """What a client sends of a conversation: the messages before the last one of the user, and that one.

    `whole`: it is the whole conversation even where there is nothing before the message. `has_results`: results of
    tools follow the message, so that it was sent before. `beginning`: of the reply, which the client has continued.
    """

    before: tuple[RecordedMessage, ...]
    message: str
    whole: bool = False
    has_results: bool = False
    beginning: str = ""

    @property
    def is_new_only(self) -> bool:
        """Whether the client sends only what is new, so that what is stored is the history."""
        return not self.before and not self.whole


@dataclass(frozen=True, slots=True)
class ClientRound:
    """An open round. `lines`: the stored messages that the history is made of, None for one that is not kept.

    `window`: what is stored of the conversation, for a client that sends only its new message.
    """

    opened: OpenRound
    window: Window
    lines: tuple[uuid.UUID | None, ...]


def find_session(*, user: User, given: ClientHistory, now: datetime) -> uuid.UUID | None:
    """Return the session that this history belongs to, None for a conversation that has not been held here."""
    replies = [line.content for line in given.before if line.role == Role.ASSISTANT and line.content.strip()]
    if not replies:
        begun = _find_begun_session(user, given, now=now) if given.beginning else None
        return begun or _find_unanswered_session(user, given, now=now)
    values = {"user": user.pk, "digests": _digest_texts(replies[-_EVIDENCE:]), **sight_parameters(user)}
    rows = fetch_prepared(CANDIDATES, values)
    candidates = list(dict.fromkeys(session_id for (session_id,) in rows))
    best: tuple[int, bool, uuid.UUID] | None = None
    for session_id in candidates[:MAX_CANDIDATES]:
        branch = _compare(user, session_id, given, whole=False)
        score = (branch.count, not branch.replaced, session_id)
        if branch.is_known and branch.count >= min(2, len(given.before)) and (best is None or score[:2] > best[:2]):
            best = score
    return best[2] if best else None


def _find_unanswered_session(user: User, given: ClientHistory, *, now: datetime) -> uuid.UUID | None:
    """The session of a message without a reply that is sent again: it failed, or tools have run for it."""
    if given.before:
        return None
    since = now - (TOOLS_RUN if given.has_results else ASKED_AGAIN)
    answered = Message.objects.filter(session=OuterRef("session"), role=Role.ASSISTANT)
    waiting = Q(status=MessageStatus.FAILED) | (Q(status=MessageStatus.COMPLETE) if given.has_results else Q())
    rows = Message.objects.annotate(digest=MD5("content")).filter(digest__in=_digest_texts([given.message]))
    rows = rows.filter(waiting, changed_from(user, "session__space"), user=user, role=Role.USER, create_time__gte=since)
    row = rows.filter(~Exists(answered)).order_by("-create_time").only("session_id").first()
    return row.session_id if row else None


def _find_begun_session(user: User, given: ClientHistory, *, now: datetime) -> uuid.UUID | None:
    """The session whose newest reply the client has continued.

    A whole reply proves it. Of a part of one, which the client may have written itself, only a recent reply does.
    """
    asked = Message.objects.annotate(digest=MD5("content")).filter(
        changed_from(user, "session__space"), user=user, role=Role.USER, digest__in=_digest_texts([given.message])
    )
    replies = Message.objects.filter(reply_to__in=asked, role=Role.ASSISTANT, from_history=False)
    replies = replies.filter(session__temporary=False).exclude(status=MessageStatus.REPLACED)
    for reply in replies.order_by("-create_time")[:MAX_CANDIDATES]:
        is_whole = normalise(reply.content) == normalise(given.beginning)
        if not is_whole and reply.create_time < now - ASKED_AGAIN:
            continue
        branch = _compare(user, reply.session_id, given, whole=False)
        if branch.asked == reply.reply_to_id:
            return reply.session_id
    return None


@transaction.atomic(savepoint=False)
def open_client_round(
    *,
    user: User,
    session_id: uuid.UUID,
    given: ClientHistory,
    window_limit: int,
    now: datetime,
    lease: timedelta,
    paused: bool = False,
    asked: bool = False,
) -> tuple[ClientRound, Branch]:
    """Store what is new in a client's history and its last message, and reserve the place of the reply (C1, C6, T3).

    A message that was sent before is taken up again: the same text is not stored twice, and the reply that it has
    stands until the new one is stored. What the client edited away becomes `replaced`, and so does no more than that.
    `paused`, `asked`: as in `find_pause`. Raises `NotFound` without the session.
    """
    session = lock_session(user=user, session_id=session_id)
    branch = _compare(user, session_id, given, whole=given.whole)
    _change_branch(session, branch, now=now)
    paused_by = find_pause(user, session=session, paused=paused, asked=asked)
    learns = branch.is_known or given.whole
    lines = _store_unseen(session, given.before, branch, learns=learns, paused_by=paused_by, now=now)
    if branch.asked is None:
        opened, window = open_round(
            user=user,
            session_id=session_id,
            content=given.message,
            idempotency_key=None,
            window_limit=window_limit,
            said_at=now,
            now=now,
            lease=lease,
            paused=paused,
            asked=asked,
        )
        return ClientRound(opened=replace(opened, alternates=True), window=window, lines=lines), branch
    opened = _take_up(user, session, branch.asked, now=now, lease=lease)
    window = get_window(user, session_id, limit=window_limit, before=opened.position)
    return ClientRound(opened=opened, window=window, lines=lines), branch


def _change_branch(session: Session, branch: Branch, *, now: datetime) -> None:
    if branch.replaced:
        Message.objects.filter(id__in=branch.replaced).update(status=MessageStatus.REPLACED)
        Work.objects.filter(message__in=branch.replaced).delete()
    if branch.restored:
        rows = Message.objects.filter(id__in=branch.restored)
        rows.update(status=MessageStatus.COMPLETE)
        if not session.temporary:
            add_work(messages=rows, kinds=[Work.Kind.EMBED], now=now)
            # It may have been replaced before it was learned from.
            add_work(messages=rows.filter(role=Role.USER), kinds=[Work.Kind.EXTRACT], now=now, recorded=True)


def close_client_round(*, opened: OpenRound, remembers: bool, **closing: Any) -> tuple[Message, list[uuid.UUID]]:
    """Store the reply as `close_round` does, which also gets `closing`; return it and what gave way to it.

    A reply that the message has already gives way and is kept.
    """
    with transaction.atomic():
        session = lock_session(user=User(pk=opened.user_id), session_id=opened.session_id)
        # In the place of the reply may stand what was edited away before: it makes room, too.
        stands = Q(reply_to=opened.message_id) & ~Q(status=MessageStatus.REPLACED)
        others = Message.objects.filter(stands | Q(session=session, position=opened.position + 1))
        for other in others:
            session.last_position += 1
            Work.objects.filter(message=other).delete()
            Message.objects.filter(id=other.id).update(
                status=MessageStatus.REPLACED, position=session.last_position, summarized_by=None
            )
        if others:
            session.save(update_fields=["last_position"])
        Message.objects.filter(id=opened.message_id, status=MessageStatus.COMPLETE).update(status=MessageStatus.PENDING)
        message = close_round(opened=opened, remembers=remembers and not opened.learned, **closing)
        return message, [other.id for other in others]


def await_tools(*, opened: OpenRound, now: datetime) -> None:
    """Keep a message whose answer calls tools of the client: their results come with the next request."""
    with transaction.atomic():
        lock_session(user=User(pk=opened.user_id), session_id=opened.session_id)
        rows = Message.objects.filter(id=opened.message_id, attempt=opened.attempt)
        if rows.update(status=MessageStatus.COMPLETE, lease_until=None) and not opened.temporary:
            add_work(messages=rows, kinds=[Work.Kind.EMBED], now=now)
            add_work(messages=rows, kinds=[Work.Kind.EXTRACT], now=now, recorded=True)


def _digest_texts(texts: Iterable[str]) -> list[str]:
    """What the index on the text of messages holds of these; clients may have trimmed what was sent to them."""
    wanted = {form for text in texts for form in (text, text.strip())}
    return [hashlib.md5(text.encode(), usedforsecurity=False).hexdigest() for text in wanted]


def _compare(user: User, session_id: uuid.UUID, given: ClientHistory, *, whole: bool) -> Branch:
    """Follow the history through the newest stored messages, and through all of them where these leave a doubt.

    Clients send a part of a long conversation, and nearly always one that continues it: older messages change nothing.
    """
    count = min(2 * len(given.before) + _SPARE, 2 * MAX_COMPARED)
    newest = _read_stored(user, session_id, limit=count)
    told = partial(follow, given.before, given.message, whole=whole, beginning=given.beginning)
    branch = told(newest)
    continues = given.before and branch.is_known and None not in branch.matched and not branch.restored
    if continues or given.is_new_only or len(newest) < count:
        return branch
    return told(_read_stored(user, session_id, limit=2 * MAX_COMPARED))


def _read_stored(user: User, session_id: uuid.UUID, *, limit: int) -> list[StoredMessage]:
    rows = fetch_prepared(STORED, {"user": user.pk, "session": session_id, "limit": limit})
    return [
        StoredMessage(
            id=message_id,
            role=role,
            content=content,
            place=(position, 0) if asked_at is None else (asked_at, 1),
            status=status,
            reply_to=reply_to,
            from_history=from_history,
        )
        for message_id, role, content, position, asked_at, status, reply_to, from_history in rows
    ]


def _store_unseen(
    session: Session,
    history: Sequence[RecordedMessage],
    branch: Branch,
    *,
    learns: bool,
    paused_by: str,
    now: datetime,
) -> tuple[uuid.UUID | None, ...]:
    """Store the messages of the history that are not there yet; return the ID of each message of the history.

    `learns`: they become memory, too; not so at the beginning of a conversation that nobody has named, where they may
    be examples that a prompt begins with.
    """
    lines: list[uuid.UUID | None] = list(branch.matched)
    if None not in lines:
        return branch.matched
    stored: list[Message] = []
    known = [line for line in lines if line]
    answered = set(Message.objects.filter(reply_to__in=known).values_list("reply_to", flat=True))
    for at, line in enumerate(history):
        if lines[at] is not None or not line.content.strip() or len(line.content) > MAX_CONTENT_CHARS:
            continue
        session.last_position += 1
        question = lines[at - 1] if at and history[at - 1].role == Role.USER and line.role == Role.ASSISTANT else None
        message = Message(
            session=session,
            user_id=session.user_id,
            role=line.role,
            content=line.content,
            create_time=line.create_time or now,
            position=session.last_position,
            reply_to_id=None if question in answered else question,
            from_history=True,
            paused_by=paused_by,
        )
        stored.append(message)
        lines[at] = message.id
    if stored:
        Message.objects.bulk_create(stored)
        said = [message for message in stored if message.role == Role.USER]
        session.title = session.title or (make_title(said[0].content) if said else "")
        session.save(update_fields=["last_position", "title"])
        if not session.temporary:
            add_work(messages=stored, kinds=[Work.Kind.EMBED], now=now)
            add_work(messages=said if learns else [], kinds=[Work.Kind.EXTRACT], now=now, recorded=True)
    return tuple(lines)


@transaction.atomic(savepoint=False)
def open_round_again(*, user: User, message_id: uuid.UUID, now: datetime, lease: timedelta) -> OpenRound:
    """Take up the newest answered message of its session, for another reply: the present one stands until then.

    Raises `NotFound` without it; `Conflict` where it is not the newest one, or has no reply that could be replaced.
    """
    message = get_message(user, message_id)
    session = lock_session(user=user, session_id=message.session_id)
    fields = {"message_id": str(message_id)}
    said = Message.objects.filter(session=session).exclude(status=MessageStatus.REPLACED)
    newest = said.filter(role=Role.USER).order_by("-position").first()
    if newest is None or newest.id != message_id or said.filter(position__gt=newest.position + 1).exists():
        raise Conflict("Only the newest reply can be regenerated.", fields=fields)
    if newest.status != MessageStatus.COMPLETE or not said.filter(reply_to=newest).exists():
        raise Conflict("This message has no reply yet.", fields=fields)
    return _take_up(user, session, message_id, now=now, lease=lease)


def _take_up(user: User, session: Session, message_id: uuid.UUID, *, now: datetime, lease: timedelta) -> OpenRound:
    """Take up a message that was sent before. One that has a reply, or whose turn is under way, stays as it is."""
    message = Message.objects.get(user=user, id=message_id)
    under_way = message.status == MessageStatus.PENDING and message.lease_until and message.lease_until >= now
    has_reply = Message.objects.filter(reply_to=message).exclude(status=MessageStatus.REPLACED).exists()
    if not (under_way or has_reply):
        Message.objects.filter(id=message.id).update(
            status=MessageStatus.PENDING, attempt=F("attempt") + 1, lease_until=now + lease
        )
        message.attempt += 1
    session.last_active_at = max(session.last_active_at, now)
    session.save(update_fields=["last_active_at"])
    return describe_open(message, session=session, user=user, attempt=message.attempt, alternates=True)
