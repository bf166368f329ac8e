"""LangChain: a retriever of memories, and a chat history kept by the server. Needs `langchain-core`."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
from langchain_core.chat_history import BaseChatMessageHistory
from langchain_core.documents import Document
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.retrievers import BaseRetriever

from jiyi._client import AsyncJiyi, Jiyi
from jiyi._requests import new_idempotency_key
from jiyi.errors import JiyiError
from jiyi.integrations._recall import (
    WAIT_SECONDS,
    Recalled,
    Recorder,
    cut,
    in_portions,
    recall,
    recall_async,
    warn_or_raise,
)
from jiyi.resources.conversations import PastMessage


class JiyiRetriever(BaseRetriever):
    """Retrieves the memories that a query recalls, of both kinds in turn.

    `k`: how many documents at most. `async_client`: used by `ainvoke`; without it, that runs `client` in a thread.
    A document's `metadata` has `kind` (long_term or atomic), `score` (comparable within its kind), `created_at`, and
    `category` and `confidence`, or `tags`. Where the server does not answer in 5 s there are none: the chain goes on.
    """

    client: Jiyi
    async_client: AsyncJiyi | None = None
    k: int = 5

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
        return [_to_document(memory) for memory in recall(self.client, query, limit=self.k)]

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun
    ) -> list[Document]:
        if self.async_client is None:
            return await super()._aget_relevant_documents(query, run_manager=run_manager)
        return [_to_document(memory) for memory in await recall_async(self.async_client, query, limit=self.k)]


class JiyiChatMessageHistory(BaseChatMessageHistory):
    """The messages of a Jiyi session; what is added is remembered in the background.

    `session_id`: of an existing session (`client.sessions.create().id`); a new one is made with the first message if it
    is left out. Human and AI messages with text are kept; system and tool messages are not part of a conversation
    there. `clear` deletes the session and leaves what was remembered of it. Where the server does not answer, what was
    added waits to be recorded with the next messages.
    """

    def __init__(self, client: Jiyi, session_id: str | None = None) -> None:
        self.client = client
        self.session_id = session_id
        self._recorder = Recorder()

    @property
    def messages(self) -> list[BaseMessage]:  # type: ignore[override]  # an attribute there, a property by its text
        """The messages of the session that were answered or recorded, oldest first; none where no answer comes."""
        if self.session_id is None:
            return []
        kinds: dict[str, type[HumanMessage] | type[AIMessage]] = {"user": HumanMessage, "assistant": AIMessage}
        quick = self.client.with_options(timeout=WAIT_SECONDS, retries=0)
        try:
            return [
                kinds[message.role](content=message.content, id=message.id)
                for message in quick.sessions.iterate_messages(self.session_id, limit=200)
                if message.role in kinds and message.status == "complete"
            ]
        except JiyiError as error:
            warn_or_raise(error, "No earlier messages are read")
            return []

    def add_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Record messages in the session."""
        past = [said for message in messages if (said := _to_past_message(message)) is not None]
        if not past:
            return
        for portion in in_portions(past):
            self._recorder.record(self.client, partial(self._record, portion=portion, key=new_idempotency_key()))

    def _record(self, client: Jiyi, *, portion: list[PastMessage], key: str) -> None:
        if self.session_id is None:
            self.session_id = client.sessions.create().id
        client.sessions.record(self.session_id, portion, idempotency_key=key)

    def clear(self) -> None:
        """Delete the session with its messages."""
        if self.session_id is not None:
            self.client.sessions.delete(self.session_id)
            self.session_id = None


def _to_document(memory: Recalled) -> Document:
    return Document(id=memory.id, page_content=memory.text, metadata=memory.metadata)


def _to_past_message(message: BaseMessage) -> PastMessage | None:
    text = str(message.text)
    if not text.strip():  # a call of a tool, or nothing but pictures
        return None
    if isinstance(message, HumanMessage):
        return {"role": "user", "content": cut(text)}
    if isinstance(message, AIMessage):
        return {"role": "assistant", "content": cut(text)}
    return None
