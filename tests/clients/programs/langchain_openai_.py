"""langchain-openai: ask, stream, tools, a structured answer and embeddings through the product."""

from __future__ import annotations

import json
import sys
from typing import Any

from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI, OpenAIEmbeddings
from pydantic import BaseModel


class Trip(BaseModel):
    """A trip."""

    city: str
    days: int


@tool
def get_weather(city: str) -> str:
    """The weather of a city."""
    return f"{city}: sunny"


given = json.load(sys.stdin)
options: Any = {"base_url": given["base_url"], "api_key": given["token"], "model": given["model"], "max_retries": 0}
chat = ChatOpenAI(**options, max_tokens=given["max_tokens"])
reply = chat.invoke(given["text"])
chunks = list(chat.stream([HumanMessage(given["text"]), AIMessage(reply.content), HumanMessage("And then?")]))
found: dict[str, Any] = {
    "text": reply.content,
    "usage": reply.usage_metadata,
    "pieces": [chunk.content for chunk in chunks],
    "stream_usage": next((chunk.usage_metadata for chunk in reversed(chunks) if chunk.usage_metadata), None),
}
equipped = chat.bind_tools([get_weather])
said: list[Any] = [HumanMessage("How is the weather in Qingdao?")]
call = equipped.invoke(said)
said += [call, ToolMessage(get_weather.invoke(call.tool_calls[0]["args"]), tool_call_id=call.tool_calls[0]["id"])]
found["tools"] = {"calls": call.tool_calls, "text": equipped.invoke(said).content}
found["trip"] = chat.with_structured_output(Trip, method="json_schema").invoke("Two days in Qingdao.").model_dump()
responses = ChatOpenAI(**options, use_responses_api=True)
found["responses"] = responses.invoke(given["text"]).text
embedder = OpenAIEmbeddings(
    base_url=given["base_url"], api_key=given["token"], model="text-embedding-3-small", check_embedding_ctx_length=False
)
found["vectors"] = [len(vector) for vector in embedder.embed_documents(["虾", "shrimp"])]
json.dump(found, sys.stdout)
