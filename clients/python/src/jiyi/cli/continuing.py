"""Which session `jiyi ask` continues: the last one of this machine with this server and end user."""

from __future__ import annotations

import json
from typing import Any

from jiyi._client import Jiyi
from jiyi.configuration import state_file, write_private


def get_last_session(client: Jiyi) -> str | None:
    """Return the ID of the session that was last used; None if there is none."""
    value = _read().get(_key(client))
    return value if isinstance(value, str) else None


def note_last_session(client: Jiyi, session_id: str) -> None:
    """Continue this session next time."""
    write_private(state_file(), json.dumps({**_read(), _key(client): session_id}, indent=2) + "\n")


def _key(client: Jiyi) -> str:
    return client.url if client.end_user is None else f"{client.url} {client.end_user}"


def _read() -> dict[str, Any]:
    try:
        data = json.loads(state_file().read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return data if isinstance(data, dict) else {}
