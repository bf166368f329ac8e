"""Changing working memory by hand: all of a request is stored, or nothing (W5)."""

from __future__ import annotations

from typing import Any

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from apps.conversations.models import Session
from apps.memory.working import count_turn, record_form

pytestmark = [pytest.mark.django_db, pytest.mark.spec("W5")]
LIMIT = 65_536


@pytest.fixture
def patch(client: APIClient, session: Session) -> Any:
    """Changes the context variables of a live session; without arguments, returns them."""
    count_turn(user=session.user, session_id=session.id, now=timezone.now(), ttl_minutes=30)
    record_form(user=session.user, session_id=session.id, title="行程", fields={"去": "北京"}, now=timezone.now())
    return lambda **variables: client.patch(f"/memory/working/{session.id}", {"context_variables": variables})


def variables_of(response: Any) -> dict[str, Any]:
    assert response.status_code == 200
    variables: dict[str, Any] = response.json()["context_variables"]
    assert variables.pop("hitl_行程")["fields"] == {"去": "北京"}
    return variables


@pytest.mark.parametrize(
    "variables", [{"big": "x" * LIMIT}, dict.fromkeys("abc", "x" * (LIMIT // 3))], ids=["alone", "together"]
)
def test_what_does_not_fit_is_refused_whole_and_nothing_is_evicted_for_it(patch: Any, variables: dict[str, str]):
    patch(old="旧")
    assert patch(**variables).status_code == 413
    assert variables_of(patch()) == {"old": "旧"}


def test_an_older_variable_makes_way_for_a_new_one_and_the_form_does_not(patch: Any):
    patch(old="旧" * 5000)
    patch(kept="x")
    assert variables_of(patch(big="汉" * 20_000)) == {"kept": "x", "big": "汉" * 20_000}
