"""The libraries that the chat page renders replies with: locked, installed, and served one folder each."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.contrib.staticfiles import finders

from apps.chat.page import check_browser_libraries

FRONTEND = Path(settings.BASE_DIR) / "frontend"


def test_the_lock_names_no_registry_and_has_a_hash_for_every_package() -> None:
    lock = (FRONTEND / "package-lock.json").read_text()
    assert "resolved" not in lock
    assert not [host for host in re.findall(r"https?://([^/\"]+)", lock) if "npm" in host or "registry" in host]
    packages = json.loads(lock)["packages"]
    assert packages.pop("")["dependencies"] == json.loads((FRONTEND / "package.json").read_text())["dependencies"]
    assert all(package["integrity"].startswith("sha512-") for package in packages.values())


def test_all_that_the_page_imports_is_served_and_packages_as_such_are_not() -> None:
    scripts = (Path(settings.BASE_DIR) / "static/chat").glob("*.js")
    imported = {name for script in scripts for name in re.findall(r'"\.\./(vendor/[^"]+)"', script.read_text())}
    assert len(imported) == 4
    assert {name for name in imported if not finders.find(name)} == set()
    assert finders.find("vendor/marked/package.json") is None


@pytest.mark.parametrize("missing", [0, 3])
def test_a_missing_library_is_an_error_that_says_what_to_run(settings: Any, tmp_path: Path, missing: int) -> None:
    own, *libraries = settings.STATICFILES_DIRS
    name, _folder = libraries[missing]
    libraries[missing] = (name, tmp_path / "nowhere")
    settings.STATICFILES_DIRS = [own, *libraries]
    [error] = check_browser_libraries()
    assert error.id == "chat.E001"
    assert name.removeprefix("vendor/") in error.msg
    assert "make run" in str(error.hint)
