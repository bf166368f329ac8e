"""The tables in data/: word lists and regular expressions over folded text, compiled once."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any


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


compile_rule = cache(re.compile)
"""For a pattern that a table in data/ has as it is."""


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
