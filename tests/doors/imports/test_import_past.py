"""``manage.py import_past``: preview, import, continue, restore."""

from __future__ import annotations

from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from apps.accounts.models import User
from apps.conversations.models import Session
from apps.doors.models import PastImport
from apps.memory.models import AtomicMemory
from tests.doors.imports.samples import CHATGPT_ARCHIVE, CLAUDE_ARCHIVE, as_lines

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.long]


def run(path: Path, *options: str) -> str:
    out = StringIO()
    call_command("import_past", str(path), "--user", "mei", *options, stdout=out)
    return out.getvalue()


@pytest.fixture
def archive(tmp_path: Path, user: User) -> Path:
    path = tmp_path / "export.zip"
    path.write_bytes(CLAUDE_ARCHIVE)
    return path


def test_a_dry_run_shows_what_the_file_contains(archive: Path) -> None:
    shown = run(archive, "--dry-run")
    assert "Format: claude" in shown
    assert "Sourdough" in shown
    assert "Left out: thinking" in shown
    assert not PastImport.objects.exists()


def test_a_file_is_imported_once_however_often_it_is_given(archive: Path, user: User) -> None:
    assert "Imported memories" in run(archive)
    assert (Session.objects.count(), AtomicMemory.objects.filter(user=user).count()) == (1, 4)
    assert "Skipped: already_imported" in run(archive)
    assert (Session.objects.count(), AtomicMemory.objects.count()) == (1, 4)


@pytest.mark.parametrize("title", ["[/b] and [red]", "[[/]]", ":cat: [link=x]", "[/"])
def test_what_people_wrote_is_text_and_no_markup(tmp_path: Path, user: User, title: str) -> None:
    path = tmp_path / "lines.jsonl"
    line = {"role": "user", "content": "Hi", "title": title, "session": "s"}
    path.write_bytes(as_lines([line, {"memory": "x" * 40_000, "id": title}]))
    assert title in run(path, "--dry-run")
    run(path)
    assert Session.objects.get().title == title


def test_the_command_says_what_is_wrong(tmp_path: Path, archive: Path) -> None:
    with pytest.raises(CommandError, match="no user named 'nobody'"):
        call_command("import_past", str(archive), "--user", "nobody")
    with pytest.raises(CommandError, match="No such file"):
        run(tmp_path / "nothing.zip")
    broken = tmp_path / "broken.zip"
    broken.write_bytes(CHATGPT_ARCHIVE[:100])
    with pytest.raises(CommandError, match=r"broken\.zip: The archive is damaged"):
        run(broken)
