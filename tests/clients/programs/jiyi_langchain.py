"""langchain-core: our retriever and chat history, used as LangChain's own runnables use them."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

from langchain_core.documents import Document
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.prompts import ChatPromptTemplate, MessagesPlaceholder
from langchain_core.runnables import RunnableLambda, RunnablePassthrough
from langchain_core.runnables.history import RunnableWithMessageHistory

from jiyi import AsyncJiyi, Jiyi
from jiyi.integrations.langchain import JiyiChatMessageHistory, JiyiRetriever

given = json.load(sys.stdin)
client = Jiyi(given["url"], given["token"])
client.long_term.create(category="preference", key="喜欢的颜色", value=["蓝色", "绿色"])
client.atomic.create(content="The user's sister Wilhelmina paints in blue.", tags=["family"])


def describe(documents: list[Document]) -> list[dict[str, Any]]:
    return [{"id": it.id, "text": it.page_content, **it.metadata} for it in documents]


retriever = JiyiRetriever(client=client, k=3)
found: dict[str, Any] = {
    "retrieved": describe(retriever.invoke("Who paints in blue? 喜欢的颜色是什么？")),
    "one": describe(JiyiRetriever(client=client, k=1).invoke("喜欢的颜色是什么")),
    "nothing": describe(retriever.invoke("xyzzy plugh")),
    "in a thread": describe(asyncio.run(retriever.ainvoke("Wilhelmina"))),
}


async def retrieve_without_blocking() -> list[Document]:
    async with AsyncJiyi(given["url"], given["token"]) as async_client:
        return await JiyiRetriever(client=client, async_client=async_client).ainvoke("Wilhelmina")


found["async"] = describe(asyncio.run(retrieve_without_blocking()))

# A chain: memories and history go into the prompt, and what is said goes into the history.
prompt = ChatPromptTemplate.from_messages(
    [("system", "Known: {memories}"), MessagesPlaceholder("history"), ("human", "{question}")]
)
recall = (lambda values: values["question"]) | retriever | (lambda documents: [it.page_content for it in documents])
chain = (
    RunnablePassthrough.assign(memories=recall)
    | prompt
    | RunnableLambda(lambda value: AIMessage(f"{len(value.to_messages())} messages, {value.to_messages()[0].content}"))
)
histories: dict[str, JiyiChatMessageHistory] = {}
talking = RunnableWithMessageHistory(
    chain,
    lambda session_id: histories.setdefault(session_id, JiyiChatMessageHistory(client, session_id)),
    input_messages_key="question",
    history_messages_key="history",
)
session = client.sessions.create().id
config = {"configurable": {"session_id": session}}
found["replies"] = [
    talking.invoke({"question": question}, config).content for question in ("Who is Wilhelmina?", "And I?")
]
found["stored"] = [[it.role, it.content] for it in client.sessions.iterate_messages(session)]
found["read"] = [[it.type, it.content] for it in JiyiChatMessageHistory(client, session).messages]

# What is no part of a conversation there.
history = JiyiChatMessageHistory(client)
found["empty"] = history.messages
history.add_messages([SystemMessage("Be brief."), AIMessage("", tool_calls=[{"name": "f", "args": {}, "id": "1"}])])
found["not made yet"] = history.session_id
history.add_messages([HumanMessage([{"type": "text", "text": "Hello"}]), ToolMessage("5", tool_call_id="1")])
history.add_user_message("Again")
found["added"] = [[it.type, it.content] for it in history.messages]
history.clear()
found["cleared"] = [it.id for it in client.sessions.iterate()] == [session] and history.messages == []
json.dump(found, sys.stdout)
