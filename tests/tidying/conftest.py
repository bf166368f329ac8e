"""Whose memories are tidied, and a model in the place of the connected one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from apps.accounts.models import User
from tests.support.factories import UserFactory


@pytest.fixture
def user(db: None) -> User:
    user: User = UserFactory.create(username="li")
    return user


Connect = Callable[[Any], Any]


@pytest.fixture
def connect(monkeypatch: pytest.MonkeyPatch) -> Connect:
    """Let this model be the connected one."""

    def use(model: Any) -> Any:
        monkeypatch.setattr("apps.core.llm.client.get_chat_model", lambda: model)
        return model

    return use
