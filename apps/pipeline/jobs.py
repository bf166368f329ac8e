"""What is done with claimed work of each kind. A job writes inside `finish`, or not at all."""

from __future__ import annotations

from apps.conversations.models import Message
from apps.conversations.work import Blame
from apps.memory.embeddings.messages import prepare_embeddings, store_embeddings
from apps.pipeline.claims import Claim, finish, put_off


def embed(claim: Claim) -> None:
    """Store the vectors of the claimed messages (V1). One that the model refuses fails alone (V3)."""
    prepared = prepare_embeddings(Message.objects.filter(id__in=claim.message_ids))
    with finish(claim.only(set(claim.message_ids) - prepared.failures.keys())):
        store_embeddings(prepared)
    for message_id, error in prepared.failures.items():
        put_off(claim.only({message_id}), error=error, blame=Blame.WORK)
