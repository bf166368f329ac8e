"""Open WebUI's own server with two of its users, each of whom chats as its page does. Prints what they then see.

It gives the server a folder of its own, no network but loopback, and one connection: the product, with the headers
that the documentation recommends; or, with `filter`, a model's server as its connection, and our filter for all chats.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from socket import create_server
from typing import Any

TASKS = {"title_generation": True, "tags_generation": True, "follow_up_generation": True}
START_SECONDS = 150
ANSWER_SECONDS = 60

given = json.load(sys.stdin)


@contextmanager
def run_server(folder: Path) -> Iterator[str]:
    """The server, on a free port; killed in the end."""
    with create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    connection = {"0": {"enable": True, "headers": given["headers"]}}
    environment = {
        **os.environ,
        "DATA_DIR": str(folder),
        "WEBUI_SECRET_KEY": "test",
        "USE_SLIM_DOCKER": "true",
        "OFFLINE_MODE": "true",
        "ENABLE_OLLAMA_API": "false",
        "ENABLE_PERSISTENT_CONFIG": "false",
        "BYPASS_MODEL_ACCESS_CONTROL": "true",
        "OPENAI_API_BASE_URL": given["base_url"],
        "OPENAI_API_KEY": given["token"],
        "OPENAI_API_CONFIGS": json.dumps(connection),
        "ENABLE_FORWARD_USER_INFO_HEADERS": "true",
        **given["settings"],
    }
    command = [str(Path(sys.executable).with_name("open-webui")), "serve", "--host", "127.0.0.1", "--port", str(port)]
    log = folder / "log"
    with log.open("wb") as output:
        process = subprocess.Popen(command, cwd=folder, env=environment, stdout=output, stderr=subprocess.STDOUT)
    with process:
        try:
            url = f"http://127.0.0.1:{port}"
            wait_until(lambda: process.poll() is not None or is_up(url), START_SECONDS)
            if process.poll() is not None:
                raise RuntimeError(log.read_text())
            yield url
        except Exception:
            print(log.read_text()[-8000:], file=sys.stderr)
            raise
        finally:
            process.kill()


def wait_until(condition: Any, seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError
        time.sleep(0.2)


def is_up(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}/health", timeout=5) as response:
            return bool(response.status == 200)
    except OSError:
        return False


class Browser:
    """What the page of one user sends."""

    def __init__(self, url: str, token: str = "") -> None:
        self.url = url
        self.token = token
        self.folder: str | None = None

    def call(self, path: str, body: Any = None) -> Any:
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {self.token}"}
        data = None if body is None else json.dumps(body).encode()
        try:
            with urllib.request.urlopen(urllib.request.Request(self.url + path, data, headers), timeout=60) as response:
                return json.loads(response.read())
        except urllib.error.HTTPError as error:
            raise RuntimeError(f"{path}: {error.code} {error.read().decode()}") from None

    def say(self, text: str, *, chat: dict[str, Any] | None = None) -> dict[str, Any]:
        """Send a message into a new chat, or as the next one of a chat, and wait for the reply and the title."""
        said, answered = str(uuid.uuid4()), str(uuid.uuid4())
        parent = chat["last"] if chat else None
        message = {"id": said, "parentId": parent, "childrenIds": [answered], "role": "user", "content": text}
        history = [{"role": role, "content": content} for role, content in chat["messages"]] if chat else []
        body = {
            "model": self.model,
            "stream": True,
            "messages": [*history, {"role": "user", "content": text}],
            "parent_id": parent,
            "id": answered,
            "session_id": "browser",
            "user_message": {**message, "timestamp": int(time.time()), "models": [self.model]},
            "background_tasks": TASKS if chat is None else {"follow_up_generation": True},
            **({"chat_id": chat["id"]} if chat else {"folder_id": self.folder}),
        }
        started = self.call("/api/chat/completions", body)
        chat_id = started["chat_id"]
        seen: dict[str, Any] = {}

        def is_done() -> bool:
            seen.update(self.call(f"/api/v1/chats/{chat_id}"))
            reply = seen["chat"]["history"]["messages"].get(answered, {})
            return bool(reply.get("done") and "followUps" in reply and (chat or seen["title"] != "New Chat"))

        wait_until(is_done, ANSWER_SECONDS)
        reply = seen["chat"]["history"]["messages"][answered]
        return {
            "id": chat_id,
            "last": answered,
            "messages": [*(chat["messages"] if chat else []), ["user", text], ["assistant", reply["content"]]],
            "title": seen["title"],
            "tags": [tag["name"] for tag in self.call(f"/api/v1/chats/{chat_id}/tags")],
            "follow_ups": reply["followUps"],
            "reply": reply["content"],
            "error": reply.get("error"),
        }

    @property
    def model(self) -> str:
        models: list[str] = [model["id"] for model in self.call("/api/models")["data"]]
        return models[0]


def install_filter(admin: Browser, content: str, valves: dict[str, Any]) -> None:
    """Do what an administrator does with a Function: create it, set its valves, switch it on for all models."""
    name = "jiyi_memory"
    admin.call(
        "/api/v1/functions/create", {"id": name, "name": "Jiyi", "content": content, "meta": {"description": ""}}
    )
    admin.call(f"/api/v1/functions/id/{name}/valves/update", valves)
    for switch in ("toggle", "toggle/global"):
        admin.call(f"/api/v1/functions/id/{name}/{switch}", {})


with tempfile.TemporaryDirectory() as folder, run_server(Path(folder)) as url:
    admin = Browser(url)
    password = uuid.uuid4().hex
    first = admin.call("/api/v1/auths/signup", {"name": "Anna", "email": "anna@example.org", "password": password})
    admin.token = first["token"]
    ben = {"name": "Ben", "email": "ben@example.org", "password": password, "role": "user"}
    second = admin.call("/api/v1/auths/add", ben)
    people = {"anna": (admin, first["id"]), "ben": (Browser(url, second["token"]), second["id"])}
    if given.get("filter"):
        install_filter(admin, **given["filter"])
        for browser, _user_id in people.values():
            browser.folder = browser.call("/api/v1/folders/", {"name": given["folder"]})["id"]
    found: dict[str, Any] = {name: {"id": user_id, "chats": []} for name, (_browser, user_id) in people.items()}
    for name, texts in given["said"]:
        browser = people[name][0]
        chat = None
        for text in texts:
            chat = browser.say(text, chat=chat)
        found[name]["chats"].append(chat)
    json.dump(found, sys.stdout)
