"""What migrations tell PostgreSQL about its tables."""

from __future__ import annotations

import pytest
from django.db import connection
from django.utils import timezone

from apps.accounts.models import User
from apps.memory.entries import create_memory
from apps.memory.lifecycle import create_atomic_memory


@pytest.mark.django_db
def test_the_planner_knows_how_many_memories_to_expect_of_a_person():
    user = User.objects.create(username="mei")
    for number in range(3):
        create_memory(user=user, category="fact", key=f"颜色 {number}", value="蓝色", now=timezone.now())
        create_atomic_memory(user=user, content=f"The user adopted cat number {number}.", now=timezone.now())
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE long_term_memory, atomic_memory")
        cursor.execute(
            "SELECT tablename, n_distinct::float8 FROM pg_stats WHERE attname = 'user_id' AND tablename = ANY(%s)",
            [["long_term_memory", "atomic_memory"]],
        )
        known = dict(cursor.fetchall())
    assert known == {"long_term_memory": pytest.approx(-0.001), "atomic_memory": pytest.approx(-0.001)}
