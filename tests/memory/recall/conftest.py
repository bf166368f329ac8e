"""Memories to find."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pytest
from django.db import connection

from apps.accounts.models import User
from apps.memory.kinds import LONG_TERM
from apps.memory.models import LongTermMemory
from apps.memory.recall import columns as nearest

NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)

Remember = Callable[..., LongTermMemory]


@dataclass(frozen=True)
class Topic:
    """A working memory, as far as recall reads it."""

    current_topic: str | None


@pytest.fixture
def remember(user: User) -> Remember:
    """Store one active memory of `user`, or of the ``owner`` given; last accessed `NOW` unless said."""

    def store(
        key: str, value: Any, *, owner: User | None = None, category: str = "fact", **fields: Any
    ) -> LongTermMemory:
        memory = LongTermMemory(user=owner or user, category=category, **{"last_accessed": NOW, **fields})
        LONG_TERM.assign(memory, {"key": key, "value": value})
        memory.save()
        return memory

    return store


@pytest.fixture(params=[nearest.EXACT_SCAN_LIMIT, 0], ids=["all", "index"])
def both_ways(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Compare the query with every vector, and find the nearest by the index."""
    monkeypatch.setattr(nearest, "EXACT_SCAN_LIMIT", request.param)


def break_full_text() -> None:
    """Leave the substring arm alone: a statement that reads the search vector fails until the test is rolled back."""
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")  # a table with deferred checks outstanding cannot be altered
        cursor.execute("ALTER TABLE long_term_memory DROP COLUMN search_vector CASCADE")
