"""What an installation that others can reach may ask for in its environment."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.core.checks import run_checks
from django.test import Client

pytestmark = pytest.mark.long_except(
    "test_without_tls_one_finding_says_so",
    "test_behind_tls_nothing_is_found",
)

PROJECT = Path(__file__).resolve().parents[2]
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
