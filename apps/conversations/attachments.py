"""Attaching files to messages (docs/api.md): their text is kept with the session, and goes with it."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Sequence
from datetime import datetime

from django.db import transaction
from django.db.models import QuerySet

from apps.accounts.models import User
from apps.accounts.spaces import changed_from
from apps.conversations.file_text import UnreadableAttachment, extract_text
from apps.conversations.models import Attachment
from apps.conversations.sessions import get_session, lock_session
from apps.conversations.types import MAX_ATTACHMENT_CHARS, MAX_ATTACHMENTS, SentFile
from apps.core.db import fetch_prepared
from apps.core.errors import Conflict, InvalidInput, NotFound, TooLarge
from apps.core.text.clean import clean_text

MAX_FILE_NAME_CHARS = 200


def add_attachment(*, user: User, session_id: uuid.UUID, name: str, data: bytes, now: datetime) -> Attachment:
    """Keep the text of a file for a message that is to come; the file itself is not kept.

    Raises `NotFound` without the session, `InvalidInput` for a file without text, `TooLarge`, and `Conflict` where the
    session has `MAX_ATTACHMENTS` files.
    """
    try:
        text = clean_text(extract_text(data))
    except UnreadableAttachment as error:
        raise InvalidInput(str(error), fields={"file": [str(error)], "reason": error.reason}) from error
    if len(text) > MAX_ATTACHMENT_CHARS:
        raise TooLarge(f"The text of the file has {len(text)} characters; {MAX_ATTACHMENT_CHARS} are allowed.")
    with transaction.atomic():
        session = lock_session(user=user, session_id=session_id)
        if Attachment.objects.filter(session=session).count() >= MAX_ATTACHMENTS:
            raise Conflict(f"A session can have {MAX_ATTACHMENTS} files.")
        return Attachment.objects.create(
            user=user,
            session=session,
            name=clean_text(name)[-MAX_FILE_NAME_CHARS:] or "file",
            text=text,
            created_at=now,
        )


def remove_attachment(*, user: User, attachment_id: uuid.UUID) -> None:
    """Delete a file's text; the prompt does not hold it from then on. Raises `NotFound`."""
    mine = Attachment.objects.filter(changed_from(user, "session__space"), user=user)
    deleted, _rows = mine.filter(id=attachment_id).delete()
    if not deleted:
        raise NotFound("This file does not exist.")


def attach(*, user: User, session_id: uuid.UUID, message_id: uuid.UUID, attachment_ids: Sequence[uuid.UUID]) -> None:
    """Send files with a message, in its transaction. Raises `InvalidInput` unless all are there and unsent."""
    waiting = Attachment.objects.filter(user=user, session=session_id, message=None, id__in=attachment_ids)
    if waiting.update(message=message_id) != len(set(attachment_ids)):
        reason = "Each must be a file of this session that was not sent yet."
        raise InvalidInput(reason, fields={"attachments": [reason]})


def move_attachments(*, user: User, before: Collection[uuid.UUID], after: uuid.UUID) -> None:
    """Have what was sent with these messages go with another one, which took their place."""
    Attachment.objects.filter(user=user, message__in=before).update(message=after)


# Of the texts only as much as can go into a prompt.
SENT_FILES = """
SELECT attachment.id, name, left(text, %(chars)s), length(text)
FROM attachment JOIN conversation ON conversation.id = message_id
WHERE attachment.session_id = %(session)s AND attachment.user_id = %(user)s AND status <> 'replaced'
ORDER BY attachment.created_at DESC, attachment.id DESC
"""


def list_attachments(user: User, session_id: uuid.UUID) -> QuerySet[Attachment]:
    """The files of a session, oldest first. Raises `NotFound` without the session."""
    get_session(user, session_id)
    return Attachment.objects.filter(user=user, session=session_id).order_by("created_at", "id")


def read_sent_files(user: User, session_id: uuid.UUID, *, chars: int) -> list[SentFile]:
    """Return the files that were sent in a session and are part of it, newest first. One query.

    `chars`: of each text, its beginning.
    """
    rows = fetch_prepared(SENT_FILES, {"user": user.pk, "session": session_id, "chars": chars})
    return [SentFile(*row) for row in rows]
