from __future__ import annotations

import pytest

from apps.conversations import queue
from apps.conversations.models import Session
from tests.support.factories import SessionFactory


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the tasks that were sent, in place of sending them."""
    names: list[str] = []
    monkeypatch.setattr(queue, "send_task", names.append)
    return names


@pytest.fixture
def session(db: None) -> Session:
    return SessionFactory.create()
