"""Django looks here for what to register; every module registers its own pages."""

from __future__ import annotations

from apps.panel import (  # noqa: F401
    changes,
    contexts,
    conversations,
    jobs,
    profiles,
    security,
    spaces,
    strategies,
    summaries,
    turns,
    webhooks,
    working_memory,
)
from apps.panel.accounts import services, tokens, users  # noqa: F401
from apps.panel.memories import detail  # noqa: F401
