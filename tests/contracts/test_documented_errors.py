"""Every error that the OpenAPI document names can happen, as it is described there: each is provoked here once.

`make test` provokes the errors that operations share, the long tests those of single operations too.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import pytest
from django.db import OperationalError
from django.test import Client, override_settings
from rest_framework.throttling import UserRateThrottle

from apps.accounts import spaces
from apps.accounts.models import User
from apps.accounts.services.people import create_token
from apps.chat.api import MODEL_UNAVAILABLE
from apps.conversations import serializers as conversations
from apps.conversations.models import Session
from apps.core.openapi import SHARED
from apps.doors.openai import schemas as openai
from apps.memory.models import EmbeddingModel
from tests.contracts.document import Described, list_described, resolve
from tests.contracts.routes import list_routes
from tests.contracts.world import SECRET, World, build_world
from tests.support.factories import open_message
from tests.support.http_server import ApiClient, HttpServer
from tests.support.scripted_model import MODEL, ScriptedModel, refuse_with

NOBODYS = str(uuid.UUID(int=0))
LONG = "长" * 32_001
MODEL_FAILED = MODEL_UNAVAILABLE.when
NO_SESSION = conversations.NO_SESSION.when
NO_SPACE = spaces.NO_SPACE.when


def call(
    described: Described, body: bytes | None = b"{}", *, path: str = "", kind: str = "application/json", **headers: str
) -> Any:
    """Send a request, for what nobody has unless a path is given."""
    if not path:
        path = described.path
        for parameter in described.operation.get("parameters", []):
            path = path.replace("{" + parameter["name"] + "}", NOBODYS)
    return Client().generic(described.method.upper(), path, body or b"", kind, headers=headers)


def assert_documented(described: Described, response: Any, *, status: int) -> None:
    """The error is one of the examples that the document gives for this status, its message aside."""
    assert response.status_code == status, response.content
    documented = resolve(described.operation["responses"][str(status)])
    examples = documented["content"]["application/json"]["examples"].values()
    assert json.loads(response.content)["error"]["code"] in {example["value"]["error"]["code"] for example in examples}
    assert set(documented.get("headers", {})) <= set(response.headers)


@pytest.fixture
def token(transactional_db: None) -> dict[str, str]:
    """The header of somebody who has nothing."""
    return {"Authorization": f"Bearer {create_token(user=User.objects.create_user('alice'))}"}


@pytest.mark.long
def test_what_can_happen_to_every_request(
    subtests: pytest.Subtests, token: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def lose_connection(*_args: object) -> None:
        raise OperationalError("gone")

    for described in list_described():
        with subtests.test(described.name):
            assert_documented(described, call(described), status=401)
            assert_documented(described, call(described, Host="evil.example"), status=400)
            with monkeypatch.context() as patched:
                patched.setattr("django.db.backends.utils.CursorWrapper._execute", lose_connection)
                assert_documented(described, call(described, **token), status=503)
            with monkeypatch.context() as patched:
                patched.setattr(UserRateThrottle, "THROTTLE_RATES", {"user": "1/day"})
                call(described, **token).close()
                assert_documented(described, call(described, **token), status=429)


@pytest.mark.long
def test_what_can_happen_to_every_body(subtests: pytest.Subtests, alice: ApiClient) -> None:
    routes = {route.template: route for route in list_routes()}
    world, token = build_world(alice), {"Authorization": alice.headers["Authorization"]}
    part = b'--x\r\nContent-Disposition: form-data; name="text"\r\n\r\n' + b"x" * 200 + b"\r\n--x--\r\n"
    for described in list_described():
        if described.request is None:
            continue
        kind = described.request[0]
        boundary = "; boundary=x" if kind == "multipart/form-data" else ""
        large = part if boundary else json.dumps("x" * 100).encode()
        route = routes[described.path]
        path = route.path(**world.values(route))  # what is not there is a 404, whatever the body
        with subtests.test(described.name):
            assert_documented(described, call(described, b"[1", path=path, kind=kind, **token), status=400)
            assert_documented(described, call(described, b"x", path=path, kind="text/plain", **token), status=415)
            with override_settings(DATA_UPLOAD_MAX_MEMORY_SIZE=100):
                answer = call(described, large, path=path, kind=kind + boundary, **token)
                assert_documented(described, answer, status=413)


# Errors of single operations

Answer = Any
# What to do, or the method and path of one request, with `{name}` for what a `World` has, and its arguments.
Provoke = Callable[[ApiClient, World], Answer] | tuple[str, str, dict[str, Any]]

TAKEN = {"category": "fact", "key": f"key {SECRET}", "value": "v"}
TOOLS = [{"type": "function", "name": "look", "function": {"name": "look"}}]
GONE_SESSION, IN_NOBODYS = {"session_id": NOBODYS}, {"space": NOBODYS}
ASKED = {"messages": [{"role": "user", "content": "hello"}]}
NOT_THERE = {"X-Session-Id": NOBODYS}
LONG_Q = {"params": {"q": "x" * 32_001}}


def _provoke(alice: ApiClient, world: World, what: Provoke) -> Answer:
    if callable(what):
        return what(alice, world)
    method, path, arguments = what
    return alice.request(method, path.format(**vars(world)), **arguments)


def _post(path: str, **body: Any) -> Provoke:
    return "POST", path, {"json": body}


def _upload(path: str, content: bytes) -> Provoke:
    return "POST", path, {"files": {"file": ("file.json", content)}}


def _repeat(what: Provoke, times: int = 2) -> Provoke:
    return lambda alice, world: [_provoke(alice, world, what) for _time in range(times)][-1]


def _with_key(path: str, *bodies: Any) -> Provoke:
    """Send different bodies with the same key."""
    headers = {"Idempotency-Key": "k"}
    return lambda alice, world: [alice.post(path.format(**vars(world)), json=body, headers=headers) for body in bodies][
        -1
    ]


def _said(*texts: str) -> Any:
    return {"messages": [{"role": "user", "content": text} for text in texts]}


def _add(alice: ApiClient, path: str, body: Any) -> str:
    return str(alice.post(path, json=body).raise_for_status().json()["id"])


def _recorded(alice: ApiClient) -> str:
    """A message that has a reply, no model being asked."""
    session = alice.new_session()
    said = [{"role": "user", "content": "hello"}, {"role": "assistant", "content": "hi"}]
    alice.post(f"/chat/sessions/{session}/turns", json={"messages": said}).raise_for_status()
    return str(alice.get(f"/chat/sessions/{session}/messages").json()["results"][0]["id"])


def _undo_edit_too_early(alice: ApiClient, _world: World) -> Answer:
    edited = alice.post(f"/chat/messages/{_recorded(alice)}/edit", json={"content": "changed"})
    said = edited.raise_for_status().json()["user_message"]
    open_message(Session.objects.get(id=said["session_id"]), "wait")
    return alice.post(f"/chat/messages/{said['id']}/edit/undo")


def _bring_too_much(alice: ApiClient, world: World) -> Answer:
    with override_settings(IMPORT_MAX_BYTES=100):
        return _provoke(alice, world, _upload("/memory/imports", b'{"memory": "' + b"x" * 100 + b'"}'))


def _after_undoing_the_import(method: str, path: str) -> Provoke:
    def provoke(alice: ApiClient, world: World) -> Answer:
        alice.post(f"/memory/imports/{world.past_import}/undo").raise_for_status()
        return alice.request(method, path.format(**vars(world)))

    return provoke


def _undo_change(alice: ApiClient, **filters: Any) -> Answer:
    change = alice.get("/memory/changes", params=filters).json()["results"][0]
    return alice.post(f"/memory/changes/{change['operation']}/undo")


def _undo_what_was_changed_again(alice: ApiClient, _world: World) -> Answer:
    memory = _add(alice, "/memory/long-term", {"category": "fact", "key": "pet", "value": "cat"})
    alice.patch(f"/memory/long-term/{memory}", json={"value": "dog"}).raise_for_status()
    return _undo_change(alice, object_id=memory, action="create")


def _of_memory(method: str) -> dict[str, Provoke]:
    def change(alice: ApiClient, memory_id: str, **changes: Any) -> Answer:
        body = {"category": "fact", "key": "another", "value": "v", **changes}
        return alice.request(method, f"/memory/long-term/{memory_id}", json=body)

    def change_superseded(alice: ApiClient, _world: World) -> Answer:
        old, _new = [
            _add(alice, "/memory/long-term", {"category": "fact", "key": "home", "value": value})
            for value in ("Leeds", "York")
        ]
        return change(alice, old)

    return {
        "Another active memory has this key": lambda alice, world: change(
            alice, _add(alice, "/memory/long-term", {**TAKEN, "key": "mine"}), key=TAKEN["key"]
        ),
        HISTORY: change_superseded,
        "The value is too large": lambda alice, world: change(alice, world.pending, value=LONG),
    }


def _of_atomic_memory(method: str) -> dict[str, Provoke]:
    def change(alice: ApiClient, memory_id: str, content: str) -> Answer:
        return alice.request(method, f"/memory/atomic/{memory_id}", json={"content": content})

    def change_rejected(alice: ApiClient, world: World) -> Answer:
        alice.post(f"/memory/atomic/{world.pending_atomic}/reject").raise_for_status()
        return change(alice, world.pending_atomic, "other")

    return {
        "Another active memory says the same": lambda alice, world: change(
            alice, _add(alice, "/memory/atomic", {"content": "other"}), SECRET
        ),
        HISTORY: change_rejected,
        "The content is too long": lambda alice, world: change(alice, world.atomic, LONG),
    }


def _of_working_memory(method: str, **body: Any) -> dict[str, Provoke]:
    return {
        "The session has no working memory now": lambda alice, world: alice.request(
            method, f"/memory/working/{alice.new_session()}", **body
        )
    }


def _decided(path: str) -> dict[str, Provoke]:
    return {"It is not pending": _repeat(_post(path))}


def _of_openais_turn(path: str, body: dict[str, Any], long: dict[str, Any]) -> dict[str, Provoke]:
    return {
        openai.NO_SESSION.when: ("POST", path, {"json": body, "headers": NOT_THERE}),
        openai.TOO_LONG.when: _post(path, **long),
        openai.REFUSED.when: _post(path, **body, tools=TOOLS),
        openai.FAILED.when: _post(path, **body),
    }


HISTORY = "It is history: superseded, rejected or evicted"
MESSAGES, TURNS = "/chat/sessions/{session}/messages", "/chat/sessions/{session}/turns"
FORMS, ATTACHMENTS = "/chat/sessions/{session}/hitl-forms", "/chat/sessions/{session}/attachments"
LONG_TERM, ATOMIC, SEARCH = "/memory/long-term", "/memory/atomic", "/memory/conversations/search"
SUMMARY = {"title": "t", "snippet": "s"}


def _look_from_nowhere(path: str) -> Provoke:
    return "GET", path, {"params": {"q": "x", "space": NOBODYS}}


HOOK = {"url": "https://assistant.example/hooks", "events": ["memory.changed"]}


def _with_webhooks(what: Provoke) -> Provoke:
    def provoke(alice: ApiClient, world: World) -> Answer:
        with override_settings(WEBHOOKS="public"):
            return _provoke(alice, world, what)

    return provoke


PROVOCATIONS: dict[str, dict[str, Provoke]] = {
    **{
        name: {NO_SPACE: _look_from_nowhere(path)}
        for name, path in {
            "list_sessions": "/chat/sessions",
            "list_memories": LONG_TERM,
            "list_atomic_memories": ATOMIC,
            "list_shared_contexts": "/memory/contexts",
            "list_summaries": "/summaries",
            "list_changes": "/memory/changes",
        }.items()
    },
    "create_space": {"Another space has this name": _post("/memory/spaces", name=SECRET)},
    "update_space": {
        "Another space has this name": lambda alice, world: alice.patch(
            f"/memory/spaces/{_add(alice, '/memory/spaces', {'name': 'n'})}", json={"name": SECRET}
        )
    },
    "move_memories": {NO_SPACE: _post("/memory/move", ids=[NOBODYS], **IN_NOBODYS)},
    "create_session": {NO_SPACE: _post("/chat/sessions", **IN_NOBODYS)},
    "update_session": {NO_SPACE: ("PATCH", "/chat/sessions/{session}", {"json": IN_NOBODYS})},
    "send_message": {
        "The key was used for another message": _with_key(MESSAGES, {"content": "one"}, {"content": "two"}),
        "`content` is too long": _post(MESSAGES, content=LONG),
        MODEL_FAILED: _post(MESSAGES, content="hello"),
    },
    "record_messages": {
        "The key was used for other messages": _with_key(TURNS, _said("one"), _said("two")),
        "`content` is too long": _post(TURNS, **_said(LONG)),
    },
    "preview_prompt": {
        "`message` is too long": ("GET", "/chat/sessions/{session}/context", {"params": {"message": "x" * 32_001}})
    },
    "search_sessions": {
        NO_SPACE: _look_from_nowhere("/chat/search"),
        "`q` is too long": ("GET", "/chat/search", {"params": {"q": "x" * 1_001}}),
    },
    "submit_form": {
        "The form does not fit into working memory": _post(FORMS, title="t", fields={"text": LONG}),
        "The model failed; the form is kept": _post(FORMS, title="t", fields={"text": "hello"}),
    },
    "retry_message": {
        "The message has not failed": lambda alice, world: alice.post(f"/chat/messages/{_recorded(alice)}/retry"),
        MODEL_FAILED: _post("/chat/messages/{failed}/retry"),
    },
    "regenerate_reply": {
        "The message is not the newest one, or has no reply": _post("/chat/messages/{reply}/regenerate"),
        MODEL_FAILED: lambda alice, world: alice.post(f"/chat/messages/{_recorded(alice)}/regenerate"),
    },
    "edit_message": {
        "It is no message of the user, was edited already, or a reply is under way": _post(
            "/chat/messages/{reply}/edit", content="changed"
        ),
        "`content` is too long": _post("/chat/messages/{failed}/edit", content=LONG),
        MODEL_FAILED: _post("/chat/messages/{failed}/edit", content="changed"),
    },
    "attach_file": {
        "The file has no text": _upload(ATTACHMENTS, b"\x00\x01\x02\x03"),
        "The file is too large": _upload(ATTACHMENTS, b"x" * 10_485_761),
        "The session has too many files": _repeat(_upload(ATTACHMENTS, b"text"), 20),
    },
    "undo_edit": {"A reply is under way": _undo_edit_too_early},
    "create_memory": {
        NO_SESSION: _post(LONG_TERM, **TAKEN, **GONE_SESSION),
        NO_SPACE: _post(LONG_TERM, **TAKEN, **IN_NOBODYS),
        "The value is too large": _post(LONG_TERM, **{**TAKEN, "value": LONG}),
    },
    "replace_memory": _of_memory("PUT"),
    "update_memory": _of_memory("PATCH"),
    "accept_memory": _decided("/memory/long-term/{pending}/accept"),
    "reject_memory": _decided("/memory/long-term/{pending}/reject"),
    "search_memories": {
        NO_SESSION: ("GET", f"{LONG_TERM}/search", {"params": {"q": "x", **GONE_SESSION}}),
        NO_SPACE: _look_from_nowhere(f"{LONG_TERM}/search"),
        "`q` is too long": ("GET", f"{LONG_TERM}/search", LONG_Q),
    },
    "create_atomic_memory": {
        NO_SESSION: _post(ATOMIC, content="c", **GONE_SESSION),
        NO_SPACE: _post(ATOMIC, content="c", **IN_NOBODYS),
        "The content is too long": _post(ATOMIC, content=LONG),
    },
    "replace_atomic_memory": _of_atomic_memory("PUT"),
    "update_atomic_memory": _of_atomic_memory("PATCH"),
    "accept_atomic_memory": _decided("/memory/atomic/{pending_atomic}/accept"),
    "reject_atomic_memory": _decided("/memory/atomic/{pending_atomic}/reject"),
    "search_atomic_memories": {
        NO_SPACE: _look_from_nowhere(f"{ATOMIC}/search"),
        "`q` is too long": ("GET", f"{ATOMIC}/search", LONG_Q),
    },
    "get_working_memory": _of_working_memory("GET"),
    "delete_working_memory": _of_working_memory("DELETE"),
    "update_working_memory": {
        **_of_working_memory("PATCH", json={}),
        "The variables do not fit": (
            "PATCH",
            "/memory/working/{session}",
            {"json": {"context_variables": {"guests": LONG}}},
        ),
    },
    "create_shared_context": {
        NO_SESSION: _post("/memory/contexts", title="t", content="c", **GONE_SESSION),
        NO_SPACE: _post("/memory/contexts", title="t", content="c", **IN_NOBODYS),
        "The context would have over 64 KiB": _post("/memory/contexts", title="t", content=LONG),
    },
    "add_context_entry": {"The context would have over 64 KiB": _post("/memory/contexts/{context}/entries", text=LONG)},
    "search_conversations": {
        NO_SESSION: _post(SEARCH, query="x", chat_id=NOBODYS),
        NO_SPACE: _post(SEARCH, query="x", **IN_NOBODYS),
        "`query` is too long": _post(SEARCH, query=LONG),
        "The embedding model cannot be asked": _post(SEARCH, query="what no test before has asked"),
    },
    "undo_operation": {
        "It is a deletion": lambda alice, world: _undo_change(alice, action="delete"),
        "It was undone already": _repeat(_post("/memory/changes/{operation}/undo")),
        "Something was changed again since": _undo_what_was_changed_again,
    },
    "import_memories": {
        "Some rows are not valid (the first is 1)": _upload(f"{LONG_TERM}/import", b'[{"key": "k"}]'),
        "The file is not a JSON array": _upload(f"{LONG_TERM}/import", b"key,value"),
    },
    "replace_profile": {"A text is too long": ("PUT", "/profile", {"json": {"background": LONG}})},
    "update_profile": {"A text is too long": ("PATCH", "/profile", {"json": {"background": LONG}})},
    "accept_proposal": _decided("/profile/proposals/{proposal}/accept"),
    "reject_proposal": _decided("/profile/proposals/{proposal}/reject"),
    "create_summary": {
        NO_SESSION: _post("/summaries", **SUMMARY, session_id=NOBODYS),
        "The session has a summary": lambda alice, world: alice.post(
            "/summaries", json={**SUMMARY, "session_id": world.session}
        ),
        "The session is temporary": lambda alice, world: alice.post(
            "/summaries", json={**SUMMARY, "session_id": alice.new_session(temporary=True)}
        ),
    },
    "create_import": {
        "Too many of your imports are under way, or another file is being previewed": lambda alice, world: [
            _provoke(alice, world, _upload("/memory/imports", b'{"memory": "%d"}' % number)) for number in range(6)
        ][-1],
        "The file is too large": _bring_too_much,
        NO_SPACE: lambda alice, world: alice.post(
            "/memory/imports", files={"file": ("past.json", b'{"memory": "m"}')}, data=IN_NOBODYS
        ),
        "The file has none of the formats": _upload("/memory/imports", b'{"hello": "world"}'),
        "The file is damaged": _upload("/memory/imports", b"PK\x03\x04"),
    },
    "delete_import": {"It is being undone": _after_undoing_the_import("DELETE", "/memory/imports/{past_import}")},
    "create_webhook": {
        NO_SPACE: _with_webhooks(_post("/webhooks", **HOOK, **IN_NOBODYS)),
        "Webhooks are off on this installation": _post("/webhooks", **HOOK),
        "There are 20 webhooks already": _with_webhooks(_repeat(_post("/webhooks", **HOOK), 20)),
    },
    "update_webhook": {NO_SPACE: ("PATCH", "/webhooks/{webhook}", {"json": IN_NOBODYS})},
    "send_test_event": {"Webhooks are off on this installation": _post("/webhooks/{webhook}/test")},
    "create_tidying": {"No model is connected": _post("/memory/tidyings")},
    "undo_tidying": {"There is nothing to undo": _repeat(_post("/memory/tidyings/{tidying}/undo"))},
    "undo_import": {
        "It has not ended, was undone already, or restored an export of everything": _after_undoing_the_import(
            "POST", "/memory/imports/{past_import}/undo"
        )
    },
    "create_chat_completion": _of_openais_turn("/v1/chat/completions", ASKED, _said(LONG)),
    "create_response": {
        **_of_openais_turn("/v1/responses", {"input": "hello"}, {"input": LONG}),
        "There is no such previous response": _post("/v1/responses", input="hello", previous_response_id="resp_1"),
    },
    "create_embeddings": {
        "There is no such embedding model": _post("/v1/embeddings", input="x", model="ada"),
        "The embedding model cannot be asked": _post("/v1/embeddings", input="x"),
    },
    "get_model": {"There is no such model": ("GET", "/v1/models/x", {})},
}

# What takes two requests at the same moment: see tests/memory/test_concurrency.py.
RACES = {("import_memories", "Some of the memories were created at the same time")}


def list_own_problems() -> Iterator[tuple[Described, str, str]]:
    """Each error that an operation does not share with others: the operation, the status and the example's name."""
    shared = {when for error in SHARED.values() for when in (problem.when for problem in error.problems)}
    for described in list_described():
        for status, response in described.operation["responses"].items():
            if status >= "400":
                examples = resolve(response)["content"]["application/json"]["examples"]
                yield from ((described, status, when) for when in examples if when not in shared)


