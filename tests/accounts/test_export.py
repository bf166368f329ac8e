"""Everything of mine as a document (R2)."""

from __future__ import annotations

import json
import stat
import tracemalloc
from datetime import UTC, datetime
from io import BytesIO, StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from apps.accounts.models import User
from apps.accounts.services import export
from apps.accounts.services.erasure import count_rows
from apps.accounts.services.export import write_export
from apps.conversations.models import Message, Role, Session
from apps.memory.deletion import delete_memories
from apps.memory.entries import create_memory
from apps.memory.kinds import LONG_TERM
from tests.contracts.world import SECRET, build_world
from tests.support.factories import SessionFactory, UserFactory
from tests.support.http_server import ApiClient

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.spec("R2"),
    pytest.mark.long_except("test_values_and_times_are_as_they_are_stored"),
]

NOW = datetime(2026, 11, 20, 8, 30, 0, 123456, tzinfo=UTC)


def read(user: User) -> dict[str, Any]:
    file = BytesIO()
    write_export(user=user, file=file, now=NOW)
    return json.loads(file.getvalue())


def add_messages(session: Session, count: int, content: str = "你好 hello") -> None:
    Message.objects.bulk_create(
        Message(session=session, user=session.user, role=Role.USER, content=content, position=number)
        for number in range(count)
    )


def test_the_document_holds_every_kind(alice: ApiClient, bob: ApiClient) -> None:
    build_world(alice)
    build_world(bob)
    response = alice.get("/memory/export")
    assert response.headers["content-type"] == "application/json"
    assert response.headers["content-disposition"].startswith('attachment; filename="jiyi-')
    assert response.headers["cache-control"] == "private, no-store"
    assert f'"value": "{SECRET}"'.encode() in response.content
    document = response.json()
    rows = {name: len(found) for name, found in document["data"].items()}
    assert rows == count_rows(alice.user)
    assert {name for name, number in rows.items() if number} >= {
        "accounts_setting",
        "chat_session",
        "conversation",
        "long_term_memory",
        "memory_change",
        "turn",
        "work",
        "working_memory",
    }
    assert document["user"]["username"] == "alice"
    assert "bob" not in json.dumps(document)
    statuses = {memory["status"] for memory in document["data"]["long_term_memory"]}
    assert statuses == {"active", "pending"}


def test_values_and_times_are_as_they_are_stored() -> None:
    user = UserFactory()
    value = {"颜色": ["蓝", None, 1.5, True]}
    memory, _action = create_memory(user=user, category="fact", key="k", value=value, now=NOW)
    forgotten, _action = create_memory(user=user, category="fact", key="gone", value=SECRET, now=NOW)
    delete_memories(LONG_TERM, user=user, ids=[forgotten.id], now=NOW)
    document = read(user)
    assert document["exported_at"] == NOW.isoformat()
    (row,) = document["data"]["long_term_memory"]
    assert (row["id"], row["value"], row["created_at"]) == (str(memory.id), value, NOW.isoformat())
    assert not {"words", "search_vector", "normalized_key", "user_id"} & set(row)
    assert SECRET not in json.dumps(document, ensure_ascii=False)
    assert set(map(len, read(UserFactory())["data"].values())) == {0}


def test_it_is_written_in_portions_however_much_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    session = SessionFactory()
    add_messages(session, 5)
    monkeypatch.setattr(export, "ROWS_AT_ONCE", 2)
    told: list[tuple[str, int]] = []
    file = BytesIO()
    written = write_export(user=session.user, file=file, now=NOW, progress=lambda *seen: told.append(seen))
    assert [rows for table, rows in told if table == "conversation"] == [2, 4, 5]
    assert written["conversation"] == 5
    positions = [row["position"] for row in json.loads(file.getvalue())["data"]["conversation"]]
    assert sorted(positions) == [0, 1, 2, 3, 4]


def test_memory_does_not_grow_with_the_rows(tmp_path: Path) -> None:
    session = SessionFactory()
    add_messages(session, 20_000, content="a" * 1_000)
    with (tmp_path / "export.json").open("wb") as file:
        tracemalloc.start()
        try:
            write_export(user=session.user, file=file, now=NOW)
            _now, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert file.tell() > 20_000_000
    assert peak < 10_000_000


def test_the_command_replaces_an_older_file_once_all_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "li.json"
    target.write_text("old")
    with pytest.raises(CommandError, match="no user named 'li'"):
        call_command("export_user", "li", str(target))
    create_memory(user=UserFactory(username="li"), category="fact", key="城市", value="北京", now=NOW)
    with pytest.raises(CommandError, match="No such file or directory"):
        call_command("export_user", "li", str(tmp_path / "nowhere" / "li.json"))
    with monkeypatch.context() as patched:
        patched.setattr(export, "_encode", lambda value: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            call_command("export_user", "li", str(target))
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("li.json", "old")]
    out = StringIO()
    call_command("export_user", "li", str(target), stdout=out)
    assert json.loads(target.read_text())["data"]["long_term_memory"][0]["value"] == "北京"
    assert "rows of" in out.getvalue()
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    assert [path.name for path in tmp_path.iterdir()] == ["li.json"]
