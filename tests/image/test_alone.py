"""Everything in one container, as the first lines of docs/deployment.md start it."""

from __future__ import annotations

import re
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import httpx2
import pytest

from tests.clients.stack import Account
from tests.image.conftest import Image
from tests.image.engine import Container, Engine, EngineError, Say
from tests.support.http_server import Event, read_events
from tests.support.installations import find_free_port
from tests.support.processes import wait_until

TURNS = 20

# docs/operations.md, for either size of machine, and some for what a conversation happens to need.
MOST_MEMORY, MOST_MEMORY_SMALL = 1100 * 10**6, 950 * 10**6

# As compose has it, and all that Docker leaves writable with it: the volume and /tmp.
LOCKED_DOWN = (
    *("--read-only", "--read-only-tmpfs=false", "--tmpfs=/tmp:size=768m,mode=1777"),
    *("--cap-drop=ALL", "--security-opt=no-new-privileges", "--memory=1g", "--env=JIYI_MEMORY_MIB=1024"),
)


@dataclass(frozen=True)
class Alone:
    """A container with everything in it, that has started."""

    container: Container
    url: str
    volume: str

    @property
    def password(self) -> str | None:
        """What the log tells of the first account's password."""
        found = re.search(r"First account: admin   password: (\S+)", self.container.read_log())
        return found[1] if found else None

    def make_account(self) -> Account:
        return Account(self.url, self.container.exec("python", "manage.py", "create_token", "admin"))

    def manage(self, *arguments: str) -> str:
        return self.container.exec("python", "manage.py", *arguments)

    def is_well(self) -> bool:
        """Whether every part works, workers too."""
        try:
            return httpx2.get(f"{self.url}/healthz", timeout=20).is_success
        except httpx2.TransportError:
            return False


@contextmanager
def run_alone(engine: Engine, image: Image, volume: str, *options: str) -> Iterator[Alone]:
    """Start a container on a volume, and wait until every part of it works."""
    port = find_free_port("127.0.0.1")
    documented = (f"--publish=127.0.0.1:{port}:8000", f"--volume={volume}:/data", "--stop-timeout=30")
    with engine.start(image.tag, name=volume, options=(*documented, *options)) as container:
        container.wait_healthy()
        alone = Alone(container, f"http://127.0.0.1:{port}", volume)
        wait_until(alone.is_well, seconds=600)
        yield alone


@pytest.fixture
def volume(engine: Engine) -> Iterator[str]:
    name = f"jiyi-{uuid.uuid4().hex[:8]}"
    yield name
    engine.run("volume", "rm", "--force", name)


def say_streaming(account: Account, session: str, content: str) -> list[Event]:
    headers = {"Authorization": f"Bearer {account.token}"}
    body = {"content": content, "stream": True}
    url = f"{account.url}/chat/sessions/{session}/messages"
    with httpx2.stream("POST", url, json=body, headers=headers, timeout=120) as response:
        response.raise_for_status()
        return list(read_events(response.iter_lines()))


def log_in(url: str, password: str) -> str:
    """Log in at the page as a person does; return where that leads."""
    with httpx2.Client(base_url=url, timeout=60) as browser:
        page = browser.get("/login").raise_for_status()
        form = {"username": "admin", "password": password, "csrfmiddlewaretoken": page.cookies["csrftoken"]}
        answer = browser.post("/login", data=form, headers={"Referer": f"{url}/login"})
        assert answer.status_code == 302, answer.text
        return browser.get(answer.headers["Location"]).raise_for_status().text


def stop_in_time(alone: Alone, say: Say) -> None:
    started = time.monotonic()
    assert alone.container.stop() == 0, alone.container.read_log()
    seconds = time.monotonic() - started
    say(f"stopped after {seconds:.1f} s")
    assert alone.container.read_log().rstrip().endswith("Stopped.")  # so it was not killed at the end of its grace


