"""What rests on what was said (A3), where values occur in text (L6), and citations in both languages."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.core.text.citations import drop_contained, find_citation_spans, find_citations, holds, list_missing
from apps.core.text.grounding import Cut, Traces, is_grounded, is_said_by, read_questions


@pytest.mark.spec("A3")
@pytest.mark.parametrize(
    ("text", "said", "grounded"),
    [
        ("The user runs.", "I went running", True),
        ("用户搬到了上海。", "我搬去上海了", True),
        ("The user's extension is 4471.", "no, 4471", True),
        ("O", "My blood type is O", True),
        ("lotsa", "I had lots of fun", False),
        ("d", "I'd rather not", False),
        ("l", "I'll see", False),
        ("The user likes the user.", "I, the user", False),
        ("用户喜欢苹果。", "我住在北京", False),
    ],
)
def test_a_text_is_grounded_by_one_content_word(text: str, said: str, grounded: bool) -> None:
    assert is_grounded(text, said=said) is grounded


@pytest.mark.parametrize(
    ("text", "said", "whole"),
    [
        ("cat Miso", "The user has a cat called Miso, seven years old.", True),
        ("4417", "The user's extension is 4471.", False),
        ("number 31", "locker: number 13", False),
    ],
)
def test_a_value_is_said_by_a_text_with_all_of_its_words(text: str, said: str, whole: bool) -> None:
    assert is_said_by(text, said=said) is whole


def test_of_an_assistant_only_its_questions_count() -> None:
    text = "You love jazz. It is Marc who can't eat nuts? 是马克吗？Fine."
    assert read_questions(text) == "It is Marc who can't eat nuts? 是马克吗？"


@pytest.mark.spec("L6")
@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("蓝色", "用户喜欢藍色的衣服"),
        ("New York", "They moved to new-york last year."),
        ("cat", "Has two CATS at home"),
        ("Ｂｌｕｅ", "likes blue。"),
        ("C++", "我写C++程序"),
        ("1.5", "about 1.5 litres"),
        ("28", "今年28岁"),
        ("Python", "我爱python和茶"),
        ("我的外婆", "用户的外婆在北京"),
        ("是", "你好。是。"),
    ],
)
def test_a_value_is_found_whatever_its_form(value: str, text: str) -> None:
    assert Traces([value]).stand_in(text)


@pytest.mark.spec("L6")
@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("cat", "A good education"),
        ("28", "in 2028"),
        ("28", "costs 1.28"),
        ("1.5", "has 15 friends"),
        ("C++", "writes C"),
        ("是", "他是老师。"),
        ("蓝色", "红色和绿色"),
    ],
)
def test_a_part_of_another_word_or_number_is_not_found(value: str, text: str) -> None:
    assert not Traces([value]).stand_in(text)
    assert Traces([value]).cut_from(text) == Cut(text, ())


@pytest.mark.spec("L6")
def test_only_the_sentences_that_hold_it_go() -> None:
    cut = Traces(["蓝色", "Paris"]).cut_from("住在北京。喜欢藍色。Lives in Paris. Works as a cook.\n养猫")
    assert cut == Cut("住在北京。Works as a cook.\n养猫", ("喜欢藍色。", "Lives in Paris."))


@pytest.mark.spec("L6")
def test_a_value_over_several_sentences_takes_them_all() -> None:
    cut = Traces(["爱吃鱼。不吃辣"]).cut_from("住在北京。爱吃鱼。不吃辣。养猫。")
    assert cut == Cut("住在北京。养猫。", ("爱吃鱼。不吃辣。",))


@pytest.mark.spec("L6")
def test_what_taking_out_puts_together_goes_too() -> None:
    cut = Traces(["red wine", "water"]).cut_from("Tea. Red. Water. Wine. Milk.")
    assert cut == Cut("Tea. Milk.", ("Water.", "Red. Wine."))


@pytest.mark.spec("L6")
def test_of_a_value_over_very_many_sentences_nothing_is_left() -> None:
    value = "一。二。三。四。五。六。七"
    assert Traces([value]).cut_from(f"养猫。{value}。") == Cut("", (f"养猫。{value}。",))


@pytest.mark.spec("L6")
def test_no_value_is_in_no_text() -> None:
    assert not Traces([])
    assert not Traces(["", " "]).stand_in("。")


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
