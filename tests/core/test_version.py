"""The version is written in one place, and said everywhere else."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from django.conf import settings

from apps.core.version import VERSION

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
