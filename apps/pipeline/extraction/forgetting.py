"""What a message says to forget also ends what is learned only afterwards from the messages before it (L9)."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from apps.conversations.models import Message, Role
from apps.conversations.queue import SessionClaim
from apps.core.text.client_blocks import cut_client_blocks
from apps.memory.services import forget_learned

_MOST_LATER = 200
"""Messages of the session after the claimed ones that may ask to forget."""


def forget_as_asked(claim: SessionClaim, *, said: Iterable[Message], now: datetime) -> None:
    """End what was learned from `said` and what a later message of the session asked to forget, done at its turn."""
    read = sorted(said, key=lambda message: message.position)
    if not read:
        return
    later = Message.objects.filter(
        user=claim.user, session=claim.session_id, role=Role.USER, position__gt=read[0].position
    ).order_by("position")
    for message in later[:_MOST_LATER]:
        before = [earlier.id for earlier in read if earlier.position < message.position]
        text = cut_client_blocks(message.content)
        forget_learned(user=claim.user, message_id=message.id, text=text, learned_from=before, now=now)
