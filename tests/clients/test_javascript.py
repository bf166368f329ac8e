"""The openai package on Node, and the AI SDK with both of its providers, unmodified."""

from __future__ import annotations

from typing import Any

import pytest

from tests.clients.conftest import FORECAST, PROGRAMS, REPLY
from tests.clients.environments import Environment
from tests.clients.stack import Account

pytestmark = pytest.mark.spec("T3")

TEXT = "I am allergic to shrimp."
PROVIDERS = ("openai", "chat", "compatible")


def ask(account: Account, **more: Any) -> dict[str, Any]:
    return account.connection(text=TEXT, model="jiyi", max_tokens=300, **more)


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
