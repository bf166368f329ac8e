"""Which memories a message has ended, by the learned models: read from the vectors that are stored with them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from uuid import UUID

import numpy as np
from django.db import connection

from apps.core.llm.embedding.local import LOCAL_NAME
from apps.memory.atomic.compare import Relation, compare
from apps.memory.atomic.endings import DIMENSIONS, Floats, Statement, find_ended, is_doubtful
from apps.memory.embeddings.active import find_active_model
from apps.memory.embeddings.memories import embed_memories
from apps.memory.models import AtomicMemory

# As bytes: reading the numbers of a thousand vectors from text would take longer than all the rest.
_VECTORS = """
SELECT memory_id, vector_send(subvector(embedding, 1, %(dimensions)s)) FROM atomic_embedding
WHERE model_id = %(model)s AND memory_id = ANY(%(memories)s)
"""
_HEADER_BYTES = 4


class EndedMemories:
    """Finds, for messages of one person, the memories that each has ended.

    A message counts as a whole: what it ends may be said in one of its memories and what is true now in another.
    Without the local embedder's vectors nothing is found, and the rules stand alone.
    """

    def __init__(self, *, rows: Sequence[AtomicMemory], contents: Mapping[UUID, Sequence[str]]) -> None:
        """`rows`: the active memories; `contents`: what is taken from each message, by its ID."""
        self._contents = contents
        self._statements: dict[UUID, Statement] = {}
        self._said: dict[UUID, Statement] = {}
        model = find_active_model()
        if model is None or model.name != LOCAL_NAME or not rows:
            return
        texts = {row.id: row.content for row in rows}
        self._statements = {
            memory: Statement(text=texts[memory], vector=vector) for memory, vector in _load(model.id, texts).items()
        }
        joined = {message: " ".join(found) for message, found in contents.items()}
        for message, vector in zip(joined, embed_memories(list(joined.values()), at_once=True).active, strict=True):
            if vector is not None:
                self._said[message] = Statement(text=joined[message], vector=vector[:DIMENSIONS])

    def find(self, message: UUID) -> frozenset[UUID]:
        """Return the IDs of the memories that the message has ended; those it says again stay."""
        said = self._said.get(message)
        if said is None:
            return frozenset()
        known = list(self._statements.items())
        ended = [known[index] for index in find_ended([statement for _memory, statement in known], said)]
        return frozenset(memory for memory, statement in ended if not self._is_said_again(statement.text, message))

    def doubts(self, memory: UUID, message: UUID) -> bool:
        """Whether a memory that a rule takes for ended by the message most likely is not."""
        statement, said = self._statements.get(memory), self._said.get(message)
        return statement is not None and said is not None and is_doubtful(statement, said)

    def _is_said_again(self, text: str, message: UUID) -> bool:
        return any(compare(text, content) in (Relation.SAME, Relation.REFINES) for content in self._contents[message])


def group_contents(pairs: Sequence[tuple[UUID, str]]) -> dict[UUID, list[str]]:
    """Return the contents by message, in their order."""
    grouped: defaultdict[UUID, list[str]] = defaultdict(list)
    for message, content in pairs:
        grouped[message].append(content)
    return dict(grouped)


def _load(model: int, memories: Mapping[UUID, str]) -> dict[UUID, Floats]:
    with connection.cursor() as cursor:
        cursor.execute(_VECTORS, {"model": model, "memories": list(memories), "dimensions": DIMENSIONS})
        return {
            memory: np.frombuffer(bytes(sent), dtype=">f4", offset=_HEADER_BYTES).astype(np.float32)
            for memory, sent in cursor.fetchall()
        }
