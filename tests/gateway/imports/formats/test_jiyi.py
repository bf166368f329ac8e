"""Our own export: what the file says about itself, then its rows."""

from __future__ import annotations

from apps.gateway.imports.types import ExportedRow, LeftOut, Omission
from tests.gateway.imports.samples import as_json, read


def test_rows_come_by_table_in_the_order_of_the_file() -> None:
    document = {
        "about": "…",
        "exported_at": "2026-11-20T08:30:00+00:00",
        "user": {"id": 7},
        "data": {"chat_session": [{"id": "s"}], "conversation": [{"id": "a"}, {"id": "b"}], "turn": [], "work": [5]},
    }
    *head, session, first, second, broken = read(as_json(document))
    assert head[2] == ExportedRow("", {"user": {"id": 7}})
    assert [session, first, second] == [
        ExportedRow("chat_session", {"id": "s"}),
        ExportedRow("conversation", {"id": "a"}),
        ExportedRow("conversation", {"id": "b"}),
    ]
    assert isinstance(broken, Omission)
    assert (broken.reason, broken.label) == (LeftOut.MALFORMED, "work")
