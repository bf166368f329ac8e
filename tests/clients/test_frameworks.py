"""LangChain, LlamaIndex, Dify, LibreChat's own package, openai on Node and the AI SDK, unmodified."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.clients.conftest import FORECAST, PROGRAMS, REPLY, respond
from tests.clients.environments import Environment, install_node
from tests.clients.stack import Account, Stack
from tests.support.scripted_model import Behaviour, RecordedRequest, ScriptedModel

pytestmark = pytest.mark.spec("T3")

TEXT = "I am allergic to shrimp."

Install = Callable[[str], Environment]


def ask(account: Account, **more: Any) -> dict[str, Any]:
    return account.connection(**{"text": TEXT, "model": "jiyi", "max_tokens": 300, **more})


def test_langchain_tools_structured_answers_and_responses(python_environment: Install, account: Account) -> None:
    langchain = python_environment("langchain-openai")
    found = langchain.run(PROGRAMS / "langchain_openai_.py", ask(account))
    assert found["text"] == "".join(found["pieces"]) == found["responses"] == REPLY
    (call,) = found["tools"]["calls"]
    assert (call["name"], call["args"]) == ("get_weather", {"city": "Qingdao"})
    assert found["tools"]["text"] == FORECAST
    assert found["trip"] == {"city": "Qingdao", "days": 2}
    assert found["usage"]["total_tokens"] > 0 < found["stream_usage"]["total_tokens"]
    assert found["vectors"] == [1536, 1536]


def test_llama_index_calls_a_tool(python_environment: Install, account: Account) -> None:
    llama_index = python_environment("llama-index")
    found = llama_index.run(PROGRAMS / "llama_index_.py", ask(account))
    assert found["text"] == "".join(found["pieces"]) == found["completed"] == REPLY
    assert found["tool"] == {"output": "Qingdao: sunny", "name": "get_weather"}


@pytest.mark.spec("T4")
def test_the_users_of_dify_are_people_of_their_own(python_environment: Install, stack: Stack) -> None:
    dify = python_environment("dify-plugin")
    service = stack.make_account("dify", "--service")
    said = {"anna": "I am allergic to shrimp.", "ben": "I play the cello."}
    found = dify.run(PROGRAMS / "dify_plugin_.py", ask(service, said=said))
    for name, text in said.items():
        assert found[name]["text"] == "".join(found[name]["pieces"]) == REPLY
        assert found[name]["finish_reason"] == "stop"
        assert found[name]["tokens"] > 0
        assert found[name]["stream_tokens"] > 0
        messages = service.as_person(name).list_messages()
        assert [content for role, content in messages if role == "user"] == [text, text + "!"]
    assert found["tools"] == {"name": "get_weather", "arguments": {"city": "Qingdao"}, "streamed": ["get_weather"]}
    # Its check of the connection names nobody: it is the service's own.
    assert [content for role, content in service.list_messages() if role == "user"] == ["ping"]
    assert "401" in found["refused"]


@pytest.mark.spec("T4")
def test_librechat_names_chats_without_a_trace(stack: Stack, model: ScriptedModel) -> None:
    """``@librechat/agents`` is what LibreChat's server chats and names chats with."""

    def answer_librechat(request: RecordedRequest) -> str | Behaviour:
        if "5-word-or-less title" in str(request.messages[-1]["content"]):
            return "Shrimp Allergy"
        if "Analyze this conversation" in str(request.messages[-1]["content"]):
            return '{"language": "English", "title": "Shrimp"}'
        return respond(request)

    model.default = answer_librechat
    service = stack.make_account("librechat", "--service")
    said = ["I am allergic to shrimp.", "What can I eat?"]
    found = install_node("librechat").run(PROGRAMS / "librechat.mjs", ask(service, user="anna", said=said))
    assert found == {"replies": [REPLY, REPLY], "titles": {"completion": "Shrimp Allergy", "structured": "Shrimp"}}
    anna = service.as_person("anna")
    assert anna.list_messages() == [
        *(("user", said[0]), ("assistant", REPLY)),
        *(("user", said[1]), ("assistant", REPLY)),
    ]
    assert len(anna.list_sessions()) == 1
    assert service.list_messages() == []
    asked = [request.messages for request in model.chat_requests if "AI: " + REPLY in str(request.messages)]
    assert [len(messages) for messages in asked] == [1, 1]  # nothing of the memory is added


# JavaScript


PROVIDERS = ("openai", "chat", "compatible")


def test_openai_with_a_real_model(node: Environment, llama_account: Account) -> None:
    found = node.run(PROGRAMS / "openai_node.mjs", ask(llama_account, tools=False) | {"max_tokens": 40})
    assert found["node"] >= "v22"
    assert found["whole"].strip()
    assert found["usage"]["total_tokens"] > 0
    assert "".join(found["pieces"]).strip()
    assert found["streamUsage"]["total_tokens"] > 0
    assert found["response"].strip()
    assert found["vectors"] == [1536, 1536]
    assert found["refused"]["kind"] == "AuthenticationError"
    assert found["refused"]["code"] == "invalid_api_key"
    assert llama_account.list_messages()[:2] == [("user", TEXT), ("assistant", found["whole"])]


def test_openai_runs_tools(node: Environment, account: Account) -> None:
    found = node.run(PROGRAMS / "openai_node.mjs", ask(account, tools=True))
    assert found["whole"] == "".join(found["pieces"]) == found["response"] == REPLY
    assert found["toolText"] == FORECAST
    assert found["toolMessages"] == ["user", "assistant", "tool", "assistant"]


def test_the_ai_sdk_runs_tools_and_reads_objects(node: Environment, account: Account) -> None:
    found = node.run(PROGRAMS / "ai_sdk.mjs", ask(account, tools=True))
    for name in PROVIDERS:
        answered = found[name]
        assert answered["text"] == "".join(answered["pieces"]) == REPLY, name
        assert answered["finishReason"] == "stop", name
        assert answered["tools"] == {
            "calls": [["get_weather", {"city": "Qingdao"}]],
            "text": FORECAST,
            "streamed": FORECAST,
        }, name
        assert answered["trip"] == {"city": "Qingdao", "days": 2}, name
        assert answered["session"] == answered["streamSession"], name
        assert (answered["errors"], bool(answered["usage"]), bool(answered["streamUsage"])) == ([], True, True), name
    assert (found["vectors"], found["refused"]["status"]) == ([1536, 1536], 401)
    said = [content for role, content in account.list_messages() if role == "user"]
    assert said.count("And then?") == len(PROVIDERS)
