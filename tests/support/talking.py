"""People who talk to an installation while parts of it fail, and who remember what they were told was stored."""

from __future__ import annotations

import itertools
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import httpx2

from tests.support.http_server import read_events

_PAUSE_SECONDS = 0.1
_PATIENCE_SECONDS = 200


@dataclass
class Answered:
    """One message as its sender saw it, the IDs of both messages, and when (by `time.monotonic`) it was answered."""

    content: str
    message: str
    reply: str
    at: float


@dataclass
class Person:
    """Says one message after the other in a session, and sends each again, with the same key, until it is answered."""

    url: str
    token: str
    name: str
    streams: bool = False
    answered: list[Answered] = field(default_factory=list)
    problems: Counter[str] = field(default_factory=Counter)
    error: BaseException | None = None
    session: str = ""

    def talk(self, stopping: threading.Event) -> None:
        """Talk until told to stop."""
        try:
            with self._client() as client:
                self.session = self.session or self._start_session(client)
                for number in itertools.count(len(self.answered)):
                    if stopping.is_set():
                        return
                    self.answered.append(self._say(client, f"{self.name}: message {number}"))
        except BaseException as error:
            self.error = error

    def read(self) -> list[dict[str, Any]]:
        """All that was said in the session, as the API has it, without summaries that stand between."""
        found: list[dict[str, Any]] = []
        with self._client() as client:
            while True:
                parameters = {"limit": 200, "offset": len(found)}
                page = client.get(f"/chat/sessions/{self.session}/messages", params=parameters)
                results = page.raise_for_status().json()["results"]
                found += results
                if len(results) < 200:
                    return [message for message in found if message["role"] != "summary"]

    def find_faults(self) -> list[str]:
        """What is wrong with what is stored: messages lost, doubled, unanswered, or answered by more than one reply."""
        stored = self.read()
        said = Counter(message["content"] for message in stored if message["role"] == "user")
        ids = {message["id"]: message for message in stored}
        faults = [f"{content!r} is there {count} times" for content, count in said.items() if count != 1]
        gone = [one for one in self.answered if one.message not in ids or one.reply not in ids]
        faults += [f"{one.content!r} was answered and is gone" for one in gone]
        roles = [message["role"] for message in stored]
        if roles != ["user", "assistant"] * (len(roles) // 2):
            faults.append(f"not one reply to each message: {roles}")
        if len(said) != len(self.answered):
            faults.append(f"{len(said)} messages are stored, {len(self.answered)} were answered")
        faults += [
            f"{message['content']!r} is {message['status']}" for message in stored if message["status"] != "complete"
        ]
        return faults

    def _client(self) -> httpx2.Client:
        headers = {"Authorization": f"Bearer {self.token}", "X-End-User": self.name, "Host": "memory.example.org"}
        return httpx2.Client(base_url=self.url, headers=headers, timeout=20)

    def _start_session(self, client: httpx2.Client) -> str:
        return str(client.post("/chat/sessions", json={}).raise_for_status().json()["id"])

    def _say(self, client: httpx2.Client, content: str) -> Answered:
        began = time.monotonic()
        failed = ""
        while time.monotonic() - began < _PATIENCE_SECONDS:
            try:
                turn, failed = self._send(client, content, failed=failed)
            except httpx2.TransportError as error:
                self.problems[type(error).__name__] += 1
                turn = None
            if turn is not None:
                return Answered(content, turn["user_message"]["id"], turn["assistant_message"]["id"], time.monotonic())
            time.sleep(_PAUSE_SECONDS)
        raise TimeoutError(f"{content!r} has no answer after {_PATIENCE_SECONDS} s: {dict(self.problems)}")

    def _send(self, client: httpx2.Client, content: str, *, failed: str) -> tuple[dict[str, Any] | None, str]:
        """Send the message, or have it retried where it has failed; return the turn, if it was answered."""
        if failed:
            response = client.post(f"/chat/messages/{failed}/retry", json={})
            return self._read(response, failed="")
        path, key = f"/chat/sessions/{self.session}/messages", {"Idempotency-Key": content}
        if not self.streams:
            return self._read(client.post(path, json={"content": content}, headers=key), failed="")
        with client.stream("POST", path, json={"content": content, "stream": True}, headers=key) as response:
            if response.status_code >= 400:
                response.read()
                return self._read(response, failed="")
            for event in read_events(response.iter_lines()):
                if event.name == "done":
                    return event.data, ""
                if event.name == "error":
                    self.problems[f"stream: {event.data.get('error', event.data).get('code')}"] += 1
                    fields = event.data.get("error", event.data).get("fields") or {}
                    return None, fields.get("message_id", "")
        self.problems["cut stream"] += 1
        return None, ""

    def _read(self, response: httpx2.Response, *, failed: str) -> tuple[dict[str, Any] | None, str]:
        if response.is_success:
            return response.json(), ""
        self.problems[f"status {response.status_code}"] += 1
        if response.status_code == 409:  # it has been answered, or is being: sent again, it says which
            return None, ""
        try:
            fields = response.json()["error"].get("fields") or {}
        except (ValueError, KeyError, TypeError, AttributeError):  # the proxy's own page
            fields = {}
        return None, fields.get("message_id", failed)


class Crowd:
    """People who talk at the same time, in the background of a block."""

    def __init__(self, people: list[Person]) -> None:
        self.people = people
        self._stopping = threading.Event()
        self._threads = [threading.Thread(target=person.talk, args=(self._stopping,)) for person in people]

    def __enter__(self) -> Crowd:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_exc: object) -> None:
        """Have everybody finish what they are saying; raise what went wrong."""
        self._stopping.set()
        for thread in self._threads:
            thread.join()
        for person in self.people:
            if person.error is not None:
                raise person.error

    def count(self) -> int:
        """How many messages have been answered so far."""
        return sum(len(person.answered) for person in self.people)

    def find_gap(self, since: float) -> float:
        """The longest time, in seconds and from a moment on, in which nobody was answered."""
        times = sorted(one.at for person in self.people for one in list(person.answered) if one.at > since)
        return max((later - earlier for earlier, later in itertools.pairwise([since, *times])), default=0.0)