def test_one_line_starts_everything_and_a_restart_loses_nothing(
    engine: Engine, image: Image, volume: str, say: Say
) -> None:
    started = time.monotonic()
    with run_alone(engine, image, volume) as alone:
        say(f"all-in-one: every part works after {time.monotonic() - started:.0f} s")
        assert alone.password
        assert "Chat" in log_in(alone.url, alone.password)
        admin = alone.make_account()
        session = admin.post("/chat/sessions", {})["id"]
        events = say_streaming(admin, session, "My favourite colour is teal.")
        assert [event.name for event in events][-1] == "done"
        assert sum(event.name == "delta" for event in events) > 1
        for turn in range(TURNS - 2):
            admin.post(f"/chat/sessions/{session}/messages", {"content": f"I have {turn} books about York."})
        memory, peak = alone.container.measure_memory(), alone.container.read_peak()
        say(f"all-in-one: {memory / 1e6:.0f} MB after {TURNS - 1} turns; {_tell(peak)}")
        assert memory < MOST_MEMORY
        said = admin.list_messages()
        stop_in_time(alone, say)
    with run_alone(engine, image, volume) as alone:
        assert alone.password is None  # it is shown once
        admin = Account(alone.url, admin.token)
        assert admin.list_messages() == said
        asked = admin.post(f"/chat/sessions/{session}/messages", {"content": "What is my favourite colour?"})
        assert "teal" in str(asked["memories_used"])


def test_it_fits_into_a_gibibyte_on_a_read_only_file_system(
    engine: Engine, image: Image, volume: str, say: Say
) -> None:
    with run_alone(engine, image, volume, *LOCKED_DOWN) as alone:
        with pytest.raises(EngineError, match="Read-only file system"):
            alone.container.exec("touch", "/opt/jiyi/here")
        status = dict(line.split(":\t", 1) for line in alone.container.exec("cat", "/proc/1/status").splitlines())
        assert status["Uid"].split() == ["10001"] * 4
        assert (status["CapEff"], status["NoNewPrivs"]) == ("0" * 16, "1")
        admin = alone.make_account()
        session = admin.post("/chat/sessions", {})["id"]
        for turn in range(TURNS):
            events = say_streaming(admin, session, f"I have {turn} books about York.")
            assert events[-1].name == "done"
        memory, peak = alone.container.measure_memory(), alone.container.read_peak()
        say(f"small: {memory / 1e6:.0f} MB after {TURNS} turns; {_tell(peak)}")
        assert memory < MOST_MEMORY_SMALL
        assert alone.is_well()
        assert alone.container.state["OOMKilled"] is False
        assert "64MB" in alone.container.exec(
            "sh", "-c", "tr '\\0' ' ' < /proc/$(head -1 /data/postgres/postmaster.pid)/cmdline"
        )
        stop_in_time(alone, say)


def test_a_backup_is_restored_in_the_container(engine: Engine, image: Image, volume: str, say: Say) -> None:
    with run_alone(engine, image, volume) as alone:
        admin = alone.make_account()
        session = admin.post("/chat/sessions", {})["id"]
        admin.post(f"/chat/sessions/{session}/messages", {"content": "My favourite colour is teal."})
        before = admin.list_messages()
        alone.manage("backup", "/data/kept.zip")
        admin.post(f"/chat/sessions/{session}/messages", {"content": "My favourite fruit is mango."})
        assert admin.list_messages() != before
        command = ("python", "manage.py", "restore", "/data/kept.zip", "--replace", "--yes")
        with pytest.raises(EngineError):  # while everything runs
            alone.container.exec(*command)
        stop_in_time(alone, say)
    engine.run("run", "--rm", f"--volume={volume}:/data", image.tag, *command)
    with run_alone(engine, image, volume) as alone:
        assert Account(alone.url, admin.token).list_messages() == before


def _tell(peak: int | None) -> str:
    return f"at most {peak / 1e6:.0f} MB with the cache of files" if peak else "no control group tells the most"
