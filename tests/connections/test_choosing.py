"""Which model answers, and testing one before anybody relies on it."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection

from apps.connections.models import ConnectedModel, ModelServer
from apps.connections.probing import try_chat_model
from apps.connections.services import remove_server, save_server, set_default
from apps.core.errors import Conflict, InvalidInput, ModelUnavailable, NotFound
from apps.core.llm.client import ChosenModel, choose_chat_model, get_chat_model, get_embedder, get_embedder_name
from apps.core.llm.openai import OpenAIChatModel
from apps.offline.model import OfflineModel
from tests.support.scripted_model import Json, Reply, ScriptedModel

KEY = "sk-very-secret-0123456789"
URL = "http://127.0.0.1:9/v1"


def connect(name: str = "DeepSeek", *, chat: tuple[str, ...] = ("deepseek-chat",), **changes: Any) -> ModelServer:
    values = {"base_url": URL, "api_key": KEY, "embedding": ()} | changes
    return save_server(name=name, chat=chat, **values)


def find(name: str) -> ConnectedModel:
    return ConnectedModel.objects.get(name=name)


@pytest.fixture(autouse=True)
def environment(settings: Any) -> Any:
    settings.OPENAI_API_KEY = settings.OPENAI_BASE_URL = settings.CHAT_MODEL = settings.EMBEDDING_MODEL = ""
    return settings


@pytest.mark.django_db
def test_the_first_model_that_is_connected_answers_at_once() -> None:
    assert isinstance(get_chat_model(), OfflineModel)
    connect(chat=("deepseek-chat", "deepseek-reasoner"))
    model = get_chat_model()
    assert isinstance(model, OpenAIChatModel)
    assert (model.name, model.server) == ("deepseek-chat", URL)
    assert get_chat_model() is model  # with its connections


@pytest.mark.django_db
def test_a_second_server_does_not_take_over() -> None:
    connect()
    connect("Ollama", chat=("qwen3",))
    assert get_chat_model().name == "deepseek-chat"
    set_default(kind="chat", model_id=find("qwen3").pk)
    assert get_chat_model().name == "qwen3"
    set_default(kind="chat", model_id=None)
    assert isinstance(get_chat_model(), OfflineModel)


@pytest.mark.django_db
def test_a_session_may_be_set_to_any_of_them_and_to_the_environments() -> None:
    connect(chat=("one", "two"))
    assert choose_chat_model(preferred="two").model.name == "two"
    assert isinstance(choose_chat_model(preferred="offline").model, OfflineModel)
    assert choose_chat_model(preferred="gone").model.name == "one"


@pytest.mark.django_db
def test_what_a_client_names_goes_first_and_may_be_unknown_here() -> None:
    connect(chat=("one", "two"))
    chosen = choose_chat_model(asked="two", preferred="one")
    assert (chosen.model.name, chosen.other, chosen.name) == ("two", "", "two")
    chosen = choose_chat_model(asked="three", preferred="two")
    assert (chosen.model.name, chosen.other, chosen.name) == ("one", "three", "three")
    assert choose_chat_model(asked="one").other == ""
    set_default(kind="chat", model_id=None)
    assert choose_chat_model(asked="three") == ChosenModel(get_chat_model())  # the rules have one name


@pytest.mark.django_db
def test_two_servers_may_have_a_model_of_one_name() -> None:
    connect("A", chat=("llama",))
    connect("B", chat=("llama",), base_url="http://127.0.0.1:8/v1")
    assert choose_chat_model(preferred="llama").model.name == "llama"
    chosen = choose_chat_model(preferred="B/llama").model
    assert chosen.name == "llama"  # what its server calls it
    assert chosen is not choose_chat_model(preferred="llama").model


@pytest.mark.django_db
def test_the_key_is_stored_encrypted_and_in_no_error_and_no_representation() -> None:
    server = connect()
    with connection.cursor() as cursor:
        cursor.execute("SELECT row_to_json(model_server)::text FROM model_server")
        assert KEY not in cursor.fetchone()[0]
    from apps.connections.services import find_endpoints

    endpoint = find_endpoints("chat", [])[""]
    assert endpoint.api_key == KEY
    assert KEY not in repr(endpoint) + repr(server) + str(server)


@pytest.mark.django_db
def test_another_secret_key_is_told_as_such(environment: Any) -> None:
    connect()
    environment.SECRET_KEY = "another"
    with pytest.raises(ModelUnavailable, match="Enter it again"):
        get_chat_model()


@pytest.mark.django_db
def test_a_change_keeps_what_is_not_named() -> None:
    server = connect(chat=("one", "two"))
    two = find("two").pk
    save_server(server_id=server.pk, name="DS", base_url=URL, api_key=None, chat=["two", "three"], embedding=[])
    assert {row.name: row.is_default for row in ConnectedModel.objects.all()} == {"two": False, "three": False}
    assert find("two").pk == two
    server.refresh_from_db()
    assert server.name == "DS"
    set_default(kind="chat", model_id=two)
    model = get_chat_model()
    assert isinstance(model, OpenAIChatModel)
    assert model._api_key == KEY


@pytest.mark.django_db
def test_an_embedding_model_is_found_by_the_name_its_vectors_are_stored_under() -> None:
    connect(embedding=("bge-m3",))
    assert get_embedder_name().startswith("local/")
    assert get_embedder("bge-m3").name == "bge-m3"
    set_default(kind="embedding", model_id=find("bge-m3").pk)
    assert get_embedder_name() == get_embedder().name == "bge-m3"
    assert get_embedder("local/use-m3-512").local


@pytest.mark.django_db
def test_an_embedding_model_whose_vectors_are_stored_cannot_be_given_up() -> None:
    server = connect(embedding=("bge-m3",))
    with pytest.raises(Conflict):
        remove_server(server_id=server.pk, kept={"bge-m3"})
    with pytest.raises(Conflict):
        save_server(
            server_id=server.pk, name="x", base_url=URL, api_key=None, chat=["y"], embedding=[], kept={"bge-m3"}
        )
    server.refresh_from_db()
    assert server.name == "DeepSeek"
    assert find("bge-m3")


@pytest.mark.django_db
def test_what_is_not_there_and_what_is_taken_is_refused() -> None:
    server = connect()
    with pytest.raises(InvalidInput):
        connect()
    with pytest.raises(NotFound):
        set_default(kind="embedding", model_id=find("deepseek-chat").pk)
    remove_server(server_id=server.pk)
    with pytest.raises(NotFound):
        remove_server(server_id=server.pk)


@pytest.mark.django_db
def test_choosing_takes_one_query(django_assert_num_queries: Any) -> None:
    connect(chat=("one", "two"))
    with django_assert_num_queries(1):
        choose_chat_model(asked="two", preferred="one")
    with django_assert_num_queries(0):
        get_embedder("local/use-m3-512")


def complete(finish_reason: str = "stop", **message: Any) -> Json:
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish_reason}
    return Json({"object": "chat.completion", "choices": [choice]})


@pytest.mark.spec("C6")
@pytest.mark.parametrize(
    ("behaviour", "reason"),
    [
        (complete("length", content="", reasoning="They want"), "reasoning_limit"),
        (Reply(("<think>They want OK.</think>",)), "only_reasoning"),
        (Reply(("\n",)), "bad_answer"),
    ],
)
def test_a_model_without_a_reply_does_not_work(
    scripted_model: ScriptedModel, behaviour: Json | Reply, reason: str
) -> None:
    scripted_model.script(behaviour)

    outcome = try_chat_model(base_url=scripted_model.base_url, api_key="", model="m")

    assert outcome.failure is not None
    assert outcome.failure.fields["reason"] == reason


def test_a_model_may_think_as_long_as_in_a_turn(scripted_model: ScriptedModel, settings: Any) -> None:
    settings.CHAT_MAX_TOKENS = 1_234
    scripted_model.script("<think>They want OK.</think>OK")

    outcome = try_chat_model(base_url=scripted_model.base_url, api_key="", model="m")

    assert (outcome.reply, outcome.failure) == ("OK", None)
    assert scripted_model.chat_requests[0].body["max_tokens"] == 1_234
