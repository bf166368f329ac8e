"""Django looks here for what to register; every module registers its own pages."""

from __future__ import annotations

from apps.panel import (  # noqa: F401
    contexts,
    strategies,
    summaries,
    turns,
)
from apps.panel.accounts import attempts, connections, end_users, tokens, users  # noqa: F401
from apps.panel.changes import pages  # noqa: F401
from apps.panel.conversations import messages as message_tables  # noqa: F401
from apps.panel.conversations import sessions as conversation_tables  # noqa: F401
from apps.panel.embeddings import tables as embedding_tables  # noqa: F401
from apps.panel.memories import atomic, long_term  # noqa: F401
from apps.panel.profiles import tables as profile_tables  # noqa: F401
from apps.panel.work import queue  # noqa: F401
from apps.panel.working import do_not_relearn, sessions  # noqa: F401
