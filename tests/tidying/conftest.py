"""A model in the place of the connected one, and a run that it is asked in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.utils import timezone

from apps.accounts.models import User
from apps.tidying.models import Tidying
from apps.tidying.run import claim_run, do_run
from apps.tidying.services import request_tidying

Connect = Callable[[Any], Any]


@pytest.fixture
def connect(monkeypatch: pytest.MonkeyPatch) -> Connect:
    """Let this model be the connected one."""

    def use(model: Any) -> Any:
        monkeypatch.setattr("apps.core.llm.client.get_chat_model", lambda: model)
        return model

    return use


def tidy(user: User, *, by_hand: bool = True) -> Tidying:
    """Ask for a run and do it."""
    request_tidying(user, now=timezone.now(), by_hand=by_hand)
    return do_next()


def do_next() -> Tidying:
    """Do the run that is due."""
    run = claim_run(token="test", now=timezone.now())
    do_run(run, token="test")
    run.refresh_from_db()
    return run
