"""Who looks at the lists of memories, and what htmx sends."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from apps.accounts.models import User
from tests.support.factories import UserFactory


@pytest.fixture
def mei(db: None) -> User:
    return UserFactory.create(username="mei")


@pytest.fixture
def log_in(client: Client) -> Callable[[User], Client]:
    """Log somebody in: the client then asks as htmx does."""

    def log_in_as(user: User) -> Client:
        client.force_login(user)
        client.defaults["HTTP_HX_REQUEST"] = "true"
        return client

    return log_in_as


def events(response: Any) -> dict[str, Any]:
    """What an answer tells the page beside itself."""
    return json.loads(response.headers.get("HX-Trigger", "{}"))


def toast(response: Any) -> dict[str, Any]:
    return events(response)["panel:toast"]


def shown(response: Any) -> list[Any]:
    """The memories on a page of a list, in order."""
    assert response.status_code == 200, response.status_code
    return [row.memory for row in response.context["page"].rows]
