"""System checks of the chat page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, register


@register("environment")
def check_browser_libraries(**_options: Any) -> list[CheckMessage]:
    """Return an error for each library of the chat page that is not installed: without them no reply would be shown."""
    libraries = [entry for entry in settings.STATICFILES_DIRS if isinstance(entry, tuple)]
    return [
        Error(
            f"{name.removeprefix('vendor/')} is not installed in {folder}.",
            hint="Run `make run`, or `npm ci --prefix frontend`.",
            id="chat.E001",
        )
        for name, folder in libraries
        if not Path(folder).is_dir()
    ]
