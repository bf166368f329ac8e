"""Django looks here for what to register; every module registers its own pages."""

from __future__ import annotations

from apps.panel import (  # noqa: F401
    accounts,
    contexts,
    conversations,
    embeddings,
    strategies,
    summaries,
    turns,
    working,
)
from apps.panel.changes import pages  # noqa: F401
from apps.panel.memories import atomic, long_term  # noqa: F401
from apps.panel.profiles import tables  # noqa: F401
from apps.panel.work import queue  # noqa: F401
