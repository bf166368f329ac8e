"""Where sentences of both languages end, and cutting there."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.core.text.sentences import cut_at_sentence, split_sentences


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("你好。我住在上海！真的吗？", ["你好。", "我住在上海！", "真的吗？"]),
        ("“好的。”他说。", ["“好的。”", "他说。"]),
        ("价格是3.5元。It cost $3.50! Really?", ["价格是3.5元。", "It cost $3.50! ", "Really?"]),
        ("我的导师叫Dr. Lindqvist. 他很严。", ["我的导师叫Dr. Lindqvist. ", "他很严。"]),
        ("我缺维生素C. 在补。", ["我缺维生素C. ", "在补。"]),
        ("I met Dr. Smith in the U.S. today. He left.", ["I met Dr. Smith in the U.S. today. ", "He left."]),
        ("See Art. 6 GDPR. Done", ["See Art. 6 GDPR. ", "Done"]),
        ("第一行\n\n 第二行", ["第一行\n\n ", "第二行"]),
        ("see example.org/a?b=1 now", ["see example.org/a?b=1 now"]),
        ("", []),
    ],
)
def test_sentences_of_both_languages(text: str, sentences: list[str]) -> None:
    assert split_sentences(text) == sentences


def test_a_kept_span_is_in_one_sentence() -> None:
    text = "甲。乙。丙。"
    assert split_sentences(text, keep=[(1, 4)]) == ["甲。乙。", "丙。"]
    assert cut_at_sentence(text, 3, keep=[(1, 4)]) == "甲…"


@pytest.mark.parametrize(
    ("text", "limit", "cut"),
    [
        ("你好。我住在上海。", 9, "你好。我住在上海。"),
        ("你好。我住在上海。", 8, "你好。"),
        ("我们讨论了租房，合同，以及押金的退还和违约责任", 14, "我们讨论了租房，合同…"),
        ("one two three four five", 12, "one two…"),
        ("a" * 50, 10, "a" * 9 + "…"),
        ("Short. " + "x" * 50, 20, "Short."),
        ("任何文字", 0, ""),
    ],
)
def test_text_is_cut_where_something_ends(text: str, limit: int, cut: str) -> None:
    assert cut_at_sentence(text, limit) == cut


@given(st.text(alphabet="我你。！？，. !?\n“”ab1", max_size=120), st.integers(0, 60))
def test_nothing_is_lost_by_splitting_and_a_cut_is_a_beginning(text: str, limit: int) -> None:
    assert "".join(split_sentences(text)) == text
    cut = cut_at_sentence(text, limit)
    assert len(cut) <= limit
    assert text.strip().startswith(cut.removesuffix("…"))
