"""The filter for Open WebUI (`clients/openwebui`), called as Open WebUI calls it, against the running product."""

from __future__ import annotations

import asyncio
import copy
import importlib.util
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from apps.accounts.models import User
from apps.accounts.services.people import create_token, get_or_create_end_user
from tests.client.test_hook import list_messages
from tests.support.http_server import ApiClient, HttpServer

FILE = Path(__file__).resolve().parents[2] / "clients" / "openwebui" / "jiyi_filter.py"
CHAT = {"chat_id": "c1"}
ANNA, BEN = {"id": "anna", "name": "Anna"}, {"id": "ben", "name": "Ben"}


@pytest.fixture
def service(http_server: HttpServer) -> User:
    """The account of a service."""
    return User.objects.create_user("open-webui")


@pytest.fixture
def token(service: User) -> str:
    """The token of the service."""
    return create_token(user=service, is_service=True)


@pytest.fixture
def anna(http_server: HttpServer, service: User, token: str) -> Iterator[ApiClient]:
    """What the server has of Anna, a user of Open WebUI."""
    user = get_or_create_end_user(service=service, external_id="anna")
    with ApiClient(http_server, user, token=token) as client:
        yield client


def load(**valves: Any) -> Any:
    spec = importlib.util.spec_from_file_location("jiyi_filter", FILE)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found = module.Filter()
    found.valves = found.Valves(**valves)
    return found


def say(text: Any) -> dict[str, Any]:
    """What Open WebUI sends to a model."""
    return {"model": "m", "messages": [{"role": "system", "content": "Be kind."}, {"role": "user", "content": text}]}


def end(text: str, reply: str) -> dict[str, Any]:
    """What Open WebUI shows a filter of a turn that has ended."""
    messages = [{"id": "m1", "role": "user", "content": text}, {"id": "m2", "role": "assistant", "content": reply}]
    return {"model": "m", "messages": messages, "chat_id": "c1", "id": "m2"}


def run(act: Any, body: Any, user: Any, metadata: Any = CHAT) -> Any:
    return asyncio.run(act(copy.deepcopy(body), __user__=user, __metadata__=metadata))


@pytest.mark.spec("T4", "C9", "A4")
def test_each_user_has_a_memory_of_their_own(http_server: HttpServer, token: str, anna: ApiClient) -> None:
    filter_ = load(url=http_server.url, token=token)
    anna.post("/memory/long-term", json={"category": "preference", "key": "喜欢的颜色", "value": "孔雀蓝"})
    asked = "我喜欢的颜色是什么？"

    given = run(filter_.inlet, say(asked), ANNA)["messages"]
    assert given[0] == {"role": "system", "content": "Be kind."}
    assert "孔雀蓝" in given[1]["content"]
    assert given[1]["content"].endswith(f"\n\n{asked}")
    with_picture = [{"type": "text", "text": asked}, {"type": "image_url", "image_url": {"url": "data:,"}}]
    parts = run(filter_.inlet, say(with_picture), ANNA)["messages"][1]["content"]
    assert "孔雀蓝" in parts[0]["text"]
    assert parts[1:] == with_picture
    assert run(filter_.inlet, say(asked), BEN) == say(asked)

    ended = end(asked, '<details type="reasoning" done="true">\n> Hm.\n</details>\n孔雀蓝。')
    for _again in range(2):
        assert run(filter_.outlet, ended, ANNA) == ended
    run(filter_.outlet, end(asked, "Another reply"), ANNA)
    assert list_messages(anna) == [[("user", asked), ("assistant", "孔雀蓝。")]]


def test_what_is_not_remembered(
    http_server: HttpServer, service: User, token: str, caplog: pytest.LogCaptureFixture
) -> None:
    filter_ = load(url=http_server.url, token=token)
    for metadata in ({"chat_id": "local:x"}, {"chat_id": "channel:x"}, {"chat_id": ""}, {**CHAT, "internal": True}):
        assert run(filter_.inlet, say("Hello"), ANNA, metadata) == say("Hello")
        run(filter_.outlet, end("Hello", "Hi"), ANNA, metadata)
    assert not User.objects.filter(service=service).exists()

    # Without a server, or with a token that it does not know, the chat goes on.
    with caplog.at_level(logging.WARNING):
        for valves in ({"url": "http://127.0.0.1:1", "token": token}, {"url": http_server.url, "token": "wrong"}):
            assert run(load(**valves).inlet, say("Hello"), ANNA) == say("Hello")
    assert [record.getMessage() for record in caplog.records if record.name == "jiyi_filter"] == [
        "Jiyi does not answer: URLError",
        "Jiyi refuses a request: 401",
    ]


def test_chats_are_in_the_space_that_is_set(http_server: HttpServer, token: str, anna: ApiClient) -> None:
    run(load(url=http_server.url, token=token, space="小说").outlet, end("女主角是左撇子。", "好。"), ANNA)
    (space,) = anna.get("/memory/spaces").json()["results"]
    (session,) = anna.get("/chat/sessions").json()["results"]
    assert (space["name"], session["space"]) == ("小说", space["id"])
