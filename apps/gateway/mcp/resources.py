"""What clients can attach to a conversation: the profile, recent memories, and each memory by its ID."""

from __future__ import annotations

import re
from heapq import nlargest
from typing import Any
from uuid import UUID

import mcp_types as types

from apps.accounts.models import User
from apps.chat.tools import Caller
from apps.core.errors import NotFound
from apps.gateway.mcp.memories import describe_memory, get_memory, get_profile
from apps.memory.models import Status
from apps.memory.selectors import list_atomic_memories, list_memories

JSON = "application/json"
PROFILE, RECENT, MEMORY = "jiyi://profile", "jiyi://memories/recent", "jiyi://memories/{id}"
RECENT_LIMIT = 20

_MEMORY = re.compile(r"jiyi://memories/([0-9a-fA-F-]{32,36})")

RESOURCES = [
    types.Resource(
        uri=PROFILE,
        name="profile",
        title="Profile",
        description="The person's profile: how they like replies, the languages they use, their background.",
        mime_type=JSON,
    ),
    types.Resource(
        uri=RECENT,
        name="recent_memories",
        title="Recent memories",
        description=f"The {RECENT_LIMIT} memories that were added or changed last, without muted ones.",
        mime_type=JSON,
    ),
]
TEMPLATES = [
    types.ResourceTemplate(
        uri_template=MEMORY,
        name="memory",
        title="Memory",
        description="One memory by its ID, muted or not.",
        mime_type=JSON,
    )
]


def read_resource(caller: Caller, uri: str) -> Any:
    """Return a resource as JSON. `NotFound` for an unknown address, and for a memory that is not the person's."""
    if uri == PROFILE:
        return get_profile(caller).model_dump(mode="json")
    if uri == RECENT:
        return {"results": _list_recent(caller.user)}
    found = _MEMORY.fullmatch(uri)
    try:
        return describe_memory(get_memory(caller.user, UUID(found[1]))).model_dump(mode="json") if found else _miss()
    except ValueError:
        return _miss()


def _miss() -> None:
    raise NotFound("This resource does not exist.")


def _list_recent(user: User) -> list[dict[str, Any]]:
    found = [
        memory
        for memories in (list_memories(user), list_atomic_memories(user))
        for memory in memories.filter(status=Status.ACTIVE, muted=False).order_by("-updated_at", "-id")[:RECENT_LIMIT]
    ]
    recent = nlargest(RECENT_LIMIT, found, key=lambda memory: (memory.updated_at, memory.id))
    return [describe_memory(memory).model_dump(mode="json") for memory in recent]
