"""Whose conversation a request to /v1 is (T3, T4): the end users of a service, and chats that a client names."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import jwt
import openai
import pytest

from apps.accounts.models import User
from apps.accounts.services.people import create_token
from apps.conversations.models import Session, Work
from tests.support.answers import answer
from tests.support.http_server import HttpServer
from tests.support.scripted_model import ScriptedModel

pytestmark = [pytest.mark.spec("T3"), pytest.mark.long_except("test_a_name_that_is_none_is_refused_in_openais_shape")]

SECRET = "a secret that Open WebUI signs its users' names with"
HI: Any = [{"role": "user", "content": "Hi"}]


@pytest.fixture
def service(http_server: HttpServer) -> Iterator[openai.OpenAI]:
    """OpenAI's client with the token of a service."""
    owner = User.objects.create_user("shop")
    token = create_token(user=owner, is_service=True, jwt_secret=SECRET)
    with openai.OpenAI(base_url=f"{http_server.url}/v1", api_key=token, max_retries=0) as client:
        yield client


def owners() -> list[str]:
    return [session.user.external_id or session.user.username for session in Session.objects.order_by("created_at")]


def sign(subject: str) -> str:
    now = int(time.time())
    return jwt.encode({"sub": subject, "iss": "open-webui", "iat": now, "exp": now + 300}, SECRET, algorithm="HS256")


@pytest.mark.spec("T4")
def test_the_user_of_a_body_is_an_end_user_of_the_service(service: openai.OpenAI, model: ScriptedModel):
    for name in ("ann", "ben", "ann"):
        service.chat.completions.create(
            model="jiyi", messages=[{"role": "user", "content": f"I am {name}."}], user=name
        )
    assert owners() == ["ann", "ben", "ann"]
    assert "user" not in model.chat_requests[-1].body


def chat(service: openai.OpenAI, chat_id: str, *texts: str) -> Any:
    messages: Any = [{"role": "assistant" if at % 2 else "user", "content": text} for at, text in enumerate(texts)]
    headers = {"X-OpenWebUI-Chat-Id": chat_id, "X-OpenWebUI-User-Id": "ann"}
    return service.chat.completions.create(model="jiyi", messages=messages, extra_headers=headers)


def test_a_chat_of_open_webui_is_one_session_from_its_first_message_on(service: openai.OpenAI, model: ScriptedModel):
    model.script(*(answer(text) for text in ("One.", "Two.", "Three.", "Four.")))
    chat(service, "c1", "Hi")
    chat(service, "c1", "Hi")
    chat(service, "c2", "Hi")
    chat(service, "c1", "Hello")
    first, second = Session.objects.order_by("created_at")
    assert list(first.messages.order_by("create_time", "position").values_list("content", "status")) == [
        ("Hi", "replaced"), ("One.", "replaced"), ("Two.", "replaced"), ("Hello", "complete"), ("Four.", "complete"),
    ]  # fmt: skip
    assert list(second.messages.order_by("position").values_list("content", flat=True)) == ["Hi", "Three."]


@pytest.mark.spec("A2")
def test_what_a_chat_said_elsewhere_is_stored_and_learned_from(service: openai.OpenAI, model: ScriptedModel):
    model.script(answer("Nice."))
    chat(service, "c1", "I live in York.", "I see.", "I like tea.")
    (session,) = Session.objects.all()
    said = list(session.messages.order_by("position").values_list("content", flat=True))
    assert said == ["I live in York.", "I see.", "I like tea.", "Nice."]
    learned = Work.objects.filter(kind="extract").order_by("message__position")
    assert list(learned.values_list("message__content", "recorded")) == [
        ("I live in York.", True), ("I like tea.", False),
    ]  # fmt: skip


@pytest.mark.spec("C7")
def test_a_temporary_chat_of_open_webui_is_a_temporary_session(service: openai.OpenAI, model: ScriptedModel):
    chat(service, "local:abc", "I live in York.")
    assert Session.objects.get().temporary
    assert not Work.objects.exists()


@pytest.mark.spec("T4")
def test_a_name_that_is_none_is_refused_in_openais_shape(service: openai.OpenAI, model: ScriptedModel):
    with pytest.raises(openai.BadRequestError) as caught:
        service.chat.completions.create(model="jiyi", messages=HI, user=" ")
    assert (caught.value.param, caught.value.type) == ("user", "invalid_request_error")
    headers = {"X-OpenWebUI-User-Jwt": sign("ann") + "x"}
    with pytest.raises(openai.AuthenticationError):
        service.chat.completions.create(model="jiyi", messages=HI, extra_headers=headers)
    assert not Session.objects.exists()
