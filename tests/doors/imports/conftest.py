from __future__ import annotations

import io
from collections.abc import Callable

import pytest
from django.utils import timezone

from apps.accounts.models import User
from apps.conversations import queue
from apps.doors.imports import services
from apps.doors.imports.running import run_imports
from apps.doors.imports.services import create_import, undo_import
from apps.doors.models import PastImport
from tests.support.factories import UserFactory

Bring = Callable[..., PastImport]


@pytest.fixture(autouse=True)
def sent(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the tasks that were sent, in place of sending them."""
    names: list[str] = []
    monkeypatch.setattr(queue, "send_task", names.append)
    monkeypatch.setattr(services, "send_task", names.append)
    return names


def work() -> None:
    """Do all that workers would."""
    while run_imports(token="test"):
        pass


def undo(past_import: PastImport) -> PastImport:
    """Undo an import to its end."""
    undo_import(user=past_import.user, import_id=past_import.id, now=timezone.now())
    work()
    past_import.refresh_from_db()
    return past_import


@pytest.fixture
def user(db: None) -> User:
    return UserFactory.create(username="mei")


@pytest.fixture
def bring(user: User) -> Bring:
    """Import a file to its end, as a worker does; returns what became of it."""

    def bring(data: bytes, *, owner: User | None = None) -> PastImport:
        file = io.BytesIO(data)
        created = create_import(user=owner or user, file=file, name="file", now=timezone.now())
        work()
        created.refresh_from_db()
        return created

    return bring
