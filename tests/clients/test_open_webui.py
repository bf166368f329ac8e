"""Open WebUI's own server, unmodified: two of its users, forwarded, or remembered by our filter."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.clients.conftest import PROGRAMS, REPLY, respond
from tests.clients.environments import PROJECT, Environment
from tests.clients.stack import Stack
from tests.support.processes import wait_until
from tests.support.scripted_model import Behaviour, RecordedRequest, ScriptedModel, reply_with

pytestmark = pytest.mark.spec("T3", "T4")

SAID = [
    ("anna", ["Remember that I am allergic to shrimp.", "What can I eat in Qingdao?"]),
    ("ben", ["Remember that I play the cello."]),
    ("anna", ["Do you know what I am allergic to?"]),
    ("ben", ["Which instrument do I play?"]),
]
# A prompt for titles that nobody can know: only the header tells.
OWN_PROMPT = "How would you call this? Answer in JSON.\n{{MESSAGES:END:2}}"

SECRET = "a secret of both, at least 32 bytes long"

Install = Callable[[str], Environment]


def answer_open_webui(request: RecordedRequest) -> str | Behaviour:
    """As `respond`, but Open WebUI offers its own tools with every message, and a model need not call them."""
    text = json.dumps(request.body["messages"], ensure_ascii=False)
    if request.body.get("tools"):
        return reply_with(REPLY)
    if "### Task:" in text or "How would you call this?" in text:
        return json.dumps({"title": "Allergies", "tags": ["Health"], "follow_ups": ["Is crab all right?"]})
    return respond(request)


@pytest.mark.parametrize(
    ("headers", "settings", "options"),
    [
        ({}, {}, ()),
        (
            {"X-Task": "{{TASK}}"},
            {"FORWARD_USER_INFO_HEADER_JWT_SECRET": SECRET, "TITLE_GENERATION_PROMPT_TEMPLATE": OWN_PROMPT},
            ("--jwt-secret", SECRET),
        ),
    ],
    ids=["plain headers", "signed, with X-Task"],
)
def test_two_users_with_titles_on(
    python_environment: Install,
    stack: Stack,
    model: ScriptedModel,
    request: pytest.FixtureRequest,
    headers: dict[str, str],
    settings: dict[str, str],
    options: tuple[str, ...],
) -> None:
    model.default = answer_open_webui
    service = stack.make_account(f"open-webui-{len(options)}", "--service", *options)
    given = service.connection(headers=headers, settings=settings, said=SAID)
    found: dict[str, Any] = python_environment("open-webui").run(PROGRAMS / "open_webui.py", given)

    anna, ben = (service.as_person(found[name]["id"]) for name in ("anna", "ben"))
    for person in found.values():
        for chat in person["chats"]:
            assert chat["error"] is None
            assert chat["title"] == "Allergies"
            assert chat["follow_ups"] == ["Is crab all right?"]
            assert REPLY in chat["reply"]

    # A chat is a session; titles, tags and follow-ups left neither a session nor a message.
    assert [content for role, content in anna.list_messages() if role == "user"] == [*SAID[0][1], *SAID[2][1]]
    assert [content for role, content in ben.list_messages() if role == "user"] == [*SAID[1][1], *SAID[3][1]]
    assert len(anna.list_sessions()) == len(ben.list_sessions()) == 2
    assert all(
        "### Task" not in content and "call this" not in content
        for person in (anna, ben)
        for _role, content in person.list_messages()
    )
    assert service.list_messages() == []

    # Each is remembered for himself.
    wait_until(lambda: anna.find_memories("allergic") and ben.find_memories("cello"))
    assert any("shrimp" in memory for memory in anna.find_memories("allergic"))
    assert anna.find_memories("cello") == []
    assert ben.find_memories("shrimp") == []
    asked = {name: question[0] for name, question in SAID[2:]}
    prompts = {name: find_prompt(model, text) for name, text in asked.items()}
    assert "shrimp" in prompts["anna"]
    assert "cello" not in prompts["anna"]
    assert "cello" in prompts["ben"]
    assert "shrimp" not in prompts["ben"]


@pytest.mark.spec("C9", "A4", "P2")
def test_the_filter_recalls_and_records(python_environment: Install, stack: Stack, model: ScriptedModel) -> None:
    """Open WebUI talks to a model of its own; memory comes by the filter, with a space for each folder."""
    model.default = answer_open_webui
    service = stack.make_account("open-webui-filter", "--service")
    content = (PROJECT / "clients" / "openwebui" / "jiyi_filter.py").read_text()
    valves = {"url": stack.url, "token": service.token, "space_per_folder": True}
    said = [
        ("anna", ["I live in York.", "Where is that?"]),
        ("ben", ["Where do I live?"]),
        ("anna", ["Where do I live?"]),
    ]
    own_model = {"base_url": model.base_url, "token": "test", "headers": {}, "settings": {}}
    given = own_model | {"filter": {"content": content, "valves": valves}, "folder": "Travels", "said": said}
    found: dict[str, Any] = python_environment("open-webui").run(PROGRAMS / "open_webui.py", given)

    anna, ben = (service.as_person(found[name]["id"]) for name in ("anna", "ben"))
    assert all(
        chat["error"] is None and REPLY in chat["reply"] for person in found.values() for chat in person["chats"]
    )
    # The turns, in their own words, and nothing of titles; in the space of the folder.
    assert anna.list_messages() == [
        *[("user", "I live in York."), ("assistant", REPLY), ("user", "Where is that?"), ("assistant", REPLY)],
        *[("user", "Where do I live?"), ("assistant", REPLY)],
    ]
    assert ben.list_messages() == [("user", "Where do I live?"), ("assistant", REPLY)]
    (space,) = anna.get("/memory/spaces")["results"]
    assert space["name"] == "Travels"
    assert {session["space"] for session in anna.get("/chat/sessions")["results"]} == {space["id"]}
    # What was said in another chat is recalled, for the person who said it.
    asked = [str(request.messages[-1]["content"]) for request in model.chat_requests]
    prompts = [text for text in asked if text.endswith("\n\nWhere do I live?")]
    assert len(prompts) == 1
    assert "I live in York." in prompts[0]


def find_prompt(model: ScriptedModel, message: str) -> str:
    """What the model was sent to answer a message of somebody's; tasks, which copy conversations, bring no tools."""
    (prompt,) = (
        json.dumps(request.messages, ensure_ascii=False)
        for request in model.chat_requests
        if message in str(request.messages[-1].get("content")) and request.body.get("tools")
    )
    return prompt
