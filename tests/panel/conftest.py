"""Who is before the browser, what they remember, and what an answer tells the page beside itself."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from django.test import Client

from apps.accounts.models import User
from apps.memory.entries import create_memory
from apps.memory.models import LongTermMemory
from tests.support.factories import UserFactory

NOW = datetime(2026, 11, 20, 8, 30, tzinfo=UTC)


@pytest.fixture
def mei(db: None, client: Client) -> User:
    """Somebody without a staff account, logged in."""
    user = UserFactory.create(username="mei")
    client.force_login(user)
    return user


@pytest.fixture
def root(db: None, client: Client) -> User:
    """A superuser, logged in."""
    user = User.objects.create_superuser(username="root")
    client.force_login(user)
    return user


def browse(user: User) -> Client:
    """A browser of somebody else's."""
    browser = Client()
    browser.force_login(user)
    return browser


def remember(
    user: User, key: str, value: Any = "value", category: str = "fact", now: datetime = NOW, **fields: Any
) -> LongTermMemory:
    return create_memory(user=user, category=category, key=key, value=value, now=now, **fields)[0]


def read(client: Client, address: str, **given: str) -> str:
    """Return the text of a page."""
    response = client.get(address, given)
    assert response.status_code == 200, response.status_code
    return response.content.decode()


def events(response: Any) -> dict[str, Any]:
    return json.loads(response.headers.get("HX-Trigger", "{}"))


def toast(response: Any) -> dict[str, Any]:
    return events(response)["panel:toast"]


def undo(client: Client, response: Any) -> Any:
    """Press the button that the answer's toast offers."""
    offered = toast(response)
    return client.post("/admin/undo/", {name: offered[name] for name in ("operations", "together") if name in offered})
