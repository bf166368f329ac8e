"""The caches of what was computed from texts, and that nothing made from a text is kept in any other way (R3)."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import apps
from apps.core.text import text_cache
from apps.core.text.citations import holds
from apps.core.text.grounding import Traces
from apps.core.text.keywords import stem
from apps.core.text.text_cache import cache_texts, clear_text_caches, register_cache

pytestmark = pytest.mark.spec("R3")


@pytest.fixture
def _no_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the caches that this test adds are cleared."""
    monkeypatch.setattr(text_cache, "_clear_functions", [])


@pytest.mark.usefixtures("_no_others")
def test_a_text_is_read_once_until_the_caches_are_cleared():
    read: list[str] = []

    @cache_texts(2)
    def count(text: str) -> int:
        read.append(text)
        return len(text)

    assert [count("我养了一只猫"), count("我养了一只猫"), count("a cat")] == [6, 6, 5]
    assert read == ["我养了一只猫", "a cat"]
    clear_text_caches()
    assert count("a cat") == 5
    assert read == ["我养了一只猫", "a cat", "a cat"]


@pytest.mark.usefixtures("_no_others")
def test_a_registered_cache_is_cleared_too():
    kept = {"我": "猫"}
    register_cache(kept.clear)
    clear_text_caches()
    assert kept == {}


# Functions that keep results of what they are given, and why that is nobody's text.
KEPT_FOR_GOOD = {
    "apps/core/llm/client.py:_connect_embedder": "addresses, keys and names of models",
    "apps/chat/page.py:list_modules": "paths of static files",
    "apps/chat/prompts.py:get_turn_format": "the emotions of the strategy table",
    "apps/core/llm/client.py:_make_chat_model": "addresses, keys and names of models",
    "apps/core/cache.py:_get_breaker": "addresses of servers",
    "apps/core/llm/client.py:_make_embedder": "settings",
    "apps/extraction/prompt.py:get_extraction_format": "whether what is sensitive is marked",
    "apps/core/text/commands.py:_patterns": "names of a data file",
    "apps/core/text/fold.py:get_converter": "a dictionary of scripts",
    "apps/core/text/secret_shapes.py:_compile": "names of patterns of a data file",
    "apps/offline/attributes.py:_rejects": "a kind of value",
    "apps/offline/language.py:_fold_character": "a single character",
    "apps/offline/language.py:load_rules": "a data file",
    "apps/offline/language.py:load_table": "a data file",
    "apps/offline/statements.py:_feelings": "a language",
    "apps/panel/changes.py:_find_field": "names of tables and columns",
}


def list_kept_for_good() -> Iterator[str]:
    """Functions of the product with arguments whose results functools keeps, where nobody can clear them."""
    folder = Path(apps.__path__[0])
    for path in sorted(folder.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and has_arguments(node.args):
                names = {ast.unparse(decorator).split("(")[0].split(".")[-1] for decorator in node.decorator_list}
                if names & {"cache", "lru_cache"}:
                    yield f"{path.relative_to(folder.parent).as_posix()}:{node.name}"


def has_arguments(given: ast.arguments) -> bool:
    return any([*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg])


@pytest.mark.long
def test_no_function_keeps_a_text_where_nobody_can_clear_it():
    """Another one? `cache_texts` keeps results until they are cleared. Only what is nobody's text stays for good."""
    found = set(list_kept_for_good())
    assert len(found) > 5, "they are looked for"
    assert found - KEPT_FOR_GOOD.keys() == set()


def test_the_patterns_made_of_texts_are_forgotten():
    assert Traces(["确诊糖尿病"]).stand_in("我去年确诊糖尿病。")
    assert holds("依据（2024）京01民终123号判决", "（2024）京01民终123号")
    assert [is_in_a_kept_pattern(words) for words in ("糖尿病", "京01民终123号")] == [True, True]
    clear_text_caches()
    assert [is_in_a_kept_pattern(words) for words in ("糖尿病", "京01民终123号")] == [False, False]


def is_in_a_kept_pattern(words: str) -> bool:
    patterns = re._cache  # type: ignore[attr-defined]  # there is no public way to see them
    return any(words in str(pattern) for _type, pattern, _flags in patterns)


def test_the_words_of_texts_are_forgotten():
    stem.cache_clear()
    assert stem("running") == "run"
    assert stem.cache_info().currsize == 1
    clear_text_caches()
    assert stem.cache_info().currsize == 0
