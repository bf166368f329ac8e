"""What accepting a pending memory would do is what it does (M6, L2)."""

from __future__ import annotations

from typing import Any

import pytest

from apps.memory.entries import create_memory
from apps.memory.judge.review import accept_memory, preview_acceptances
from apps.memory.kinds import LONG_TERM
from apps.memory.models import LongTermMemory
from tests.support.entries import NOW, propose
from tests.support.factories import UserFactory

pytestmark = pytest.mark.spec("M6")


def make_pending(value: Any, mode: str, *, current: Any) -> LongTermMemory:
    user = UserFactory()
    if current is not None:
        create_memory(user=user, category="fact", key="过敏", value=current, now=NOW)
    propose(user, "过敏", value, mode=mode)
    return LongTermMemory.objects.select_related("user").get(user=user, status="pending")


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("value", "mode", "current", "result"),
    [
        ("花生", "replace", None, "花生"),
        ("花生", "replace", "虾", "花生"),
        ("花生", "add", ["虾"], ["虾", "花生"]),
        ("peanuts", "add", None, ["peanuts"]),
        (["虾"], "remove", ["虾", "花生"], ["花生"]),
        ("虾", "remove", ["虾"], None),
    ],
)
def test_a_preview_says_what_accepting_makes_of_the_key(value: Any, mode: str, current: Any, result: Any) -> None:
    pending = make_pending(value, mode, current=current)
    preview = preview_acceptances([pending])[pending.id]
    assert preview.result == result
    assert (preview.active.value if preview.active else None) == current
    accept_memory(LONG_TERM, user=pending.user, memory_id=pending.id, now=NOW)
    after = LongTermMemory.objects.filter(user=pending.user, status="active").first()
    assert (after.value if after else None) == result


@pytest.mark.django_db
def test_one_query_for_any_number_of_people(django_assert_num_queries: Any) -> None:
    pending = [make_pending(f"value {number}", "replace", current=f"old {number}") for number in range(3)]
    with django_assert_num_queries(1):
        previews = preview_acceptances(pending)
    found = [previews[memory.id].active for memory in pending]
    assert [memory.value for memory in found if memory] == ["old 0", "old 1", "old 2"]
    with django_assert_num_queries(0):
        assert preview_acceptances([]) == {}
