"""Sessions and their messages: make, find, entitle, edit and delete them.

`user` comes first, and nothing of anybody else is ever returned or written.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any

from django.db import connection, transaction
from django.db.models import Count, QuerySet
from django.db.models.functions import Now

from apps.accounts.models import User
from apps.accounts.selectors import working_ttl
from apps.accounts.services.ledger import record_sessions
from apps.accounts.services.people import get_program, keep_account
from apps.accounts.spaces import changed_from, enter_space, seen_from
from apps.conversations.models import Message, MessageStatus, Role, Session, Work
from apps.conversations.queue import add_work
from apps.conversations.types import MAX_AUTO_TITLE_CHARS, MAX_TITLE_CHARS
from apps.core.errors import Conflict, NotFound
from apps.core.text.secrets import mask_secrets
from apps.core.text.segment import pieces
from apps.core.text.sentences import cut_client_blocks

# Characters of a message: white space may come first.
_READ_FOR_TITLE = 2_000


# The namespace of the IDs of sessions that clients name.
_NAMED = uuid.UUID("6f1d5a0e-5c1b-4a55-9a3e-0d0f6a1f6b2c")


def create_session(
    *,
    user: User,
    title: str = "",
    temporary: bool = False,
    model: str = "",
    paused: bool = False,
    name: str | None = None,
) -> Session:
    """Start a conversation with a new unique ID and an empty window (C2), in the space that the person looks from.

    `name`: what a client calls it. The session that it has started under this name in this space is returned again.
    """
    values = {"title": title, "temporary": temporary, "model": model, "paused": paused, "space_id": user.sight.space}
    values["via"] = get_program()
    if name is None:
        return Session.objects.create(user=user, **values)
    # A chat that its client moves to another space goes on in a session there.
    place = f" {user.sight.space}" if user.sight.space else ""
    session_id = uuid.uuid5(_NAMED, f"{user.pk}{place} {name}")
    keep_account(user)
    return Session.objects.get_or_create(id=session_id, user=user, defaults=values)[0]


def lock_session(*, user: User, session_id: uuid.UUID) -> Session:
    """Return the session, locked until the transaction ends: what orders writers of one session. Or `NotFound`.

    Its owner's account is locked against erasure first, as erasure locks it first.
    """
    keep_account(user)
    found = Session.objects.select_for_update(no_key=True).filter(changed_from(user), user=user, id=session_id)
    session = found.first()
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


def update_session(*, user: User, session_id: uuid.UUID, changes: Mapping[str, Any]) -> Session:
    """Give the session another title, pin, archive or pause it; or `NotFound`. Its place by last activity stays."""
    Session.objects.filter(changed_from(user), user=user, id=session_id).update(**changes)
    return get_session(user, session_id, to_change=True)


def rename_session(*, user: User, session_id: uuid.UUID, title: str) -> Session:
    """Give the session another title; or `NotFound`."""
    return update_session(user=user, session_id=session_id, changes={"title": title})


def delete_session(*, user: User, session_id: uuid.UUID) -> int:
    """Delete the session with its messages, turns and working memory; memories stay, pointing nowhere (W4)."""
    deleted = delete_sessions(Session.objects.filter(changed_from(user), user=user, id=session_id))
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


def move_sessions(sessions: QuerySet[Session], *, to: uuid.UUID | None) -> None:
    """Put these sessions into a space, or out of all. What was learned in them is moved by `apps.memory.spaces`."""
    sessions.update(space=to)


def delete_idle_temporary_sessions() -> int:
    """Delete temporary sessions idle as long as their owner lets working memory idle (C7); returns how many."""
    idle = Session.objects.filter(temporary=True, last_active_at__lt=Now() - working_ttl(user="user"))
    return delete_sessions(idle, record=False)  # a restored one is idle, too


def set_collected(*, user: User, message_id: uuid.UUID, is_collected: bool) -> Message:
    """Mark a message as a favourite, or no longer (C1)."""
    message = get_message(user, message_id, to_change=True)
    message.is_collected = is_collected
    message.save(update_fields=["is_collected"])
    return message


def make_title(content: str) -> str:
    """Return the title an untitled session takes from a message: its beginning, on one line, in whole words.

    "" where clients put everything into it that it holds.
    """
    # A title is shown in lists and given to models: a secret is for its message alone (D4).
    line = " ".join(mask_secrets(cut_client_blocks(content)[:_READ_FOR_TITLE]).split())
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
    if session.title in (earlier or title, _read_made_title(session)):
        # Only if it is still called that: somebody may rename it at this moment.
        Session.objects.filter(user=user, id=session_id, title=session.title).update(title=title)


def is_made_title(session: Session) -> bool:
    """Whether a session is called by the beginning of its first message, and not what a person called it."""
    return session.title == _read_made_title(session)


def get_told_title(session: Session) -> str:
    """Return what a session is called as other sessions may be told: "" for what was said while paused (D5)."""
    said = _find_first_said(session)
    return "" if said and said.paused_by and session.title == make_title(said.content) else session.title


def _read_made_title(session: Session) -> str | None:
    said = _find_first_said(session)
    return make_title(said.content) if said else None


def _find_first_said(session: Session) -> Message | None:
    return session.messages.filter(role=Role.USER).exclude(status=MessageStatus.REPLACED).order_by("position").first()


def forget_rounds(*, user: User, message_ids: Collection[uuid.UUID]) -> None:
    """Let no later turn recall these messages: something that they said has been deleted (A5, L6)."""
    Message.objects.filter(user=user, id__in=message_ids, recallable=True).update(recallable=False)


def note_not_remembered(*, user: User, message_id: uuid.UUID, categories: Collection[str]) -> None:
    """Note on a message why something that it says is not remembered (D4); no later turn recalls it, either.

    The caller holds the person's lock on what is remembered.
    """
    message = Message.objects.filter(user=user, id=message_id).only("not_remembered").first()
    if message is not None:
        noted = sorted({*(message.not_remembered or ()), *categories})
        Message.objects.filter(id=message_id).update(not_remembered=noted, recallable=False)


def list_sessions(user: User) -> QuerySet[Session]:
    """Sessions that the user sees, most recently active first."""
    return Session.objects.filter(seen_from(user), user=user).select_related("space")


def get_session(user: User, session_id: uuid.UUID, *, to_change: bool = False) -> Session:
    """Return the session, or raise `NotFound`; `to_change`: also where it is seen, but not changed, from here (P5)."""
    allowed = changed_from(user) if to_change else seen_from(user)
    session = Session.objects.filter(allowed, user=user, id=session_id).select_related("space").first()
    if session is None:
        raise NotFound("This session does not exist.")
    return session


def find_room(user: User, *, session_id: uuid.UUID | None, space_id: uuid.UUID | None) -> User:
    """Return the person as they look from where something that they add goes (P3).

    That is the space named, else the one that its session learns to, else where they are. Raises `NotFound` for a space
    that is not theirs, and for a session that is not, or that cannot be changed from where they look.
    """
    session = None if session_id is None else get_session(user, session_id, to_change=True)
    if session is not None and space_id is None and user.sight.everything:
        return user.within(session.learns_in)
    return enter_space(user, space_id)


def find_spaces(user: User, session_ids: Collection[uuid.UUID]) -> dict[uuid.UUID, uuid.UUID | None]:
    """Return the space that each of these sessions is in; one query, or none where the person sees no space."""
    if not user.sight.everything and user.sight.space is None:
        return dict.fromkeys(session_ids)
    return dict(Session.objects.filter(user=user, id__in=session_ids).values_list("id", "space_id"))


def list_messages(user: User, session_id: uuid.UUID) -> QuerySet[Message]:
    """Messages of a session in the order in which they were said; `NotFound` without the session.

    What was edited or answered anew is left out.
    """
    return get_session(user, session_id).messages.exclude(status=MessageStatus.REPLACED).order_by("position")


def find_offset(messages: QuerySet[Message], message_id: uuid.UUID) -> int:
    """Return how many of the messages of a session come before one of them, or raise `NotFound`."""
    position = messages.filter(id=message_id).values_list("position", flat=True).first()
    if position is None:
        raise NotFound("This message does not exist.")
    return messages.filter(position__lt=position).count()


def get_message(user: User, message_id: uuid.UUID, *, to_change: bool = False) -> Message:
    """Return the message, or raise `NotFound`; `to_change`: as in `get_session`."""
    allowed = changed_from if to_change else seen_from
    message = Message.objects.filter(allowed(user, "session__space"), user=user, id=message_id).first()
    if message is None:
        raise NotFound("This message does not exist.")
    return message


def get_message_by_key(user: User, session_id: uuid.UUID, idempotency_key: str) -> Message:
    """Return the message that was sent with this ``Idempotency-Key``, or raise `NotFound`."""
    message = Message.objects.filter(user=user, session_id=session_id, idempotency_key=idempotency_key).first()
    if message is None:
        raise NotFound("No message was sent with this key.")
    return message


def get_shown_status(message: Message, *, now: datetime) -> str:
    """Return the status a reader should see: a pending message whose lease ran out has failed, swept or not (C6)."""
    if message.status == MessageStatus.PENDING and (message.lease_until is None or message.lease_until < now):
        return MessageStatus.FAILED
    return message.status


def count_said(*, user: User, session_ids: Collection[uuid.UUID]) -> dict[uuid.UUID, int]:
    """Return how many messages of the user and the assistant each of these sessions has; none is left out as 0."""
    said = Message.objects.filter(user=user, session__in=session_ids, role__in=(Role.USER, Role.ASSISTANT))
    rows = said.order_by().values("session_id").annotate(n=Count("id"))
    return {row["session_id"]: row["n"] for row in rows}


@transaction.atomic
def replace_from(*, user: User, message_id: uuid.UUID, now: datetime) -> tuple[Session, list[uuid.UUID]]:
    """Have a user's message and everything after it give way; return the session and what gave way.

    Nothing is deleted. Raises `NotFound` without the message; `Conflict` for one that is no message of the user, has
    given way already, or while a reply is under way.
    """
    message = get_message(user, message_id)
    session = lock_session(user=user, session_id=message.session_id)
    shown = Message.objects.filter(session=session).exclude(status=MessageStatus.REPLACED)
    fields = {"message_id": str(message_id)}
    if message.role != Role.USER or not shown.filter(id=message_id).exists():
        raise Conflict("Only a message of the user that is part of the conversation can be edited.", fields=fields)
    later = list(shown.filter(position__gte=message.position))
    if any(get_shown_status(row, now=now) == MessageStatus.PENDING for row in later):
        raise Conflict("A reply is being written. Stop it first.", fields=fields)
    ids = [row.id for row in later]
    _give_way(Message.objects.filter(id__in=ids))
    if session.title == make_title(message.content):
        _set_title(session, "")  # it takes its title from what stands there next
    return session, ids


@transaction.atomic
def bring_back(*, user: User, message_id: uuid.UUID, replaced: Collection[uuid.UUID], now: datetime) -> list[uuid.UUID]:
    """Have a message and everything after it give way to what stood there before (`replaced`); return what gave way.

    Raises as `replace_from`.
    """
    session, ids = replace_from(user=user, message_id=message_id, now=now)
    # Summaries are made again: what they covered has been in the conversation itself since.
    rows = Message.objects.filter(session=session, id__in=replaced, status=MessageStatus.REPLACED)
    rows = rows.exclude(role=Role.SUMMARY)
    unanswered = rows.filter(role=Role.USER).exclude(id__in=rows.filter(reply_to__in=replaced).values("reply_to"))
    failed = list(unanswered.values_list("id", flat=True))
    back = list(rows.exclude(id__in=failed).values_list("id", flat=True))
    Message.objects.filter(id__in=failed).update(status=MessageStatus.FAILED)
    answered = Message.objects.filter(id__in=back)
    answered.update(status=MessageStatus.COMPLETE)
    first = Message.objects.filter(id__in=[*failed, *back], role=Role.USER).order_by("position").first()
    if first and not session.title:
        _set_title(session, make_title(first.content))
    if not session.temporary:
        add_work(messages=answered, kinds=[Work.Kind.EMBED], now=now)
    return ids


def _give_way(messages: QuerySet[Message]) -> None:
    ids = list(messages.values_list("id", flat=True))
    Message.objects.filter(summarized_by__in=ids).update(summarized_by=None)
    Work.objects.filter(message__in=ids).delete()
    Message.objects.filter(id__in=ids).update(status=MessageStatus.REPLACED)


def _set_title(session: Session, title: str) -> None:
    session.title = title
    session.save(update_fields=["title"])
