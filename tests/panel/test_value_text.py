"""A value as one types it: what is written is read again as the same."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.panel.texts import NotJson, read_tags, read_value, write_tags, write_value

pytestmark = pytest.mark.spec("M3")

_TEXTS = st.one_of(
    st.text(), st.sampled_from(["42", "true", "null", '"a"', "[1]", " a ", "蓝色", "{", "a\r\nb", "NaN"])
)
_LEAVES = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), _TEXTS)
_VALUES = st.recursive(_LEAVES, lambda inner: st.lists(inner) | st.dictionaries(_TEXTS, inner), max_leaves=10)


@pytest.mark.long
@given(_VALUES)
def test_what_is_written_is_read_as_the_same(value: Any) -> None:
    assert json.dumps(read_value(write_value(value))) == json.dumps(value)


@pytest.mark.parametrize(
    ("typed", "value"),
    [
        ("蓝色", "蓝色"),
        (" Berlin \n", "Berlin"),
        ("42", 42),
        ("4.50", 4.5),
        ("true", True),
        ("null", None),
        ('"42"', "42"),
        ('["花生", "芒果"]', ["花生", "芒果"]),
        ("- 花生\r\n\n-  芒果 ", ["花生", "芒果"]),
        ("- tea\nand jam", "- tea\nand jam"),
        ("-5", -5),
        ('{"a": [1]}', {"a": [1]}),
        ("0123", "0123"),
        ("NaN", "NaN"),
        ("1e999", "1e999"),
        ("two\r\nlines", "two\nlines"),
        ("it says [1]", "it says [1]"),
    ],
)
def test_plain_text_stays_text_and_json_is_recognised(typed: str, value: Any) -> None:
    found = read_value(typed)
    assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize(
    ("typed", "place"),
    [('["a",', (1, 6)), ('{"a": 1,\n b}', (2, 2)), ('"open', (1, 1)), ("[NaN]", (1, 1)), ("[" * 100_000, (1, 1))],
)
def test_what_begins_like_json_and_is_none_is_refused_with_its_place(typed: str, place: tuple[int, int]) -> None:
    with pytest.raises(NotJson) as caught:
        read_value(typed)
    assert (caught.value.line, caught.value.column) == place


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ("蓝色", "蓝色"),
        ("42", '"42"'),
        (42, "42"),
        (["茶", "咖啡"], "- 茶\n- 咖啡"),
        ([1], "[\n  1\n]"),
        (["a\nb"], '[\n  "a\\nb"\n]'),
        ([], "[]"),
        (" a", '" a"'),
    ],
)
def test_texts_have_quotes_only_where_they_need_them(value: Any, written: str) -> None:
    assert write_value(value) == written


@pytest.mark.parametrize(
    ("typed", "tags"),
    [
        ("pets, cats", ["pets", "cats"]),
        ("宠物，猫、狗；鸟", ["宠物", "猫", "狗", "鸟"]),
        ("a;b\nc", ["a", "b", "c"]),
        (" , ，", []),
        ("cats, cats", ["cats"]),
        ("", []),
    ],
)
def test_tags_are_typed_with_marks_between_them(typed: str, tags: list[str]) -> None:
    assert read_tags(typed) == tags
    assert read_tags(write_tags(tags)) == tags
