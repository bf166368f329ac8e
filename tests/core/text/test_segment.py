"""Words of Chinese, English and mixed text, and pronouns, which make no difference (K2)."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.core.text.keywords import match_words
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
