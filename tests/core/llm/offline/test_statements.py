"""What a message tells about its writer, sentence by sentence, and what must not be remembered."""

from __future__ import annotations

import pytest

from apps.core.llm.offline.statements import MOST_VALUES, read_statements
from tests.core.llm.offline.tables import read_table, show_entries

TABLES = ("statements_zh", "statements_en", "heldout_zh", "heldout_en")


@pytest.mark.parametrize(("sentence", "expected"), [row for name in TABLES for row in read_table(name)])
def test_a_sentence_gives_exactly_these_entries(sentence: str, expected: str) -> None:
    assert show_entries(read_statements(sentence)) == expected


@pytest.mark.parametrize(
    ("sentence", "category"),
    [("我喜欢爬山", "preference"), ("I live in Boston", "fact"), ("我每天早上跑步", "pattern")],
)
def test_the_category_follows_from_what_is_told(sentence: str, category: str) -> None:
    assert [entry.category for entry in read_statements(sentence)] == [category]


@pytest.mark.spec("L2")
def test_stated_is_surer_than_hedged() -> None:
    assert [entry.confidence for entry in read_statements("我对芒果过敏")] == [0.95]
    assert [entry.confidence for entry in read_statements("我可能对芒果过敏")] == [0.5]


def test_what_is_said_twice_is_one_entry() -> None:
    assert show_entries(read_statements("我喜欢爬山。我喜欢爬山和游泳。我住在北京，我搬到上海了")) == (
        "喜欢的事物+=爬山; 游泳 | 居住地=上海"
    )


def test_a_document_is_not_read_to_its_end() -> None:
    entries = read_statements("".join(f"我喜欢第{number}号茶。" for number in range(500)))
    assert [len(entry.value) for entry in entries] == [MOST_VALUES]


def test_one_person_said_to_live_somewhere_says_nothing_of_the_next_clause() -> None:
    assert read_statements("他很优秀，住在上海，是医生。喜欢蓝色") == []
    assert show_entries(read_statements("我妹妹住在上海。我住在北京")) == "妹妹的居住地=上海 | 居住地=北京"
