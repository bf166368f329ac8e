"""The declarations of the kinds: nothing of a model is forgotten in them, and what derives from them holds together."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import pytest
from django.db import models

from apps.memory.api.memories import AtomicMemoryChangeRequest, LongTermMemoryChangeRequest
from apps.memory.kinds import ATOMIC, KINDS, LONG_TERM, MemoryKind
from apps.memory.serializers import AtomicMemorySerializer, LongTermMemorySerializer

each_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.slug)


@each_kind
def test_every_column_of_a_model_is_declared(kind: MemoryKind) -> None:
    declared = [kind.column(name).name for name in kind.file_fields]
    columns = [column.name for column in kind.model._meta.concrete_fields]
    assert sorted([*declared, *kind.derived, *kind.internal]) == sorted(columns)


@pytest.mark.parametrize(
    ("kind", "answer", "request_body"),
    [
        (LONG_TERM, LongTermMemorySerializer, LongTermMemoryChangeRequest),
        (ATOMIC, AtomicMemorySerializer, AtomicMemoryChangeRequest),
    ],
)
def test_the_api_answers_with_and_takes_the_declared_fields(kind: MemoryKind, answer: Any, request_body: Any) -> None:
    assert tuple(answer().fields) == kind.api_fields
    assert set(request_body().fields) == {*kind.editable, "muted"}


@each_kind
def test_every_tracked_field_comes_back(kind: MemoryKind) -> None:
    memory, other = kind.model(), kind.model()
    for name in kind.tracked:
        column = kind.column(name)
        setattr(memory, column.attname, _choose_value(column))
    state = kind.snapshot(memory)
    assert set(state) == set(kind.tracked)
    kind.put_back(other, state)
    assert kind.snapshot(other) == state
    assert kind.snapshot(kind.model()) != state


def _choose_value(column: models.Field[Any, Any]) -> Any:
    match column:
        case models.DateTimeField():
            return datetime(2026, 5, 1, tzinfo=UTC)
        case models.ForeignKey():
            return uuid4()
        case models.BooleanField():
            return True
        case models.FloatField():
            return 0.25
        case models.CharField() if column.choices:
            return list(column.flatchoices)[-1][0]
    return ["a"] if column.name == "tags" else "something"
