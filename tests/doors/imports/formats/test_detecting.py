"""The format is told by what a file holds."""

from __future__ import annotations

import gzip

import pytest

from apps.doors.imports.formats.base import ExportedRow, PastConversation, PastMemory
from apps.doors.imports.formats.uploads import UnknownFormat, UnreadableFile
from tests.doors.imports.samples import FILES, as_json, as_lines, detect, make_zip, read


@pytest.mark.parametrize(("expected", "data"), FILES.values(), ids=FILES)
def test_each_shape_is_found_and_read(expected: str, data: bytes) -> None:
    assert detect(data) == expected
    items = read(data)
    assert any(isinstance(item, PastConversation | PastMemory | ExportedRow) for item in items)
    if not data.startswith(b"PK"):
        assert detect(b"\xef\xbb\xbf" + data) == expected
        assert read(gzip.compress(data)) == items


@pytest.mark.parametrize(
    "data",
    [
        as_json({"hello": "world"}),
        as_json([1, 2, 3]),
        as_json("text"),
        as_json([]),
        as_json([{"name": "no memory"}]),
        make_zip({"photo.png": b"\x89PNG"}),
        make_zip({"data.json": as_json({"hello": [1]})}),
    ],
)
def test_what_is_none_of_them_is_said_to_be_none(data: bytes) -> None:
    with pytest.raises(UnknownFormat):
        detect(data)


@pytest.mark.parametrize("data", [b"", b"hello", b"\xff\xfe\x00", b"PK\x03\x04 broken", b"\x1f\x8b broken", b"[{"])
def test_what_cannot_be_read_is_said_so(data: bytes) -> None:
    with pytest.raises(UnreadableFile):
        detect(data)


def test_what_macos_adds_to_an_archive_is_not_read() -> None:
    sample = FILES["ChatGPT conversations.json"][1]
    data = make_zip({"__MACOSX/._conversations.json": b"\x00\x05", "export/conversations.json": sample})
    assert len(read(data)) == 1


MANIFEST = {
    "export_id": "e",
    "created_at": "2026-09-10T21:25:17Z",
    "data_files": [{"filename": "conversations-000.zip"}],
}
GEMINI = {"header": "Gemini Apps", "title": "Said Hi", "time": "2026-03-02T09:15:00Z", "products": ["Gemini Apps"]}
OPEN_WEBUI = {"id": "o", "user_id": "u", "title": "Bakery", "chat": {"history": {"messages": {}}}, "created_at": 1}
SILLY_HEAD = {"user_name": "Tom", "character_name": "Vex", "create_date": "2026-1-12@10h03m22s512ms"}
SILLY_LINE = {"name": "Tom", "is_user": True, "is_system": False, "send_date": "January 12, 2026 10:04am", "mes": "Hi."}


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (as_json(MANIFEST), "Download the archives"),
        (make_zip({"manifest.json": as_json(MANIFEST)}), "Download the archives"),
        (as_json([GEMINI]), "Gemini"),
        (make_zip({"Takeout/MyActivity.json": as_json([GEMINI, GEMINI]), "a.json": b"{"}), "Gemini"),
        (as_json([OPEN_WEBUI]), "Open WebUI"),
        (as_json(OPEN_WEBUI), "Open WebUI"),
        (as_lines([SILLY_HEAD, SILLY_LINE, SILLY_LINE]), "SillyTavern"),
        (as_lines([SILLY_HEAD]), "SillyTavern"),
        (as_lines([SILLY_LINE, SILLY_LINE]), "SillyTavern"),
        (as_json([SILLY_HEAD, SILLY_LINE]), "SillyTavern"),
    ],
)
def test_what_is_known_and_cannot_be_read_is_named_with_what_to_do(data: bytes, said: str) -> None:
    with pytest.raises(UnknownFormat, match=said):
        detect(data)


def test_what_can_be_read_beside_it_is_read() -> None:
    data = make_zip({"a.json": as_json(MANIFEST), "conversations.json": FILES["Claude conversations.json"][1]})
    assert detect(data) == "claude"
