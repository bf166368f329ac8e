"""Every error that the OpenAPI document names can happen, as it is described there: each is provoked here once.

`make test` provokes the errors that operations share, the long tests those of single operations too.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from datetime import timedelta
from typing import Any

import pytest
from django.db import OperationalError
from django.test import Client, override_settings
from django.utils import timezone
from rest_framework.throttling import UserRateThrottle

from apps.accounts.models import User
from apps.accounts.services.people import create_token
from apps.chat.api import MODEL_UNAVAILABLE
from apps.conversations import serializers as conversations
from apps.conversations.rounds import open_round
from apps.core.openapi import SHARED
from apps.doors.openai import schemas as openai
from apps.memory.models import EmbeddingModel
from tests.contracts.document import Described, list_described, resolve
from tests.contracts.world import SECRET, World, build_world
from tests.support.http_server import ApiClient, HttpServer
from tests.support.scripted_model import MODEL, ScriptedModel, refuse_with

NOBODYS = str(uuid.UUID(int=0))
LONG = "长" * 32_001
MODEL_FAILED = MODEL_UNAVAILABLE.when
NO_SESSION = conversations.NO_SESSION.when


def call(described: Described, body: bytes | None = b"{}", *, kind: str = "application/json", **headers: str) -> Any:
    """Send a request for what nobody has."""
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
def test_what_can_happen_to_every_body(subtests: pytest.Subtests, token: dict[str, str]) -> None:
    part = b'--x\r\nContent-Disposition: form-data; name="text"\r\n\r\n' + b"x" * 200 + b"\r\n--x--\r\n"
    for described in list_described():
        if described.request is None:
            continue
        kind = described.request[0]
        boundary = "; boundary=x" if kind == "multipart/form-data" else ""
        large = part if boundary else json.dumps("x" * 100).encode()
        with subtests.test(described.name):
            assert_documented(described, call(described, b"[1", kind=kind, **token), status=400)
            assert_documented(described, call(described, b"x", kind="text/plain", **token), status=415)
            with override_settings(DATA_UPLOAD_MAX_MEMORY_SIZE=100):
                assert_documented(described, call(described, large, kind=kind + boundary, **token), status=413)


# Errors of single operations

Answer = Any
Provoke = Callable[[ApiClient, World], Answer]

TAKEN = {"category": "fact", "key": f"key {SECRET}", "value": "v"}
TOOLS = [{"type": "function", "name": "look", "function": {"name": "look"}}]
GONE_SESSION = {"session_id": NOBODYS}
BIG_CONTENT = {"content": LONG}


def _chat(alice: ApiClient, text: str, *, session: str = "", **more: Any) -> Answer:
    body = {"messages": [{"role": "user", "content": text}], **more}
    return alice.post("/v1/chat/completions", json=body, headers={"X-Session-Id": session})


def _respond(alice: ApiClient, text: str, *, session: str = "", **more: Any) -> Answer:
    return alice.post("/v1/responses", json={"input": text, **more}, headers={"X-Session-Id": session})


def _retry(alice: ApiClient, message_id: str) -> Answer:
    return alice.post(f"/chat/messages/{message_id}/retry")


def _recorded(alice: ApiClient) -> str:
    """A message that has a reply, no model being asked."""
    session = alice.new_session()
    said = [{"role": "user", "content": "hello"}, {"role": "assistant", "content": "hi"}]
    alice.post(f"/chat/sessions/{session}/turns", json={"messages": said}).raise_for_status()
    return str(alice.get(f"/chat/sessions/{session}/messages").json()["results"][0]["id"])


def _edit(alice: ApiClient, message_id: str, content: str = "changed") -> Answer:
    return alice.post(f"/chat/messages/{message_id}/edit", json={"content": content})


def _attach(alice: ApiClient, world: World, data: bytes) -> Answer:
    return alice.post(f"/chat/sessions/{world.session}/attachments", files={"file": ("file", data)})


def _undo_edit_too_early(alice: ApiClient) -> Answer:
    turn = _edit(alice, _recorded(alice)).raise_for_status().json()
    now = timezone.now()
    open_round(
        user=alice.user,
        session_id=uuid.UUID(turn["user_message"]["session_id"]),
        content="wait",
        idempotency_key=None,
        window_limit=2,
        said_at=now,
        now=now,
        lease=timedelta(minutes=1),
    )
    return alice.post(f"/chat/messages/{turn['user_message']['id']}/edit/undo")


def _submit(alice: ApiClient, world: World, text: str) -> Answer:
    return alice.post(f"/chat/sessions/{world.session}/hitl-forms", json={"title": "t", "fields": {"text": text}})


def _with_key(alice: ApiClient, path: str, *bodies: Any) -> Answer:
    for body in bodies:
        answer = alice.post(path, json=body, headers={"Idempotency-Key": "k"})
    return answer


def _said(*texts: str) -> Any:
    return {"messages": [{"role": "user", "content": text} for text in texts]}


def _import(alice: ApiClient, content: bytes) -> Answer:
    return alice.post("/memory/long-term/import", files={"file": ("memories.json", content)})


def _bring(alice: ApiClient, content: bytes) -> Answer:
    return alice.post("/memory/imports", files={"file": ("past.json", content)})


def _bring_too_much(alice: ApiClient) -> Answer:
    with override_settings(IMPORT_MAX_BYTES=100):
        return _bring(alice, b'{"memory": "' + b"x" * 100 + b'"}')


def _undo_import(alice: ApiClient, world: World, method: str, what: str) -> Answer:
    alice.post(f"/memory/imports/{world.past_import}/undo").raise_for_status()
    return alice.request(method, f"/memory/imports/{world.past_import}{what}")


def _twice(call: Callable[[], Answer]) -> Answer:
    call()
    return call()


def _add(alice: ApiClient, path: str, body: Any) -> str:
    return str(alice.post(path, json=body).raise_for_status().json()["id"])


def _superseded(alice: ApiClient) -> str:
    old = _add(alice, "/memory/long-term", {"category": "fact", "key": "home", "value": "Leeds"})
    _add(alice, "/memory/long-term", {"category": "fact", "key": "home", "value": "York"})
    return old


def _old_atomic(alice: ApiClient, world: World) -> str:
    alice.post(f"/memory/atomic/{world.pending_atomic}/reject").raise_for_status()
    return world.pending_atomic


def _summarise(alice: ApiClient, session: str) -> Answer:
    return alice.post("/summaries", json={"session_id": session, "title": "t", "snippet": "s"})


def _undo_change(alice: ApiClient, **filters: Any) -> Answer:
    change = alice.get("/memory/changes", params=filters).json()["results"][0]
    return alice.post(f"/memory/changes/{change['operation']}/undo")


def _undo_what_was_changed_again(alice: ApiClient) -> Answer:
    memory = _add(alice, "/memory/long-term", {"category": "fact", "key": "pet", "value": "cat"})
    alice.patch(f"/memory/long-term/{memory}", json={"value": "dog"}).raise_for_status()
    return _undo_change(alice, object_id=memory, action="create")


def _of_memory(method: str) -> dict[str, Provoke]:
    def change(alice: ApiClient, memory_id: str, **changes: Any) -> Answer:
        body = {"category": "fact", "key": "another", "value": "v", **changes}
        return alice.request(method, f"/memory/long-term/{memory_id}", json=body)

    return {
        "Another active memory has this key": lambda alice, world: change(
            alice, _add(alice, "/memory/long-term", {**TAKEN, "key": "mine"}), key=TAKEN["key"]
        ),
        "It is history: superseded, rejected or evicted": lambda alice, world: change(alice, _superseded(alice)),
        "The value is too large": lambda alice, world: change(alice, world.pending, value=LONG),
    }


def _of_atomic_memory(method: str) -> dict[str, Provoke]:
    def change(alice: ApiClient, memory_id: str, content: str) -> Answer:
        return alice.request(method, f"/memory/atomic/{memory_id}", json={"content": content})

    return {
        "Another active memory says the same": lambda alice, world: change(
            alice, _add(alice, "/memory/atomic", {"content": "other"}), SECRET
        ),
        "It is history: superseded, rejected or evicted": lambda alice, world: change(
            alice, _old_atomic(alice, world), "other"
        ),
        "The content is too long": lambda alice, world: change(alice, world.atomic, LONG),
    }


def _of_working_memory(method: str, **body: Any) -> dict[str, Provoke]:
    return {
        "The session has no working memory now": lambda alice, world: alice.request(
            method, f"/memory/working/{alice.new_session()}", **body
        )
    }


def _of_proposal(verb: str) -> dict[str, Provoke]:
    return {
        "It is not pending": lambda alice, world: _twice(
            lambda: alice.post(f"/profile/proposals/{world.proposal}/{verb}")
        )
    }


def _of_pending(path: str, verb: str) -> dict[str, Provoke]:
    def decide(alice: ApiClient, world: World) -> Answer:
        memory_id = world.pending_atomic if "atomic" in path else world.pending
        return _twice(lambda: alice.post(f"{path}/{memory_id}/{verb}"))

    return {"It is not pending": decide}


PROVOCATIONS: dict[str, dict[str, Provoke]] = {
    "send_message": {
        "The key was used for another message": lambda alice, world: _with_key(
            alice, f"/chat/sessions/{world.session}/messages", {"content": "one"}, {"content": "two"}
        ),
        "`content` is too long": lambda alice, world: alice.say(world.session, LONG),
        MODEL_FAILED: lambda alice, world: alice.say(world.session, "hello"),
    },
    "record_messages": {
        "The key was used for other messages": lambda alice, world: _with_key(
            alice, f"/chat/sessions/{world.session}/turns", _said("one"), _said("two")
        ),
        "`content` is too long": lambda alice, world: alice.post(
            f"/chat/sessions/{world.session}/turns", json=_said(LONG)
        ),
    },
    "preview_prompt": {
        "`message` is too long": lambda alice, world: alice.get(
            f"/chat/sessions/{world.session}/context", params={"message": "x" * 32_001}
        )
    },
    "search_sessions": {"`q` is too long": lambda alice, world: alice.get("/chat/search", params={"q": "x" * 1_001})},
    "submit_form": {
        "The form does not fit into working memory": lambda alice, world: _submit(alice, world, LONG),
        "The model failed; the form is kept": lambda alice, world: _submit(alice, world, "hello"),
    },
    "retry_message": {
        "The message has not failed": lambda alice, world: _retry(
            alice, alice.say(world.session, "hello").json()["user_message"]["id"]
        ),
        MODEL_FAILED: lambda alice, world: _retry(alice, world.failed),
    },
    "regenerate_reply": {
        "The message is not the newest one, or has no reply": lambda alice, world: alice.post(
            f"/chat/messages/{world.reply}/regenerate"
        ),
        MODEL_FAILED: lambda alice, world: alice.post(f"/chat/messages/{_recorded(alice)}/regenerate"),
    },
    "edit_message": {
        "It is no message of the user, was edited already, or a reply is under way": lambda alice, world: _edit(
            alice, world.reply
        ),
        "`content` is too long": lambda alice, world: _edit(alice, world.failed, LONG),
        MODEL_FAILED: lambda alice, world: _edit(alice, world.failed),
    },
    "attach_file": {
        "The file has no text": lambda alice, world: _attach(alice, world, b"\x00\x01\x02\x03"),
        "The file is too large": lambda alice, world: _attach(alice, world, b"x" * 10_485_761),
        "The session has too many files": lambda alice, world: [
            _attach(alice, world, b"text") for _number in range(20)
        ][-1],
    },
    "undo_edit": {"A reply is under way": lambda alice, world: _undo_edit_too_early(alice)},
    "create_memory": {
        NO_SESSION: lambda alice, world: alice.post("/memory/long-term", json={**TAKEN, **GONE_SESSION}),
        "The value is too large": lambda alice, world: alice.post("/memory/long-term", json={**TAKEN, "value": LONG}),
    },
    "replace_memory": _of_memory("PUT"),
    "update_memory": _of_memory("PATCH"),
    "accept_memory": _of_pending("/memory/long-term", "accept"),
    "reject_memory": _of_pending("/memory/long-term", "reject"),
    "search_memories": {
        NO_SESSION: lambda alice, world: alice.get("/memory/long-term/search", params={"q": "x", **GONE_SESSION}),
        "`q` is too long": lambda alice, world: alice.get("/memory/long-term/search", params={"q": "x" * 32_001}),
    },
    "create_atomic_memory": {
        NO_SESSION: lambda alice, world: alice.post("/memory/atomic", json={"content": "c", **GONE_SESSION}),
        "The content is too long": lambda alice, world: alice.post("/memory/atomic", json=BIG_CONTENT),
    },
    "replace_atomic_memory": _of_atomic_memory("PUT"),
    "update_atomic_memory": _of_atomic_memory("PATCH"),
    "accept_atomic_memory": _of_pending("/memory/atomic", "accept"),
    "reject_atomic_memory": _of_pending("/memory/atomic", "reject"),
    "search_atomic_memories": {
        "`q` is too long": lambda alice, world: alice.get("/memory/atomic/search", params={"q": "x" * 32_001})
    },
    "get_working_memory": _of_working_memory("GET"),
    "delete_working_memory": _of_working_memory("DELETE"),
    "update_working_memory": {
        **_of_working_memory("PATCH", json={}),
        "The variables do not fit": lambda alice, world: alice.patch(
            f"/memory/working/{world.session}", json={"context_variables": {"guests": LONG}}
        ),
    },
    "create_shared_context": {
        NO_SESSION: lambda alice, world: alice.post(
            "/memory/contexts", json={"title": "t", "content": "c", **GONE_SESSION}
        ),
        "The context would have over 64 KiB": lambda alice, world: alice.post(
            "/memory/contexts", json={"title": "t", "content": LONG}
        ),
    },
    "add_context_entry": {
        "The context would have over 64 KiB": lambda alice, world: alice.post(
            f"/memory/contexts/{world.context}/entries", json={"text": LONG}
        )
    },
    "search_conversations": {
        NO_SESSION: lambda alice, world: alice.post(
            "/memory/conversations/search", json={"query": "x", "chat_id": NOBODYS}
        ),
        "`query` is too long": lambda alice, world: alice.post("/memory/conversations/search", json={"query": LONG}),
        "The embedding model cannot be asked": lambda alice, world: alice.post(
            "/memory/conversations/search", json={"query": "what no test before has asked"}
        ),
    },
    "undo_operation": {
        "It is a deletion": lambda alice, world: _undo_change(alice, action="delete"),
        "It was undone already": lambda alice, world: _twice(
            lambda: alice.post(f"/memory/changes/{world.operation}/undo")
        ),
        "Something was changed again since": lambda alice, world: _undo_what_was_changed_again(alice),
    },
    "import_memories": {
        "Some rows are not valid (the first is 1)": lambda alice, world: _import(alice, b'[{"key": "k"}]'),
        "The file is not a JSON array": lambda alice, world: _import(alice, b"key,value"),
    },
    "replace_profile": {
        "A text is too long": lambda alice, world: alice.put("/profile", json={"background": LONG}),
    },
    "update_profile": {
        "A text is too long": lambda alice, world: alice.patch("/profile", json={"background": LONG}),
    },
    "accept_proposal": _of_proposal("accept"),
    "reject_proposal": _of_proposal("reject"),
    "create_summary": {
        NO_SESSION: lambda alice, world: _summarise(alice, NOBODYS),
        "The session has a summary": lambda alice, world: _summarise(alice, world.session),
        "The session is temporary": lambda alice, world: _summarise(alice, alice.new_session(temporary=True)),
    },
}

PROVOCATIONS |= {
    "create_import": {
        "Too many of your imports are under way, or another file is being previewed": lambda alice, world: [
            _bring(alice, b'{"memory": "%d"}' % number) for number in range(6)
        ][-1],
        "The file is too large": lambda alice, world: _bring_too_much(alice),
        "The file has none of the formats": lambda alice, world: _bring(alice, b'{"hello": "world"}'),
        "The file is damaged": lambda alice, world: _bring(alice, b"PK\x03\x04"),
    },
    "delete_import": {"It is being undone": lambda alice, world: _undo_import(alice, world, "DELETE", "")},
    "undo_import": {
        "It has not ended, was undone already, or restored an export of everything": lambda alice, world: _undo_import(
            alice, world, "POST", "/undo"
        )
    },
}

PROVOCATIONS |= {
    "create_chat_completion": {
        openai.NO_SESSION.when: lambda alice, world: _chat(alice, "hello", session=NOBODYS),
        openai.TOO_LONG.when: lambda alice, world: _chat(alice, LONG),
        openai.REFUSED.when: lambda alice, world: _chat(alice, "hello", tools=TOOLS),
        openai.FAILED.when: lambda alice, world: _chat(alice, "hello"),
    },
    "create_response": {
        openai.NO_SESSION.when: lambda alice, world: _respond(alice, "hello", session=NOBODYS),
        "There is no such previous response": lambda alice, world: _respond(
            alice, "hello", previous_response_id="resp_1"
        ),
        openai.TOO_LONG.when: lambda alice, world: _respond(alice, LONG),
        openai.REFUSED.when: lambda alice, world: _respond(alice, "hello", tools=TOOLS),
        openai.FAILED.when: lambda alice, world: _respond(alice, "hello"),
    },
    "create_embeddings": {
        "There is no such embedding model": lambda alice, world: alice.post(
            "/v1/embeddings", json={"input": "x", "model": "ada"}
        ),
        "The embedding model cannot be asked": lambda alice, world: alice.post("/v1/embeddings", json={"input": "x"}),
    },
    "get_model": {"There is no such model": lambda alice, world: alice.get("/v1/models/x")},
}

RACES = {("import_memories", "Some of the memories were created at the same time")}
"""What takes two requests at the same moment: see tests/memory/transfer."""


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
                response = PROVOCATIONS[described.id][when](client, world)
            responses = described.operation["responses"]
            documented = responses[status]["content"]["application/json"]["examples"][when]["value"]
            error = response.json()["error"]
            assert (response.status_code, error["code"]) == (int(status), documented["error"]["code"]), error
            assert set(documented["error"]) == set(error)
            assert set(documented["error"].get("fields", ())) <= set(error.get("fields", ()))
            assert documented["error"].get("param") == error.get("param")
            if when != openai.REFUSED.when:  # whose words are the server's
                assert error["message"].split()[0] == documented["error"]["message"].split()[0]
