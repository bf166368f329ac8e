"""A bad default in the environment is refused at the start, by name (G1)."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import SystemCheckError

from apps.accounts.checks import check_environment_settings


@pytest.mark.spec("G1")
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("RETRIEVAL_LIMIT", "many"),
        ("RETRIEVAL_LIMIT", "0"),
        ("RETRIEVAL_LIMIT", "null"),
        ("TIMEZONE", "Mars/Olympus"),
        ("SCORE_WEIGHTS", '{"keyword": 2}'),
    ],
)
def test_a_bad_default_is_named_at_the_start(settings: Any, name: str, value: str) -> None:
    settings.MEMORY_ENVIRONMENT = {f"MEMORY_{name}": value, "MEMORY_CONTEXT_LIMIT": "30"}
    (error,) = check_environment_settings()
    assert error.msg.startswith(f"MEMORY_{name}: ")
    with pytest.raises(SystemCheckError, match=f"MEMORY_{name}: "):
        call_command("check")


@pytest.mark.spec("G1")
def test_good_defaults_and_other_variables_are_let_pass(settings: Any) -> None:
    good = {"MEMORY_RETRIEVAL_LIMIT": "9", "MEMORY_EVICTION_THRESHOLD": "", "MEMORY_TIMEZONE": "Asia/Shanghai"}
    settings.MEMORY_ENVIRONMENT = {**good, "MEMORY_LIMIT_OF_THE_CONTAINER": "512m"}
    assert check_environment_settings() == []
