"""Phrases that tripped readers stay out of the interface, its translations, the documentation and the API's texts."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
_PAGES = ("templates/**/*.html", "static/**/*.js", "locale/**/*.po", "docs/*.md", "*.md")
_CODE = ("apps/**/*.py",)

# What not to write, as a pattern, and what to write instead. Some Chinese words are wrong on a page only: in code they
# stand in what a person may say.
_PHRASES = [
    (r"\bthe machine\b", "the assistant"),
    (r"Emotion heard|听出的情绪", "Detected emotion, 识别到的情绪"),
    (r"In mind (right )?now|此刻记着", "Current context, 当前上下文"),
    (r"\bAsks back\b|\bask back\b", "Asks follow-up questions"),
    (r"Look again|再看一次", "Refresh, 刷新"),
    (r"Show the layers|查看各层", "Show prompt, 查看提示词"),
    (r"stands in the composer", "your draft"),
    (r"[Ii]t also stands in|same stands in", "Also found in"),
    (r"[Ll]et it hold again|[Ii]t holds again|made to hold again|重新生效", "Restore, Restored, 恢复"),
    (r"Something else is true now|现在情况变了", "Update, 更新"),
    (r"Two become one|合二为一", "Merge memories, 合并记忆"),
    (r"Facts about it", "Details, 详情"),
    (r"From mood to manner|从心情到语气", "How emotion shaped the reply, 情绪如何影响回复"),
    (r"What came of it", "Results"),
    (r"\bTake along\b|\bBring in\b|带走|带入", "Export, Import, 导出, 导入"),
    (r"What does the file have", "File contents"),
    (r"Show what would happen|看看会发生什么", "Preview import, 预览"),
    (r"Forgotten keys|已遗忘的键", "Do-not-relearn list, 不再学习"),
    (r"Messages of people", "User messages"),
    (r"msgid \"goes in ", "Expires in"),
    (r"Surest first|最有把握", "Highest confidence first, 置信度从高到低"),
    (r"Words of key or value|Words of the content|Chinese too\b", "Search memories"),
    (r"until it is revoked", "Never"),
    (r"Make the token", "Create token"),
    (r"It is not here any more", "This item was deleted"),
    (r"Where they come from", "Account origin"),
    (r"has rested on a memory", "No reply used a memory"),
    (r"Where is what", "Project layout"),
    (r"What works, and what comes", "Status and roadmap"),
    (r"costs nothing but the memory", "Malformed JSON never loses the reply"),
    (r"survives any death", "Background work survives crashes"),
    (r"held elsewhere", "a past conversation"),
    (r"lets? them live again", "regenerates the sample data"),
    (r"keys stand on the buttons", "Buttons show their shortcuts"),
    (r"who rose and who fell", "rank changes"),
    (r"puts their names before", "prefixes log lines"),
    (r"of whatever people", "from any users"),
    (r"to our disadvantage|to our advantage", "bias the results"),
    (r"is worth what the judge is worth", "only as reliable as the judge"),
    (r"\btold of\b|carries nothing|who ended", "say plainly what happens"),
    (r"\bmend(s|ed|ing)?\b", "fix, correct"),
    (r"go(es)? on with\b", "continues with, is followed by"),
    (r"history that holds|\bholds? again\b", "restored"),
    (r"what (came|comes|became|becomes) of\b", "the result, the outcome, its history"),
    (r"\b(hence|thereof|wherein|whereof)\b", "so, of it, in which"),
]  # fmt: skip
_CHINESE = [
    ("您", "你"),
    ("说起", "提到"),
    ("用户画像|你的档案", "画像"),
    ("新对话|临时对话|这个对话|这段对话", "会话"),
    ("词元", "token"),
]


@cache
def read_texts(patterns: tuple[str, ...]) -> list[tuple[str, str]]:
    """Return ``(path, text)`` of each file that matches one of the patterns."""
    paths = [path for pattern in patterns for path in sorted(ROOT.glob(pattern))]
    return [(path.relative_to(ROOT).as_posix(), path.read_text()) for path in paths]


def find(phrase: str, patterns: tuple[str, ...]) -> list[str]:
    """Return where the pattern occurs, as ``path:line: text``."""
    return [
        f"{name}:{text.count(chr(10), 0, match.start()) + 1}: {match[0]}"
        for name, text in read_texts(patterns)
        for match in re.finditer(phrase, text)
    ]


@pytest.mark.parametrize(("phrase", "instead"), _PHRASES)
def test_no_phrase_that_tripped_readers(phrase: str, instead: str) -> None:
    assert find(phrase, _PAGES + _CODE) == [], f"write instead: {instead}"


@pytest.mark.parametrize(("phrase", "instead"), _CHINESE)
def test_no_chinese_word_that_differs_from_the_others(phrase: str, instead: str) -> None:
    assert find(phrase, _PAGES) == [], f"write instead: {instead}"


def test_the_texts_are_found() -> None:
    kinds = {Path(name).suffix for name, _text in read_texts(_PAGES + _CODE)}
    assert kinds == {".html", ".js", ".po", ".md", ".py"}
