"""A very small model tidies up: nothing is active afterwards that was not before, and all of it is undone (D1, D2)."""

from __future__ import annotations

from typing import Any

import pytest
from django.utils import timezone

from apps.memory.models import AtomicMemory, Status
from apps.tidying.run import claim_run, do_run
from apps.tidying.services import request_tidying, undo_tidying
from tests.support.factories import UserFactory
from tests.tidying.world import make_world, remember

pytestmark = [
    pytest.mark.llm,
    pytest.mark.long,
    pytest.mark.timeout(1_800),
    pytest.mark.django_db,
    pytest.mark.spec("D1", "D2"),
]


def test_what_a_weak_model_babbles_becomes_no_memory(llama_url: str, settings: Any) -> None:
    settings.OPENAI_BASE_URL, settings.OPENAI_API_KEY, settings.CHAT_MODEL = llama_url, "none", ""
    settings.BACKGROUND_MAX_TOKENS = 400
    user, now = UserFactory.create(), timezone.now()
    remember(user, make_world(now=now, share=0.1), now=now)
    before = set(AtomicMemory.objects.filter(user=user).values_list("id", "content"))
    request_tidying(user, now=timezone.now())
    run = claim_run(token="llm", now=timezone.now())
    assert run is not None
    do_run(run, token="llm")
    run.refresh_from_db()
    left = set(AtomicMemory.objects.filter(user=user, status=Status.ACTIVE).values_list("id", "content"))
    print(run.state, run.error, len(run.operations), before - left)
    assert left <= before
    if run.operations:
        undo_tidying(user, run.id, now=timezone.now())
        assert set(AtomicMemory.objects.filter(user=user, status=Status.ACTIVE).values_list("id", "content")) == before
