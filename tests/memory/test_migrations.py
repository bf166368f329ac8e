"""What migrations do to tables that have rows already."""

from __future__ import annotations

from importlib import import_module

import pytest
from django.core.management import call_command
from django.db import connection
from django.db.migrations.state import ProjectState
from django.utils import timezone

from apps.accounts.models import User
from apps.conversations.models import Message, Session
from apps.memory.embeddings.messages import prepare_embeddings, store_embeddings
from apps.memory.models import ConversationEmbedding
from apps.memory.services import create_atomic_memory, create_memory


@pytest.mark.django_db(transaction=True)
def test_the_planner_knows_at_once_how_many_memories_to_expect_of_a_person():
    user = User.objects.create(username="mei")
    for number in range(3):
        create_memory(user=user, category="fact", key=f"颜色 {number}", value="蓝色", now=timezone.now())
        create_atomic_memory(user=user, content=f"The user adopted cat number {number}.", now=timezone.now())
    migration = import_module("apps.memory.migrations.0009_memories_a_person")
    with connection.schema_editor() as editor:
        migration.Migration("0009_memories_a_person", "memory").apply(ProjectState(), editor)
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT tablename, n_distinct::float8 FROM pg_stats WHERE attname = 'user_id' AND tablename = ANY(%s)",
            [list(migration.TABLES)],
        )
        known = dict(cursor.fetchall())
    assert known["long_term_memory"] == known["atomic_memory"] == pytest.approx(-0.001)


@pytest.mark.long
@pytest.mark.django_db(transaction=True)
def test_vectors_of_messages_are_found_while_their_index_is_exchanged_there_and_back():
    user = User.objects.create(username="mei")
    session = Session.objects.create(user=user)
    messages = [
        Message.objects.create(session=session, user=user, role="user", content=f"cup of tea {number}", position=number)
        for number in range(1, 13)
    ]
    store_embeddings(prepare_embeddings(messages))
    definition = "SELECT indexdef LIKE %s FROM pg_indexes WHERE indexname = 'conversation_embedding_hnsw'"
    found = """
        SELECT count(*) FROM match_conversations(
            (SELECT embedding FROM conversation_embeddings LIMIT 1), 20, jsonb_build_object('user_id', %s::bigint)
        )"""

    def search(*, exact_rows: int) -> tuple[bool, int]:
        with connection.cursor() as cursor:
            cursor.execute("SELECT set_config('jiyi.exact_rows', %s, false)", [str(exact_rows)])
            cursor.execute(definition, ["%WHERE in_index"])
            ((is_partial,),) = cursor.fetchall()
            cursor.execute(found, [user.pk])
            ((count,),) = cursor.fetchall()
            cursor.execute("RESET jiyi.exact_rows")
        return is_partial, count

    try:
        call_command("migrate", "memory", "0015", verbosity=0)
        assert (search(exact_rows=10), search(exact_rows=10_000)) == ((False, 12), (False, 12))
        call_command("migrate", "memory", "0016", verbosity=0)
        assert search(exact_rows=10) == (False, 12)
    finally:
        call_command("migrate", "memory", verbosity=0)
    assert search(exact_rows=10) == (True, 12)
    ConversationEmbedding.objects.update(in_index=True)
    assert search(exact_rows=10) == (True, 12)
