"""What is done with claimed work of each kind. A job writes inside `finish`, or not at all."""

from __future__ import annotations

from django.utils import timezone

from apps.conversations.models import Message
from apps.conversations.queue import Blame, Claim, SessionClaim
from apps.conversations.worker import finish, put_off
from apps.memory.services import prepare_embeddings, store_embeddings
from apps.summaries.services import prepare_summaries, store_summaries


def embed(claim: Claim) -> None:
    """Store the vectors of the claimed messages (V1). One that the model refuses fails alone (V3)."""
    prepared = prepare_embeddings(Message.objects.filter(id__in=claim.message_ids))
    with finish(claim.only(set(claim.message_ids) - prepared.failures.keys())):
        store_embeddings(prepared)
    for message_id, error in prepared.failures.items():
        put_off(claim.only({message_id}), error=error, blame=Blame.WORK)


def summarize(claim: SessionClaim) -> None:
    """Write the summaries that are due on the claimed session: its own (S1), the conversation's (S3), both or none."""
    prepared = prepare_summaries(user=claim.user, session_id=claim.session_id)
    with finish(claim):
        store_summaries(user=claim.user, prepared=prepared, now=timezone.now())
