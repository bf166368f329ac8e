"""Turns over HTTP with connected models: at once, by session, by the name that a client gives (T3)."""

from __future__ import annotations

from collections.abc import Iterator

import openai
import pytest

from apps.accounts.services.people import create_token
from apps.connections.services import save_server, set_default
from tests.support.http_server import ApiClient
from tests.support.scripted_model import ScriptedModel

pytestmark = pytest.mark.long

KEY = "sk-very-secret-0123456789"


@pytest.fixture(autouse=True)
def connected(scripted_model: ScriptedModel, alice: ApiClient, settings: object) -> ScriptedModel:
    settings.OPENAI_API_KEY = settings.OPENAI_BASE_URL = settings.CHAT_MODEL = ""  # type: ignore[attr-defined]
    save_server(name="Here", base_url=scripted_model.base_url, api_key=KEY, chat=["one", "two"], embedding=[])
    return scripted_model


@pytest.fixture
def client(alice: ApiClient) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=f"{alice.base_url}/v1", api_key=create_token(user=alice.user)) as made:
        yield made


def asked(model: ScriptedModel) -> list[str]:
    return [request.body["model"] for request in model.chat_requests]


def test_the_default_one_answers_with_its_key(alice: ApiClient, connected: ScriptedModel):
    turn = alice.say(alice.new_session(), "Hi").raise_for_status().json()
    assert turn["assistant_message"]["content"] == "我记住了。Nice to meet you!"
    assert asked(connected) == ["one"]
    assert connected.chat_requests[0].headers["authorization"] == f"Bearer {KEY}"


def test_a_session_has_a_model_of_its_own(alice: ApiClient, connected: ScriptedModel):
    session = alice.new_session(model="two")
    alice.say(session, "Hi").raise_for_status()
    changed = alice.patch(f"/chat/sessions/{session}", json={"model": ""}).json()
    assert (changed["model"], changed["title"]) == ("", "Hi")
    alice.say(session, "And now?").raise_for_status()
    alice.patch(f"/chat/sessions/{session}", json={"model": "offline"}).raise_for_status()
    alice.say(session, "And now?").raise_for_status()
    assert asked(connected) == ["two", "one"]


def test_a_retry_and_another_reply_are_asked_of_the_sessions_model(alice: ApiClient, connected: ScriptedModel):
    session = alice.new_session(model="two")
    reply = alice.say(session, "Hi").json()["assistant_message"]["id"]
    alice.post(f"/chat/messages/{reply}/regenerate", json={}).raise_for_status()
    assert asked(connected) == ["two", "two"]


@pytest.mark.parametrize("body", [{"model": "three"}, {"model": 1}, {"model": "x" * 201}])
def test_a_model_that_is_not_connected_is_refused(alice: ApiClient, body: dict[str, object]):
    assert alice.post("/chat/sessions", json=body).status_code == 400
    session = alice.new_session(model="two")
    assert alice.patch(f"/chat/sessions/{session}", json={"title": "x"} | body).status_code == 400
    stored = alice.get(f"/chat/sessions/{session}").json()
    assert (stored["model"], stored["title"]) == ("two", "")


def test_the_models_are_listed_for_a_choice(alice: ApiClient):
    assert alice.get("/chat/models").json() == {
        "results": [
            {"name": "one", "server": "Here", "default": True},
            {"name": "offline", "server": "", "default": False},
            {"name": "two", "server": "Here", "default": False},
        ]
    }
    set_default(kind="chat", model_id=None)
    assert alice.get("/chat/models").json()["results"][0] == {"name": "offline", "server": "", "default": True}


@pytest.mark.spec("T3")
def test_openais_client_chooses_by_name(alice: ApiClient, client: openai.OpenAI, connected: ScriptedModel):
    names = [model.id for model in client.models.list()]
    assert names[:3] == ["one", "offline", "two"]
    assert "jiyi" in names
    for name in ("two", "jiyi", "elsewhere"):
        answer = client.chat.completions.create(model=name, messages=[{"role": "user", "content": f"Hi {name}"}])
        assert answer.model == {"jiyi": "one"}.get(name, name)
    assert asked(connected) == ["two", "one", "elsewhere"]


@pytest.mark.long
@pytest.mark.spec("T3")
def test_requests_that_are_passed_on_go_to_the_model_by_name(client: openai.OpenAI, connected: ScriptedModel):
    tool = {"type": "function", "function": {"name": "look", "parameters": {"type": "object", "properties": {}}}}
    for name in ("two", "jiyi"):
        client.chat.completions.create(
            model=name, messages=[{"role": "user", "content": f"Look, {name}"}], tools=[tool]
        )
    client.responses.create(model="two", input="Hello there")
    assert asked(connected) == ["two", "one", "two"]
