"""llama-index: its client for servers like OpenAI's, asked whole, streamed, with a history and with tools."""

from __future__ import annotations

import json
import sys
from typing import Any

from llama_index.core.llms import ChatMessage
from llama_index.core.tools import FunctionTool
from llama_index.llms.openai_like import OpenAILike


def get_weather(city: str) -> str:
    """The weather of a city."""
    return f"{city}: sunny"


given = json.load(sys.stdin)
llm = OpenAILike(
    model=given["model"],
    api_base=given["base_url"],
    api_key=given["token"],
    is_chat_model=True,
    is_function_calling_model=True,
    max_tokens=given["max_tokens"],
    max_retries=0,
)
question = ChatMessage(role="user", content=given["text"])
reply = llm.chat([question])
pieces = [chunk.delta or "" for chunk in llm.stream_chat([question, reply.message, ChatMessage(content="And then?")])]
found: dict[str, Any] = {"text": reply.message.content, "pieces": pieces, "completed": llm.complete(given["text"]).text}
answer = llm.predict_and_call([FunctionTool.from_defaults(get_weather)], "How is the weather in Qingdao?")
found["tool"] = {"output": str(answer.response), "name": answer.sources[0].tool_name}
json.dump(found, sys.stdout)
