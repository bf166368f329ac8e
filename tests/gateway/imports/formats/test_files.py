"""Opening uploads: bounded, whatever an archive says of itself."""

from __future__ import annotations

import gzip
import io
import zipfile
from typing import Any

import pytest

from apps.gateway.imports.formats import files
from apps.gateway.imports.formats.files import Upload
from apps.gateway.imports.previews import preview_file
from apps.gateway.imports.types import Format, UnreadableFile
from tests.gateway.imports.samples import as_json, make_zip


def read_all(data: bytes) -> list[str]:
    upload = Upload(io.BytesIO(data))
    texts = []
    for member in upload.members:
        with upload.open_text(member) as text:
            texts.append(text.read())
    return texts


def test_only_the_texts_of_an_archive_are_members_in_the_order_of_their_names() -> None:
    data = make_zip(
        {"b/conversations-001.json": b"2", "z.png": b"", "A/Conversations-000.JSON": b"1", "x/": b"", ".c.json": b""}
    )
    assert [member.name for member in Upload(io.BytesIO(data)).members] == [
        "conversations-000.json",
        "conversations-001.json",
    ]
    assert read_all(data) == ["1", "2"]


def test_an_archive_that_unpacks_to_too_much_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MAX_UNPACKED_BYTES", 1_000_000)
    bomb = make_zip({"conversations.json": b"[" + b" " * 5_000_000})
    assert len(bomb) < 10_000
    with pytest.raises(UnreadableFile, match="unpacked"):
        read_all(bomb)
    with pytest.raises(UnreadableFile, match="unpacked"):
        read_all(gzip.compress(b" " * 5_000_000))


def test_the_limit_is_for_all_members_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MAX_UNPACKED_BYTES", 1_000)
    assert len(read_all(make_zip({"a.json": b" " * 500, "b.json": b" " * 500}))) == 2
    with pytest.raises(UnreadableFile):
        read_all(make_zip({"a.json": b" " * 500, "b.json": b" " * 501}))


def test_an_archive_with_too_many_members_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MAX_MEMBERS", 2)
    with pytest.raises(UnreadableFile, match="too many"):
        Upload(io.BytesIO(make_zip({f"{number}.json": b"" for number in range(3)})))


def test_a_member_that_is_protected_or_damaged_is_said_to_be() -> None:
    data = bytearray(make_zip({"a.json": as_json(["x" * 1_000])}))
    damaged = bytes(data)
    place = damaged.index(b"a.json") + 10
    with pytest.raises(UnreadableFile, match="damaged"):
        read_all(damaged[:place] + b"\xff\xff\xff\xff" + damaged[place + 4 :])
    with zipfile.ZipFile(io.BytesIO(damaged)) as archive:
        start = archive.infolist()[0].header_offset
    data[start + 6] |= 1
    directory = damaged.rindex(b"PK\x01\x02")
    data[directory + 8] |= 1
    with pytest.raises(UnreadableFile, match="password"):
        read_all(bytes(data))


@pytest.mark.long
@pytest.mark.parametrize("blank", [" ", "\n", "\t \r\n"])
@pytest.mark.parametrize("pack", [lambda text: make_zip({"conversations.json": text}), gzip.compress])
def test_a_small_file_that_unpacks_to_much_of_nothing_is_given_up_soon(blank: str, pack: Any) -> None:
    data = pack(b"[" + blank.encode() * 20_000_000)
    with pytest.raises(UnreadableFile, match="unpacked"):
        read_all(data)
    with pytest.raises(UnreadableFile, match="nothing but blanks"):
        preview_file(io.BytesIO(data), named=Format.PLAIN)


def test_what_people_say_again_and_again_shrinks_more_and_is_read() -> None:
    data = make_zip({"conversations.json": b"yes, please. " * 1_000_000})
    assert len(data) * files.MAX_RATIO < 13_000_000 < files.UNPACKED_ANYWAY
    assert len(read_all(data)[0]) == 13_000_000


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "gb18030", "gbk", "utf-16"])
@pytest.mark.parametrize("beginning", ["", "x" * 255_999, "x" * 700_000])
def test_text_is_read_in_the_encodings_people_have(encoding: str, beginning: str) -> None:
    text = beginning + "我在绍兴开了一家茶馆。"
    data = text.encode(encoding)
    assert read_all(data) == [text]
    assert read_all(gzip.compress(data)) == [text]
    assert read_all(make_zip({"a.json": data})) == [text]


@pytest.mark.parametrize("data", [b'["caf\xe9"]', b"\xff\xff\xff\xff", b"[" + bytes(range(128, 256)) + b"]"])
def test_what_is_no_text_is_refused(data: bytes) -> None:
    with pytest.raises(UnreadableFile, match="no text"):
        read_all(data)
