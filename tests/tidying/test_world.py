"""200 memories are tidied by a capable model: what is twice, untrue or over goes, and no fact is lost (D1, D2)."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest
from django.utils import timezone

from apps.accounts.models import User
from apps.memory.models import AtomicMemory, Status
from apps.tidying.services import undo_tidying
from tests.support.factories import UserFactory
from tests.tidying.conftest import Connect, tidy
from tests.tidying.world import CapableModel, World, make_world, remember

pytestmark = [pytest.mark.django_db, pytest.mark.spec("D1", "D2")]


def snapshot(user: User) -> dict[Any, Any]:
    """Every memory that is active, and all that is recorded of it but when it was touched."""
    rows = AtomicMemory.objects.filter(user=user, status=Status.ACTIVE).values()
    return {row["id"]: {name: value for name, value in row.items() if name != "updated_at"} for row in rows}


def list_recalled(user: User, *, now: datetime) -> list[str]:
    active = AtomicMemory.objects.filter(user=user, status=Status.ACTIVE)
    return list(active.exclude(valid_until__lte=now).values_list("content", flat=True))


def measure(user: User, world: World, *, before: dict[Any, Any]) -> dict[str, float]:
    now = timezone.now()
    left = list_recalled(user, now=now)
    twice = sum(text in world.same for text in left) - len({world.tells(text) for text in left if text in world.same})
    patterns = AtomicMemory.objects.filter(user=user, status=Status.PENDING).values_list("content", flat=True)
    return {
        "duplicates": twice / (len(world.same) * 2 / 3),
        "lost": len(world.facts - {world.tells(text) for text in left}),
        "untrue": sum(text in world.replaced for text in left) / len(world.replaced),
        "past": sum(text in world.past for text in left) / len(world.past),
        "patterns": len(set(patterns) & set(world.shows.values())) / len(set(world.shows.values())),
        "new": len({row["content"] for row in snapshot(user).values()} - {row["content"] for row in before.values()}),
    }


def check(user: User, connect: Connect, *, share: float) -> dict[str, float]:
    now = timezone.now()
    world = make_world(now=now, share=share)
    remember(user, world, now=now)
    before = snapshot(user)
    model = connect(CapableModel(world))
    run = tidy(user)
    assert run.state == "done", run.error
    figures = measure(user, world, before=before) | {"calls": len(model.requests), "memories": len(before)}
    undone = undo_tidying(user, run.id, now=timezone.now())
    assert undone.kept == 0
    assert snapshot(user) == before
    return figures


def test_a_capable_model_tidies_and_all_of_it_is_undone(user: User, connect: Connect) -> None:
    figures = check(user, connect, share=0.2)
    assert figures["lost"] == 0
    assert figures["new"] == 0
    assert figures["duplicates"] <= 0.2
    assert figures["untrue"] <= 0.2
    assert figures["past"] == 0
    assert figures["patterns"] == 1


@pytest.mark.long
def test_thirty_people_with_200_memories_each(db: None, connect: Connect) -> None:
    found = [check(UserFactory.create(), connect, share=1.0) for _person in range(30)]
    mean = {name: sum(one[name] for one in found) / len(found) for name in found[0]}
    print(mean)
    assert sum(one["lost"] for one in found) == 0
    assert sum(one["new"] for one in found) == 0
    assert max(one["duplicates"] for one in found) <= 0.2
    assert mean["untrue"] <= 0.2
    assert mean["past"] == 0
