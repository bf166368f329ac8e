"""Which memories a message has ended, by the learned models: read from the vectors that are stored with them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from uuid import UUID

import numpy as np
from django.db import connection
from django.db.models.functions import Length

from apps.accounts.models import User
from apps.conversations.models import Message
from apps.core.llm.embedding.local import LOCAL_NAME
from apps.core.llm.offline.language import detect_language
from apps.core.llm.offline.third_person import tell_in_third_person
from apps.memory.atomic.compare import Relation, compare
from apps.memory.atomic.endings import MIN_END_OF_REPEATED, find_ended, is_doubtful
from apps.memory.atomic.vectors import DIMENSIONS, Floats, Statement, embed
from apps.memory.embeddings.active import find_active_model
from apps.memory.embeddings.memories import embed_memories
from apps.memory.models import AtomicMemory

# As bytes: reading the numbers of a thousand vectors from text would take longer than all the rest.
_VECTORS = """
SELECT memory_id, vector_send(subvector(embedding, 1, %(dimensions)s)) FROM atomic_embedding
WHERE model_id = %(model)s AND memory_id = ANY(%(memories)s)
"""
_HEADER_BYTES = 4

_LONGEST_CHARACTERS = 600


class EndedMemories:
    """Finds, for messages of one person, the memories that each has ended.

    A message counts as a whole: what it ends may be said beside what is taken from it. A very long one counts by what
    is taken from it. Without the local embedder's vectors nothing is found, and the rules stand alone.
    """

    def __init__(self, user: User, *, rows: Sequence[AtomicMemory], contents: Mapping[UUID, Sequence[str]]) -> None:
        """`rows`: the person's active memories; `contents`: what is taken from each message, by its ID."""
        self._contents = contents
        self._learned = False
        self._statements: dict[UUID, Statement] = {}
        self._said: dict[UUID, Statement] = {}
        model = find_active_model()
        if model is None or model.name != LOCAL_NAME:
            return
        self._learned = True
        texts = {row.id: row.content for row in rows}
        self._statements = {
            memory: Statement(text=texts[memory], vector=vector) for memory, vector in _load(model.id, texts).items()
        }
        said = {message: " ".join(found) for message, found in contents.items()} | _load_said(user, list(contents))
        for message, vector in zip(said, embed_memories(list(said.values()), at_once=True).active, strict=True):
            if vector is not None:
                self._said[message] = Statement(text=said[message], vector=vector[:DIMENSIONS])

    def add(self, row: AtomicMemory) -> None:
        """Count on a memory that a message before has left, or written anew."""
        if self._learned:
            self._statements[row.id] = Statement(text=row.content, vector=embed(row.content))

    def find(self, message: UUID) -> frozenset[UUID]:
        """Return the IDs of the memories that the message has ended; those it seems to say again stay, if in doubt."""
        said = self._said.get(message)
        if said is None:
            return frozenset()
        known = list(self._statements.items())
        ended = find_ended([statement for _memory, statement in known], said)
        return frozenset(
            known[index][0]
            for index, probability in ended.items()
            if probability >= MIN_END_OF_REPEATED or not self._is_said_again(known[index][1].text, message)
        )

    def doubts(self, memory: UUID, message: UUID) -> bool:
        """Whether a memory that a rule takes for ended by the message most likely is not."""
        statement, said = self._statements.get(memory), self._said.get(message)
        return statement is not None and said is not None and is_doubtful(statement, said)

    def get_said(self, message: UUID) -> Statement:
        """Return the message as it is compared: as a whole, or what is taken from it."""
        text = " ".join(self._contents[message])
        return self._said.get(message) or Statement(text=text, vector=embed(text))

    def _is_said_again(self, text: str, message: UUID) -> bool:
        return any(compare(text, content) in (Relation.SAME, Relation.REFINES) for content in self._contents[message])


def group_contents(pairs: Sequence[tuple[UUID, str]]) -> dict[UUID, list[str]]:
    """Return the contents by message, in their order."""
    grouped: defaultdict[UUID, list[str]] = defaultdict(list)
    for message, content in pairs:
        grouped[message].append(content)
    return dict(grouped)


def _load_said(user: User, messages: Sequence[UUID]) -> dict[UUID, str]:
    """The person's messages in the third person, as memories are; without those too long to be about one thing."""
    own = Message.objects.filter(user=user, id__in=messages)
    texts = own.alias(length=Length("content")).filter(length__lte=_LONGEST_CHARACTERS)
    return {
        message: told
        for message, text in texts.values_list("id", "content")
        if (told := tell_in_third_person(text, language=detect_language(text)))
    }


def _load(model: int, memories: Mapping[UUID, str]) -> dict[UUID, Floats]:
    with connection.cursor() as cursor:
        cursor.execute(_VECTORS, {"model": model, "memories": list(memories), "dimensions": DIMENSIONS})
        return {
            memory: np.frombuffer(bytes(sent), dtype=">f4", offset=_HEADER_BYTES).astype(np.float32)
            for memory, sent in cursor.fetchall()
        }
