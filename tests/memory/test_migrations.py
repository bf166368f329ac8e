"""What migrations do to tables that have rows already."""

from __future__ import annotations

from importlib import import_module

import pytest
from django.db import connection
from django.db.migrations.state import ProjectState
from django.utils import timezone

from apps.accounts.models import User
from apps.memory.entries import create_memory
from apps.memory.lifecycle import create_atomic_memory


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
