"""Elements of large documents are read one by one."""

from __future__ import annotations

import io
import json
import tracemalloc
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apps.gateway.imports.formats import json_stream
from apps.gateway.imports.formats.json_stream import Node, read_document, read_lines_or_document
from apps.gateway.imports.types import UnreadableFile

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**20), 10**20)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


def nodes(text: str) -> list[Node]:
    return list(read_document(io.StringIO(text)))


def join(found: list[Node]) -> Any:
    """What a document was, from its nodes; empty arrays and objects leave none."""
    if any(not node.path for node in found):
        return [node.value for node in found] if found[0].is_element else found[0].value
    joined: dict[str, Any] = {}
    for node in found:
        *outer, name = node.path
        place = joined
        for step in outer:
            place = place.setdefault(step, {})
        if node.is_element:
            place.setdefault(name, []).append(node.value)
        else:
            place[name] = node.value
    return joined


def without_empty(value: Any, depth: int = 0, name: str = "") -> Any:
    if isinstance(value, dict) and (depth == 0 or (depth == 1 and name == "data")):
        shown = {key: without_empty(item, depth + 1, key) for key, item in value.items()}
        return {
            key: item for key, item in shown.items() if item != [] and not (item == {} and key == "data" and depth == 0)
        }
    return value


@pytest.mark.long
@settings(max_examples=300, deadline=None)
@given(value=VALUES, indent=st.sampled_from([None, 1]), size=st.integers(1, 40))
def test_a_document_is_read_the_same_wherever_its_text_is_cut(value: Any, indent: int | None, size: int) -> None:
    before, json_stream.READ_AT_ONCE = json_stream.READ_AT_ONCE, size
    try:
        found = nodes(json.dumps(value, indent=indent))
    finally:
        json_stream.READ_AT_ONCE = before
    expected = without_empty(value)
    assert (join(found) if found else []) == (expected if expected not in ({}, []) else [])


def test_elements_carry_the_names_that_lead_to_them() -> None:
    found = nodes('{"about": "a", "data": {"conversation": [1, 2], "turn": []}, "x": {"y": [3]}, "list": [4]}')
    assert found == [
        Node(("about",), "a", False),
        Node(("data", "conversation"), 1, True),
        Node(("data", "conversation"), 2, True),
        Node(("x",), {"y": [3]}, False),
        Node(("list",), 4, True),
    ]


@pytest.mark.parametrize(
    ("text", "read", "reason"),
    [
        ("[1, 2", 2, "breaks off"),
        ('[1, {"a": "b', 1, "breaks off"),
        ('[1, {"a" "b"}]', 1, "not valid"),
        ("[1 2]", 1, "not valid"),
        ("[1]]", 1, "after the end"),
        ('{"a": 1', 1, "breaks off"),
        ("{1: 2}", 0, "not valid"),
        ("", 0, "breaks off|not valid"),
        ("[" + "[" * 100_000, 0, "deeply"),
    ],
)
def test_what_comes_before_a_mistake_is_read(text: str, read: int, reason: str) -> None:
    document = read_document(io.StringIO(text))
    for _ in range(read):
        next(document)
    with pytest.raises(UnreadableFile, match=reason):
        next(document)


def test_an_element_that_is_too_large_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_stream, "MAX_ELEMENT_CHARACTERS", 1_000)
    monkeypatch.setattr(json_stream, "READ_AT_ONCE", 100)
    assert len(nodes(json.dumps(["x" * 900] * 5))) == 5
    with pytest.raises(UnreadableFile, match="too large"):
        nodes(json.dumps(["x" * 5_000]))


def test_memory_does_not_grow_with_the_document() -> None:
    class Endless(io.TextIOBase):
        """An array of a million elements, made while it is read."""

        def __init__(self) -> None:
            self.left = 200

        def read(self, size: int | None = -1, /) -> str:
            self.left -= 1
            return (
                "[1"
                if self.left == 199
                else ', {"a": "' + "x" * 100_000 + '"}'
                if self.left > 0
                else "]"
                if self.left == 0
                else ""
            )

    tracemalloc.start()
    try:
        assert sum(1 for _node in read_document(Endless())) == 199
        _now, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 5_000_000


def test_lines_are_elements_and_bad_ones_are_told() -> None:
    found = list(read_lines_or_document(io.StringIO('{"a": 1}\n\nbroken\n[2]\n{"b": "…"}')))
    assert [node.value for node in found if not isinstance(node.value, ValueError)] == [{"a": 1}, [2], {"b": "…"}]
    assert [str(node.value) for node in found if isinstance(node.value, ValueError)] == ["This line is not JSON."]


def test_a_document_over_several_lines_is_none_of_lines() -> None:
    assert list(read_lines_or_document(io.StringIO('{\n "a": 1\n}\n'))) == [Node(("a",), 1, False)]
    assert list(read_lines_or_document(io.StringIO('{"a": 1}\n'))) == [Node(("a",), 1, False)]


@pytest.mark.parametrize("text", ["[{blanks}1]", "[1{blanks}, 2]", '{{"a":{blanks}[]}}', "[]{blanks}", "{blanks}[]"])
@pytest.mark.parametrize("blank", [" ", "\n"])
def test_blanks_are_passed_over_up_to_a_limit(monkeypatch: pytest.MonkeyPatch, text: str, blank: str) -> None:
    monkeypatch.setattr(json_stream, "MAX_BLANKS", 2_000)
    monkeypatch.setattr(json_stream, "READ_AT_ONCE", 512)
    nodes(text.format(blanks=blank * 1_400))
    with pytest.raises(UnreadableFile, match="blanks"):
        nodes(text.format(blanks=blank * 3_000))


def test_blank_lines_count_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_stream, "MAX_BLANKS", 100)
    lines = "{}\n" + "\n \n" * 30 + "{}\n"
    assert len(list(read_lines_or_document(io.StringIO(lines)))) == 2
    with pytest.raises(UnreadableFile, match="blanks"):
        list(read_lines_or_document(io.StringIO("{}\n{}\n" + ("\n" * 60 + "{}\n") * 2)))
