"""What the learned models say of a person's memories, read from the vectors that are stored with them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

import numpy as np
from django.db import connection
from django.db.models.functions import Length

from apps.accounts.models import User
from apps.conversations.models import Message
from apps.core.llm.embedding.local import LOCAL_NAME
from apps.core.llm.offline.language import detect_language
from apps.core.llm.offline.third_person import tell_in_third_person
from apps.memory.atomic.compare import REPEATS, Relation, compare
from apps.memory.atomic.endings import MIN_END_OF_ASIDE, MIN_END_OF_REPEATED, find_ended, is_end_doubtful
from apps.memory.atomic.repeats import find_repeated, is_repeat_doubtful
from apps.memory.atomic.vectors import DIMENSIONS, Floats, Statement, embed, make_statement
from apps.memory.embeddings.active import list_models_in_use
from apps.memory.models import AtomicMemory

# As bytes: reading the numbers of a thousand vectors from text would take longer than all the rest.
_VECTORS = """
SELECT memory_id, vector_send(subvector(embedding, 1, %(dimensions)s)) FROM atomic_embedding
WHERE model_id = %(model)s AND memory_id = ANY(%(memories)s)
"""
_HEADER_BYTES = 4

_LONGEST_CHARACTERS = 600


class LearnedComparison:
    """What the models say of one person's memories and messages: which has ended, which is said again.

    What ends a memory counts as a whole message: it may be said beside what is taken from it. A very long one counts by
    what is taken from it. Without the local embedder's vectors no memory is found or doubted: the rules stand alone.
    """

    def __init__(
        self,
        user: User,
        *,
        texts: Mapping[UUID, str],
        contents: Mapping[UUID, Sequence[str]],
        doubted: Collection[UUID] = (),
        asides: Collection[UUID] = (),
    ) -> None:
        """`texts`: of the person's active memories; `contents`: what is taken from each message; both by ID.

        `doubted`: messages of which not everything is believed: they count by what is taken from them. `asides`: those
        that tell nothing by themselves: such a one ends the likeliest memory at most, and more likely than not.
        """
        self._contents, self._asides = contents, asides
        self._ended: dict[UUID, frozenset[UUID]] = {}
        self._statements: dict[UUID, Statement] = {}
        self._stored = _Vectors(memories=[], rows=np.empty((0, DIMENSIONS), dtype=np.float32))
        model = list_models_in_use()[0]
        self._is_local = model.name == LOCAL_NAME
        self._said = {message: " ".join(found) for message, found in contents.items()}
        if self._is_local:
            self._stored = _load(model.id, list(texts))
            self._statements = {
                memory: Statement(text=texts[memory], vector=vector)
                for memory, vector in zip(self._stored.memories, self._stored.rows, strict=True)
            }
            self._said |= _load_said(user, [message for message in contents if message not in doubted])

    def read(self, row: AtomicMemory) -> None:
        """Count on a memory that a message before has left, or written anew."""
        if self._is_local:
            self._statements[row.id] = make_statement(row.content)

    def drop(self, row: AtomicMemory) -> None:
        """Count no longer on a memory that has ended."""
        self._statements.pop(row.id, None)

    def find_cosines(self, content: str) -> dict[UUID, float]:
        """Return the cosines of the content to the memories that were stored before, by ID."""
        if not self._is_local:
            return {}
        return dict(zip(self._stored.memories, (self._stored.rows @ embed(content)).tolist(), strict=True))

    def get_said(self, message: UUID) -> Statement:
        """Return the message as it is compared: as a whole, or what is taken from it."""
        return make_statement(self._said[message])

    def get_taken(self, message: UUID) -> Sequence[str]:
        """Return the contents that are taken from the message."""
        return self._contents[message]

    def has_ended(self, memory: UUID, message: UUID) -> bool:
        """Whether the message as a whole has ended the memory; what it seems to say again stays, if in doubt."""
        if message not in self._ended:
            self._ended[message] = self._find_ended(message)
        return memory in self._ended[message]

    def _find_ended(self, message: UUID) -> frozenset[UUID]:
        known = list(self._statements.items())
        if not known:
            return frozenset()
        ended = find_ended([statement for _memory, statement in known], self.get_said(message))
        if message in self._asides:
            likeliest = max(ended.values(), default=0.0)
            ended = {index: likeliest for index in ended if ended[index] == likeliest >= MIN_END_OF_ASIDE}
        return frozenset(
            known[index][0]
            for index, probability in ended.items()
            if probability >= MIN_END_OF_REPEATED or not self._is_said_again(known[index][1], message)
        )

    def doubts_end(self, memory: UUID, message: UUID) -> bool:
        """Whether a memory that a rule takes for ended by the message most likely is not."""
        statement = self._statements.get(memory)
        return statement is not None and is_end_doubtful(statement, self.get_said(message))

    def find_repeated(self, memories: Sequence[UUID], content: str) -> tuple[UUID, Relation] | None:
        """Return which of the memories the content says again, as the same or with more; None where it is new."""
        known = [memory for memory in memories if memory in self._statements]
        found = (
            find_repeated([self._statements[memory] for memory in known], make_statement(content)) if known else None
        )
        return found and (known[found[0]], found[1])

    def doubts_repeat(self, memory: UUID, content: str) -> bool:
        """Whether a content that a rule takes for the memory said again most likely is not."""
        statement = self._statements.get(memory)
        return statement is not None and is_repeat_doubtful(statement, make_statement(content))

    def _is_said_again(self, statement: Statement, message: UUID) -> bool:
        return any(
            compare(statement.text, content) in REPEATS and not is_repeat_doubtful(statement, make_statement(content))
            for content in self._contents[message]
        )


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


@dataclass(frozen=True, slots=True)
class _Vectors:
    """Stored vectors, a row for each memory."""

    memories: list[UUID]
    rows: Floats


def _load(model: int, memories: list[UUID]) -> _Vectors:
    with connection.cursor() as cursor:
        cursor.execute(_VECTORS, {"model": model, "memories": memories, "dimensions": DIMENSIONS})
        found = cursor.fetchall()
    sent = b"".join(bytes(vector)[_HEADER_BYTES:] for _memory, vector in found)
    rows = np.frombuffer(sent, dtype=">f4").astype(np.float32).reshape(-1, DIMENSIONS)
    return _Vectors(memories=[memory for memory, _vector in found], rows=rows)
