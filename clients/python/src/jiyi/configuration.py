"""Where the server is and who asks: arguments, else the environment, else what `jiyi login` saved."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from jiyi.errors import NotConfigured

DEFAULT_URL = "http://127.0.0.1:8000"


@dataclass(frozen=True, slots=True)
class Login:
    """A server and a token for it."""

    url: str
    token: str


def find_login(
    url: str | None = None, token: str | None = None, *, environment: Mapping[str, str] | None = None
) -> Login:
    """Return where to send requests. Raises `NotConfigured` if there is no token.

    A saved token is used for the server it was saved for only: another URL needs its own.
    """
    environment = os.environ if environment is None else environment
    saved = read_login(environment=environment)
    asked = url or environment.get("JIYI_URL") or (saved.url if saved else DEFAULT_URL)
    asked = normalize_url(asked)
    found = token or environment.get("JIYI_TOKEN") or (saved.token if saved and saved.url == asked else None)
    if not found or not found.strip():
        raise NotConfigured(f"There is no token for {asked}. Run `jiyi login`, or set JIYI_TOKEN.")
    return Login(url=asked, token=check_header("token", found.strip()))


def read_login(*, environment: Mapping[str, str] | None = None) -> Login | None:
    """Return what `jiyi login` saved; None if nothing was, or if the file cannot be read as such."""
    try:
        data = json.loads(config_file(environment).read_text(encoding="utf-8"))
        return Login(url=normalize_url(str(data["url"])), token=str(data["token"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def save_login(login: Login, *, environment: Mapping[str, str] | None = None) -> Path:
    """Save a login for later calls, readable by its owner alone; returns the file."""
    path = config_file(environment)
    write_private(path, json.dumps({"url": login.url, "token": login.token}, indent=2) + "\n")
    return path


def write_private(path: Path, text: str) -> None:
    """Write a file that only its owner may read (mode 0600), whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")  # mode 0600
    try:
        with open(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise


def config_file(environment: Mapping[str, str] | None = None) -> Path:
    """Return the file of the login, in the configuration folder of the XDG Base Directory Specification."""
    return _folder("XDG_CONFIG_HOME", ".config", environment) / "config.json"


def state_file(environment: Mapping[str, str] | None = None) -> Path:
    """Return the file of what `jiyi ask` continues, in the state folder of the same specification."""
    return _folder("XDG_STATE_HOME", ".local/state", environment) / "sessions.json"


def normalize_url(url: str) -> str:
    """Return the URL without a slash at its end; without a scheme it gets http for loopback and https elsewhere."""
    url = url.strip().rstrip("/")
    if "://" not in url:
        host = url.partition("/")[0].rpartition(":")[0] or url.partition("/")[0]
        url = f"{'http' if host in ('localhost', '127.0.0.1', '[::1]') else 'https'}://{url}"
    return url


def check_header(name: str, value: str) -> str:
    """Return a value that may stand in a header. Raises ValueError without repeating the value, which may be secret."""
    if not value or not value.isprintable() or (name == "token" and not value.isascii()):
        raise ValueError(f"{name} must not be empty and must not contain control characters or line breaks.")
    return value


def _folder(variable: str, default: str, environment: Mapping[str, str] | None) -> Path:
    environment = os.environ if environment is None else environment
    base = Path(environment.get(variable) or Path(environment.get("HOME") or Path.home()) / default)
    return base / "jiyi"
