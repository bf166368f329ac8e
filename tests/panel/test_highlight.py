"""Where the words of a search are marked."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.panel.texts import list_needles, split_found

pytestmark = pytest.mark.spec("M1")


def marked(query: str, text: str) -> list[str]:
    return [piece for found, piece in split_found(text, list_needles(query)) if found]


@pytest.mark.parametrize(
    ("query", "text", "found"),
    [
        ("颜色", "你喜欢的颜色是蓝色", ["颜色"]),
        ("顏色", "你喜欢的颜色", ["颜色"]),
        ("颜色", "喜歡的顏色", ["顏色"]),
        ("allergy", "Allergies: peanuts", ["Allergies"]),
        ("pyth", "Python and pythons", ["Python", "pythons"]),
        ("cat", "education of a CAT", ["CAT"]),
        ("喜欢 蓝色", "喜欢蓝色", ["喜欢蓝色"]),
        ("ＡＢＣ", "abc ＡＢＣ", ["abc", "ＡＢＣ"]),
        ("weiss", "weiß und weiss", ["weiß", "weiss"]),
        ("<b>", "<b>bold</b>", ["<b>bold", "b"]),
        ("", "anything", []),
        ("nothing", "", []),
    ],
)
def test_words_are_marked_whatever_their_form(query: str, text: str, found: list[str]) -> None:
    assert marked(query, text) == found


@pytest.mark.long
@given(st.text(), st.text())
def test_the_pieces_are_the_text(query: str, text: str) -> None:
    assert "".join(piece for _found, piece in split_found(text, list_needles(query))) == text
