"""Opening uploads, reading their JSON and telling their format: bounded, whatever a file holds."""

from __future__ import annotations

import gzip
import io
import json
import tracemalloc
import zipfile
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.doors.imports.formats import uploads
from apps.doors.imports.formats.base import ExportedRow, PastConversation, PastMemory
from apps.doors.imports.formats.uploads import Node, UnknownFormat, UnreadableFile, Upload, read_nodes
from tests.doors.imports.samples import FILES, as_json, detect, make_zip, read


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
    names = [member.name for member in Upload(io.BytesIO(data)).members]
    assert names == ["conversations-000.json", "conversations-001.json"]
    assert read_all(data) == ["1", "2"]


def test_an_archive_that_unpacks_to_too_much_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uploads, "MAX_UNPACKED_BYTES", 1_000_000)
    bomb = make_zip({"conversations.json": b"[" + b" " * 5_000_000})
    assert len(bomb) < 10_000
    with pytest.raises(UnreadableFile, match="Unpacked"):
        read_all(bomb)
    with pytest.raises(UnreadableFile, match="Unpacked"):
        read_all(gzip.compress(b" " * 5_000_000))


def test_the_limit_is_for_all_members_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uploads, "MAX_UNPACKED_BYTES", 1_000)
    assert len(read_all(make_zip({"a.json": b" " * 500, "b.json": b" " * 500}))) == 2
    with pytest.raises(UnreadableFile):
        read_all(make_zip({"a.json": b" " * 500, "b.json": b" " * 501}))


def test_an_archive_with_too_many_members_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uploads, "MAX_MEMBERS", 2)
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


def test_what_people_say_again_and_again_shrinks_more_and_is_read() -> None:
    data = make_zip({"conversations.json": b"yes, please. " * 1_000_000})
    assert len(data) * uploads.MAX_RATIO < 13_000_000 < uploads.UNPACKED_ANYWAY
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
    with pytest.raises(UnreadableFile, match="not text"):
        read_all(data)


# JSON


def nodes(text: str) -> list[Node]:
    return list(read_nodes(io.StringIO(text)))


@pytest.mark.parametrize("size", [1, 7, 100_000])
def test_elements_carry_the_names_that_lead_to_them(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    monkeypatch.setattr(uploads, "READ_AT_ONCE", size)
    found = nodes('{"about": "a", "data": {"conversation": [1.5, 2], "turn": []}, "x": {"y": [[3]]}, "list": [null]}')
    assert found == [
        Node(("about",), "a", False),
        Node(("data", "conversation"), 1.5, True),
        Node(("data", "conversation"), 2, True),
        Node(("x",), {"y": [[3]]}, False),
        Node(("list",), None, True),
    ]
    assert type(found[1].value) is float


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**20), 10**20)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@pytest.mark.long
@given(value=st.lists(VALUES), ascii_only=st.booleans(), size=st.integers(1, 40))
def test_values_are_read_the_same_wherever_their_text_is_cut(value: Any, ascii_only: bool, size: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(uploads, "READ_AT_ONCE", size)
        found = nodes(json.dumps(value, ensure_ascii=ascii_only, indent=1))
    assert [node.value for node in found] == value


@pytest.mark.parametrize("size", [3, 100_000])
@pytest.mark.parametrize(
    ("text", "said"),
    [
        (r"cut off: \ud83d", "cut off: "),
        (r"\udc00, \ud83d\ude00, \\ud83d", "\udc00, \U0001f600, \\ud83d".replace("\udc00", "")),
        (r"\ud83d\ud83d\ude00\n", "\U0001f600\n"),
    ],
)
def test_halves_of_surrogate_pairs_are_left_out(
    monkeypatch: pytest.MonkeyPatch, text: str, said: str, size: int
) -> None:
    monkeypatch.setattr(uploads, "READ_AT_ONCE", size)
    assert nodes(f'["{text}", 1]') == [Node((), said, True), Node((), 1, True)]


@pytest.mark.parametrize(
    ("text", "read", "reason"),
    [
        ('[1, {"a": "b', 1, "breaks off"),
        ('[1, {"a" "b"}]', 1, "not valid"),
        ("[1]]", 1, "after the end"),
        ('{"a": 1', 1, "breaks off"),
        ("{1: 2}", 0, "not valid"),
        ("", 0, "breaks off"),
        ("[1, " + "[" * 100_000, 1, "deeply"),
        ("[1, " + "7" * 8_000 + "]", 1, "not valid"),
        ("[1, " + "7" * 8_000, 1, "not valid|breaks off"),
    ],
)
def test_what_comes_before_a_mistake_is_read(text: str, read: int, reason: str) -> None:
    document = read_nodes(io.StringIO(text))
    for _ in range(read):
        next(document)
    with pytest.raises(UnreadableFile, match=reason):
        next(document)


@pytest.mark.parametrize("text", ['["{}"]', "[{}]", '{{"a":{}[]}}', "[1, 2{}]"])
def test_an_element_that_is_too_large_is_given_up(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setattr(uploads, "MAX_ELEMENT_CHARACTERS", 1_000)
    monkeypatch.setattr(uploads, "READ_AT_ONCE", 100)
    nodes(text.format(" " * 800))
    with pytest.raises(UnreadableFile, match="too large"):
        nodes(text.format(" " * 1_200))


def test_memory_does_not_grow_with_the_document() -> None:
    class Elements(io.TextIOBase):
        """An array of 199 elements of 100,000 characters, made while it is read."""

        left = 200

        def read(self, size: int | None = -1, /) -> str:
            self.left -= 1
            if self.left == 199:
                return "[1"
            return ', {"a": "' + "x" * 100_000 + '"}' if self.left > 0 else "]" if self.left == 0 else ""

    tracemalloc.start()
    try:
        assert sum(1 for _node in read_nodes(Elements())) == 199
        _now, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 5_000_000


def test_lines_are_elements_and_bad_ones_are_told() -> None:
    found = nodes('{"a": 1}\n\nbroken\n[2]\n{"b": "…"}')
    assert [node.value for node in found if not isinstance(node.value, ValueError)] == [{"a": 1}, [2], {"b": "…"}]
    assert [str(node.value) for node in found if isinstance(node.value, ValueError)] == ["This line is not JSON."]


def test_a_document_over_several_lines_is_none_of_lines() -> None:
    assert nodes('{\n "a": 1\n}\n') == nodes('{"a": 1}\n') == [Node(("a",), 1, False)]


def test_blank_lines_count_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uploads, "MAX_BLANKS", 100)
    assert len(nodes("{}\n" + "\n \n" * 30 + "{}\n")) == 2
    with pytest.raises(UnreadableFile, match="blank lines"):
        nodes("{}\n{}\n" + ("\n" * 60 + "{}\n") * 2)


# The format is told by what a file holds


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
