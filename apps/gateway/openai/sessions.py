"""Which session a request to an OpenAI endpoint belongs to, as far as its headers say (T3)."""

from __future__ import annotations

import uuid
from collections.abc import Mapping

from apps.accounts.models import User
from apps.conversations.histories import ensure_session
from apps.conversations.sessions import get_session
from apps.core.http import read_uuid

SESSION_HEADER = "X-Session-Id"
CHAT_HEADER = "X-OpenWebUI-Chat-Id"
"""Open WebUI's; it sends the whole chat with every request."""

_TEMPORARY_CHAT = "local:"
"""How the IDs of Open WebUI's temporary chats begin."""

_CHATS = uuid.UUID("6f1d5a0e-5c1b-4a55-9a3e-0d0f6a1f6b2c")


def sends_whole_chat(headers: Mapping[str, str]) -> bool:
    """Whether the messages of the request are the whole conversation, so that none before the last means its start."""
    return bool(headers.get(CHAT_HEADER, "").strip()) and not headers.get(SESSION_HEADER, "").strip()


def find_named_session(*, user: User, headers: Mapping[str, str]) -> uuid.UUID | None:
    """Return the session that a request names, None where it names none.

    A chat of Open WebUI gets its own on first use, a temporary one for a temporary chat. Raises `NotFound` for a
    session that is not there or somebody else's.
    """
    if named := headers.get(SESSION_HEADER, "").strip():
        return get_session(user, read_uuid(named)).id
    chat = headers.get(CHAT_HEADER, "").strip()
    if not chat:
        return None
    session_id = uuid.uuid5(_CHATS, f"{user.pk} {chat}")
    ensure_session(user=user, session_id=session_id, temporary=chat.startswith(_TEMPORARY_CHAT))
    return session_id
