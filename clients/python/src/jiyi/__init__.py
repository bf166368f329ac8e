"""Client of Jiyi (记忆), a memory for chat applications.

    from jiyi import Jiyi

    with Jiyi("http://127.0.0.1:8000", "<token>") as client:
        session = client.sessions.create()
        turn = client.sessions.send(session.id, "I moved to York last week.")
        print(turn.assistant_message.content)

`AsyncJiyi` is the same for asyncio. Values are in `jiyi.types`, errors in `jiyi.errors`.
"""

from jiyi._client import AsyncJiyi, Jiyi
from jiyi._decoding import to_json
from jiyi._requests import UNSET, new_idempotency_key
from jiyi._transport import VERSION as __version__
from jiyi.errors import APIError, JiyiError
from jiyi.types import Delta, Done, Started

__all__ = [
    "UNSET",
    "APIError",
    "AsyncJiyi",
    "Delta",
    "Done",
    "Jiyi",
    "JiyiError",
    "Started",
    "__version__",
    "new_idempotency_key",
    "to_json",
]
