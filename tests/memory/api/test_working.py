"""Changing working memory by hand: all of a request is stored, or nothing (W5)."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from apps.accounts.services.people import create_token
from apps.memory.working import count_turn, record_form
from tests.support.factories import SessionFactory

pytestmark = [pytest.mark.django_db, pytest.mark.spec("W5")]
LIMIT = 65_536


@pytest.fixture
def patch() -> Any:
    """Changes the context variables of a live session; without arguments, returns them."""
    session = SessionFactory.create()
    count_turn(user=session.user, session_id=session.id, now=timezone.now(), ttl_minutes=30)
    record_form(user=session.user, session_id=session.id, title="行程", fields={"去": "北京"}, now=timezone.now())
    headers = {"Authorization": f"Bearer {create_token(user=session.user)}"}

    def send(**variables: Any) -> Any:
        return Client().patch(
            f"/memory/working/{session.id}",
            data={"context_variables": variables},
            content_type="application/json",
            headers=headers,
        )

    return send


def variables_of(response: Any) -> dict[str, Any]:
    assert response.status_code == 200
    return {key: value for key, value in response.json()["context_variables"].items() if key != "hitl_行程"}


def test_an_older_variable_makes_way_for_a_new_one_and_the_form_does_not(patch: Any):
    patch(old="旧" * 5000)
    patch(kept="x")
    response = patch(big="汉" * 20_000)
    assert response.json()["context_variables"]["hitl_行程"]["fields"] == {"去": "北京"}
    assert variables_of(response) == {"kept": "x", "big": "汉" * 20_000}


def test_a_value_too_large_is_refused_and_nothing_is_evicted_for_it(patch: Any):
    patch(old="旧")
    assert patch(big="x" * LIMIT).status_code == 413
    assert variables_of(patch()) == {"old": "旧"}


def test_values_that_fit_alone_but_not_together_are_refused_together(patch: Any):
    patch(old="旧")
    third = "x" * (LIMIT // 3)
    assert patch(a=third, b=third, c=third).status_code == 413
    assert variables_of(patch()) == {"old": "旧"}
