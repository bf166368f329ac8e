"""What waits for decisions, made as production makes it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from apps.accounts.models import User
from apps.conversations.models import Message, Role, Session
from apps.memory.judge.types import JudgedStatement, KnownMemory, Said, Verdict
from apps.memory.judge.verdicts import record_verdicts
from apps.memory.models import AtomicMemory, LongTermMemory
from apps.profile.document import ProposedSection
from apps.profile.models import ProfileProposal
from apps.profile.services import propose_sections, update_profile
from tests.support.entries import NOW, entry, record

_UNSURE = Verdict(confidence=0.5)


def say(user: User, content: str, *, at: datetime = NOW) -> Message:
    """A message of the user in a session of its own."""
    session = Session.objects.create(user=user)
    return Message.objects.create(
        session=session, user=user, role=Role.USER, content=content, position=1, create_time=at
    )


def wait_long_term(
    user: User,
    key: str,
    value: Any,
    *,
    said: str = "",
    confidence: float = 0.4,
    mode: str = "replace",
    at: datetime = NOW,
) -> LongTermMemory:
    """A pending long-term memory, from a message if it was `said`."""
    message = say(user, said, at=at) if said else None
    proposed = entry(key, value, category="preference", source="inferred", confidence=confidence, mode=mode)
    (update,) = record(user, proposed, message=message, at=at)
    return LongTermMemory.objects.get(id=update.id)


def wait_atomic(
    user: User,
    content: str,
    *,
    said: str,
    at: datetime = NOW,
    verdict: Verdict = _UNSURE,
    known: Sequence[KnownMemory] = (),
    grounded: bool = True,
) -> AtomicMemory:
    """A pending atomic memory: of a model that was not sure, by default."""
    message = say(user, said, at=at)
    source = Said(message_id=message.id, session_id=message.session_id, said_at=at, text=said)
    (memory,) = record_verdicts(
        user=user,
        statements=[JudgedStatement(content=content, source=source, verdict=verdict, grounded=grounded)],
        known=known,
        max_length=500,
        auto_accept_confidence=0.7,
        now=at,
    )
    return memory


def wait_profile(user: User, section: str, text: str, *, by_hand: str = "Long replies.") -> ProfileProposal:
    """A proposal for a section that was written by hand."""
    update_profile(user=user, changes={section: by_hand}, now=NOW)
    at = NOW + timedelta(minutes=1)
    message = say(user, text, at=at)
    propose_sections(user=user, proposals=[ProposedSection(section, text, message.id, at)], now=at)
    return ProfileProposal.objects.get(user=user, status="pending", section=section)
