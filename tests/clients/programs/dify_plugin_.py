"""Dify: the model class that its plugin for servers like OpenAI's is made of, for two of its users."""

import json
import sys
from typing import Any

from dify_plugin import OAICompatLargeLanguageModel
from dify_plugin.entities.model.message import PromptMessageTool, UserPromptMessage

given = json.load(sys.stdin)
credentials = {
    "endpoint_url": given["base_url"],
    "api_key": given["token"],
    "mode": "chat",
    "context_size": "4096",
    "function_calling_type": "tool_call",
    "stream_function_calling": "support",
}
dify = OAICompatLargeLanguageModel(model_schemas=[])
# Without `usage` in the stream Dify counts tokens with a vocabulary that it downloads.
usage = {"stream_options": {"include_usage": True}}


def ask(text: str, *, user: str | None, stream: bool, tools: Any = None) -> Any:
    return dify._invoke(
        model=given["model"],
        credentials=credentials,
        prompt_messages=[UserPromptMessage(content=text)],
        model_parameters={"max_tokens": given["max_tokens"], **(usage if stream else {})},
        tools=tools,
        stream=stream,
        user=user,
    )


found: dict[str, Any] = {}
dify.validate_credentials(given["model"], credentials)
for user, text in given["said"].items():
    whole = ask(text, user=user, stream=False)
    chunks = list(ask(text + "!", user=user, stream=True))
    found[user] = {
        "text": whole.message.content,
        "tokens": whole.usage.total_tokens,
        "pieces": [chunk.delta.message.content for chunk in chunks],
        "finish_reason": chunks[-1].delta.finish_reason,
        "stream_tokens": chunks[-1].delta.usage.total_tokens,
    }
tool = PromptMessageTool(
    name="get_weather",
    description="The weather of a city.",
    parameters={"type": "object", "properties": {"city": {"type": "string"}}},
)
called = ask("How is the weather?", user="weather", stream=False, tools=[tool]).message.tool_calls
streamed = list(ask("How is the weather?", user="weather", stream=True, tools=[tool]))
found["tools"] = {
    "name": called[0].function.name,
    "arguments": json.loads(called[0].function.arguments),
    "streamed": [call.function.name for chunk in streamed for call in chunk.delta.message.tool_calls],
}
try:
    dify.validate_credentials(given["model"], {**credentials, "api_key": "wrong"})
except Exception as error:
    found["refused"] = f"{type(error).__name__}: {error}"
json.dump(found, sys.stdout)
