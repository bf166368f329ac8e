"""What a draft is to the memories that are known: what their stored vectors add to the rules."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest

from apps.memory.atomic.compare import Relation
from apps.memory.atomic.relating import KnownMemories
from apps.memory.atomic.services import create_atomic_memory
from apps.memory.atomic.types import ExtractedMemory
from apps.memory.models import AtomicEmbedding
from tests.support.factories import UserFactory

pytestmark = [pytest.mark.django_db, pytest.mark.spec("A3")]

NOW = datetime(2026, 11, 22, 10, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("old", "new", "relation"),
    [
        ("The user will get through this.", "The user will make it through this.", Relation.REFINES),
        ("用户感到很难过。", "用户觉得很伤心。", Relation.SAME),  # near enough for the model's word to count
    ],
)
def test_what_the_words_do_not_tell_the_stored_vectors_do(old: str, new: str, relation: Relation) -> None:
    user = UserFactory.create()
    memory, _is_new = create_atomic_memory(user=user, content=old, now=NOW - timedelta(days=3))
    draft = ExtractedMemory(
        content=new, said_at=NOW, message_id=uuid4(), session_id=None, relation=Relation.SAME, target=memory.id
    )

    def relate() -> list[tuple[object, Relation]]:
        return list(KnownMemories(user, [draft], doubted=()).relate(draft))

    assert relate() == [(memory, relation)]
    AtomicEmbedding.objects.all().delete()
    assert relate() == []
