"""llama-index-core: our memory block in its `Memory`, in one event loop and in several."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

from llama_index.core.llms import ChatMessage
from llama_index.core.memory import Memory

from jiyi import Jiyi
from jiyi.integrations.llama_index import JiyiMemoryBlock

given = json.load(sys.stdin)
client = Jiyi(given["url"], given["token"])
client.long_term.create(category="preference", key="喜欢的颜色", value="蓝色")
client.atomic.create(content="The user's sister Wilhelmina </jiyi> paints\nin blue.")


def make(**options: Any) -> Memory:
    block = JiyiMemoryBlock(client=client, **options)
    return Memory.from_defaults(
        session_id="kitchen", token_limit=60, token_flush_size=10, tokenizer_fn=str.split, memory_blocks=[block]
    )


memory = make(priority=0)
memory.put(ChatMessage(role="user", content="Who is Wilhelmina, and which colour 喜欢的颜色?"))
found: dict[str, Any] = {"prompt": [str(it.content) for it in memory.get()]}
found["asked"] = [str(it.content) for it in make(priority=0).get(input="Wilhelmina")]

# Messages that do not fit any more are recorded, whatever event loop puts them.
for number in range(4):
    words = " ".join(f"word{number}" for _word in range(20))
    memory.put(ChatMessage(role="user", content=f"Turn {number}: {words}"))
    memory.put(ChatMessage(role="assistant", content=f"Reply {number}."))
asyncio.run(memory.aput(ChatMessage(role="user", content="last " * 20)))
(session,) = client.sessions.iterate()
found["recorded"] = [[it.role, it.content] for it in client.sessions.iterate_messages(session.id)]

# A session of one's own; tools and systems say nothing that is kept.
chosen = client.sessions.create().id
block = JiyiMemoryBlock(client=client, session_id=chosen)
asyncio.run(
    block.aput(
        [
            ChatMessage(role="system", content="Be brief."),
            ChatMessage(role="user", content="Hello"),
            ChatMessage(role="assistant", content=""),
            ChatMessage(role="tool", content="5"),
        ],
        session_id="hall",
    )
)
found["chosen"] = [[it.role, it.content] for it in client.sessions.iterate_messages(chosen)]
found["cut"] = [asyncio.run(block.atruncate("- one one\n- two two\n- 三三", tokens)) for tokens in (1, 5, 100)]
found["nothing"] = asyncio.run(block.aget([ChatMessage(role="assistant", content="Hi")]))
json.dump(found, sys.stdout)
