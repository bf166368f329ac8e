"""What an installation that others can reach may ask for in its environment."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[2]
PRINT = """
from django.conf import settings
print(settings.SESSION_COOKIE_SECURE, settings.CSRF_COOKIE_SECURE, settings.SECURE_PROXY_SSL_HEADER)
"""


@pytest.mark.parametrize(
    ("https", "expected"),
    [("", "False False None"), ("true", "True True ('HTTP_X_FORWARDED_PROTO', 'https')")],
)
def test_behind_tls_cookies_are_for_https_only(tmp_path: Path, https: str, expected: str) -> None:
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "project.settings", "JIYI_DATA_DIR": str(tmp_path)}
    result = subprocess.run(
        [sys.executable, "-c", PRINT],
        cwd=PROJECT,
        env=environment | {"HTTPS": https},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert result.stdout.strip() == expected
