"""Words of Chinese, English and mixed text."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.core.text import segment
from apps.core.text.segment import pieces, search_words, words


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


def test_the_dictionary_is_loaded_once_whatever_the_number_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    loads: list[int] = []
    gate = threading.Barrier(8)

    class Tokenizer:
        FREQ: dict[str, int] = {}

    def load() -> Tokenizer:
        loads.append(1)
        return Tokenizer()

    def use() -> None:
        gate.wait()
        segment.warm_up()

    monkeypatch.setattr(segment, "_tokenizer", None)
    monkeypatch.setattr(segment, "_load_tokenizer", load)
    threads = [threading.Thread(target=use) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert loads == [1]


@pytest.mark.long
def test_loading_is_silent_lazy_and_leaves_no_cache_file(tmp_path: Path, pytestconfig: pytest.Config) -> None:
    program = (
        "import sys, apps.core.text.keywords as k; assert 'jieba' not in sys.modules and 'opencc' not in sys.modules\n"
        "from apps.core.text.segment import warm_up; warm_up(); print(k.extract_keywords('我喜歡寫代碼'))"
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
