"""Citations in both languages: what is found, that it is verbatim, and that it is found again wherever it is put."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.core.text.citations import drop_contained, find_citation_spans, find_citations, holds, list_missing

CITED: dict[str, list[str]] = tomllib.loads(Path(__file__).with_name("citations.toml").read_text("utf-8"))
citation = st.sampled_from([text for texts in CITED.values() for text in texts])


@pytest.mark.parametrize("text", [*CITED["zh"], *CITED["both"]])
@pytest.mark.parametrize("frame", ["{}", "根据{}，应当赔偿。", "我觉得{}的规定很清楚", "引用：{}。", "（{}）"])
def test_a_citation_in_chinese_text_is_found_as_it_stands(text: str, frame: str) -> None:
    assert find_citations(frame.format(text)) == [text]


@pytest.mark.parametrize("text", [*CITED["en"], *CITED["both"]])
@pytest.mark.parametrize("frame", ["{}", "It follows from {} that he must pay.", "Cited: {}.", "You know ({}), right?"])
def test_a_citation_in_english_text_is_found_as_it_stands(text: str, frame: str) -> None:
    assert find_citations(frame.format(text)) == [text]


@pytest.mark.parametrize(
    "text",
    [
        "我喜欢《红楼梦》，第一次读是在2019年，住了第三天。",
        "We meet at 10.30 in part 3 of the building; version 1.2 costs 1,000 dollars.",
        "今天是第一天，他说法官很好。",
        "",
    ],
)
def test_what_cites_nothing_has_no_citations(text: str) -> None:
    assert find_citations(text) == []


@pytest.mark.parametrize(
    ("text", "cited", "there"),
    [
        ("《民法典》第577条第一款", "《民法典》第577条", True),
        ("Article 12 of the UCC", "Article 1", False),
        ("GB/T 1234-2020", "GB/T 1234", False),
        ("GB/T 1234.", "GB/T 1234", True),
        ("《刑法》第二百七十六条之一", "《刑法》第二百七十六条", False),
        ("（2023）京01民终123号之一", "（2023）京01民终123号", False),
    ],
)
def test_the_beginning_of_another_citation_is_not_the_citation(text: str, cited: str, there: bool) -> None:
    assert holds(text, cited) is there
    assert list_missing(text, [cited]) == ([] if there else [cited])


def test_one_that_stands_in_a_longer_one_is_said_with_it() -> None:
    assert drop_contained(["§ 242 BGB", "《民法典》第一条", "《民法典》第一条第二款"]) == [
        "§ 242 BGB",
        "《民法典》第一条第二款",
    ]


@pytest.mark.long
@pytest.mark.spec("S3", "S5")
@given(st.lists(citation, unique=True, max_size=12), st.sampled_from(["引用：{}。", "Cited: {}.", "{}"]))
def test_a_list_of_citations_holds_them_all_again(citations: list[str], frame: str) -> None:
    assert list_missing(frame.format("；".join(citations)), citations) == []


@given(st.text(alphabet="《》第一条法之（）2019号§ Art.ofA/-10GB、", max_size=80))
def test_any_text_is_read_in_spans_that_do_not_overlap(text: str) -> None:
    spans = find_citation_spans(text)
    assert all(start < end for start, end in spans)
    assert all(spans[index][1] <= spans[index + 1][0] for index in range(len(spans) - 1))
    assert list_missing("；".join(find_citations(text)), find_citations(text)) == []
