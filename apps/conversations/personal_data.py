"""The tables of a person's data in this app (R2, R3)."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from typing import Any

from apps.accounts.models import User
from apps.accounts.services.personal_data import LeftOut, PersonalTable, Restoration, register_tables
from apps.conversations.models import Attachment, Message, Recording, Session, Work
from apps.conversations.recordings import embed_again


def _prepare_work(work: Work, _restoration: Restoration) -> None:
    """What was left to do is left to do; vectors are made anew for every message."""
    if work.kind == Work.Kind.EMBED:
        raise LeftOut
    work.claim, work.lease_until, work.worker, work.place = None, None, "", 0


def _embed_messages(user: User, keys: Collection[Any], now: datetime) -> None:
    embed_again(user=user, message_ids=keys, now=now)


register_tables(
    PersonalTable(Session, said=("title",)),
    PersonalTable(Message, said=("content",), finish=_embed_messages),
    PersonalTable(Attachment, said=("text",)),
    PersonalTable(Work, prepare=_prepare_work, identity=("kind", "message_id")),
    PersonalTable(Recording, identity=("session_id", "idempotency_key")),
)
