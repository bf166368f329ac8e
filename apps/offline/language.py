"""Which language a text is in, and its folded form in which every character keeps its place."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal

from apps.core.text.fold import fold

Language = Literal["zh", "en"]
LANGUAGES: tuple[Language, ...] = ("zh", "en")

_EXCERPT = 2000
_CHINESE = re.compile(r"[\u3400-\u9fff]")
_CHINESE_GRAMMAR = re.compile(r"[我你您他她的了是吗在有不没很吧呢这那么什]")
_ENGLISH_GRAMMAR = re.compile(
    r"\b(?:i|i'm|my|you|your|is|are|am|was|the|an?|to|of|in|do|does|what|how|and|have|it|like|love|this|please)\b", re.I
)


def detect_language(text: str) -> Language:
    """The language a reply to `text` should have.

    A text in both counts as the one that gives it its grammar: "my 猫 is called 咪咪" is English, 我用 VS Code 写代码
    is Chinese. Without any grammar, a single Chinese character makes it Chinese.
    """
    chinese, english = _CHINESE_GRAMMAR.findall(text), _ENGLISH_GRAMMAR.findall(text)
    if len(chinese) != len(english):
        return "zh" if len(chinese) > len(english) else "en"
    return "zh" if _CHINESE.search(text) else "en"


def take_excerpt(text: str) -> str:
    """`text`, or its beginning and end where it is a document: what is asked stands before or after a long paste."""
    return text if len(text) <= 2 * _EXCERPT else f"{text[:_EXCERPT]}\n{text[-_EXCERPT:]}"


@lru_cache(maxsize=8192)
def _fold_character(character: str) -> str:
    if character in "'‘`":
        return "’"
    folded = fold(character)
    return folded if len(folded) == 1 else character


def fold_in_place(text: str) -> str:
    """`text` folded (`apps.core.text.fold.fold`) character by character, so that spans found in it are spans of `text`.

    Apostrophes of every kind become ’. Lone surrogates and U+0000 stay as they are.
    """
    return "".join(map(_fold_character, text))
