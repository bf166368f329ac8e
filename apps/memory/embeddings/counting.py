"""How many vectors there are, of which model and of what, and how far `reembed` is (V2)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from django.db.models import Count

from apps.accounts.models import User
from apps.memory.embeddings.memories import EMBEDDINGS
from apps.memory.models import ConversationEmbedding, EmbeddingModel
from apps.memory.types import MemoryKind

State = EmbeddingModel.State


@dataclass(frozen=True, slots=True)
class ModelVectors:
    """The vectors of one model: of messages by their role, of memories by their kind."""

    id: int
    name: str
    state: str
    messages: Mapping[str, int]
    memories: Mapping[MemoryKind, int]

    @property
    def total(self) -> int:
        return sum(self.messages.values()) + sum(self.memories.values())


def count_vectors(*, user: User | None) -> list[ModelVectors]:
    """Return the vectors of a person, None: of everybody, by model, the active one first. Four queries.

    Indexes answer them; still, everybody's take time in proportion to how many there are.
    """
    of = {} if user is None else {"user": user}
    messages: dict[int, dict[str, int]] = defaultdict(dict)
    said = ConversationEmbedding.objects.filter(**of).order_by().values_list("model", "message_type")
    for model_id, role, count in said.annotate(count=Count("*")):
        messages[model_id][role] = count
    memories: dict[int, dict[MemoryKind, int]] = defaultdict(dict)
    for kind, table in EMBEDDINGS.items():
        for model_id, count in table.objects.filter(**of).order_by().values_list("model").annotate(count=Count("*")):
            memories[model_id][kind] = count
    order = [State.ACTIVE, State.BUILDING, State.RETIRED]
    rows = sorted(EmbeddingModel.objects.all(), key=lambda row: order.index(State(row.state)))
    return [
        ModelVectors(
            id=row.pk,
            name=row.name,
            state=row.state,
            messages=messages.get(row.pk, {}),
            memories=memories.get(row.pk, {}),
        )
        for row in rows
    ]
