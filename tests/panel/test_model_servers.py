"""Connecting a model in the panel: URL, key, test, choice; the key never comes back."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import Permission
from django.test import Client
from django.urls import reverse

from apps.accounts.models import User
from apps.connections.models import ConnectedModel, ModelServer
from apps.connections.services import read_key
from apps.core.llm.client import get_chat_model
from tests.support.factories import UserFactory
from tests.support.scripted_model import ScriptedModel, refuse_with, reply_with

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.long_except(
        "test_a_wrong_key_is_said_and_not_repeated",
        "test_what_was_chosen_answers_from_now_on",
        "test_a_change_without_a_key_keeps_it_but_sends_it_nowhere_else",
    ),
]

KEY = "sk-very-secret-0123456789"
PAGES = ("models", "models_server", "models_test", "models_try", "models_default", "models_remove")


@pytest.fixture
def admin(client: Client, settings: Any) -> User:
    settings.OPENAI_API_KEY = settings.OPENAI_BASE_URL = settings.CHAT_MODEL = settings.EMBEDDING_MODEL = ""
    user = UserFactory.create(username="tang", is_staff=True)
    user.user_permissions.add(Permission.objects.get(codename="change_modelserver"))
    client.force_login(user)
    return user


def fill(model: ScriptedModel, **changes: Any) -> dict[str, Any]:
    return {"name": "Here", "base_url": model.base_url, "api_key": KEY, "chat": ["scripted"]} | changes


def connect(client: Client, model: ScriptedModel, **changes: Any) -> ModelServer:
    response = client.post(reverse("admin:models_server"), fill(model, **changes))
    assert response.status_code == 302, response.content.decode()
    return ModelServer.objects.get(name=changes.get("name", "Here"))


def test_nobody_else_may(client: Client) -> None:
    for user in (UserFactory.create(), UserFactory.create(is_staff=True)):
        client.force_login(user)
        for page in PAGES:
            assert client.get(reverse(f"admin:{page}")).status_code == 403
            assert client.post(reverse(f"admin:{page}")).status_code == 403
        assert reverse("admin:models") not in client.get(reverse("admin:settings")).content.decode()


def test_a_test_asks_the_chosen_models(client: Client, admin: User, scripted_model: ScriptedModel) -> None:
    scripted_model.models = ("scripted", "alpha")
    scripted_model.script(reply_with("OK"), refuse_with(404))
    given = fill(scripted_model, chat=["scripted", "alpha"], embedding="embedder")
    found = client.post(reverse("admin:models_test"), given).content.decode()
    assert "“OK”" in found
    assert "does not know this model or URL" in found
    assert 'value="scripted" checked' in found
    assert len(scripted_model.embedding_requests) == 1
    assert KEY not in found
    assert not ModelServer.objects.exists()


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"base_url": "http://127.0.0.1:9/v1"}, "could not be reached"),
        ({"base_url": "ftp://example.org"}, "Must be an address"),
        ({"base_url": "http://[::1"}, "Must be an address"),
        ({"base_url": "http://me:secret@example.org/v1"}, "Leave user name"),
        ({"api_key": "geheim\u00e4"}, "ASCII"),
    ],
)
def test_what_is_wrong_is_said(
    client: Client, admin: User, scripted_model: ScriptedModel, changes: dict[str, str], said: str
) -> None:
    found = client.post(reverse("admin:models_test"), fill(scripted_model, chat=[]) | changes)
    assert found.status_code == 200
    assert said in found.content.decode()


def test_a_wrong_key_is_said_and_not_repeated(client: Client, admin: User, scripted_model: ScriptedModel) -> None:
    scripted_model.script_models(refuse_with(401, f"Incorrect API key provided: {KEY}"))
    found = client.post(reverse("admin:models_test"), fill(scripted_model, chat=[])).content.decode()
    assert "rejected the API key" in found
    assert KEY not in found


def test_what_was_chosen_answers_from_now_on(client: Client, admin: User, scripted_model: ScriptedModel) -> None:
    server = connect(client, scripted_model, more="second, third\n")
    assert get_chat_model().name == "scripted"
    assert read_key(server) == KEY
    assert KEY not in server.encrypted_key
    assert {row.name for row in server.models.all()} == {"scripted", "second", "third"}
    for page in (reverse("admin:models"), reverse("admin:models_server", query={"server": server.pk})):
        content = client.get(page).content.decode()
        assert KEY not in content
        assert server.encrypted_key not in content


def test_a_change_without_a_key_keeps_it_but_sends_it_nowhere_else(
    client: Client, admin: User, scripted_model: ScriptedModel
) -> None:
    server = connect(client, scripted_model)
    given = fill(scripted_model, server=str(server.pk), api_key="", name="There")
    assert client.post(reverse("admin:models_server"), given).status_code == 302
    server.refresh_from_db()
    assert (server.name, read_key(server)) == ("There", KEY)
    elsewhere = given | {"base_url": "http://127.0.0.1:9/v1"}
    for page in ("models_server", "models_test"):
        answer = client.post(reverse(f"admin:{page}"), elsewhere).content.decode()
        assert "Enter the key again" in answer
    server.refresh_from_db()
    assert server.base_url == scripted_model.base_url
    removed = given | {"remove_key": "on"}
    assert client.post(reverse("admin:models_server"), removed).status_code == 302
    server.refresh_from_db()
    assert read_key(server) == ""


def test_nothing_is_connected_by_halves(client: Client, admin: User, scripted_model: ScriptedModel) -> None:
    refused = client.post(reverse("admin:models_server"), fill(scripted_model, chat=[]))
    assert refused.status_code == 400
    assert "Choose at least one model." in refused.content.decode()
    scripted_model.script_embeddings(refuse_with(404))
    refused = client.post(reverse("admin:models_server"), fill(scripted_model, embedding="none"))
    assert "does not know this model or URL" in refused.content.decode()
    assert not ModelServer.objects.exists()
    connect(client, scripted_model)
    again = client.post(reverse("admin:models_server"), fill(scripted_model))
    assert again.status_code == 400
    assert "Another server has this name." in again.content.decode()


def test_the_default_changes_and_a_removed_server_leaves_the_environments(
    client: Client, admin: User, scripted_model: ScriptedModel
) -> None:
    connect(client, scripted_model, more="second")
    second = ConnectedModel.objects.get(name="second")
    client.post(reverse("admin:models_default"), {"kind": "chat", "model": second.pk})
    assert get_chat_model().name == "second"
    tried = client.post(reverse("admin:models_try"), {"model": second.pk}).content.decode()
    assert "answered in" in tried
    asked = client.get(reverse("admin:models_remove"), {"server": second.server_id}).content.decode()
    assert "Remove Here?" in asked
    assert ModelServer.objects.exists()
    client.post(reverse("admin:models_remove"), {"server": second.server_id})
    assert not ModelServer.objects.exists()
    assert get_chat_model().name == "offline"


@pytest.mark.parametrize("page", ["models_try", "models_remove"])
@pytest.mark.parametrize("key", ["", "nonsense", "2c5ea4c0-4067-11e9-8bad-9b1deb4d3b7d"])
def test_what_is_not_there_is_not_found(client: Client, admin: User, page: str, key: str) -> None:
    assert client.post(reverse(f"admin:{page}"), {"model": key, "server": key}).status_code == 404
