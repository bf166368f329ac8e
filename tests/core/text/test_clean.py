"""Characters that cannot be stored: refused from clients, removed from models."""

from __future__ import annotations

import math

import pytest

from apps.core.text.clean import MAX_DEPTH, clean_json, clean_text, find_forbidden, normalize_line_ends


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [("你好\x00世界", "你好世界"), ("a\ud83db", "ab"), ("\udc00\x00", ""), ("emoji 😀 stays\n", "emoji 😀 stays\n")],
)
def test_clean_text_drops_only_what_cannot_be_stored(text: str, cleaned: str) -> None:
    assert clean_text(text) == cleaned


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ("你好 😀", None),
        ("a\x00b", "U+0000"),
        ("a\ud83d", "U+D83D"),
        ({"tags": ["ok", "no", "\x00"]}, "U+0000 at tags[2]"),
        ({"a": {"b\udfff": 1}}, "U+DFFF in a key at a"),
        ({"a": [1.5, math.inf]}, "a number that is not finite at a[1]"),
        ([True, None, 3, {"a": "b"}], None),
    ],
)
def test_find_forbidden_names_what_and_where(value: object, found: str | None) -> None:
    assert find_forbidden(value) == found


def test_find_forbidden_names_the_first_one() -> None:
    assert find_forbidden({"a": ["\ud800"], "b": "\x00"}) == "U+D800 at a[0]"


def nest(levels: int) -> object:
    value: object = "x"
    for _ in range(levels):
        value = [value]
    return value


def test_nesting_is_bounded() -> None:
    assert find_forbidden(nest(MAX_DEPTH)) is None
    assert find_forbidden(nest(MAX_DEPTH + 1)) == f"nesting deeper than {MAX_DEPTH} levels"
    assert find_forbidden(nest(100_000)) == f"nesting deeper than {MAX_DEPTH} levels"
    assert clean_json(nest(MAX_DEPTH)) == nest(MAX_DEPTH)
    with pytest.raises(ValueError, match="nested deeper than 64 levels"):
        clean_json(nest(MAX_DEPTH + 1))


def test_every_line_end_becomes_the_same_one() -> None:
    assert normalize_line_ends("一\r\n二\r三\n\r\n四") == "一\n二\n三\n\n四"


def test_clean_json_cleans_strings_keys_and_numbers_and_leaves_the_rest() -> None:
    value = {"k\x00": ["a\ud800", 1, True, None], "n": math.nan, "f": 1.5}
    assert clean_json(value) == {"k": ["a", 1, True, None], "n": None, "f": 1.5}
    assert value["k\x00"] == ["a\ud800", 1, True, None]
