"""The wheel, built from the clone: what somebody gets who has nothing but Python and one line."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest

from apps.core.version import VERSION
from tests.clients.environments import clean_environment, install_wheel
from tests.clients.stack import Account
from tests.support.processes import find_processes, wait_until

Command = Callable[..., str]


@pytest.fixture(scope="module")
def program() -> Path:
    """The installed `jiyi-server`."""
    return install_wheel() / "bin" / "jiyi-server"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """The home of somebody who has set a port, and nothing else."""
    settings = tmp_path / "home" / ".config" / "jiyi" / ".env"
    settings.parent.mkdir(parents=True)
    settings.write_text("PORT=0\n")
    return tmp_path / "home"


@pytest.fixture
def run(program: Path, home: Path) -> Command:
    """Runs a command, which has to go well; returns what it prints."""

    def run(*arguments: str) -> str:
        command, environment = [str(program), *arguments], clean_environment(home)
        done = subprocess.run(command, cwd=home, env=environment, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return run


@contextmanager
def start(program: Path, home: Path) -> Iterator[str]:
    """`jiyi-server` without a word, until the block ends; yields what it says when it runs."""
    log = home / "output"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [str(program)], cwd=home, env=clean_environment(home), stdout=output, stderr=subprocess.STDOUT
        )
    with process:
        try:
            wait_until(lambda: b"Jiyi is running at" in log.read_bytes() or process.poll() is not None, seconds=300)
            yield log.read_text()
            process.terminate()
            assert process.wait(timeout=120) == 0
        finally:
            process.kill()
    assert log.read_text().endswith("Stopped.\n")
    wait_until(lambda: find_processes(home) == {})


def test_from_nothing_to_a_conversation_and_an_upgrade(program: Path, home: Path, run: Command) -> None:
    data = home / ".local" / "share" / "jiyi"
    before = list_files(program)
    with start(program, home) as said:
        address = re.search(r"Jiyi is running at (http://127\.0\.0\.1:\d+)/", said)
        assert address, said
        assert re.search(r"First account: admin   password: \S+", said)
        assert f"Data is kept in {data}\n" in said
        admin = Account(address[1], run("create_token", "admin").strip())
        session = admin.post("/chat/sessions", {})["id"]
        admin.post(f"/chat/sessions/{session}/messages", {"content": "My favourite colour is teal."})
        asked = admin.post(f"/chat/sessions/{session}/messages", {"content": "What is my favourite colour?"})
        assert "teal" in str(asked["memories_used"])
        library = httpx2.get(f"{admin.url}/static/vendor/katex/katex.mjs").raise_for_status()
        assert "javascript" in library.headers["Content-Type"]
        assert "登录" in httpx2.get(f"{admin.url}/login", headers={"Accept-Language": "zh-CN"}).text
    upgraded = run("upgrade")
    assert f"The data is of Jiyi {VERSION}." in upgraded
    assert [path.name for path in (data / "backups").iterdir()] == [re.search(r"Backup: .*/(\S+)", upgraded)[1]]
    with start(program, home) as said:
        assert "password" not in said  # it is shown once
    assert list_files(program) == before
    assert not (home / ".data").exists()


def test_the_version_is_everywhere_the_same(program: Path, run: Command) -> None:
    assert run("--version") == f"Jiyi {VERSION}\n"
    assert (program.parents[1] / "wheel" / f"jiyi_server-{VERSION}-py3-none-any.whl").exists()


def list_files(program: Path) -> set[tuple[str, float]]:
    """The installed package's files and times of change, without compiled modules."""
    (package,) = program.parents[1].glob("lib/python*/site-packages/jiyi_server")
    files = (path for path in package.rglob("*") if path.is_file() and path.suffix != ".pyc")
    return {(str(path), path.stat().st_mtime) for path in files}
