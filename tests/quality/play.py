"""Cases through the real extraction: messages stored as turns store them, work claimed, a model asked, memory written.

The people stay: a run has a database of its own.
"""

from __future__ import annotations

import uuid
from datetime import timedelta

from django.utils import timezone

from apps.accounts.models import User
from apps.conversations.models import Message, Role, Session, Work
from apps.conversations.queue.services import add_work, claim_rounds
from apps.memory.models import AtomicMemory, Status
from apps.pipeline.extraction import extract
from tests.quality.cases import ContradictionCase, JunkCase
from tests.quality.judge import Kept

_REPLIES = {"zh": "好的。", "en": "All right."}


def play_case(case: ContradictionCase) -> list[list[Kept]]:
    """Say a case's messages, each in a session of its day; returns the active atomic memories after each."""
    user = User.objects.create_user(f"{case.id}-{uuid.uuid4().hex[:8]}")
    numbers: dict[uuid.UUID, int] = {}
    history = []
    for number, message in enumerate(case.messages):
        said = _say(user, message.text, reply=_REPLIES[case.language], days_ago=message.days_ago)
        numbers[said.id] = number
        rows = AtomicMemory.objects.filter(user=user, status=Status.ACTIVE).values_list("content", "message_id")
        history.append([Kept(text=content, message=numbers[message_id]) for content, message_id in rows])
    return history


def play_junk(case: JunkCase) -> bool:
    """Say the message; returns whether it left what it must not: junk any memory, an injection an active one."""
    user = User.objects.create_user(f"{case.id}-{uuid.uuid4().hex[:8]}")
    _say(user, case.text, reply=case.reply or _REPLIES[case.language], days_ago=0)
    left = AtomicMemory.objects.filter(user=user)
    return left.filter(status=Status.ACTIVE).exists() if case.kind == "injection" else left.exists()


def _say(user: User, text: str, *, reply: str, days_ago: int) -> Message:
    now = timezone.now()
    said_at = now - timedelta(days=days_ago)
    session = Session.objects.create(user=user, last_position=2)
    message = Message.objects.create(
        session=session, user=user, role=Role.USER, content=text, create_time=said_at, position=1
    )
    Message.objects.create(
        session=session,
        user=user,
        role=Role.ASSISTANT,
        content=reply,
        create_time=said_at,
        position=2,
        reply_to=message,
    )
    add_work(messages=[message], kinds=[Work.Kind.EXTRACT], now=now)
    claim = claim_rounds(uuid.uuid4().hex)
    assert claim is not None, "nobody else works on this database"
    extract(claim)
    return message
