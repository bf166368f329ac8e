"""Programs of an installation: the version they say, catalogues, beat, and what is found wrong in an environment."""

from __future__ import annotations

import gettext
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from babel.messages.pofile import PoFileError
from django.conf import settings
from django.conf import settings as django_settings
from django.core.checks import run_checks
from django.test import Client

from apps.core.management.commands.compilemessages import compile_catalogs
from apps.core.version import VERSION

pytestmark = pytest.mark.long_except(
    "test_it_is_the_documents_too_and_has_a_section_of_changes",
    "test_the_command_line_says_it",
    "test_a_catalogue_is_compiled_and_guesses_are_left_out",
    "test_a_broken_catalogue_is_an_error_and_nothing_is_written",
    "test_beat_that_is_stopped_while_it_makes_its_file_ends_cleanly",
    "test_without_tls_one_finding_says_so",
    "test_behind_tls_nothing_is_found",
)

PROJECT = Path(__file__).resolve().parents[2]


def test_it_is_the_documents_too_and_has_a_section_of_changes() -> None:
    assert re.fullmatch(r"\d+\.\d+\.\d+", VERSION)
    assert settings.SPECTACULAR_SETTINGS["VERSION"] == VERSION
    assert re.search(rf"^## {re.escape(VERSION)} \(\d{{4}}-\d\d-\d\d\)$", (PROJECT / "CHANGELOG.md").read_text(), re.M)


@pytest.mark.parametrize("argument", ["--version", pytest.param("version", marks=pytest.mark.long)])
def test_the_command_line_says_it(argument: str) -> None:
    said = subprocess.run(
        [sys.executable, "manage.py", argument], cwd=PROJECT, capture_output=True, text=True, check=True
    )
    assert said.stdout == f"Jiyi {VERSION}\n"


PO = """
msgid ""
msgstr "Content-Type: text/plain; charset=UTF-8\\nPlural-Forms: nplurals=1; plural=0;\\n"

msgid "Memory"
msgstr "记忆"

#, fuzzy
msgid "Guessed"
msgstr "猜的"
"""


def write_catalog(folder: Path, text: str = PO) -> Path:
    source = folder / "zh_Hans" / "LC_MESSAGES" / "django.po"
    source.parent.mkdir(parents=True, exist_ok=True)
    source.write_text(text)
    return source


def test_a_catalogue_is_compiled_and_guesses_are_left_out(tmp_path: Path) -> None:
    source = write_catalog(tmp_path)
    assert compile_catalogs([tmp_path]) == [source.with_suffix(".mo")]
    with source.with_suffix(".mo").open("rb") as file:
        translations = gettext.GNUTranslations(file)
    assert translations.gettext("Memory") == "记忆"
    assert translations.gettext("Guessed") == "Guessed"


def test_a_broken_catalogue_is_an_error_and_nothing_is_written(tmp_path: Path) -> None:
    source = write_catalog(tmp_path, 'msgid "a"\nmsgstr "b"\nno keyword\n')
    with pytest.raises(PoFileError):
        compile_catalogs([tmp_path])
    assert not source.with_suffix(".mo").exists()


# Beat, told to stop while it makes its file: at the first opening, as soon as there is an empty one.
STOPPED_EARLY = """
import os, signal
from pathlib import Path
from celery.beat import PersistentScheduler
from celery.__main__ import main

opened = []

def open_schedule(self, _open=PersistentScheduler._open_schedule):
    print("opened", flush=True)
    opened.append(self)
    if len(opened) == 1:
        Path(self.schedule_filename).touch()
        os.kill(os.getpid(), signal.SIGTERM)
        Path(self.schedule_filename).unlink()
    return _open(self)

PersistentScheduler._open_schedule = open_schedule
main()
"""


def test_beat_that_is_stopped_while_it_makes_its_file_ends_cleanly(tmp_path: Path) -> None:
    beat = ["--quiet", "--app=project", "beat", "--pidfile=", f"--schedule={tmp_path}/schedule"]
    done = subprocess.run(
        [sys.executable, "-c", STOPPED_EARLY, *beat],
        cwd=PROJECT,
        env={
            **os.environ,
            "JIYI_DATA_DIR": str(tmp_path),
            "REDIS_URL": "redis://127.0.0.1:1/0",
            "LOG_LEVEL": "WARNING",
        },
        capture_output=True,
        text=True,
        check=False,
        timeout=200,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "opened\n", "")


PRINT = """
from django.conf import settings
print(settings.SESSION_COOKIE_SECURE, settings.CSRF_COOKIE_SECURE, settings.SECURE_PROXY_SSL_HEADER)
print(settings.SECURE_SSL_REDIRECT, settings.SECURE_HSTS_SECONDS)
"""


@pytest.mark.parametrize(
    ("https", "expected"),
    [
        ("", "False False None\nFalse 0"),
        ("true", "True True ('HTTP_X_FORWARDED_PROTO', 'https')\nTrue 2592000"),
    ],
)
def test_behind_tls_cookies_are_for_https_only_and_browsers_keep_to_it(
    tmp_path: Path, https: str, expected: str
) -> None:
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "project.settings", "JIYI_DATA_DIR": str(tmp_path)}
    result = subprocess.run(
        [sys.executable, "-c", PRINT],
        cwd=PROJECT,
        env=environment | {"HTTPS": https},
        capture_output=True,
        text=True,
        check=True,
        timeout=200,
    )
    assert result.stdout.strip() == expected


def find_messages() -> set[str]:
    """The IDs of what `check --deploy` says."""
    silenced = set(django_settings.SILENCED_SYSTEM_CHECKS)
    return {str(message.id) for message in run_checks(include_deployment_checks=True)} - silenced


@pytest.mark.long
def test_without_tls_one_finding_says_so() -> None:
    assert find_messages() == {"core.W001"}


def test_behind_tls_nothing_is_found(settings: Any) -> None:
    settings.HTTPS = settings.SECURE_SSL_REDIRECT = True
    settings.SESSION_COOKIE_SECURE = settings.CSRF_COOKIE_SECURE = True
    settings.SECURE_HSTS_SECONDS = 3600
    assert find_messages() == set()
    settings.SECURE_HSTS_SECONDS = 0
    assert find_messages() == {"core.W002"}


def test_what_an_operator_can_get_wrong_is_still_found(settings: Any) -> None:
    settings.SECRET_KEY, settings.ALLOWED_HOSTS = "short", []
    assert find_messages() == {"core.W001", "security.W009", "security.W020"}


def test_behind_tls_plain_http_leads_to_https_but_for_the_machines_beside_us(settings: Any, client: Client) -> None:
    settings.SECURE_SSL_REDIRECT, settings.SECURE_HSTS_SECONDS = True, 3600
    settings.SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    plain = client.get("/login?next=/")
    assert (plain.status_code, plain["Location"]) == (301, "https://testserver/login?next=/")
    assert "Strict-Transport-Security" not in plain
    secure = client.get("/login", headers={"x-forwarded-proto": "https"})
    assert (secure.status_code, secure["Strict-Transport-Security"]) == (200, "max-age=3600")
    assert client.get("/metrics").status_code == 401
