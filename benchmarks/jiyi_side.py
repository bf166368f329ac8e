"""Jiyi in a comparison with another memory: many people's memories loaded, added and searched as production does."""

from __future__ import annotations

import time
import uuid
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace

from django.db import connection
from django.utils import timezone

from apps.accounts.models import User
from apps.accounts.services.people import create_scratch_user
from apps.conversations.models import Session
from apps.conversations.types import MAX_TITLE_CHARS
from apps.core.beir import CorpusRow
from apps.core.db import release_connections
from apps.memory.atomic.services import create_atomic_memories
from apps.memory.atomic.types import AtomicDraft
from apps.memory.embeddings.active import list_models_in_use
from apps.memory.embeddings.queries import embed_query
from apps.memory.evaluation.run import ask, evaluate, make_scratch_users
from apps.memory.evaluation.types import Folder, Ranking
from apps.memory.models import AtomicMemory
from benchmarks.bulk import Texts, copy_embeddings, without_vector_indexes
from benchmarks.clients import Rate, run_clients
from benchmarks.contents import Embedded, PeopleVectors, giving_vectors
from benchmarks.corpora import Person, Question, get_content
from benchmarks.panel.copying import copy_rows
from benchmarks.progress import Advance


class Jiyi:
    """The product in this process, on the embedded servers that are running. Found memories go by their rows' IDs."""

    name = "Jiyi"

    def __init__(self) -> None:
        self._users: dict[str, User] = {}
        self._known: dict[uuid.UUID, str] = {}
        self._texts = Texts()

    def rank(self, folder: Folder, *, limit: int, advance: Advance) -> list[Ranking]:
        """Store a folder through the services, in accounts of its own, and ask all its queries."""
        return evaluate(folder, limit=limit, advance=lambda: advance(1))

    def load(self, people: Sequence[Person], vectors: PeopleVectors, *, total: int, advance: Advance) -> float:
        """Copy the memories of more people into the tables; returns the seconds. `total`: memories there are then."""
        start = time.perf_counter()
        (model,) = list_models_in_use()
        with connection.cursor() as cursor:
            with without_vector_indexes(cursor, rows=total):
                for person in people:
                    self._load_person(person, vectors, model_id=model.id)
                    advance(len(person.rows))
            cursor.execute("VACUUM ANALYZE")
        return time.perf_counter() - start

    def _load_person(self, person: Person, vectors: PeopleVectors, *, model_id: int) -> None:
        user = self._users[person.name] = create_scratch_user(username=f"benchmark-{uuid.uuid4()}")
        names = dict.fromkeys(row.session_id for row in person.rows)
        sessions = {name: Session(user=user, title=name[:MAX_TITLE_CHARS]) for name in names}
        memories = [self._make(user, row, session=sessions[row.session_id]) for row in person.rows]
        self._known |= {memory.id: row.id for memory, row in zip(memories, person.rows, strict=True)}
        copy_rows(sessions.values())
        copy_rows(memories)
        copy_embeddings(
            model_id=model_id,
            user_ids=[user.pk] * len(memories),
            memory_ids=[memory.id for memory in memories],
            vectors=vectors.get(person),
        )

    def _make(self, user: User, row: CorpusRow, *, session: Session) -> AtomicMemory:
        memory = AtomicMemory(user=user, session_id=session.id, timestamp=row.timestamp)
        self._texts.set_content(memory, get_content(row))
        return memory

    def search(self, questions: Sequence[Question], *, limit: int) -> list[Ranking]:
        """Ask one after the other; the time of each includes embedding it."""
        return [self._ask(question, limit=limit) for question in questions]

    def _ask(self, question: Question, *, limit: int) -> Ranking:
        query = replace(question.query, text=question.text)
        return ask(self._users[question.person], query, known=self._known, limit=limit)

    def search_at_once(self, questions: Sequence[Question], *, limit: int, clients: int, seconds: float) -> Rate:
        """Have several threads search for some seconds."""
        return run_clients(
            lambda question: self._ask(question, limit=limit),
            questions,
            clients=clients,
            seconds=seconds,
            end=release_connections,
        )

    def add(self, contents: Sequence[str], *, batch: int, embedded: Embedded | None) -> float:
        """Store memories through the service, `batch` at once, and delete them again; returns the seconds of storing.

        With `embedded` their vectors are taken from there; without, the embedder makes them.
        """
        with make_scratch_users(["somebody"]) as users, giving_vectors(embedded) if embedded else nullcontext():
            start = time.perf_counter()
            for at in range(0, len(contents), batch):
                drafts = [AtomicDraft(content=content) for content in contents[at : at + batch]]
                create_atomic_memories(user=users["somebody"], drafts=drafts, now=timezone.now())
            return time.perf_counter() - start

    def warm_up(self) -> None:
        """Load the embedder, and make the embedding model known to the database."""
        list_models_in_use()
        embed_query("warm-up", deadline=60)
