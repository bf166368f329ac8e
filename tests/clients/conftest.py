"""The product in front of a real small model and in front of a scripted one, and the clients' environments."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.clients.environments import Environment, install_node, install_python
from tests.clients.stack import Account, Stack, run_stack
from tests.support.answers import answer
from tests.support.llama import run_llama
from tests.support.scripted_model import Behaviour, RecordedRequest, Reply, ScriptedModel, call

HERE = Path(__file__).parent
PROGRAMS = HERE / "programs"

# What the scripted model says when somebody chats.
REPLY = "青岛的海鲜很多。There is a lot to eat in Qingdao."

# The arguments with which it calls the first tool that a client offers.
WEATHER = '{"city": "Qingdao"}'

# What it says when a client asks for a format of its own.
TRIP = '{"city": "Qingdao", "days": 2}'

# What it says when it was given a tool's result.
FORECAST = "It is sunny in Qingdao."


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.clients)
            item.add_marker(pytest.mark.timeout(1800))  # it may have to install the client, and start the product


@pytest.fixture(scope="session")
def python_environment() -> Callable[[str], Environment]:
    """Installs the environment of a Python client."""
    return install_python


@pytest.fixture(scope="session")
def node() -> Environment:
    """The environment of the JavaScript clients."""
    return install_node("js")


@pytest.fixture(scope="session")
def llama_stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """The product in front of a real llama.cpp server. Its model babbles: only the form of its answers is certain.

    It answers two requests at a time. Background work has one of them and few tokens, so that chats do not wait for it.
    """
    limits = {"CHAT_MAX_TOKENS": "200", "BACKGROUND_MAX_TOKENS": "50", "MODEL_WORKERS": "1"}
    with run_llama() as model_url, run_stack(tmp_path_factory.mktemp("llama"), model_url=model_url, **limits) as stack:
        yield stack


@pytest.fixture(scope="session")
def _model() -> Iterator[ScriptedModel]:
    with ScriptedModel() as model:
        yield model


@pytest.fixture
def model(_model: ScriptedModel) -> ScriptedModel:
    """The scripted model behind `stack`, answering as `respond` says, with nothing recorded."""
    _model.reset()
    _model.default = respond
    return _model


@pytest.fixture(scope="session")
def _scripted_stack(tmp_path_factory: pytest.TempPathFactory, _model: ScriptedModel) -> Iterator[Stack]:
    with run_stack(tmp_path_factory.mktemp("scripted"), model_url=_model.base_url) as stack:
        yield stack


@pytest.fixture
def stack(_scripted_stack: Stack, model: ScriptedModel) -> Stack:
    """The product in front of the scripted model."""
    return _scripted_stack


@pytest.fixture
def account(stack: Stack, request: pytest.FixtureRequest) -> Account:
    """A new person of the scripted stack."""
    return stack.make_account(f"person-{request.node.name[:100]}")


@pytest.fixture
def llama_account(llama_stack: Stack, request: pytest.FixtureRequest) -> Account:
    """A new person of the stack with the real model."""
    return llama_stack.make_account(f"person-{request.node.name[:100]}")


def respond(request: RecordedRequest) -> str | Behaviour:
    """Answer a turn, background work, and what passes through from a client with tools or a format of its own."""
    body = request.body
    if request.messages[-1].get("role") == "tool":
        return FORECAST
    if body.get("tools"):
        return _call_tool(body)
    form = body.get("response_format") or {}
    if form.get("type") == "json_object":
        return TRIP
    match form.get("json_schema", {}).get("name"):
        case "turn_answer":
            return answer(REPLY, emotion={"primary": "happy", "confidence": 0.9, "indicators": ["!"]})
        case "extraction" | "session_summary" | "conversation_summary":
            return "{}"
        case None:
            return REPLY
        case _:
            return TRIP


def _call_tool(body: dict[str, Any]) -> Behaviour:
    """Call the first of the offered tools."""
    made = call(body["tools"][0]["function"]["name"], WEATHER, id="call_1")
    usage = {"prompt_tokens": 20, "completion_tokens": 5, "total_tokens": 25}
    return Reply((), finish_reason="tool_calls", calls=(made,), usage=usage)
