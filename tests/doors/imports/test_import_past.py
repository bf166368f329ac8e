"""``manage.py import_past``: preview, import, continue, restore; the examples of docs/import.md work as they are."""

from __future__ import annotations

import re
import shlex
from io import StringIO
from pathlib import Path

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command

from apps.accounts.models import User
from apps.conversations.models import Session
from apps.doors.imports.formats.registry import FORMATS
from apps.doors.models import PastImport
from apps.memory.models import AtomicMemory
from tests.doors.imports.samples import CHATGPT_ARCHIVE, CLAUDE_ARCHIVE, as_lines
from tests.support.factories import UserFactory

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.long_except("test_the_table_has_every_format")]


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


# docs/import.md


DOCUMENT = (Path(settings.BASE_DIR) / "docs" / "import.md").read_text()
FILE = re.compile(r"cat > (\S+) <<'END'\n(.*?)\nEND\n", re.DOTALL)


def run_example(example: str) -> None:
    """Write the file of an example and run its commands."""
    for name, content in FILE.findall(example):
        Path(name).write_text(content + "\n")
    for line in FILE.sub("", example).splitlines():
        command = shlex.split(line)
        assert command[:2] == [".venv/bin/python", "manage.py"]
        call_command(*command[2:], stdout=StringIO())


def test_the_examples_import_lines_and_move_everything_to_another_account(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    UserFactory.create(username="anna")
    lines, everything = re.findall(r"```bash\n(.*?)```", DOCUMENT, re.DOTALL)
    run_example(lines)
    assert AtomicMemory.objects.get().content == "用户对虾过敏"
    run_example(everything)
    for name in ("anna", "anna2"):
        assert Session.objects.get(user__username=name).messages.count() == 2


def test_the_table_has_every_format() -> None:
    assert re.findall(r"^\| (.+?) \| .+\|.+\|$", DOCUMENT, re.MULTILINE)[1:] == [
        each.label for each in FORMATS.values()
    ]
