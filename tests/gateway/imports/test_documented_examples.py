"""The examples of docs/import.md work as they are there."""

from __future__ import annotations

import re
import shlex
from io import StringIO
from pathlib import Path

import pytest
from django.conf import settings
from django.core.management import call_command

from apps.accounts.models import User
from apps.conversations.models import Session
from apps.memory.models import AtomicMemory
from tests.support.factories import UserFactory

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.long_except("test_every_format_has_an_example")]

DOCUMENT = (Path(settings.BASE_DIR) / "docs" / "import.md").read_text()
EXAMPLES = dict(re.findall(r"^### (.+?)\n.*?```bash\n(.*?)```", DOCUMENT, re.DOTALL | re.MULTILINE))
FILE = re.compile(r"cat > (\S+) <<'END'\n(.*?)\nEND\n", re.DOTALL)


@pytest.fixture
def anna(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> User:
    monkeypatch.chdir(tmp_path)
    return UserFactory.create(username="anna")


def run(example: str) -> str:
    """Write the file of an example and run its commands."""
    for name, content in FILE.findall(example):
        Path(name).write_text(content + "\n")
    out = StringIO()
    for line in FILE.sub("", example).splitlines():
        command = shlex.split(line)
        assert command[:2] == [".venv/bin/python", "manage.py"]
        call_command(*command[2:], stdout=out)
    return out.getvalue()


@pytest.mark.parametrize(
    ("title", "sessions", "memories"),
    [
        ("ChatGPT", 1, 0),
        ("Claude", 1, 0),
        ("DeepSeek", 1, 0),
        ("mem0", 0, 1),
        ("Letta", 1, 2),
        ("Zep and Graphiti", 0, 2),
        ("JSON lines, for everything else", 1, 1),
    ],
)
def test_an_example_imports_what_it_says(anna: User, title: str, sessions: int, memories: int) -> None:
    assert ": done" in run(EXAMPLES[title])
    assert Session.objects.filter(user=anna).count() == sessions
    assert AtomicMemory.objects.filter(user=anna).count() == memories


def test_everything_moves_to_another_account(anna: User) -> None:
    run(EXAMPLES["Letta"])
    run(EXAMPLES["Jiyi: everything, without loss"])
    assert Session.objects.filter(user__username="anna2").count() == 1
    assert AtomicMemory.objects.filter(user__username="anna2").count() == 2


def test_every_format_has_an_example() -> None:
    assert len(EXAMPLES) == 8
