"""A program that uses the package that openapi-python-client generates. Prints what it found, by name."""

import json
import sys
from uuid import UUID

from generated import AuthenticatedClient
from generated.api.conversations import create_session, list_messages, send_message
from generated.api.long_term_memory import create_memory, get_memory, list_memories
from generated.models import (
    Category,
    Error,
    LongTermMemory,
    LongTermMemoryPage,
    LongTermMemoryRequest,
    MessagePage,
    MessageRequest,
    Session,
    SessionRequest,
    Turn,
)

given = json.load(sys.stdin)
client = AuthenticatedClient(given["url"], given["token"])

session = create_session.sync(client=client, body=SessionRequest(title="周五"))
assert isinstance(session, Session)
message = MessageRequest(content="Remember that Anna is vegetarian.")
turn = send_message.sync(session.id, client=client, body=message, idempotency_key="one")
assert isinstance(turn, Turn)
messages = list_messages.sync(session.id, client=client)
assert isinstance(messages, MessagePage)

wanted = LongTermMemoryRequest(category=Category.PREFERENCE, key="喜欢的颜色", value="蓝色")
memory = create_memory.sync(client=client, body=wanted)
assert isinstance(memory, LongTermMemory)
found = list_memories.sync(client=client, limit=10)
assert isinstance(found, LongTermMemoryPage)
missing = get_memory.sync_detailed(UUID(int=0), client=client)
assert isinstance(missing.parsed, Error)

print(
    json.dumps(
        {
            "title": session.title,
            "reply": turn.assistant_message.content,
            "stored": [text for command in turn.commands for text in command.texts],
            "messages": [one.role.value for one in messages.results],
            "status": memory.status.value,
            "keys": [one.key for one in found.results],
            "code": [int(missing.status_code), missing.parsed.error.code],
        }
    )
)
