"""Where the client gets its server and token from, and how they are kept."""

from __future__ import annotations

from pathlib import Path

import pytest

from jiyi import Jiyi
from jiyi.configuration import (
    DEFAULT_URL,
    Login,
    config_file,
    find_login,
    normalize_url,
    read_login,
    save_login,
    state_file,
    write_private,
)
from jiyi.errors import NotConfigured


def test_arguments_come_before_the_environment_and_that_before_what_was_saved():
    save_login(Login("https://saved", "saved"))
    both = {"JIYI_URL": "https://env", "JIYI_TOKEN": "env"}
    home = {"HOME": str(Path.home())}
    assert find_login("https://arg", "arg", environment=both) == Login("https://arg", "arg")
    assert find_login(environment=both | home) == Login("https://env", "env")
    assert find_login(environment=home) == Login("https://saved", "saved")
    assert find_login(environment=home | {"JIYI_TOKEN": "env"}) == Login("https://saved", "env")
    assert find_login("https://saved/", environment=home) == Login("https://saved", "saved")
    assert find_login(token="arg", environment={"HOME": "/none"}) == Login(DEFAULT_URL, "arg")


@pytest.mark.parametrize("environment", [{}, {"JIYI_URL": "https://other"}, {"JIYI_TOKEN": " "}])
def test_no_token_is_an_error_that_says_what_to_do(environment: dict[str, str], home: Path):
    with pytest.raises(NotConfigured, match="jiyi login"):
        find_login(environment=environment | {"HOME": str(home)})


@pytest.mark.parametrize(
    ("given", "url"),
    [
        ("https://a.example/", "https://a.example"),
        (" http://a.example/jiyi/ ", "http://a.example/jiyi"),
        ("a.example", "https://a.example"),
        ("localhost:8000", "http://localhost:8000"),
        ("127.0.0.1", "http://127.0.0.1"),
        ("[::1]:8000", "http://[::1]:8000"),
        ("localhost.example", "https://localhost.example"),
    ],
)
def test_urls(given: str, url: str):
    assert normalize_url(given) == url


@pytest.mark.parametrize("content", ["", "[]", "{}", "null", '{"url": "https://a"}', "\xff"])
def test_a_damaged_file_is_nobody_logged_in(content: str):
    config_file().parent.mkdir(parents=True)
    config_file().write_text(content, encoding="latin-1")
    assert read_login() is None


def test_the_folders_are_those_of_the_specification(home: Path):
    assert config_file({"XDG_CONFIG_HOME": "/x", "HOME": "/h"}) == Path("/x/jiyi/config.json")
    assert config_file({"HOME": "/h"}) == Path("/h/.config/jiyi/config.json")
    assert state_file({"HOME": "/h"}) == Path("/h/.local/state/jiyi/sessions.json")
    assert config_file() == home / ".config/jiyi/config.json"


def test_a_private_file_is_replaced_as_a_whole(home: Path):
    path = home / "x" / "file"
    write_private(path, "one")
    path.chmod(0o644)
    write_private(path, "二")
    assert (path.read_text(), path.stat().st_mode & 0o777) == ("二", 0o600)
    with pytest.raises(UnicodeEncodeError):
        write_private(path, "\ud800")
    assert [it.name for it in path.parent.iterdir()] == ["file"]
    assert path.read_text() == "二"


@pytest.mark.parametrize("token", ["with\nbreak", "with\x00nul", "用户"])
def test_a_token_that_fits_no_header_is_refused_and_not_repeated(token: str):
    with pytest.raises(ValueError, match="token must") as caught:
        Jiyi("https://a", token)
    assert token not in str(caught.value)
    with pytest.raises(ValueError, match="end_user"):
        Jiyi("https://a", "t", end_user="a\r\nb")
