"""Finding values in running text and taking their sentences out (L6)."""

from __future__ import annotations

import pytest

from apps.core.text.grounding import Cut, Traces

pytestmark = pytest.mark.spec("L6")


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


def test_only_the_sentences_that_hold_it_go() -> None:
    cut = Traces(["蓝色", "Paris"]).cut_from("住在北京。喜欢藍色。Lives in Paris. Works as a cook.\n养猫")
    assert cut == Cut("住在北京。Works as a cook.\n养猫", ("喜欢藍色。", "Lives in Paris."))


def test_a_value_over_several_sentences_takes_them_all() -> None:
    cut = Traces(["爱吃鱼。不吃辣"]).cut_from("住在北京。爱吃鱼。不吃辣。养猫。")
    assert cut == Cut("住在北京。养猫。", ("爱吃鱼。不吃辣。",))


def test_what_taking_out_puts_together_goes_too() -> None:
    cut = Traces(["red wine", "water"]).cut_from("Tea. Red. Water. Wine. Milk.")
    assert cut == Cut("Tea. Milk.", ("Water.", "Red. Wine."))


def test_of_a_value_over_very_many_sentences_nothing_is_left() -> None:
    value = "一。二。三。四。五。六。七"
    assert Traces([value]).cut_from(f"养猫。{value}。") == Cut("", (f"养猫。{value}。",))


def test_no_value_is_in_no_text() -> None:
    assert not Traces([])
    assert not Traces(["", " "]).stand_in("。")
