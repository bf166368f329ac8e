"""Prompts of chat clients for titles and the like are recognised; what people write about them is a conversation.

`client_prompts.toml` has what each client sends, as it renders it, with one and the same conversation in it.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from apps.doors.housekeeping import OPEN_WEBUI_TASKS, read_task
from tests.doors.openai.test_chat_completions import user

pytestmark = pytest.mark.spec("T3")

CLIENT_PROMPTS = tomllib.loads(Path(__file__).with_name("client_prompts.toml").read_text())
CLIENTS = tuple(CLIENT_PROMPTS)

REPLY = {"role": "assistant", "content": "Of course."}


def load(client: str) -> list[dict[str, Any]]:
    """The requests of a client, each `{task, messages}`."""
    return [
        {"task": request["task"], "messages": [{"role": role, "content": text} for role, text in request["messages"]]}
        for request in CLIENT_PROMPTS[client]
    ]


def read(*messages: dict[str, Any], headers: dict[str, str] | None = None, **body: Any) -> str | None:
    return read_task(headers=headers or {}, body={"model": "m", "messages": list(messages), **body})


def system(text: str) -> dict[str, Any]:
    return {"role": "system", "content": text}


@pytest.mark.parametrize("client", CLIENTS)
def test_what_a_client_asks_for_itself_is_a_task(client: str) -> None:
    requests = load(client)
    assert [read(*request["messages"]) for request in requests] == [request["task"] for request in requests]


def test_the_parts_of_a_content_are_read_as_one_text() -> None:
    for request in load("open_webui"):
        parts = [
            {**message, "content": [{"type": "text", "text": message["content"]}]} for message in request["messages"]
        ]
        assert read(*parts) == request["task"]


def test_requests_for_responses_are_read_too() -> None:
    title = load("cherry_studio")[0]["messages"]
    instructions, text = (message["content"] for message in title)
    parts = [{"role": "user", "content": [{"type": "input_text", "text": text}]}]
    assert read_task(headers={}, body={"instructions": instructions, "input": text}) == "title"
    assert read_task(headers={}, body={"instructions": instructions, "input": parts}) == "title"
    assert read_task(headers={}, body={"input": [{"role": "developer", "content": instructions}, *parts]}) == "title"
    assert read_task(headers={}, body={"instructions": "Be brief.", "input": "Hello"}) is None


# What the client says itself


# Open WebUI fills ``X-Task: {{TASK}}`` with nothing when somebody chats.
OTHER_VALUES = {"title": "title", " Follow_Ups ": "follow_ups", "horoscope": "other", "x" * 9000: "other", " ": None}


@pytest.mark.parametrize(("value", "task"), {**OTHER_VALUES, "": None, **OPEN_WEBUI_TASKS}.items())
def test_the_header_names_the_task(value: str, task: str | None) -> None:
    assert read(user("Hello"), headers={"X-Task": value}) == task


def test_metadata_names_the_task_in_open_webui_s_words_only() -> None:
    assert read(user("Hello"), metadata={"task": "title_generation"}) == "title"
    for metadata in (
        {"task": "title"},
        {"task": "code_generation"},
        {"task": 7},
        {"tasks": "x"},
        "title_generation",
        None,
    ):
        assert read(user("Hello"), metadata=metadata) is None


# What people write


def whole_prompts() -> Iterator[str]:
    """The longest message of each request: the prompt, or what holds it."""
    for client in CLIENTS:
        for request in load(client):
            yield max((message["content"] for message in request["messages"]), key=len)


def test_a_prompt_that_is_pasted_and_discussed_is_a_conversation() -> None:
    for prompt in whole_prompts():
        assert read(user(f"Why does my client send this?\n\n{prompt}")) is None
        assert read(system("You are helpful."), user(f"怎么改进这个提示词？\n```\n{prompt}\n```")) is None
        assert (
            read(user("I am writing a chat client."), REPLY, user(f"Compare with:\n{prompt}\nWhich is better?")) is None
        )
        assert read(user(prompt), REPLY, user("Now shorter.")) is None
        assert read(user("Which prompt do you get?"), {"role": "assistant", "content": prompt}, user("Thanks!")) is None


ASKED = (
    "Generate a concise title for my essay about summarizing the chat history.",
    "### Task:\nGenerate a concise title summarizing the chat history.\n\nIs this a good instruction?",
    "### Task:\nWrite a poem about my cat Momo.\n### Chat History:\n<chat_history>\nUSER: hi\n</chat_history>",
    "### Task:\nGenerate a concise summary of my week.",
    "Provide a concise, 5-word-or-less title for the conversation between Romeo and Juliet.",
    "Analyze this conversation and provide:\n1. The detected language\n2. Who is angry",
    "Based on the chat history, give this conversation a name. I like short ones.",
    "Name this conversation.",
    "You are an autocompletion system. Continue: I live in",
    "You are a translation expert. Translate 我爱你 please.",
    "简要总结一下对话内容",
    "用四到五个字总结我刚才说的话",
    "请总结上述对话为10个字以内的标题",
    "Please generate a four to five word title summarizing our trip to Qingdao.",
    "Summarize the discussion briefly in 200 words or less.",
    '[{"role":"user","content":"hi"}]',
    '[{"role":"user","mainText":"hi","id":3}]',
    '[{"role":"user","mainText":',
    '[{"role":"' + "[" * 5000,
    "",
    "   ",
)


def test_what_a_person_asks_for_is_a_conversation() -> None:
    earlier = [user("I am allergic to shrimp."), REPLY]
    for text in ASKED:
        for before in ([], [system("You are a helpful assistant.")], earlier, [system("Be brief."), *earlier]):
            assert read(*before, user(text)) is None


def test_a_request_of_the_system_in_front_of_a_conversation_is_a_conversation() -> None:
    """A summary is asked for after the conversation; the same words as the instructions of an assistant are not one."""
    for request in load("nextchat"):
        assert read(system(request["messages"][-1]["content"]), user("Hello"), REPLY, user("What next?")) is None


def test_instructions_that_resemble_a_client_s_are_a_conversation() -> None:
    for instructions in (
        "You are a professional translator. Translate the input text to French.",
        "You are an emoji expert who answers in emoji.",
        "你是一名擅长会话的助理，请陪我聊天",
        "Summarize the conversation for future reference.",
        "You are a professional conversation summarizer.",
    ):
        assert read(system(instructions), user("I moved to Paris.")) is None


def test_a_body_of_another_form_is_no_task() -> None:
    bodies: list[Any] = [
        {},
        {"messages": None},
        {"messages": "### Task:\n"},
        {"messages": [None, 3, {"role": 5}, {"role": "user"}, {"role": "user", "content": [None, {"text": 4}, {}]}]},
        {"messages": [{"role": "user", "content": {"text": "x"}}], "instructions": 3, "metadata": []},
        {"input": {"role": "user"}},
    ]
    for body in bodies:
        assert read_task(headers={}, body=body) is None
