"""The openai package for Python, unmodified."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.clients.conftest import FORECAST, PROGRAMS, REPLY
from tests.clients.environments import Environment
from tests.clients.stack import Account
from tests.support.scripted_model import ScriptedModel

pytestmark = pytest.mark.spec("T3")

PROGRAM = PROGRAMS / "openai_python.py"
TEXT = "I am allergic to shrimp. What can I eat in Qingdao?"


@pytest.fixture(scope="session")
def openai(python_environment: Callable[[str], Environment]) -> Environment:
    return python_environment("openai")


def run(openai: Environment, account: Account, *calls: str, max_tokens: int = 300) -> dict[str, Any]:
    found: dict[str, Any] = openai.run(PROGRAM, account.connection(text=TEXT, max_tokens=max_tokens, calls=calls))
    return found


def test_a_conversation_with_a_real_model(openai: Environment, llama_account: Account) -> None:
    calls = ("whole", "streamed", "history", "responses", "embeddings", "errors")
    found = run(openai, llama_account, *calls, max_tokens=40)
    assert found["models"][0] == found["model"] == found["model_again"]
    whole, streamed = found["whole"], found["streamed"]
    assert whole["text"].strip()
    assert whole["role"] == "assistant"
    assert whole["object"] == "chat.completion"
    assert whole["finish_reason"] in ("stop", "length")
    assert whole["usage"]["total_tokens"] == whole["usage"]["prompt_tokens"] + whole["usage"]["completion_tokens"] > 0
    assert "".join(streamed["pieces"]).strip()
    assert len(streamed["finish_reason"]) == 1
    assert streamed["chunks_without_choices"] == 1
    assert streamed["usages"][-1]["total_tokens"] > 0
    assert not any(streamed["usages"][:-1])
    # One session: continued by its header, then found again by the history that the client resends.
    assert whole["session"] == streamed["session"] == found["history"]["session"]
    assert found["history"]["text"].strip()
    responses = found["responses"]
    assert responses["status"] in ("completed", "incomplete")
    assert responses["text"].strip()
    assert responses["second"].strip()
    assert "".join(responses["pieces"]) == responses["final"]
    assert responses["events"][0] == "response.created"
    assert responses["events"][-1] in ("response.completed", "response.incomplete")
    stored = llama_account.list_messages()
    assert stored[:6] == [
        *(("user", TEXT), ("assistant", whole["text"])),
        *(("user", TEXT), ("assistant", "".join(streamed["pieces"]))),
        *(("user", "And then?"), ("assistant", found["history"]["text"])),
    ]
    assert found["embeddings"]["lengths"] == [1536, 1536]
    assert found["embeddings"]["indexes"] == [0, 1]
    assert found["embeddings"]["same"] < 1e-6
    assert_errors(found["errors"])


def test_a_turn_stores_what_was_said_once(openai: Environment, account: Account) -> None:
    found = run(openai, account, "whole", "streamed", "history")
    assert found["whole"]["text"] == REPLY
    assert "".join(found["streamed"]["pieces"]) == REPLY
    assert found["streamed"]["finish_reason"] == ["stop"]
    (session,) = account.list_sessions()
    assert session == found["whole"]["session"] == found["streamed"]["session"] == found["history"]["session"]
    assert account.list_messages() == [
        (role, content)
        for said in (TEXT, TEXT, "And then?")
        for role, content in (("user", said), ("assistant", REPLY))
    ]


def test_tools_and_formats_of_the_client(openai: Environment, account: Account, model: ScriptedModel) -> None:
    found = run(openai, account, "tools", "parsed")
    assert found["tools"] == {
        "finish_reason": "tool_calls",
        "name": "get_weather",
        "arguments": {"city": "Qingdao"},
        "text": FORECAST,
        "streamed_name": "get_weather",
    }
    assert found["parsed"] == {"city": "Qingdao", "days": 2}
    assert [content for role, content in account.list_messages() if role == "assistant"] == [
        FORECAST,
        '{"city": "Qingdao", "days": 2}',
    ]


def assert_errors(errors: dict[str, dict[str, Any]]) -> None:
    """What the client raises: its own kinds of errors, with what OpenAI tells in each."""
    kinds = {name: (error["kind"], error["status"]) for name, error in errors.items()}
    assert kinds == {
        "token": ("AuthenticationError", 401),
        "messages": ("BadRequestError", 400),
        "blank": ("BadRequestError", 400),
        "flag": ("BadRequestError", 400),
        "session": ("NotFoundError", 404),
        "previous": ("NotFoundError", 404),
        "model": ("NotFoundError", 404),
    }
    assert errors["token"]["code"] == "invalid_api_key"
    assert errors["messages"]["param"] == errors["blank"]["param"] == "messages"
    assert errors["flag"]["param"] == "store"
    assert all(error["message"] and error["type"] for error in errors.values())
