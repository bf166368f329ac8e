"""``manage.py up`` for real: started, refused, wounded, stopped and killed.

One that runs serves every run, loses its web process, and leaves nothing when it is told to stop; only the long tests
kill each other part, the whole of it, and see the password kept to the first start.
"""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from tests.support.processes import find_processes, measure_memory, wait_until

PROJECT = Path(__file__).resolve().parents[2]
SAID = (
    "My name is Mei and I live in Hangzhou.",
    "我喜欢喝龙井茶，不喜欢咖啡。",
    "I am allergic to peanuts.",
    "我妹妹叫小雨，她住在成都。",
    "My dog is called Biscuit and he is 3 years old.",
)

pytestmark = [
    pytest.mark.timeout(300),
    pytest.mark.long_except(
        "test_a_port_that_is_none_is_refused",
        "test_a_host_that_is_none_of_ours_is_refused",
    ),
]  # it starts six processes, on a machine that may do other things


@dataclass(frozen=True)
class Up:
    """A running ``manage.py up``."""

    folder: Path
    process: subprocess.Popen[bytes]

    @property
    def output(self) -> str:
        return (self.folder / "output").read_text()

    @property
    def address(self) -> str:
        found = re.search(r"Jiyi is running at (http://127\.0\.0\.1:\d+/)", self.output)
        assert found, self.output
        return found[1]

    def get(self, path: str) -> tuple[int, str]:
        try:
            with urllib.request.urlopen(self.address + path, timeout=200) as response:
                return response.status, response.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode()

    def call(self, path: str, *, token: str, body: dict[str, Any] | None = None) -> Any:
        """Return what an operation answers: POST where there is a body."""
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.address + path, headers=headers, data=data)
        with urllib.request.urlopen(request, timeout=200) as response:
            return json.load(response)

    def stop(self) -> None:
        """Tell it to stop; fail if anything is left."""
        self.process.terminate()
        assert self.process.wait(timeout=200) == 0
        assert self.output.endswith("Stopped.\n")
        assert find_processes(self.folder) == {}

    def list_parts(self) -> dict[str, list[int]]:
        """The process IDs of each part by its name: its own one and those of its children."""
        parts: dict[str, list[int]] = {}
        for pid in find_processes(self.folder):
            with suppress(OSError):  # ended meanwhile
                parts.setdefault(Path(f"/proc/{pid}/comm").read_text().strip(), []).append(pid)
        return parts

    def find_pid(self, name: str) -> int:
        """The process ID of the part of that name (not of a child of it), once it runs."""
        found: list[int] = []

        def look() -> bool:
            children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
            found[:] = [pid for pid in self.list_parts().get(name, ()) if str(pid) in children]
            return bool(found)

        wait_until(look)
        (pid,) = found
        return pid


def make_environment(folder: Path) -> dict[str, str]:
    """An environment in which nothing but the data folder is given, whatever the tests' own has."""
    nothing = dict.fromkeys(("DATABASE_URL", "REDIS_URL", "OPENAI_API_KEY", "OPENAI_BASE_URL", "HOST", "PORT"), "")
    return {**os.environ, **nothing, "JIYI_DATA_DIR": str(folder), "LOG_LEVEL": "INFO"}


def run_command(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "manage.py", *arguments],
        cwd=PROJECT,
        env=make_environment(folder),
        capture_output=True,
        text=True,
        check=False,
        timeout=200,
    )


def make_token(up: Up, username: str) -> str:
    result = run_command(up.folder, "create_token", username, "--create")
    assert result.returncode == 0, result.stderr
    return result.stdout.strip()


@contextmanager
def run_up(folder: Path, **variables: str) -> Iterator[Up]:
    """``manage.py up`` on a free port with `variables` in its environment, killed in the end if it still runs."""
    with (folder / "output").open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "manage.py", "up", "--port", "0"],
            cwd=PROJECT,
            env=make_environment(folder) | variables,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    up = Up(folder=folder, process=process)
    with process:
        try:
            wait_until(lambda: "Jiyi is running at" in up.output or process.poll() is not None, seconds=240)
            assert process.poll() is None, up.output
            yield up
        finally:
            process.kill()
    wait_until(lambda: find_processes(folder) == {})


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Up]:
    """One for all tests of the module; in the end it is told to stop, and nothing is left."""
    with run_up(tmp_path_factory.mktemp("up")) as up:
        yield up
        up.stop()


@pytest.mark.spec("G1")
def test_a_bad_default_in_the_environment_is_told_and_nothing_is_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMORY_RETRIEVAL_LIMIT", "many")
    refused = run_command(tmp_path, "up", "--port", "0")
    assert refused.returncode == 1
    assert "MEMORY_RETRIEVAL_LIMIT: " in refused.stderr
    assert "running at" not in refused.stdout
    assert not (tmp_path / "postgres").exists()


