"""System checks: errors in the environment are reported at the start, not at each turn."""

from __future__ import annotations

from typing import Any

from django.core.checks import CheckMessage, Error, register
from pydantic import ValidationError

from apps.accounts.selectors import get_environment_settings
from apps.accounts.types import MemorySettings


@register("environment")
def check_environment_settings(**_options: Any) -> list[CheckMessage]:
    """Return an error for each ``MEMORY_<NAME>`` in the environment that is not acceptable (G1)."""
    try:
        MemorySettings.model_validate(get_environment_settings())
    except ValidationError as error:
        return [
            Error(f"MEMORY_{str(problem['loc'][0]).upper()}: {problem['msg']}", id="accounts.E001")
            for problem in error.errors()
        ]
    return []
