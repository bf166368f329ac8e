from __future__ import annotations

import pytest

from apps.conversations import queue


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the tasks that were sent, in place of sending them."""
    names: list[str] = []
    monkeypatch.setattr(queue, "send_task", names.append)
    return names
