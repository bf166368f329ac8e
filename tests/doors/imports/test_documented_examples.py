"""The examples of docs/import.md work as they are there."""

from __future__ import annotations

import re
import shlex
from io import StringIO
from pathlib import Path

import pytest
from django.conf import settings
from django.core.management import call_command

from apps.conversations.models import Session
from apps.doors.imports.formats.registry import FORMATS
from apps.memory.models import AtomicMemory
from tests.support.factories import UserFactory

DOCUMENT = (Path(settings.BASE_DIR) / "docs" / "import.md").read_text()
FILE = re.compile(r"cat > (\S+) <<'END'\n(.*?)\nEND\n", re.DOTALL)


def run(example: str) -> None:
    """Write the file of an example and run its commands."""
    for name, content in FILE.findall(example):
        Path(name).write_text(content + "\n")
    for line in FILE.sub("", example).splitlines():
        command = shlex.split(line)
        assert command[:2] == [".venv/bin/python", "manage.py"]
        call_command(*command[2:], stdout=StringIO())


@pytest.mark.long
@pytest.mark.django_db(transaction=True)
def test_the_examples_import_lines_and_move_everything_to_another_account(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    UserFactory.create(username="anna")
    lines, everything = re.findall(r"```bash\n(.*?)```", DOCUMENT, re.DOTALL)
    run(lines)
    assert AtomicMemory.objects.get().content == "用户对虾过敏"
    run(everything)
    for name in ("anna", "anna2"):
        assert Session.objects.get(user__username=name).messages.count() == 2


def test_the_table_has_every_format() -> None:
    assert re.findall(r"^\| (.+?) \| .+\|.+\|$", DOCUMENT, re.MULTILINE)[1:] == [
        each.label for each in FORMATS.values()
    ]
