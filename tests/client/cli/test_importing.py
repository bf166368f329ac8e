"""`jiyi import`: conversations and memories from elsewhere, previewed, followed, undone; our own export restored."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from apps.conversations.models import Session
from apps.doors.imports.running import run_imports
from apps.memory.models import AtomicMemory
from tests.client.cli.conftest import Jiyi
from tests.doors.imports.samples import CHATGPT_CONVERSATION, MEM0_RESULTS

pytestmark = pytest.mark.long_except("test_conversations_become_sessions", "test_a_file_of_no_known_format")


@pytest.fixture(autouse=True)
def _worker(monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker that works while the command waits."""
    monkeypatch.setattr("jiyi.cli.importing.sleep", lambda _seconds: run_imports(token="worker"))


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    """An export of ChatGPT."""
    path = tmp_path / "conversations.json"
    path.write_text(json.dumps([CHATGPT_CONVERSATION], ensure_ascii=False))
    return path


def test_conversations_become_sessions(jiyi: Jiyi, archive: Path):
    done = jiyi("import", str(archive))
    assert (done.code, done.out) == (0, "")
    session = Session.objects.get()
    assert session.title == "搬家计划"
    assert f"Imported 1 conversation ({session.messages.count()} messages) and 0 memories." in done.err
    assert "jiyi import --undo" in done.err

    again = jiyi("import", str(archive))
    assert again.code == 0
    assert Session.objects.count() == 1
    assert "Skipped" in again.err


def test_a_dry_run_imports_nothing(jiyi: Jiyi, archive: Path):
    done = jiyi("import", "--dry-run", str(archive))
    assert done.code == 0
    assert done.rows[:2] == [["Format", "chatgpt"], ["Conversations", "1"]]
    assert "搬家计划" in done.err
    assert jiyi("import", "--dry-run", "--json", str(archive)).json["found"]["conversations"] == 1
    assert Session.objects.count() == 0


def test_memories_are_imported_from_a_pipe_and_removed_again(jiyi: Jiyi):
    data = json.dumps(MEM0_RESULTS, ensure_ascii=False)
    done = jiyi("import", "-", "--format", "mem0", "--json", piped=data).json
    assert (done["state"], done["format"], done["file_name"]) == ("done", "mem0", "stdin")
    assert AtomicMemory.objects.filter(content="对花生过敏").exists()
    undone = jiyi("import", "--undo", done["id"])
    assert undone.code == 0
    assert undone.err.startswith("Undone: ")
    assert not AtomicMemory.objects.filter(content="对花生过敏", status="active").exists()


def test_an_import_can_be_left_alone_and_followed_later(jiyi: Jiyi, archive: Path):
    started = jiyi("import", "--no-wait", str(archive))
    assert started.code == 0
    import_id = started.out.strip()
    assert import_id in started.err
    assert Session.objects.count() == 0
    assert "Imported 1 conversation" in jiyi("import", "--follow", import_id).err


def test_an_interrupted_wait_says_how_to_go_on(jiyi: Jiyi, archive: Path, monkeypatch: pytest.MonkeyPatch):
    def interrupt(_seconds: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("jiyi.cli.importing.sleep", interrupt)
    done = jiyi("import", str(archive))
    assert done.code == 130
    assert "jiyi import --follow" in done.err


def test_a_file_of_no_known_format(jiyi: Jiyi, tmp_path: Path):
    (tmp_path / "picture.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(range(256)))
    done = jiyi("import", str(tmp_path / "picture.png"))
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith("Error: ")


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["--follow", "x", "--undo", "y"],
        ["--follow", "x", "--dry-run"],
        ["FILE", "--long-term", "--dry-run"],
        ["none"],
    ],
)
def test_what_does_not_go_together(arguments: list[str], jiyi: Jiyi, archive: Path):
    given = [str(archive) if it == "FILE" else it for it in arguments]
    assert jiyi("import", *given).code == 2
