"""The language of a text, its folded form in which every character keeps its place, and the tables in data/.

The tables are word lists and regular expressions over folded text, compiled once.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any, Literal

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


@cache
def load_table(name: str) -> Mapping[str, Any]:
    """Return data/`name`.toml as it is."""
    return tomllib.loads(files(__package__).joinpath(f"data/{name}.toml").read_text("utf-8"))


@cache
def load_rules(name: str) -> Mapping[str, re.Pattern[str]]:
    """Return the patterns of data/`name`.toml: of a list, any of its words; ``{other}`` stands for another pattern."""
    table = load_table(name)
    sources = {
        key: value.replace("\n", "") if isinstance(value, str) else join_words(value) for key, value in table.items()
    }
    return {key: re.compile(fill(source, sources)) for key, source in sources.items()}


def rewrite(text: str, name: str) -> str:
    """Return folded `text` as the table `name` of data/rewriting.toml has it read."""
    for pattern, instead in load_table("rewriting")[name].items():
        text = compile_rule(pattern).sub(instead, text)
    return text


# Compile a pattern that stands in a table in data/ as it is.
compile_rule = cache(re.compile)


def join_words(words: list[str]) -> str:
    """Return a pattern that finds any of `words`, the longest first; English ones as whole words."""
    found = "|".join(sorted(words, key=len, reverse=True))
    return f"(?:{found})" if re.search(r"[\u3400-\u9fff]", found) else rf"\b(?:{found})\b"


def fill(source: str, sources: Mapping[str, str]) -> str:
    """Return a pattern with those that stand in it as ``{name}``."""

    def insert(found: re.Match[str]) -> str:
        name = found.group(1)
        return f"(?:{fill(sources[name], sources)})" if name in sources else found.group()

    return re.sub(r"\{([a-z_]\w*)\}", insert, source)
