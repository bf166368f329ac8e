"""The whole product on a disk that runs full: every answer keeps its shape, nothing is lost, and all goes on by itself.

A long test, where a small file system may be mounted (as root). tests/chat/turn/test_full_disk.py is its quick kin.
"""

from __future__ import annotations

import os
import secrets
import subprocess
import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.embedded.test_up import Up, run_command, run_up
from tests.support.http_server import read_events
from tests.support.processes import wait_until

MEBIBYTE = 2**20
SIZE = 400 * MEBIBYTE
TURNS = 48

pytestmark = [pytest.mark.long, pytest.mark.timeout(900), pytest.mark.spec("C6")]


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of its own for everything that the product writes."""
    folder = tmp_path / "disk"
    folder.mkdir()
    options = ["-t", "tmpfs", "-o", f"size={SIZE},mode=0755", "jiyi-tests"]
    mounted = subprocess.run(["mount", *options, str(folder)], capture_output=True, check=False)
    if mounted.returncode != 0:
        pytest.skip("a file system cannot be mounted here")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


@contextmanager
def kept_full(disk: Path) -> Iterator[None]:
    """Take all space there is, and what is given up meanwhile, for the time of the block."""
    ballast, done = disk / "ballast", threading.Event()

    def fill() -> None:
        with ballast.open("ab", buffering=0) as file:
            while not done.wait(0.01):
                for size in (MEBIBYTE, 4096):
                    try:
                        while not done.is_set():
                            file.write(b"x" * size)
                    except OSError:
                        continue

    filler = threading.Thread(target=fill)
    filler.start()
    try:
        wait_until(lambda: os.statvfs(disk).f_bavail == 0)
        yield
    finally:
        done.set()
        filler.join()
        ballast.unlink()


class Person:
    """Somebody who keeps talking, and notes what came of every message."""

    def __init__(self, up: Up, token: str) -> None:
        headers = {"Authorization": f"Bearer {token}"}
        self.client = httpx2.Client(base_url=up.address, headers=headers, timeout=200)
        self.answered: dict[str, str] = {}
        self.failed: dict[str, str] = {}
        self.outcomes: Counter[str] = Counter()
        self.wrong: list[str] = []
        self.session = str(self.client.post("/chat/sessions", json={}).raise_for_status().json()["id"])
        self.path = f"/chat/sessions/{self.session}/messages"

    def say(self, content: str, *, stream: bool = False) -> None:
        body = {"content": content, "stream": stream}
        with self.client.stream("POST", self.path, json=body) as response:
            if response.status_code == 200 and stream:
                last = list(read_events(response.iter_lines()))[-1]
                self._note(content, last.data if last.name == "done" else None, last.data)
                return
            response.read()
            if response.headers["content-type"] != "application/json":
                self.wrong.append(f"{response.status_code} {response.text[:200]}")
                return
            told = response.json()
            self._note(content, told if response.status_code == 201 else None, told, status=response.status_code)

    def _note(self, content: str, turn: Any, told: Any, *, status: int = 503) -> None:
        if turn is not None:
            self.answered[content] = turn["assistant_message"]["content"]
            self.outcomes["answered"] += 1
            return
        error = told.get("error", {})
        if status != 503 or error.get("code") not in ("storage_full", "unavailable"):
            self.wrong.append(f"{status} {told}")
            return
        self.outcomes[error["code"]] += 1
        if message_id := error["fields"].get("message_id"):
            self.failed[content] = message_id

    def list_messages(self) -> list[dict[str, Any]]:
        answer = self.client.get(self.path, params={"limit": 200})
        return list(answer.raise_for_status().json()["results"])

    def count_backlog(self) -> int:
        kinds = self.client.get("/healthz").json()["backlog"].values()
        return sum(kind[state] for kind in kinds for state in ("due", "claimed", "failed"))


def see_pages(up: Up, wrong: list[str]) -> None:
    """Log-in pages while there is no space: whatever comes is a page or sends on to one."""
    with httpx2.Client(base_url=up.address, timeout=200) as browser:
        form = browser.get("/login")
        token = form.text.partition('name="csrfmiddlewaretoken" value="')[2].partition('"')[0]
        body = {"username": "mei", "password": "wrong", "csrfmiddlewaretoken": token}
        wrong += [
            f"a page: {answer.status_code} {answer.text[:200]}"
            for answer in (form, browser.post("/login", data=body), browser.get("/nothing"))
            if answer.status_code not in (200, 302, 404, 503) or "text/html" not in answer.headers["content-type"]
        ]


def send_a_long_body(person: Person) -> None:
    """Longer than what is kept in memory, so that it needs a temporary file."""
    answer = person.client.post("/memory/long-term/import", files={"file": ("a.json", b"[" + b" " * 6 * MEBIBYTE)})
    if answer.status_code == 503 and answer.json()["error"]["code"] == "storage_full":
        person.outcomes["body refused"] += 1
    elif answer.status_code not in (400, 413, 422, 503):
        person.wrong.append(f"a long body: {answer.status_code} {answer.text[:200]}")


def test_a_disk_that_runs_full_and_is_given_space_again(disk: Path) -> None:
    temporary = disk / "tmp"
    temporary.mkdir()
    with run_up(disk, TMPDIR=str(temporary), TURN_LEASE_SECONDS="10") as up:
        created = run_command(disk, "create_token", "mei", "--create")
        assert created.returncode == 0, created.stderr
        person = Person(up, created.stdout.strip())
        person.say("我喜欢在西湖边散步 before")
        send_a_long_body(person)  # Python looks for a folder for temporary files once: where it can write one
        assert list(person.outcomes) == ["answered"], person.wrong

        with kept_full(disk), ThreadPoolExecutor(6) as people:
            asked: list[Future[None]] = []
            for number in range(TURNS):
                # Nothing that could be compressed, so that the tables soon need further pages.
                content = f"第{number}条 {secrets.token_hex(700)}"
                asked.append(people.submit(person.say, content, stream=number % 2 == 0))
                if number % 8 == 0:
                    asked.append(people.submit(see_pages, up, person.wrong))
                    asked.append(people.submit(send_a_long_body, person))
            for one in asked:
                one.result()
        assert person.wrong == []
        assert person.outcomes["storage_full"] > 0
        assert person.outcomes["body refused"] > 0

        def is_well() -> bool:
            try:
                return person.client.get("/healthz").status_code == 200
            except httpx2.HTTPError:
                return False

        wait_until(is_well, seconds=180)
        person.say("空间又有了 after")
        assert person.outcomes["answered"] >= 2, person.wrong

        # What was answered is stored with its reply; what failed can be sent again; nothing stays under way.
        wait_until(lambda: all(one["status"] != "pending" for one in person.list_messages()))
        stored = person.list_messages()
        for content, reply in person.answered.items():
            [at] = [number for number, one in enumerate(stored) if one["content"] == content]
            assert stored[at]["status"] == "complete"
            assert any(one["content"] == reply for one in stored[at + 1 :])
        for content, message_id in person.failed.items():
            [message] = [one for one in stored if one["id"] == message_id]
            assert message["content"] == content
            if message["status"] == "failed":
                retried = person.client.post(f"/chat/messages/{message_id}/retry", json={})
                assert retried.status_code == 201, retried.text
        known = set(person.answered) | set(person.failed)
        assert {one["content"] for one in person.list_messages() if one["role"] == "user"} <= known
        wait_until(lambda: person.count_backlog() == 0, seconds=240)  # failed work would be in it, too
        person.client.close()
        up.stop()
