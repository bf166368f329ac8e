"""One database that grows: invented memories of many people, one of whom has very many."""

from __future__ import annotations

import random
import time
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from django.db import connection

from apps.accounts.models import User
from apps.conversations.models import Session
from apps.memory.embeddings.active import list_models_in_use
from apps.memory.models import AtomicMemory
from benchmarks.bulk import Texts, copy_embeddings, without_vector_indexes
from benchmarks.mixing import Matrix, mix_vectors
from benchmarks.panel.copying import copy_rows
from benchmarks.progress import Advance
from benchmarks.sentences import make_sentence
from benchmarks.sharing import Sharing

MEMORIES_OF_A_SESSION = 20

_ROWS_AT_ONCE = 5_000
_FIRST = datetime(2024, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Load:
    """Seconds of one step of growth: making and copying its rows and vectors, and building the vector index of all."""

    rows: int
    copy_seconds: float
    index_seconds: float


class Growth:
    """The people and their memories so far. Memory number n is `make_sentence(n)` and has vector n of the mixtures."""

    def __init__(self, *, users: int, pool: Matrix) -> None:
        self.users = User.objects.bulk_create(
            User(username=f"benchmark-{uuid.uuid4()}", is_active=False) for _ in range(users)
        )
        self.counts = [0] * users
        self._pool = pool
        self._sessions: dict[int, tuple[Session, int]] = {}
        (model,) = list_models_in_use()
        self._model_id = model.id

    def grow(self, sharing: Sharing, *, advance: Advance) -> Load:
        """Copy in what everybody lacks of their share. The memories of different people come in random order."""
        before, total = sum(self.counts), sum(sharing.counts)
        owners = [
            user
            for user, (held, wanted) in enumerate(zip(self.counts, sharing.counts, strict=True))
            for _ in range(wanted - held)
        ]
        random.Random(total).shuffle(owners)
        start = time.perf_counter()
        with connection.cursor() as cursor, without_vector_indexes(cursor, rows=total) as build:
            for at in range(0, len(owners), _ROWS_AT_ONCE):
                part = owners[at : at + _ROWS_AT_ONCE]
                self._copy(part, first=before + at)
                advance(len(part))
            copied = time.perf_counter() - start
        with connection.cursor() as cursor:
            cursor.execute("VACUUM ANALYZE")
        self.counts = list(sharing.counts)
        return Load(rows=len(owners), copy_seconds=copied, index_seconds=build.seconds)

    def _copy(self, owners: Sequence[int], *, first: int) -> None:
        texts = Texts()
        sessions: list[Session] = []
        memories = [
            self._make(owner, number, texts=texts, sessions=sessions)
            for number, owner in enumerate(owners, start=first)
        ]
        copy_rows(sessions)
        copy_rows(memories)
        copy_embeddings(
            model_id=self._model_id,
            user_ids=[memory.user_id for memory in memories],
            memory_ids=[memory.id for memory in memories],
            vectors=mix_vectors(self._pool, start=first, count=len(memories)),
        )

    def _make(self, owner: int, number: int, *, texts: Texts, sessions: list[Session]) -> AtomicMemory:
        user = self.users[owner]
        session, used = self._sessions.get(owner, (None, 0))
        if session is None or used == MEMORIES_OF_A_SESSION:
            session, used = Session(user=user), 0
            sessions.append(session)
        self._sessions[owner] = session, used + 1
        said_at = _FIRST + timedelta(minutes=number)
        memory = AtomicMemory(
            user=user, session_id=session.id, timestamp=said_at, create_time=said_at, updated_at=said_at
        )
        texts.set_content(memory, make_sentence(number))
        return memory

    def draw_users(self, members: Sequence[int], *, seed: int) -> Iterator[User]:
        """Yield people at random without end, of those with at least one memory among `members` (positions)."""
        draw = random.Random(seed)
        some = [member for member in members if self.counts[member]]
        while True:
            yield self.users[draw.choice(some)]
