"""The format is told by what a file holds."""

from __future__ import annotations

import gzip

import pytest

from apps.doors.imports.formats.base import ExportedRow, PastConversation, PastMemory
from apps.doors.imports.formats.uploads import UnknownFormat, UnreadableFile
from tests.doors.imports.samples import FILES, as_json, detect, make_zip, read


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
COPILOT = b'\xef\xbb\xbfConversation,Time,Author,Message\r\n"Git",2026-07-26T23:20:56,AI,"Hi"\r\n'


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (as_json(MANIFEST), "Download the archives"),
        (make_zip({"manifest.json": as_json(MANIFEST)}), "Download the archives"),
        (as_json({"info": {"character": {}}, "histories": {"histories": []}}), "Character.AI"),
        (as_json({"chat-next-web-store": {"sessions": []}}), "NextChat"),
        (make_zip({"data.json": as_json({"time": 1, "version": 5, "localStorage": {}, "indexedDB": {}})}), "Cherry"),
        (COPILOT, "Microsoft Copilot"),
    ],
)
def test_what_is_known_and_cannot_be_read_is_named_with_what_to_do(data: bytes, said: str) -> None:
    with pytest.raises(UnknownFormat, match=said):
        detect(data)


def test_what_can_be_read_beside_it_is_read() -> None:
    data = make_zip({"a.json": as_json(MANIFEST), "conversations.json": FILES["Claude conversations.json"][1]})
    assert detect(data) == "claude"
