"""Which scope a token needs for each request of the API, by the name of its route and its method (T4).

Searching and reading need `read`; whatever changes something needs `write`. What clears everything of a kind at once,
changes settings, or takes everything along needs `admin`. A request that is not in the table needs `admin`, and a test
fails until it is. Browser sessions have all scopes.
"""

from __future__ import annotations

from collections.abc import Mapping

from apps.accounts.types import Scope

READ, WRITE, ADMIN = Scope.READ, Scope.WRITE, Scope.ADMIN

SCOPES: dict[str, Mapping[str, Scope]] = {
    # Conversations
    "models": {"get": READ},
    "sessions": {"get": READ, "post": WRITE},
    "search": {"get": READ},
    "session": {"get": READ, "patch": WRITE, "delete": WRITE},
    "session-export": {"get": READ},
    "messages": {"get": READ, "post": WRITE},
    "turns": {"get": READ, "post": WRITE},
    "edits": {"get": READ},
    "attachments": {"get": READ, "post": WRITE},
    "attachment": {"delete": WRITE},
    "context": {"get": READ},
    "forms": {"post": WRITE},
    "message": {"patch": WRITE},
    "retry": {"post": WRITE},
    "regenerate": {"post": WRITE},
    "edit": {"post": WRITE},
    "undo-edit": {"post": WRITE},
    "stop": {"post": WRITE},
    "turn": {"get": READ},
    "forget-candidate": {"post": WRITE},
    # Long-term memory
    "memories": {"get": READ, "post": WRITE, "delete": ADMIN},
    "memory": {"get": READ, "put": WRITE, "patch": WRITE, "delete": WRITE},
    "memory-accept": {"post": WRITE},
    "memory-reject": {"post": WRITE},
    "memory-copies": {"get": READ},
    "memories-batch-delete": {"post": WRITE},
    "memories-search": {"get": READ},
    "memories-export": {"get": READ},
    "memories-import": {"post": WRITE},
    # Atomic memories
    "atomic-memories": {"get": READ, "post": WRITE, "delete": ADMIN},
    "atomic-memory": {"get": READ, "put": WRITE, "patch": WRITE, "delete": WRITE},
    "atomic-accept": {"post": WRITE},
    "atomic-reject": {"post": WRITE},
    "atomic-search": {"get": READ},
    # Working memory, shared contexts, search in conversations, changes
    "working-memory": {"get": READ, "patch": WRITE, "delete": WRITE},
    "shared-contexts": {"get": READ, "post": WRITE},
    "shared-context": {"get": READ, "delete": WRITE},
    "shared-context-entries": {"post": WRITE},
    "conversations-search": {"post": READ},
    "changes": {"get": READ},
    "undo": {"post": WRITE},
    # Profile and summaries
    "profile": {"get": READ, "put": WRITE, "patch": WRITE, "delete": ADMIN},
    "profile-proposal-accept": {"post": WRITE},
    "profile-proposal-reject": {"post": WRITE},
    "summaries": {"get": READ, "post": WRITE},
    "summary": {"get": READ, "put": WRITE, "patch": WRITE, "delete": WRITE},
    # Imports from elsewhere
    "imports": {"get": READ, "post": WRITE},
    "import": {"get": READ, "delete": WRITE},
    "import-items": {"get": READ},
    "import-undo": {"post": WRITE},
    # OpenAI's clients and agents
    "openai-chat-completions": {"post": WRITE},
    "openai-embeddings": {"post": READ},
    "openai-responses": {"post": WRITE},
    "openai-response": {"get": READ},
    "openai-models": {"get": READ},
    "openai-model": {"get": READ},
    "mcp": {"post": READ},  # each tool has a scope of its own
    # The account
    "settings": {"get": READ, "patch": ADMIN},
    "export": {"get": ADMIN},
    "erase": {"post": ADMIN},
}