OWN = [problem for problem in list_own_problems() if (problem[0].id, problem[2]) not in RACES]


def test_every_error_of_a_single_operation_is_provoked() -> None:
    assert {(described.id, when) for described, _status, when in OWN} == {
        (name, when) for name, provoked in PROVOCATIONS.items() for when in provoked
    }


@contextmanager
def refusing_model(model: ScriptedModel, status: int) -> Iterator[None]:
    """Have every model that is asked refuse, for the time of the block."""
    model.default = model.embed = lambda _asked: refuse_with(status)
    url, embedder = model.base_url, EmbeddingModel.objects.filter(state="active")
    name = embedder.get().name
    embedder.update(name="elsewhere")
    try:
        with override_settings(
            OPENAI_BASE_URL=url, CHAT_MODEL=MODEL, EMBEDDING_BASE_URL=url, EMBEDDING_MODEL="elsewhere"
        ):
            yield
    finally:
        embedder.update(name=name)


@pytest.mark.long
@pytest.mark.timeout(900)
def test_every_error_of_a_single_operation_happens(
    subtests: pytest.Subtests, http_server: HttpServer, scripted_model: ScriptedModel
) -> None:
    for number, (described, status, when) in enumerate(OWN):
        # A person of their own for each: some errors come of what was done before.
        user = User.objects.create_user(f"person{number}")
        with subtests.test(described.id, when=when), ApiClient(http_server, user) as client:
            world = build_world(client)
            fails = status == "503" or when == openai.REFUSED.when
            with refusing_model(scripted_model, 401 if status == "503" else int(status)) if fails else nullcontext():
                response = _provoke(client, world, PROVOCATIONS[described.id][when])
            responses = described.operation["responses"]
            documented = responses[status]["content"]["application/json"]["examples"][when]["value"]
            error = response.json()["error"]
            assert (response.status_code, error["code"]) == (int(status), documented["error"]["code"]), error
            assert set(documented["error"]) == set(error)
            assert set(documented["error"].get("fields", ())) <= set(error.get("fields", ()))
            assert documented["error"].get("param") == error.get("param")
