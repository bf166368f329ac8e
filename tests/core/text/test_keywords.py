"""Words of Chinese, English and mixed text, pronouns (K2), keywords of a message (K1), and the topic they make."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.core.text.keywords import (
    Fate,
    explain_keywords,
    extract_keywords,
    find_topic,
    match_words,
    measure,
    tells_enough,
)
from apps.core.text.segment import NEUTRAL, drop_pronouns, pieces, search_words, words


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("我喜欢用 Python 写代码", ["我", "喜欢", "用", "Python", "写", "代码"]),
        ("用C++写代码，不用 C#", ["用", "C++", "写", "代码", "不用", "C#"]),
        ("体重65.5公斤", ["体重", "65.5", "公斤"]),
        ("t恤", ["t恤"]),
        ("My dog's favorite_color isn't blue.", ["My", "dog's", "favorite", "color", "isn't", "blue"]),
        ("café Привет", ["café", "Привет"]),
        ("、。!? 😀", []),
        ("", []),
    ],
)
def test_words(text: str, expected: list[str]) -> None:
    assert words(text) == expected


def test_search_words_add_the_dictionary_words_inside_a_long_one() -> None:
    assert words("编程语言偏好") == ["编程语言", "偏好"]
    assert search_words("编程语言偏好") == ["编程", "语言", "编程语言", "偏好"]


@given(st.text(alphabet=st.sampled_from("我你喜欢的编程语言aB1.'+#_- ，。\n龘かé😀"), max_size=60))
def test_pieces_lose_nothing(text: str) -> None:
    assert "".join(pieces(text)) == text


@pytest.mark.long
def test_a_long_run_of_unknown_characters_takes_linear_time() -> None:
    # jieba alone is quadratic here: 3 s for these 32,000 characters on the machine this was written on.
    assert len(words("龘" * 32_000)) == 32_000


@pytest.mark.long
def test_loading_is_silent_lazy_and_leaves_no_cache_file(tmp_path: Path, pytestconfig: pytest.Config) -> None:
    program = (
        "import sys, apps.core.text.keywords as k; assert 'jieba' not in sys.modules and 'opencc' not in sys.modules\n"
        "print(k.extract_keywords('我喜歡寫代碼'))"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        capture_output=True,
        text=True,
        check=True,
        env={"TMPDIR": str(tmp_path), "PYTHONPATH": str(pytestconfig.rootpath), "PYTHONIOENCODING": "utf-8"},
    )
    assert (done.stdout.strip(), done.stderr) == ("['喜欢', '代码']", "")
    assert not list(tmp_path.iterdir())


@pytest.mark.spec("K2")
@pytest.mark.parametrize(
    "same",
    [
        ["你喜欢的颜色", "我喜欢的颜色", "您喜歡的顏色"],
        ["你的名字", "我的名字", "您的名字"],
        ["my dog", "your dog", "MY dog", "Your dog's"],
        ["I like you", "you like me", "I like my"],
        ["我家", "你家"],
        ["谢谢您", "谢谢你"],
        ["you", "您", "i", "Mine"],
    ],
)
def test_pronouns_make_no_difference(same: list[str]) -> None:
    assert {tuple(match_words(text)) for text in same} == {tuple(match_words(same[0]))}
    assert NEUTRAL in match_words(same[0])


@pytest.mark.spec("K2")
@pytest.mark.parametrize("text", ["我们", "你们", "自我介绍", "迷你裙", "忘我", "你好", "ice", "mystery"])
def test_words_that_only_contain_a_pronoun_stay(text: str) -> None:
    assert match_words(text) == [text]


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("我的猫和你的狗", "猫和狗"),
        ("我喜欢的颜色", "喜欢的颜色"),
        ("告诉你我的名字", "告诉名字"),
        ("my cat, your dog", " cat,  dog"),
        ("我们的家", "我们的家"),
        ("你好", "你好"),
    ],
)
def test_drop_pronouns(text: str, left: str) -> None:
    assert drop_pronouns(text) == left


@pytest.mark.spec("K1")
@pytest.mark.parametrize(
    ("text", "keywords"),
    [
        ("我喜欢用 Python 写代码", ["喜欢", "python", "代码"]),
        ("我喜歡用 PYTHON 寫代碼", ["喜欢", "python", "代码"]),
        ("What is my favorite color?", ["favorite", "color"]),
        ("Do you remember what my dog's name is", ["dog", "name"]),
        ("我喜欢的颜色是什么", ["喜欢", "颜色"]),
        ("my 猫 likes 三文鱼", ["likes", "三文鱼"]),
        ("2023年有365天，12月", ["2023"]),
        ("版本 1.5 和 3.1415", ["版本", "3.1415"]),
        ("Python python ＰＹＴＨＯＮ", ["python"]),
        ("会写 C++ 和 c#", ["c++", "c#"]),
        # One character, where nothing else remains
        ("猫", ["猫"]),
        ("我的猫呢？", ["猫"]),
        ("猫和狗", ["猫", "狗"]),
        ("is it x?", ["x"]),
    ],
)
def test_keywords(text: str, keywords: list[str]) -> None:
    assert extract_keywords(text) == keywords


@pytest.mark.spec("K2")
@pytest.mark.parametrize("text", ["你", "您", "您的", "you", "My"])
def test_a_text_of_pronouns_alone_asks_for_the_person(text: str) -> None:
    assert extract_keywords(text) == ["我"]


@pytest.mark.spec("K1")
@pytest.mark.parametrize(
    "text", ["", "   ", "？！", "你好", "谢谢你", "Thank you!", "what is it", "是什么", "42", "1.5"]
)
def test_a_text_without_content_has_no_keywords(text: str) -> None:
    assert extract_keywords(text) == []


@pytest.mark.spec("K1")
def test_at_most_ten_and_the_common_words_go_first() -> None:
    text = "工作 公司 问题 时间 中国 社会 经济 发展 量子纠缠 麒麟 饕餮 榫卯 quantum"
    assert len(extract_keywords(text)) == 10
    assert extract_keywords(text, limit=4) == ["麒麟", "饕餮", "榫卯", "quantum"]
    assert extract_keywords(text, limit=0) == []


@pytest.mark.spec("K1")
def test_what_a_text_repeats_is_important() -> None:
    assert extract_keywords("苹果 香蕉 西瓜 工作 工作 工作 工作", limit=1) == ["工作"]


@pytest.mark.spec("M6")
def test_what_became_of_each_word_can_be_told() -> None:
    told = explain_keywords("我喜欢用 Python 写代码 12 猫", limit=2)
    assert {word: fate.value for word, fate in told.items()} == {
        "我": "pronoun",
        "喜欢": "less_important",
        "用": "stop_word",
        "python": "keyword",
        "写": "one_character",
        "代码": "keyword",
        "12": "short_number",
        "猫": "one_character",
    }
    assert explain_keywords("") == {}
    assert explain_keywords("the 猫") == {"the": "stop_word", "猫": "keyword"}


@pytest.mark.spec("K1")
@pytest.mark.parametrize(
    ("text", "keywords"),
    [
        ("🐱", ["🐱"]),
        ("🐱？ 🐱", ["🐱"]),
        ("🇫🇷🇩🇪", ["🇫🇷", "🇩🇪"]),
        ("❤️", ["❤"]),
        ("👍🏽", ["👍"]),
        ("🐱 thanks", []),
        ("my 🐱 Momo", ["momo"]),
    ],
)
def test_emoji_are_keywords_where_there_is_nothing_else(text: str, keywords: list[str]) -> None:
    assert extract_keywords(text) == keywords
    assert [word for word, fate in explain_keywords(text).items() if fate is Fate.KEYWORD] == keywords


def find(message: str, *earlier: str, vague: str = "") -> str | None:
    return find_topic(message, folded=message.lower(), earlier=earlier, is_vague=vague.split().__contains__)


@pytest.mark.spec("W3")
@pytest.mark.parametrize("message", ["true", "helped ya", "的确", "明白了", "", "👍", "👍🎉😀🇫🇷", "1234", "yes it is"])
def test_what_tells_little_has_no_topic(message: str) -> None:
    assert find(message) is None
    assert not tells_enough(message)


@pytest.mark.spec("W3")
@pytest.mark.parametrize(
    ("message", "topic"),
    [
        ("Where can I read about Sourdough Bread?", "Sourdough Bread"),
        ("We fly for our holidays to Tokyo, then back", "holidays to Tokyo"),
        ("公司押金退还的合同", "押金退还"),
        ("Meeting José in the café Überall", "Meeting José"),
    ],
)
def test_words_that_stand_together_are_one_topic_as_they_were_written(message: str, topic: str) -> None:
    assert find(message) == topic
    assert tells_enough(message)


@pytest.mark.spec("W3")
def test_no_phrase_goes_over_a_comma_or_a_line() -> None:
    assert find("gardening, photography") == "photography"
    assert find("gardening\nphotography") == "photography"


@pytest.mark.spec("W3")
def test_what_was_said_before_tells_more() -> None:
    message = "gardening, photography"
    assert find(message, "my gardening gloves", "gardening") == "gardening"


@pytest.mark.spec("W3")
def test_vague_words_are_none() -> None:
    assert find("photography definitely", vague="definitely") is None


@pytest.mark.spec("W3")
def test_the_rarer_word_tells_more() -> None:
    assert measure("押金") > measure("的确") > measure("可以")
    assert measure("sourdough") > measure("true")
