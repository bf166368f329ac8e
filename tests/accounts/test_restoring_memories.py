"""Whatever memories a person has, an export and a restore give back the very same ones (R2, M4)."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from apps.accounts.models import User
from apps.core.text.clean import find_forbidden
from apps.memory import kinds
from apps.memory.models import AtomicMemory, Category, LongTermMemory, Source, Status
from tests.accounts.test_restoring import export, restore
from tests.support.factories import UserFactory

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.spec("R2", "M4")]

TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), min_size=1, max_size=40).filter(
    lambda text: text.strip() == text
)
TIMES = st.integers(0, 3_000_000_000).map(lambda seconds: datetime.fromtimestamp(seconds, UTC))
# Objects have one key: PostgreSQL keeps no order of keys, and the index terms are in that of the value.
VALUES = st.recursive(
    TEXTS | st.booleans() | st.integers(-(2**40), 2**40) | st.floats(-1e9, 1e9),
    lambda inner: st.lists(inner, min_size=1, max_size=3) | st.dictionaries(TEXTS, inner, min_size=1, max_size=1),
    max_leaves=6,
).filter(lambda value: find_forbidden(value) is None)
ENDED = st.sampled_from([Status.PENDING, Status.REJECTED, Status.SUPERSEDED, Status.EVICTED])

LONG_TERM = st.fixed_dictionaries(
    {
        "key": TEXTS,
        "value": VALUES,
        "category": st.sampled_from(Category.values),
        "source": st.sampled_from(Source.values),
        "confidence": st.floats(0, 1),
        "status": ENDED,
        "muted": st.booleans(),
        "created_at": TIMES,
        "access_count": st.integers(0, 2**31 - 1),
    }
)
ATOMIC = st.fixed_dictionaries(
    {
        "content": TEXTS,
        "tags": st.lists(TEXTS, max_size=3),
        "timestamp": TIMES,
        "status": st.one_of(ENDED, st.just(Status.ACTIVE)),
        "muted": st.booleans(),
        "event_start": st.none() | TIMES,
    }
)


@pytest.mark.long
@settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    derandomize=True,
    database=None,
    phases=[Phase.generate],
)
@given(long_term=st.lists(LONG_TERM, max_size=4), atomic=st.lists(ATOMIC, max_size=4), link=st.randoms())
def test_memories_come_back_as_they_were(long_term: list[Any], atomic: list[Any], link: Any) -> None:
    owner = UserFactory.create(username=uuid.uuid4().hex)
    made: list[Any] = []
    for fields in long_term:
        memory = LongTermMemory(user=owner, last_accessed=fields["created_at"] + timedelta(days=1), **fields)
        kinds.LONG_TERM.derive(memory)
        made.append(memory)
    statements = []
    for fields in atomic:
        statement = AtomicMemory(user=owner, **fields)
        kinds.ATOMIC.derive(statement)
        statements.append(statement)
    LongTermMemory.objects.bulk_create(made)
    AtomicMemory.objects.bulk_create(statements)
    for rows in (made, statements):
        for row in rows:
            if row.status == Status.SUPERSEDED:
                type(row).objects.filter(pk=row.pk).update(superseded_by=link.choice(rows))
    before = export(owner)
    derived = list_columns(owner)
    LongTermMemory.objects.filter(user=owner).delete()
    AtomicMemory.objects.filter(user=owner).delete()
    restore(owner, before)
    assert export(owner)["data"] == before["data"]
    assert list_columns(owner) == derived


def list_columns(owner: User) -> list[Any]:
    """Every column, what is derived included."""
    models = (LongTermMemory, AtomicMemory)
    return [list(model.objects.filter(user=owner).order_by("pk").values()) for model in models]
