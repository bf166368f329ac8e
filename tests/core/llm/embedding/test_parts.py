"""Long texts in parts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.core.llm.embedding import split_text


def test_a_text_that_fits_is_one_part() -> None:
    assert split_text("我住在北京。", max_characters=6) == ["我住在北京。"]


@pytest.mark.parametrize("text", ["", " \n\t", "\u3000"])
def test_a_text_of_nothing_but_white_space_has_no_part(text: str) -> None:
    assert split_text(text, max_characters=10) == []


@pytest.mark.spec("V3")
@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("第一段。第二句。\n\n第二段。", ["第一段。第二句。\n\n", "第二段。"]),
        ("今天下雨，很冷。我在家看书。", ["今天下雨，很冷。", "我在家看书。"]),
        ("He came. She left for work.", ["He came.", " She left ", "for work."]),
        ("他说了：“好。”他走了，很快", ["他说了：“好。”", "他走了，很快"]),
        ("abcdefghijklmnopqrstuvwxyz", ["abcdefghijkl", "mnopqrstuvwx", "yz"]),
    ],
    ids=["paragraph", "sentence", "words", "closing quote", "one word"],
)
def test_a_part_ends_at_the_best_place_of_its_second_half(text: str, parts: list[str]) -> None:
    assert split_text(text, max_characters=12) == parts


@given(st.text(st.sampled_from("ab我。. ，\n“”!"), max_size=200), st.integers(1, 30))
def test_nothing_is_lost_and_no_part_is_too_long(text: str, max_characters: int) -> None:
    parts = split_text(text, max_characters=max_characters)

    assert "".join(parts) == (text if text.strip() else "")
    assert all(0 < len(part) <= max_characters for part in parts)