def test_it_says_where_it_serves_and_all_parts_become_healthy(running: Up) -> None:
    status, page = running.get("login")
    assert status == 200
    assert "<form" in page
    wait_until(lambda: running.get("healthz")[0] == 200)
    health = json.loads(running.get("healthz")[1])
    assert health.pop("backlog").keys() == {"embed", "extract", "summarize"}
    assert health == {"database": "ok", "queue": "ok", "worker": "ok"}
    for line in (
        r"^worker       \| .*worker@.* ready\.",
        r"^worker-model \| .*worker-model@.* ready\.",
        r"^beat         \| .*beat: Starting",
    ):  # each steps back behind the tests, so on a busy machine they take their time
        wait_until(lambda line=line: re.search(line, running.output, re.MULTILINE))  # type: ignore[misc]
    assert "superuser privileges" not in running.output


def test_a_second_one_on_the_same_folder_is_refused(running: Up) -> None:
    second = run_command(running.folder, "up", "--port", "0")
    assert second.returncode == 1
    assert second.stderr.strip() == (
        f"CommandError: Jiyi is already running on {running.folder} (process {running.process.pid})."
    )
    assert running.get("login")[0] == 200


def test_other_commands_find_its_servers_and_leave_them_running(running: Up) -> None:
    assert running.call("chat/sessions", token=make_token(running, "lin"))["count"] == 0


def test_after_a_conversation_all_of_it_takes_less_than_a_gibibyte(running: Up) -> None:
    token = make_token(running, "mei")
    session = running.call("chat/sessions", token=token, body={})["id"]
    for said in SAID * 4:
        running.call(f"chat/sessions/{session}/messages", token=token, body={"content": said})
    wait_until(lambda: not any(kind["due"] for kind in json.loads(running.get("healthz")[1])["backlog"].values()))
    assert running.call("memory/long-term", token=token)["count"] > 0
    assert measure_memory(running.folder) < 2**30


@pytest.mark.parametrize("name", ["web", "worker", "worker-model", "beat"])
def test_a_killed_part_is_replaced(running: Up, name: str) -> None:
    pid = running.find_pid(name)
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: re.search(rf"^{name} +\| ended with -9; starting it again", running.output, re.MULTILINE))
    # Requests wait for the new web process: its address is never without a listener.
    assert running.get("login")[0] == 200
    assert running.find_pid(name) != pid


def test_term_and_kill_leave_nothing_running_and_the_password_is_printed_once(tmp_path: Path) -> None:
    with run_up(tmp_path) as first:
        assert re.search(r"^First account: admin   password: \S{12,}   ", first.output, re.MULTILINE)
        first.stop()
    with run_up(tmp_path) as second:
        assert "password" not in second.output
        wait_until(lambda: len(re.findall(r"^worker.* \| .*ready\.", second.output, re.MULTILINE)) == 2)
        # Each with its children: one for periodic work and embedding, two that wait for the model.
        parts = second.list_parts()
        assert {name: len(parts[name]) for name in ("worker", "worker-model")} == {
            "worker": 1 + 1,
            "worker-model": 1 + 2,
        }
        second.process.kill()
        wait_until(lambda: find_processes(tmp_path) == {})


@pytest.fixture
def data_folder(tmp_path: Path, settings: Any) -> Iterator[Path]:
    """A data folder of the command called in this process, which changes what TERM does while it starts."""
    settings.DATA_DIR = tmp_path
    handler = signal.getsignal(signal.SIGTERM)
    yield tmp_path
    signal.signal(signal.SIGTERM, handler)


def test_a_taken_port_is_refused_before_anything_is_started(data_folder: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        with pytest.raises(CommandError, match=rf"^Port {port} of 127\.0\.0\.1 is in use\. Choose another: PORT="):
            call_command("up", port=port, host="127.0.0.1")
    assert [path.name for path in data_folder.iterdir()] == ["run"]


@pytest.mark.parametrize("port", ["eighty", "-1", "65536", "", "８０００"])
def test_a_port_that_is_none_is_refused(data_folder: Path, port: str) -> None:
    with pytest.raises(CommandError, match=f"^PORT must be a number from 0 to 65535, not {port!r}"):
        call_command("up", port=port)
    assert [path.name for path in data_folder.iterdir()] == ["run"]


@pytest.mark.parametrize("host", ["192.0.2.1", "no such host"])
def test_a_host_that_is_none_of_ours_is_refused(data_folder: Path, host: str) -> None:
    with pytest.raises(CommandError, match=f"^Cannot listen on {host}:0: "):
        call_command("up", host=host, port="0")
    assert [path.name for path in data_folder.iterdir()] == ["run"]


def test_a_command_alone_starts_servers_and_stops_them(tmp_path: Path) -> None:
    result = run_command(tmp_path, "showmigrations", "sessions")
    assert (result.returncode, result.stdout) == (0, "sessions\n [ ] 0001_initial\n"), result.stderr
    assert find_processes(tmp_path) == {}


def test_a_command_on_files_alone_starts_nothing(tmp_path: Path) -> None:
    assert run_command(tmp_path, "help").returncode == 0
    assert not (tmp_path / "postgres").exists()
