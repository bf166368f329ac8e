"""Pausing what is learned from conversations (D5): everywhere, in a space, in a session, or for one request.

It is a message's own, decided when it is said and stored with it (`Message.paused_by`): what is said while remembering
is paused is not learned after it was resumed, and what was said before is, however late its work is done.
"""

from __future__ import annotations

from collections.abc import Collection
from uuid import UUID

from apps.accounts.models import Space, User
from apps.accounts.selectors import get_settings
from apps.conversations.models import Message, Pause, Session, Work
from apps.conversations.types import RESUMED
from apps.core.errors import Conflict

# The work that is left for what is said all the same: the summary that stands for the older part of its own session.
WORK_WHILE_PAUSED = frozenset({Work.Kind.SUMMARIZE.value})


class RememberingPaused(Conflict):
    """409: a model wants to remember something while its person has paused that."""

    def __init__(self, pause: str) -> None:
        super().__init__(
            f"Remembering is paused: nothing was stored. The person can resume it {RESUMED[pause]}.",
            fields={"paused_by": pause},
        )


def find_pause(user: User, *, session: Session | None = None, paused: bool | None = None, asked: bool = False) -> str:
    """Return what pauses remembering for what is said now, a value of `Pause`; "" where nothing does.

    In the session, or else where the person looks from. `paused`: their setting, where it is known already. `asked`:
    the request itself wants it. Said of a message while it is stored, in one statement, by `PAUSED_SQL`.
    """
    if get_settings(user).paused if paused is None else paused:
        return Pause.EVERYWHERE
    if session is not None:
        space = session.space
    else:
        space = Space.objects.filter(user=user, id=user.sight.space).first() if user.sight.space else None
    if space is not None and space.paused:
        return Pause.SPACE
    if session is not None and session.paused:
        return Pause.SESSION
    return Pause.REQUEST if asked else ""


# `find_pause` of a row of `chat_session` that a statement changes; it reads %(paused)s and %(asked)s.
PAUSED_SQL = f"""
CASE WHEN %(paused)s THEN '{Pause.EVERYWHERE}'
     WHEN EXISTS (SELECT FROM space WHERE space.id = chat_session.space_id AND space.paused) THEN '{Pause.SPACE}'
     WHEN chat_session.paused THEN '{Pause.SESSION}'
     WHEN %(asked)s THEN '{Pause.REQUEST}'
     ELSE '' END
"""


def find_said_while_paused(user: User, message_ids: Collection[UUID]) -> set[UUID]:
    """Return which of these messages were said while remembering was paused. One query, or none."""
    if not message_ids:
        return set()
    found = Message.objects.filter(user=user, id__in=message_ids).exclude(paused_by="")
    return set(found.values_list("id", flat=True))
