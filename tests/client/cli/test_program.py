"""The program as a whole: logging in, errors and exit codes, terminals and pipes."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest
from rich.cells import cell_len

from jiyi.cli.main import commands
from jiyi.configuration import config_file, find_login
from jiyi.errors import NotConfigured
from tests.client.cli.conftest import Jiyi
from tests.client.conftest import get_token
from tests.client.scripted_server import ScriptedServer, refuse
from tests.support.http_server import ApiClient, HttpServer

SOURCE = Path(__file__).parents[3] / "clients" / "python" / "src"


# Logging in


def test_a_login_is_checked_and_saved_for_its_owner_alone(run: Jiyi, alice: ApiClient):
    url, token = str(alice.base_url).rstrip("/"), get_token(alice)
    assert run("list").code == 3
    done = run("login", "--url", f"{url}/", "--token", token)
    assert (done.code, done.out) == (0, "")
    assert json.loads(config_file().read_text()) == {"url": url, "token": token}
    assert config_file().stat().st_mode & 0o777 == 0o600
    assert config_file().parent.stat().st_mode & 0o777 == 0o700
    assert token not in done.err
    assert run("list").code == 0


def test_a_token_can_be_piped(run: Jiyi, alice: ApiClient):
    assert run("login", "--url", str(alice.base_url), piped=f"{get_token(alice)}\n").code == 0
    assert find_login().token == get_token(alice)


def test_a_bad_token_is_not_saved(run: Jiyi, http_server: HttpServer):
    assert run("login", "--url", http_server.url, "--token", "wrong").code == 3
    assert not config_file().exists()
    assert run("login", "--url", http_server.url, "--token", "wr\nong").code == 2


def test_a_saved_token_is_for_its_server_alone(run: Jiyi, alice: ApiClient, scripted_server: ScriptedServer):
    run("login", "--url", str(alice.base_url), "--token", get_token(alice))
    assert run("list", "--url", scripted_server.url).code == 3
    assert scripted_server.seen == []
    with pytest.raises(NotConfigured):
        find_login(scripted_server.url)


def test_a_login_over_an_open_line_is_warned_of(run: Jiyi, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("jiyi._transport.SyncTransport.send", lambda self, request: {})
    assert "not encrypted" in run("login", "--url", "http://jiyi.example", "--token", "t").err
    assert "not encrypted" not in run("login", "--url", "jiyi.example", "--token", "t").err
    assert find_login().url == "https://jiyi.example"


# Errors


@pytest.mark.parametrize(
    ("status", "code", "exit_code"),
    [(400, "invalid", 1), (401, "unauthenticated", 3), (403, "forbidden", 3), (404, "not_found", 4), (500, "x", 1)],
)
def test_what_the_server_refuses_is_one_line(status: int, code: str, exit_code: int, run: Jiyi, scripted_server):
    scripted_server.script(refuse(status, code))
    done = run("list", "--url", scripted_server.url, "--token", "t", "--json")
    assert (done.code, done.out) == (exit_code, "")
    assert done.err.startswith(f"Error: It is {code}.")
    assert done.err.count("\n") == 1


def test_a_server_that_is_not_there(run: Jiyi, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("jiyi._transport.FIRST_DELAY", 0.0)
    done = run("stats", "--url", "http://127.0.0.1:1", "--token", "t")
    assert (done.code, done.out) == (5, "")
    assert "Is the server running?" in done.err


def test_the_end_user_of_a_service_is_named_in_each_request(run: Jiyi, scripted_server: ScriptedServer):
    scripted_server.script(refuse(403, "forbidden"))
    run("list", "--url", scripted_server.url, "--token", "t", "--end-user", "u-7")
    assert scripted_server.seen[0].headers["X-End-User"] == "u-7"


def test_every_command_has_help_and_json(run: Jiyi):
    names = {"login", "ask", "search", "list", "add", "move", "spaces", "forget", "mute", "import", "export", "stats"}
    assert names == set(commands.commands)
    for name, command in commands.commands.items():
        done = run(name, "--help")
        assert done.code == 0
        assert command.help.split(".")[0][:60] in done.out
        assert ("--json" in done.out) is (name != "login")
    assert run("--version").out.startswith("jiyi, version ")
    assert run("no-such-command").code == 2


# Processes


def start(*arguments: str, alice: ApiClient, home: Path, **options) -> subprocess.Popen[bytes]:
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "PYTHONPATH": str(SOURCE),
        "PYTHONUTF8": "1",
        "JIYI_URL": str(alice.base_url),
        "JIYI_TOKEN": get_token(alice),
        "TERM": "xterm-256color",
        "COLUMNS": "80",
    }
    return subprocess.Popen([sys.executable, "-m", "jiyi", *arguments], env=environment, **options)


@pytest.mark.long
def test_a_table_on_a_terminal_has_columns_as_wide_as_their_chinese(alice: ApiClient, home: Path):
    alice.post("/memory/long-term", json={"category": "fact", "key": "喜欢的颜色", "value": "蓝色，也喜欢绿色" * 5})
    alice.post("/memory/long-term", json={"category": "fact", "key": "home", "value": "York [bold]not markup[/bold]"})
    ours, theirs = pty.openpty()
    with start("list", "long-term", alice=alice, home=home, stdin=theirs, stdout=theirs, stderr=theirs) as process:
        process.wait(timeout=200)
        os.close(theirs)
        shown = b""
        while True:
            try:
                piece = os.read(ours, 65536)
            except OSError:  # the other end is closed
                break
            shown += piece
        os.close(ours)
    text = shown.decode()
    assert process.returncode == 0
    assert "\x1b[1m" in text
    plain = re.sub(r"\x1b\[[0-9;]*m", "", text).replace("\r", "")
    lines = plain.splitlines()
    ids = [memory["id"] for memory in alice.get("/memory/long-term").json()["results"]]
    places = {cell_len(line[: line.index(it)]) for it in ids for line in lines if it in line}
    assert len(places) == 1
    assert max(map(cell_len, lines)) <= 80
    assert "[bold]not" in plain


@pytest.mark.long
def test_a_reader_that_has_seen_enough(alice: ApiClient, home: Path):
    for number in range(3):
        alice.post("/memory/atomic", json={"content": f"The user owns {number + 2} chairs. " + "x" * 400})
    reading, writing = os.pipe()
    os.close(reading)
    with start("list", "--json", alice=alice, home=home, stdout=writing, stderr=subprocess.PIPE) as process:
        os.close(writing)
        _out, err = process.communicate(timeout=200)
    assert (process.returncode, err) == (1, b"")


@pytest.mark.long
def test_without_the_extra_it_says_what_to_install(home: Path):
    code = "import sys; sys.modules['click'] = None; import jiyi.cli; jiyi.cli.run(['list'])"
    done = subprocess.run(
        [sys.executable, "-c", code], env={"PYTHONPATH": str(SOURCE), "HOME": str(home)}, capture_output=True, text=True
    )
    assert done.returncode == 1
    assert "pip install 'jiyi-client[cli]'" in done.stderr
