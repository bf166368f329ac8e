"""LlamaIndex: a block for its `Memory`. Needs `llama-index-core`."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

from llama_index.core.base.llms.types import ChatMessage, MessageRole
from llama_index.core.bridge.pydantic import Field, PrivateAttr
from llama_index.core.memory.memory import BaseMemoryBlock

from jiyi._client import Jiyi
from jiyi._requests import new_idempotency_key
from jiyi.integrations._recall import Recorder, cut, in_portions, recall
from jiyi.resources.conversations import PastMessage

# About what a token of English or Chinese takes in UTF-8; there is no tokenizer here.
BYTES_PER_TOKEN = 3


class JiyiMemoryBlock(BaseMemoryBlock[str]):
    """Recalls memories for the last thing the user said, and records what leaves the short-term memory.

    Memories are those of the person whom `client` speaks for, across sessions. Recorded messages go to one Jiyi session
    for each session of the `Memory`; `session_id` chooses a session for all. Requests are sent from a thread, so that
    the block works in any event loop. Where the server does not answer in 5 s, nothing is recalled, and what is to be
    recorded waits for the next time.
    """

    name: str = Field(default="jiyi", description="The name of the block.")
    description: str | None = Field(default="What is remembered about the user from earlier conversations.")
    priority: int = Field(default=1, description="0 = never truncate.")
    client: Jiyi = Field(description="The client; it speaks for the person whose memory it is.", exclude=True)
    limit: int = Field(default=10, ge=1, le=50, description="How many memories at most.")
    session_id: str | None = Field(default=None, description="The Jiyi session to record in.")

    _sessions: dict[str | None, str] = PrivateAttr(default_factory=dict)
    _recorder: Recorder = PrivateAttr(default_factory=Recorder)

    async def _aget(self, messages: list[ChatMessage] | None = None, **block_kwargs: Any) -> str:
        query = next((_get_text(it) for it in reversed(messages or []) if it.role == MessageRole.USER), "")
        return await asyncio.to_thread(self._recall, query) if query else ""

    async def _aput(self, messages: list[ChatMessage]) -> None:
        if messages:
            await asyncio.to_thread(self._record, messages)

    async def atruncate(self, content: str, tokens_to_truncate: int) -> str | None:
        """Leave out memories, those that fit least first."""
        lines, spare = content.splitlines(), tokens_to_truncate * BYTES_PER_TOKEN
        while lines and spare > 0:
            spare -= len(lines.pop().encode()) + 1
        return "\n".join(lines) or None

    def _recall(self, query: str) -> str:
        # A line each: a memory must not end the block or begin another.
        return "\n".join(
            f"- {' '.join(memory.text.split())}".replace("<", "&lt;").replace(">", "&gt;")
            for memory in recall(self.client, query, limit=self.limit)
        )

    def _record(self, messages: list[ChatMessage]) -> None:
        by_session: dict[str | None, list[PastMessage]] = {}
        for message in messages:
            if (said := _to_past_message(message)) is not None:
                by_session.setdefault(message.additional_kwargs.get("session_id"), []).append(said)
        for key, past in by_session.items():
            for portion in in_portions(past):
                recording = partial(self._record_portion, key=key, portion=portion, once=new_idempotency_key())
                self._recorder.record(self.client, recording)

    def _record_portion(self, client: Jiyi, *, key: str | None, portion: list[PastMessage], once: str) -> None:
        client.sessions.record(self._get_session(client, key), portion, idempotency_key=once)

    def _get_session(self, client: Jiyi, key: str | None) -> str:
        if self.session_id is not None:
            return self.session_id
        if key not in self._sessions:
            self._sessions[key] = client.sessions.create().id
        return self._sessions[key]


def _get_text(message: ChatMessage) -> str:
    return cut((message.content or "").strip())


def _to_past_message(message: ChatMessage) -> PastMessage | None:
    """Return a message as the server takes it; None for one without text, and for those of systems and tools."""
    text = _get_text(message)
    if not text:
        return None
    if message.role == MessageRole.USER:
        return {"role": "user", "content": text}
    if message.role == MessageRole.ASSISTANT:
        return {"role": "assistant", "content": text}
    return None
