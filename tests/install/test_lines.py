"""From nothing to a conversation with one line of the README, on clean machines with different Pythons."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import httpx2
import pytest

from apps.core.version import VERSION
from tests.install.machines import Machine, Person, Terminal
from tests.support.processes import wait_until

# The lines, from the folder of a clone.
MAKE = "make run"
LINES = {
    "make": MAKE,
    "uvx": "uvx --from . jiyi-server",
    "pipx": "pipx run --spec . jiyi-server",
    "uvx-wheel": "uvx --from dist/*.whl jiyi-server",
    "pipx-wheel": "pipx run --spec ./dist/*.whl jiyi-server",
    "pip-wheel": "python3 -m venv venv && venv/bin/pip install --quiet dist/*.whl && venv/bin/jiyi-server",
}

# What starts it the next time, and takes commands, where that is another line.
AGAIN = {**LINES, "pip-wheel": "venv/bin/jiyi-server"}

# What is said, what is asked in another conversation, and what its answer has.
TOLD = {
    "Chinese": ("你好，我叫小明，最喜欢的颜色是蓝色", "我喜欢的颜色是什么？", "蓝色"),
    "English": ("I'm allergic to peanuts.", "What am I allergic to?", "peanuts"),
}
RUNNING = "(press Ctrl-C to stop)"


class Visitor:
    """Somebody in a browser, logged in with the password that the terminal shows."""

    def __init__(self, shown: str, password: str) -> None:
        address = re.search(r"Jiyi is running at (http://127\.0\.0\.1:\d+)/", shown)
        assert address, shown
        self._client = httpx2.Client(base_url=address[1], timeout=120, headers={"Referer": address[1]})
        page = self._client.get("/login").raise_for_status()
        token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', page.text)
        assert token, page.text
        form = {"username": "admin", "password": password, "csrfmiddlewaretoken": token[1]}
        assert self._client.post("/login", data=form).status_code == 302

    def say(self, words: str) -> str:
        """Say something in a new conversation; return the reply."""
        session = self._post("/chat/sessions", {})["id"]
        return str(self._post(f"/chat/sessions/{session}/messages", {"content": words})["assistant_message"]["content"])

    def check_pages(self) -> None:
        """Look at the chat page, the panel in Chinese, and a library of the browser."""
        assert "text/html" in self._client.get("/").raise_for_status().headers["Content-Type"]
        panel = self._client.get("/admin/", headers={"Accept-Language": "zh-CN"}).raise_for_status()
        assert "记忆" in panel.text
        library = self._client.get("/static/vendor/katex/katex.mjs").raise_for_status()
        assert "javascript" in library.headers["Content-Type"]

    def close(self) -> None:
        self._client.close()

    def _post(self, path: str, body: dict[str, str]) -> dict[str, dict[str, str]]:
        headers = {"X-CSRFToken": self._client.cookies["csrftoken"]}
        answer: dict[str, dict[str, str]] = (
            self._client.post(path, json=body, headers=headers).raise_for_status().json()
        )
        return answer


@contextmanager
def running(person: Person, line: str, *, folder: str = ".", **variables: str | None) -> Iterator[Terminal]:
    """What the line starts, until Ctrl-C has ended it: cleanly, and with all processes."""
    with person.start(line, folder=folder, **{"PORT": "0", **variables}) as terminal:
        terminal.wait_for(RUNNING)
        yield terminal
        terminal.press_ctrl_c()
        terminal.wait()
        assert "Stopped.\n" in terminal.text, terminal.text
        troubles = [words for words in ("Traceback", "SyntaxWarning") if words in terminal.text]
        assert not troubles, f"{troubles}:\n{terminal.text}"
    wait_until(lambda: not person.list_processes())


def read_password(terminal: Terminal) -> str:
    password = re.search(r"First account: admin   password: (\S+)", terminal.text)
    assert password, terminal.text
    return password[1]


def converse(terminal: Terminal, password: str, *, tell: bool = True) -> None:
    """Log in, tell in both languages (unless that was done before), and be answered in other conversations."""
    visitor = Visitor(terminal.text, password)
    try:
        visitor.check_pages()
        for told, asked, answer in TOLD.values():
            if tell:
                visitor.say(told)
            assert answer in visitor.say(asked)
    finally:
        visitor.close()


@pytest.mark.parametrize("line", LINES)
def test_from_nothing_to_a_conversation_and_again(
    machine: Machine, request: pytest.FixtureRequest, note_time: list[float], line: str
) -> None:
    with machine.person("/home/mei") as mei:
        mei.clone("jiyi")
        if line.endswith("-wheel"):
            mei.receive(request.getfixturevalue("wheel"), "jiyi/dist")
        if line.startswith("uvx"):
            mei.run("python3 -m venv .uv && .uv/bin/pip install --quiet uv")
            mei.run("mkdir -p .local/bin && ln -s ~/.uv/bin/uv ~/.uv/bin/uvx .local/bin")
        with running(mei, LINES[line], folder="jiyi") as terminal:
            note_time.append(terminal.wait_for(RUNNING))
            password = read_password(terminal)
            converse(terminal, password)
        with running(mei, AGAIN[line], folder="jiyi") as terminal:
            assert "password" not in terminal.text  # it is shown once
            converse(terminal, password, tell=False)
        if line == "make":
            upgraded = mei.run("make upgrade", folder="jiyi")
        else:
            assert not mei.path("jiyi", ".data").exists()
            upgraded = mei.run(f"{AGAIN[line]} upgrade", folder="jiyi")
        assert f"The data is of Jiyi {VERSION}." in upgraded


def list_files(machine: Machine) -> set[tuple[str, float]]:
    return {(str(path), path.lstat().st_mtime) for path in (machine.root / "opt" / "jiyi").rglob("*")}


def test_where_nobody_may_write_to_the_package(machine: Machine, installed: str) -> None:
    before = list_files(machine)
    with machine.person("/home/mei") as mei:
        with running(mei, f"{installed}/jiyi-server") as terminal:
            converse(terminal, read_password(terminal))
            token = mei.run(f"{installed}/jiyi-server create_token admin").strip()
            assert token
        assert f"The data is of Jiyi {VERSION}." in mei.run(f"{installed}/jiyi-server upgrade")
        kept = mei.path(".local", "share", "jiyi")
        assert sorted(path.name for path in mei.path().iterdir()) == [".local"]
        assert not any("Traceback" in log.read_text(errors="replace") for log in kept.joinpath("log").iterdir())
    assert list_files(machine) == before


def test_a_home_with_spaces_in_its_path(machine: Machine, installed: str) -> None:
    with machine.person("/home/小 明 Ming") as ming:
        with running(ming, f"{installed}/jiyi-server") as terminal:
            converse(terminal, password := read_password(terminal))
        with running(ming, f"{installed}/jiyi-server") as terminal:
            converse(terminal, password, tell=False)
        assert f"The data is of Jiyi {VERSION}." in ming.run(f"{installed}/jiyi-server upgrade")


def test_a_clone_with_spaces_in_its_path(machine: Machine) -> None:
    with machine.person("/home/mei li") as mei:
        mei.clone("my chat memory")
        with running(mei, MAKE, folder="my chat memory") as terminal:
            converse(terminal, read_password(terminal))


def test_without_home_the_account_tells_where_it_is(machine: Machine, installed: str) -> None:
    with machine.person("/home/mei") as mei, running(mei, f"{installed}/jiyi-server", HOME=None) as terminal:
        assert "Data is kept in /home/mei/.local/share/jiyi\n" in terminal.text
        converse(terminal, read_password(terminal))


def test_a_user_without_account_is_told_what_is_missing(machine: Machine, installed: str) -> None:
    with machine.person("/home/mei") as mei:
        nobody = replace(mei, uid=mei.uid + 50)
        with nobody.start(f"{installed}/jiyi-server", HOME=None) as terminal:
            assert terminal.wait() == 1
            assert f"User {nobody.uid} has no home folder to keep data in." in terminal.text
        assert not any(mei.path().iterdir())
        mei.path().chmod(0o777)
        with nobody.start(f"{installed}/jiyi-server", HOME=None, JIYI_DATA_DIR="/home/mei/data") as terminal:
            assert terminal.wait() == 1
            assert f"could not look up effective user ID {nobody.uid}: user does not exist" in terminal.text
            assert "Traceback" not in terminal.text
